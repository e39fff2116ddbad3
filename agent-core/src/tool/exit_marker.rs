//! The last line of a command's result as the model reads it: how the command ended.
//!
//! `[exit 0]`, `[exit 3]`, `[killed by SIGKILL]`, `[cancelled; killed by SIGINT]`, `[timed out after 120 s; killed by SIGTERM]`,
//! `[exit 0; left running: 1]`, `[not run]`. [`parse`] is the exact inverse of [`append`]: only the last line counts,
//! and every result has exactly one marker there, so output that ends in something alike stays output.

use std::fmt::Write as _;

use crate::shell::exit::Exit;

/// How a command's run ended, as the model is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExitMarker {
    /// What made it end, when not it itself.
    pub cause: MarkedCause,
    /// The exit of the command.
    pub exit: Exit,
    /// Processes that it left running.
    pub left_running: usize,
}

/// What made a command end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkedCause {
    /// It ended by itself.
    Itself,
    /// The person cancelled it.
    Cancelled,
    /// Its time was up, after so many seconds.
    TimedOut(u64),
    /// It never ran.
    NotRun,
}

impl ExitMarker {
    /// The marker of a command that never ran.
    pub fn not_run() -> Self {
        Self {
            cause: MarkedCause::NotRun,
            exit: Exit::Unknown,
            left_running: 0,
        }
    }
}

/// The output with its marker as the last line.
pub fn append(body: &str, marker: &ExitMarker) -> String {
    let mut text = String::with_capacity(body.len() + 64);
    text.push_str(body);
    if !body.is_empty() {
        text.push('\n');
    }
    text.push_str(&written(marker));
    text
}

/// The output and the marker; `None` where the last line is no marker.
pub fn parse(content: &str) -> Option<(&str, ExitMarker)> {
    let (body, last) = content.rsplit_once('\n').unwrap_or(("", content));
    read(last).map(|marker| (body, marker))
}

fn written(marker: &ExitMarker) -> String {
    let mut parts = Vec::new();
    match marker.cause {
        MarkedCause::NotRun => return "[not run]".to_owned(),
        MarkedCause::Itself => {}
        MarkedCause::Cancelled => parts.push("cancelled".to_owned()),
        MarkedCause::TimedOut(seconds) => parts.push(format!("timed out after {seconds} s")),
    }
    parts.push(marker.exit.to_string());
    let mut text = parts.join("; ");
    if marker.left_running > 0 {
        // Writing to a string cannot fail.
        let _ = write!(text, "; left running: {}", marker.left_running);
    }
    format!("[{text}]")
}

fn read(line: &str) -> Option<ExitMarker> {
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    if inner == "not run" {
        return Some(ExitMarker::not_run());
    }
    let (inner, left_running) = match inner.rsplit_once("; left running: ") {
        Some((before, count)) => (before, count.parse().ok().filter(|count| *count > 0)?),
        None => (inner, 0),
    };
    let (cause, exit) = match inner.split_once("; ") {
        Some(("cancelled", exit)) => (MarkedCause::Cancelled, exit),
        Some((cause, exit)) => {
            let seconds = cause.strip_prefix("timed out after ")?.strip_suffix(" s")?;
            (MarkedCause::TimedOut(seconds.parse().ok()?), exit)
        }
        None => (MarkedCause::Itself, inner),
    };
    let marker = ExitMarker {
        cause,
        exit: read_exit(exit)?,
        left_running,
    };
    // Numbers have several spellings; only the one that `append` writes is a marker.
    (written(&marker) == line).then_some(marker)
}

fn read_exit(words: &str) -> Option<Exit> {
    if words == Exit::Unknown.to_string() {
        return Some(Exit::Unknown);
    }
    if let Some(code) = words.strip_prefix("exit ") {
        return code.parse().ok().map(Exit::Code);
    }
    let name = words.strip_prefix("killed by ")?;
    let plausible = !name.is_empty() && !name.contains([';', ']', '[']);
    plausible.then(|| Exit::Signal(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn markers_read_as_they_are_written() {
        let itself = |exit| ExitMarker {
            cause: MarkedCause::Itself,
            exit,
            left_running: 0,
        };
        let cases = [
            ("[exit 0]", itself(Exit::Code(0))),
            (
                "[killed by SIGKILL]",
                itself(Exit::Signal("SIGKILL".into())),
            ),
            ("[ended, exit unknown]", itself(Exit::Unknown)),
            (
                "[cancelled; killed by SIGINT]",
                ExitMarker {
                    cause: MarkedCause::Cancelled,
                    exit: Exit::Signal("SIGINT".into()),
                    left_running: 0,
                },
            ),
            (
                "[timed out after 120 s; exit 143]",
                ExitMarker {
                    cause: MarkedCause::TimedOut(120),
                    exit: Exit::Code(143),
                    left_running: 0,
                },
            ),
            (
                "[exit 0; left running: 2]",
                ExitMarker {
                    cause: MarkedCause::Itself,
                    exit: Exit::Code(0),
                    left_running: 2,
                },
            ),
            ("[not run]", ExitMarker::not_run()),
        ];
        for (text, marker) in cases {
            assert_eq!(append("", &marker), text);
            assert_eq!(parse(text), Some(("", marker)));
        }
        for other in [
            "",
            "[exit]",
            "[exit 00]",
            "exit 0",
            "[exit 0; left running: 0]",
            "[killed by ]",
            "[exit 0]\n",
        ] {
            assert_eq!(parse(other), None, "{other:?}");
        }
    }

    #[test]
    fn output_that_ends_like_a_marker_stays_output() {
        let real = ExitMarker {
            cause: MarkedCause::Itself,
            exit: Exit::Code(3),
            left_running: 0,
        };
        let content = append("all fine\n[exit 0]", &real);
        assert_eq!(parse(&content), Some(("all fine\n[exit 0]", real)));
    }

    proptest! {
        #[test]
        fn parsing_inverts_appending(
            body in "(?s).{0,40}",
            code in -1_i32..300,
            cause in prop_oneof![Just(MarkedCause::Itself), Just(MarkedCause::Cancelled), any::<u64>().prop_map(MarkedCause::TimedOut)],
            left_running in 0_usize..5,
        ) {
            let marker = ExitMarker { cause, exit: Exit::Code(code), left_running };
            let content = append(&body, &marker);
            prop_assert_eq!(parse(&content), Some((body.as_str(), marker)));
        }
    }
}
