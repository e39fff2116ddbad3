//! `placard run`: one prompt in a plain terminal, through the same hub as every other page.
//!
//! - `conversation` is the page: it sends requests and hears what the agent says.
//! - `painting` turns what is heard into text; cards are folded by `terminal-card`.
//! - `permission` answers the agent's questions, or has the person answer them.
//! - `outcome` is what became of the turn, as an exit status; `wire` is `--json`.
//! - `resume` is which session it goes on with, if any.
//! - `printer` is stdout, which nothing here waits for.

mod conversation;
mod outcome;
mod painting;
mod permission;
mod printer;
mod resume;
mod turn;
mod wire;
mod words;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use acp_client::{PageAbilities, WireTap};
use agent_core::{Agent, Surroundings};

use crate::arguments::RunArguments;
use crate::error::ProgramError;
use crate::host::{Host, spool_folder};
use crate::last_words::tell;
use crate::sessions::viewer::{Viewer, one_line};
use crate::stop::StopSignals;
use conversation::Conversation;
use outcome::Outcome;
use painting::Painting;
use permission::Rule;
use printer::Printer;
use resume::Wish;
use turn::{Taken, Turn, TurnStop};
use wire::printing_tap;

/// When the person wants to leave, a reader that takes nothing is not waited for any longer.
const LEAVING: Duration = Duration::from_millis(200);

/// Sends the prompt, shows the turn, and ends the agent.
pub(crate) async fn prompt(
    arguments: RunArguments,
    surroundings: Surroundings,
) -> Result<ExitCode, ProgramError> {
    let mut stop = StopSignals::listen()?;
    let wish = Wish::of(&arguments, &surroundings.environment);
    let text = tokio::select! {
        text = prompt_text(arguments.prompt) => text?,
        signal = stop.next() => return Ok(told(&Outcome::of_signal(signal))),
    };
    let person = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let rule = Rule::new(arguments.permission, person);
    let viewer = Viewer::of_stdout(&surroundings.environment);
    let (printer, mut written) =
        Printer::start(io::stdout(), spool_folder(&surroundings.cache_dir));
    let (tap, painting) = if arguments.json {
        (printing_tap(printer.clone()), None)
    } else {
        (WireTap::default(), Some(Painting::new(viewer.ink)))
    };
    let host = Host::start(&arguments.host, surroundings, PageAbilities::default(), tap)?;
    let conversation = Conversation::new(host.hub.attach(0));
    let asked = TurnStop::default();
    let turn = Turn::new(
        conversation,
        rule.clone(),
        painting,
        printer.clone(),
        asked.clone(),
    );
    let taking = async {
        let beginning = wish.beginning(host.embedded(), &host.cwd, &viewer).await;
        match beginning {
            Ok(beginning) => turn.take(&host.cwd, &text, beginning).await,
            Err(outcome) => outcome.into(),
        }
    };
    let (taken, patience) = tokio::select! {
        taken = taking => (Ok(taken), Duration::MAX),
        signal = asked.last_signal(&mut stop) => (Ok(Outcome::of_signal(signal).into()), LEAVING),
        Ok(Err(error)) = &mut written => (Err(error), Duration::ZERO),
    };
    let ending = async {
        let stored = match &taken {
            Ok(Taken { session, .. }) => stored(host.embedded(), session.as_deref()).await,
            Err(_) => None,
        };
        host.shut_down().await;
        let outcome = taken?.outcome;
        printer.close();
        match tokio::time::timeout(patience, written).await {
            Ok(Ok(Err(error))) => Err(error),
            _ => Ok((outcome, stored)),
        }
    };
    // Whoever wants to leave now waits for nothing.
    let (outcome, stored) = tokio::select! {
        ended = ending => ended.map_err(ProgramError::Stdout)?,
        signal = stop.next() => (Outcome::of_signal(signal), None),
    };
    if let Some(words) = rule.words() {
        tell(&words);
    }
    let status = told(&outcome);
    if let Some(line) = stored.filter(|_| !arguments.json) {
        tell(&format_args!("to go on with this session: {line}"));
    }
    Ok(status)
}

/// How the session of the turn is gone on with, where it is stored.
async fn stored(embedded: Option<&Agent>, session: Option<&str>) -> Option<String> {
    let session = session?;
    let Some(agent) = embedded else {
        return Some(format!("--resume {}", one_line(session)));
    };
    let store = agent.store().await.ok()?;
    let stored = store.has(&session.to_owned().into()).await;
    stored
        .is_ok_and(|stored| stored)
        .then(|| format!("placard run --resume {session}"))
}

/// Tells the person of the outcome, and gives it as an exit status.
fn told(outcome: &Outcome) -> ExitCode {
    if let Some(words) = outcome.words() {
        tell(&words);
    }
    ExitCode::from(outcome.exit_status())
}

/// The prompt. Nothing can call back a thread that waits for stdin, but nothing has to wait for it either.
async fn prompt_text(given: String) -> Result<String, ProgramError> {
    let text = if given == "-" {
        let read = tokio::task::spawn_blocking(|| io::read_to_string(io::stdin()));
        let text = read
            .await
            .unwrap_or_else(|fault| Err(io::Error::other(fault)));
        text.map_err(ProgramError::Stdin)?
    } else {
        given
    };
    if text.trim().is_empty() {
        Err(ProgramError::EmptyPrompt)
    } else {
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[tokio::test]
    async fn a_prompt_needs_words() {
        assert_eq!(
            prompt_text("hi\n".into())
                .await
                .map_err(|error| error.to_string()),
            Ok("hi\n".into())
        );
        assert_eq!(
            prompt_text(" \n".into())
                .await
                .map_err(|error| error.to_string()),
            Err("the prompt is empty: give some text, or - to read it from stdin".into())
        );
    }
}
