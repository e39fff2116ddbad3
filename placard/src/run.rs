//! `placard run`: one prompt in a plain terminal, through the same hub as every other page.
//!
//! - `conversation` is the page: it sends requests and hears what the agent says.
//! - `painting` turns what is heard into text; cards are folded by `terminal-card`.
//! - `permission` answers the agent's questions, or has the person answer them.
//! - `outcome` is what became of the turn, as an exit status; `wire` is `--json`.

mod conversation;
mod ink;
mod outcome;
mod painting;
mod permission;
mod turn;
mod wire;
mod words;

use std::io::{IsTerminal, Read, Write};
use std::process::ExitCode;

use acp_client::WireTap;
use agent_core::{Environment, Surroundings};

use crate::arguments::{Permission, RunArguments};
use crate::error::ProgramError;
use crate::host::Host;
use crate::stop::StopSignals;
use conversation::Conversation;
use painting::{Ink, Painting};
use turn::Turn;
use wire::WirePrinter;

/// Sends the prompt, shows the turn, and ends the agent.
pub(crate) async fn prompt(
    arguments: RunArguments,
    surroundings: Surroundings,
) -> Result<ExitCode, ProgramError> {
    let mut stop = StopSignals::listen()?;
    let text = prompt_text(arguments.prompt)?;
    let person = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let permission = arguments.permission.unwrap_or(if person {
        Permission::Ask
    } else {
        Permission::Reject
    });
    let ink = ink(&surroundings.environment, std::io::stdout().is_terminal());
    let (printer, mut unprinted) = WirePrinter::new(std::io::stdout());
    let (tap, mut painting) = if arguments.json {
        (printer.tap(), None)
    } else {
        (WireTap::default(), Some(Painting::new(ink)))
    };
    let host = Host::start(&arguments.host, surroundings, tap)?;
    let conversation = Conversation::new(host.hub.attach(0));
    let turn = Turn::new(conversation, permission, painting.as_mut());
    let outcome = tokio::select! {
        outcome = turn.take(&host.cwd, &text, &mut stop) => outcome,
        Some(error) = unprinted.recv() => Err(ProgramError::Stdout(error)),
    };
    host.shut_down().await;
    let outcome = outcome?;
    if let Some(words) = outcome.words() {
        let _ = writeln!(std::io::stderr(), "placard: {words}");
    }
    Ok(ExitCode::from(outcome.exit_status()))
}

fn prompt_text(given: String) -> Result<String, ProgramError> {
    let mut text = given;
    if text == "-" {
        text.clear();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(ProgramError::Stdin)?;
    }
    if text.trim().is_empty() {
        Err(ProgramError::EmptyPrompt)
    } else {
        Ok(text)
    }
}

/// Colours are for terminals that have them and people who want them (<https://no-color.org>).
fn ink(environment: &Environment, is_terminal: bool) -> Ink {
    let unwanted = environment.get("NO_COLOR").is_some() || environment.get("TERM") == Some("dumb");
    if is_terminal && !unwanted {
        Ink::Colour
    } else {
        Ink::Plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        let environment =
            |name: &str, value: &str| -> Environment { [(name, value)].into_iter().collect() };
        let table = [
            (("TERM", "xterm"), true, Ink::Colour),
            (("TERM", "xterm"), false, Ink::Plain),
            (("TERM", "dumb"), true, Ink::Plain),
            (("NO_COLOR", "1"), true, Ink::Plain),
            (("NO_COLOR", ""), true, Ink::Colour),
        ];
        for ((name, value), is_terminal, expected) in table {
            assert_eq!(
                ink(&environment(name, value), is_terminal),
                expected,
                "{name}={value}"
            );
        }
    }

    #[test]
    fn a_prompt_needs_words() {
        assert_eq!(
            prompt_text("hi\n".into()).map_err(|error| error.to_string()),
            Ok("hi\n".into())
        );
        assert_eq!(
            prompt_text(" \n".into()).map_err(|error| error.to_string()),
            Err("the prompt is empty: give some text, or - to read it from stdin".into())
        );
    }
}
