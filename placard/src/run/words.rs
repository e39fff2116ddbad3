//! How a command ended, in words: the same as in the window's pill.

use terminal_card::{Card, CardStatus};

use super::ink::Tone;

/// The closing line of a card that ran for `elapsed` milliseconds.
pub(crate) fn closing_words(
    card: &Card,
    refused: bool,
    timed_out: bool,
    elapsed: u64,
) -> (Tone, String) {
    let time = duration_words(elapsed);
    let known = card.exit.as_ref().filter(|exit| !exit.is_unknown());
    let Some(exit) = known else {
        let words = match card.status {
            _ if refused => "refused",
            CardStatus::NoResult if card.exit.is_none() => "no result",
            _ => "ended · no exit code",
        };
        return (Tone::Quiet, words.to_owned());
    };
    if timed_out {
        return (Tone::Bad, format!("timed out · {time}"));
    }
    match (&exit.signal, exit.exit_code) {
        (Some(signal), _) => (
            Tone::Bad,
            format!("killed by {} · {time}", super::ink::harmless(signal)),
        ),
        (None, Some(0)) if card.status != CardStatus::Failed => {
            (Tone::Good, format!("ok · {time}"))
        }
        (None, code) => (
            Tone::Bad,
            format!("exit {} · {time}", code.unwrap_or_default()),
        ),
    }
}

/// A duration: tenths of a second below ten seconds, whole seconds below ten minutes.
fn duration_words(milliseconds: u64) -> String {
    let tenths = (milliseconds + 50) / 100;
    if tenths < 100 {
        // A whole number of seconds is said without a fraction, nothing at all with one.
        return match (tenths / 10, tenths % 10) {
            (0, 0) => "0.0 s".to_owned(),
            (seconds, 0) => format!("{seconds} s"),
            (seconds, tenth) => format!("{seconds}.{tenth} s"),
        };
    }
    let seconds = (milliseconds + 500) / 1000;
    match (seconds / 60, seconds / 3600) {
        (0..10, _) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, hours) => format!("{hours} h {} min", minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::CardStatus::{Completed, Failed, InProgress, NoResult};
    use super::*;
    use pretty_assertions::assert_eq;
    use terminal_card::TerminalExit;

    #[test]
    fn durations() {
        let table = [
            (0, "0.0 s"),
            (49, "0.0 s"),
            (50, "0.1 s"),
            (400, "0.4 s"),
            (1_960, "2 s"),
            (9_949, "9.9 s"),
            (9_950, "10 s"),
            (41_300, "41 s"),
            (599_000, "599 s"),
            (600_000, "10 min"),
            (3_720_000, "1 h 2 min"),
        ];
        for (milliseconds, words) in table {
            assert_eq!(duration_words(milliseconds), words);
        }
    }

    #[test]
    fn ends() {
        let exit = |exit_code, signal: Option<&str>| {
            Some(TerminalExit {
                exit_code,
                signal: signal.map(str::to_owned),
            })
        };
        let table = [
            (
                exit(Some(0), None),
                Completed,
                false,
                false,
                (Tone::Good, "ok · 0.4 s"),
            ),
            (
                exit(Some(0), None),
                Failed,
                false,
                false,
                (Tone::Bad, "exit 0 · 0.4 s"),
            ),
            (
                exit(Some(-1), None),
                Failed,
                false,
                false,
                (Tone::Bad, "exit -1 · 0.4 s"),
            ),
            (
                exit(None, Some("SIGKILL")),
                Failed,
                false,
                false,
                (Tone::Bad, "killed by SIGKILL · 0.4 s"),
            ),
            (
                exit(None, Some("SIGTERM")),
                Failed,
                false,
                true,
                (Tone::Bad, "timed out · 0.4 s"),
            ),
            (
                exit(None, None),
                Failed,
                true,
                false,
                (Tone::Quiet, "refused"),
            ),
            (
                exit(None, None),
                Failed,
                false,
                false,
                (Tone::Quiet, "ended · no exit code"),
            ),
            (
                None,
                Completed,
                false,
                false,
                (Tone::Quiet, "ended · no exit code"),
            ),
            (None, NoResult, false, false, (Tone::Quiet, "no result")),
            (
                exit(Some(3), None),
                InProgress,
                false,
                false,
                (Tone::Bad, "exit 3 · 0.4 s"),
            ),
        ];
        for (exit, status, refused, timed_out, (tone, words)) in table {
            let card = Card {
                exit: exit.clone(),
                status,
                ..Card::default()
            };
            assert_eq!(
                closing_words(&card, refused, timed_out, 400),
                (tone, words.to_owned()),
                "{exit:?} {status:?}"
            );
        }
    }
}
