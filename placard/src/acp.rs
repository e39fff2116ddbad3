//! `placard acp`: the agent on stdin and stdout.

use std::process::ExitCode;

use agent_core::{Agent, Surroundings};

use crate::error::ProgramError;
use crate::host;
use crate::stop::StopSignals;

/// Serves the editor at the other end until it closes stdin or a signal comes.
pub(crate) async fn serve(surroundings: Surroundings) -> Result<ExitCode, ProgramError> {
    let mut stop = StopSignals::listen()?;
    let agent = Agent::new(surroundings);
    let code = tokio::select! {
        served = acp_bridge::serve(agent.clone(), tokio::io::stdin(), tokio::io::stdout()) => match served {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                tracing::error!("{error}");
                ExitCode::FAILURE
            }
        },
        signal = stop.next() => ExitCode::from(signal.exit_status()),
    };
    host::shut_down(&agent).await;
    Ok(code)
}
