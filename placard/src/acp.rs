//! `placard acp`: the agent on stdin and stdout.

use std::io::IsTerminal;
use std::process::ExitCode;

use agent_core::{Agent, Surroundings};

use crate::error::ProgramError;
use crate::host;
use crate::last_words::tell;
use crate::stop::StopSignals;

/// For a person who has come here by mistake.
const FOR_EDITORS: &str = "`acp` speaks JSON-RPC to an editor that starts it. End it with Ctrl-D or Ctrl-C; \
                           for people there are `placard run` and `placard serve`";

/// Serves the editor at the other end until it closes stdin or a signal comes.
pub(crate) async fn serve(surroundings: Surroundings) -> Result<ExitCode, ProgramError> {
    let mut stop = StopSignals::listen()?;
    if std::io::stdin().is_terminal() {
        tell(&FOR_EDITORS);
    }
    let agent = Agent::new(surroundings);
    let serving = acp_bridge::serve(agent.clone(), tokio::io::stdin(), tokio::io::stdout());
    tokio::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        signal = stop.next() => {
            // What ends now is still told to the editor.
            tokio::select! {
                () = host::shut_down(&agent) => {}
                _ = &mut serving => host::shut_down(&agent).await,
            }
            return Ok(ExitCode::from(signal.exit_status()));
        }
    };
    host::shut_down(&agent).await;
    Ok(match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    })
}
