//! How a command ended, in words: the same as in the window's pill.

use terminal_card::{Card, CardStatus};

use crate::ink::{Tone, harmless};
use crate::times::duration_words;

/// Something that is known of a call beside its card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fact {
    /// The person, or their rule, refused it.
    Refused,
    /// Its time was up.
    TimedOut,
    /// It alone was stopped.
    Stopped,
    /// It left processes running.
    LeftRunning,
    /// It went on in the background when its call was over.
    Background,
    /// It was never said to run, and printed nothing.
    NotBegun,
}

impl Fact {
    /// Under the names that our own agent gives them in `_meta.placard`.
    pub(crate) const NAMED: [(&'static str, Self); 4] = [
        ("timed_out", Self::TimedOut),
        ("stopped", Self::Stopped),
        ("left_running", Self::LeftRunning),
        ("background", Self::Background),
    ];
}

/// The closing line of a card that ran for `elapsed` milliseconds.
pub(crate) fn closing_words(card: &Card, facts: &[Fact], elapsed: u64) -> (Tone, String) {
    let time = duration_words(elapsed);
    let is = |fact| facts.contains(&fact);
    let known = card.exit.as_ref().filter(|exit| !exit.is_unknown());
    let Some(exit) = known else {
        let words = match card.status {
            _ if is(Fact::Refused) => "refused",
            _ if is(Fact::Background) && card.exit.is_none() => {
                "was running in the background · ended with this program"
            }
            CardStatus::NoResult if card.exit.is_none() => "no result",
            CardStatus::Failed if is(Fact::NotBegun) && card.exit.is_some() => "not run",
            _ => "ended · no exit code",
        };
        return (Tone::Quiet, words.to_owned());
    };
    if is(Fact::TimedOut) {
        return (Tone::Bad, format!("timed out · {time}"));
    }
    let stopped = if is(Fact::Stopped) { "stopped, " } else { "" };
    let left = if is(Fact::LeftRunning) {
        " · left running, ended with this program"
    } else {
        ""
    };
    // A card of the background has an end that its status knows nothing of.
    let succeeded = card.status != CardStatus::Failed && !is(Fact::Stopped);
    match (&exit.signal, exit.exit_code) {
        (Some(signal), _) => (
            Tone::Bad,
            format!("{stopped}killed by {} · {time}{left}", harmless(signal)),
        ),
        (None, Some(0)) if succeeded => (Tone::Good, format!("ok · {time}{left}")),
        (None, code) => (
            Tone::Bad,
            format!("{stopped}exit {} · {time}{left}", code.unwrap_or_default()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::CardStatus::{Completed, Failed, InProgress, NoResult};
    use super::*;
    use pretty_assertions::assert_eq;
    use terminal_card::TerminalExit;

    #[test]
    fn ends() {
        let exit = |exit_code, signal: Option<&str>| {
            Some(TerminalExit {
                exit_code,
                signal: signal.map(str::to_owned),
            })
        };
        let none: &[Fact] = &[];
        let refused: &[Fact] = &[Fact::Refused];
        let timed_out: &[Fact] = &[Fact::TimedOut];
        let table = [
            (
                exit(Some(0), None),
                Completed,
                none,
                (Tone::Good, "ok · 0.4 s"),
            ),
            (
                exit(Some(0), None),
                Failed,
                none,
                (Tone::Bad, "exit 0 · 0.4 s"),
            ),
            (
                exit(Some(-1), None),
                Failed,
                none,
                (Tone::Bad, "exit -1 · 0.4 s"),
            ),
            (
                exit(None, Some("SIGKILL")),
                Failed,
                none,
                (Tone::Bad, "killed by SIGKILL · 0.4 s"),
            ),
            (
                exit(None, Some("SIGTERM")),
                Failed,
                timed_out,
                (Tone::Bad, "timed out · 0.4 s"),
            ),
            (exit(None, None), Failed, refused, (Tone::Quiet, "refused")),
            (
                exit(None, None),
                Failed,
                none,
                (Tone::Quiet, "ended · no exit code"),
            ),
            (None, Completed, none, (Tone::Quiet, "ended · no exit code")),
            (None, NoResult, none, (Tone::Quiet, "no result")),
            (
                exit(Some(3), None),
                InProgress,
                none,
                (Tone::Bad, "exit 3 · 0.4 s"),
            ),
        ];
        for (exit, status, known, (tone, words)) in table {
            let card = Card {
                exit: exit.clone(),
                status,
                ..Card::default()
            };
            assert_eq!(
                closing_words(&card, known, 400),
                (tone, words.to_owned()),
                "{exit:?} {status:?}"
            );
        }
    }
}
