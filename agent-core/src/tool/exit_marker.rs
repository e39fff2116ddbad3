//! The last line of a command's result as the model reads it: how the command ended.
//!
//! `[exit 0]`, `[exit 3]`, `[killed by SIGKILL]`, `[cancelled; killed by SIGINT]`, `[stopped; exit 130]`,
//! `[timed out after 120 s; killed by SIGTERM; was waiting for input]`, `[exit 0; left running: 1]`, `[exit 0; output cut]`,
//! `[not run]`, `[running]`, `[running; waiting for input]`. [`parse`] is the exact inverse of [`append`]: only the last line counts,
//! and every result has exactly one marker there, so output that ends in something alike stays output.

use crate::shell::exit::Exit;

/// How a command's run ended, as the model is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExitMarker {
    /// It never ran.
    NotRun,
    /// It has not ended.
    Running {
        /// It waits for input.
        waiting: bool,
    },
    /// It has ended.
    Ended(MarkedEnd),
}

/// An end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedEnd {
    /// What made it end, when not it itself.
    pub cause: MarkedCause,
    /// The exit of the command.
    pub exit: Exit,
    /// It waited for input when it was ended.
    pub was_waiting: bool,
    /// Processes that it left running.
    pub left_running: usize,
    /// The model does not read the whole output.
    pub output_cut: bool,
}

/// What made a command end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkedCause {
    /// It ended by itself.
    Itself,
    /// It was cancelled with its turn or its session.
    Cancelled,
    /// It alone was stopped, by the person or by the model.
    Stopped,
    /// Its time was up, after so many seconds.
    TimedOut(u64),
}

const NOT_RUN: &str = "not run";
const RUNNING: &str = "running";
const RUNNING_WAITING: &str = "running; waiting for input";
const CANCELLED: &str = "cancelled";
const STOPPED: &str = "stopped";
const WAS_WAITING: &str = "was waiting for input";
const OUTPUT_CUT: &str = "output cut";

impl MarkedEnd {
    /// The end of a command that ended by itself and left nothing.
    pub fn plain(exit: Exit) -> Self {
        Self {
            cause: MarkedCause::Itself,
            exit,
            was_waiting: false,
            left_running: 0,
            output_cut: false,
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
    let words = match marker {
        ExitMarker::NotRun => NOT_RUN.to_owned(),
        ExitMarker::Running { waiting: false } => RUNNING.to_owned(),
        ExitMarker::Running { waiting: true } => RUNNING_WAITING.to_owned(),
        ExitMarker::Ended(end) => written_end(end),
    };
    format!("[{words}]")
}

fn written_end(end: &MarkedEnd) -> String {
    let mut parts = Vec::new();
    match end.cause {
        MarkedCause::Itself => {}
        MarkedCause::Cancelled => parts.push(CANCELLED.to_owned()),
        MarkedCause::Stopped => parts.push(STOPPED.to_owned()),
        MarkedCause::TimedOut(seconds) => parts.push(format!("timed out after {seconds} s")),
    }
    parts.push(end.exit.to_string());
    if end.was_waiting {
        parts.push(WAS_WAITING.to_owned());
    }
    if end.left_running > 0 {
        parts.push(format!("left running: {}", end.left_running));
    }
    if end.output_cut {
        parts.push(OUTPUT_CUT.to_owned());
    }
    parts.join("; ")
}

fn read(line: &str) -> Option<ExitMarker> {
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let marker = match inner {
        NOT_RUN => ExitMarker::NotRun,
        RUNNING => ExitMarker::Running { waiting: false },
        RUNNING_WAITING => ExitMarker::Running { waiting: true },
        _ => ExitMarker::Ended(read_end(inner)?),
    };
    // Numbers have several spellings; only the one that `append` writes is a marker.
    (written(&marker) == line).then_some(marker)
}

fn read_end(words: &str) -> Option<MarkedEnd> {
    let mut parts = words.split("; ").peekable();
    let cause = parts.peek().and_then(|part| read_cause(part));
    if cause.is_some() {
        parts.next();
    }
    let mut end = MarkedEnd {
        cause: cause.unwrap_or(MarkedCause::Itself),
        ..MarkedEnd::plain(read_exit(parts.next()?)?)
    };
    for part in parts {
        match part {
            WAS_WAITING => end.was_waiting = true,
            OUTPUT_CUT => end.output_cut = true,
            other => end.left_running = other.strip_prefix("left running: ")?.parse().ok()?,
        }
    }
    Some(end)
}

fn read_cause(words: &str) -> Option<MarkedCause> {
    match words {
        CANCELLED => Some(MarkedCause::Cancelled),
        STOPPED => Some(MarkedCause::Stopped),
        other => {
            let seconds = other.strip_prefix("timed out after ")?.strip_suffix(" s")?;
            seconds.parse().ok().map(MarkedCause::TimedOut)
        }
    }
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

    fn ended(exit: Exit) -> MarkedEnd {
        MarkedEnd::plain(exit)
    }

    #[test]
    fn markers_read_as_they_are_written() {
        let signal = |name: &str| Exit::Signal(name.to_owned());
        let ends = [
            ("[exit 0]", ended(Exit::Code(0))),
            ("[killed by SIGKILL]", ended(signal("SIGKILL"))),
            ("[ended, exit unknown]", ended(Exit::Unknown)),
            (
                "[cancelled; killed by SIGINT]",
                MarkedEnd {
                    cause: MarkedCause::Cancelled,
                    ..ended(signal("SIGINT"))
                },
            ),
            (
                "[stopped; exit 130]",
                MarkedEnd {
                    cause: MarkedCause::Stopped,
                    ..ended(Exit::Code(130))
                },
            ),
            (
                "[timed out after 120 s; exit 143; was waiting for input]",
                MarkedEnd {
                    cause: MarkedCause::TimedOut(120),
                    was_waiting: true,
                    ..ended(Exit::Code(143))
                },
            ),
            (
                "[exit 0; left running: 2; output cut]",
                MarkedEnd {
                    left_running: 2,
                    output_cut: true,
                    ..ended(Exit::Code(0))
                },
            ),
        ];
        let others = [
            ("[not run]", ExitMarker::NotRun),
            ("[running]", ExitMarker::Running { waiting: false }),
            (
                "[running; waiting for input]",
                ExitMarker::Running { waiting: true },
            ),
        ];
        let ends = ends.map(|(text, end)| (text, ExitMarker::Ended(end)));
        for (text, marker) in ends.into_iter().chain(others) {
            assert_eq!(append("", &marker), text);
            assert_eq!(parse(text), Some(("", marker)));
        }
        for other in [
            "",
            "[exit]",
            "[exit 00]",
            "exit 0",
            "[exit 0; left running: 0]",
            "[exit 0; output cut; left running: 1]",
            "[cancelled]",
            "[killed by ]",
            "[exit 0]\n",
        ] {
            assert_eq!(parse(other), None, "{other:?}");
        }
    }

    #[test]
    fn output_that_ends_like_a_marker_stays_output() {
        let real = ExitMarker::Ended(ended(Exit::Code(3)));
        let content = append("all fine\n[exit 0]", &real);
        assert_eq!(parse(&content), Some(("all fine\n[exit 0]", real)));
    }

    fn any_marker() -> impl Strategy<Value = ExitMarker> {
        let cause = prop_oneof![
            Just(MarkedCause::Itself),
            Just(MarkedCause::Cancelled),
            Just(MarkedCause::Stopped),
            any::<u64>().prop_map(MarkedCause::TimedOut),
        ];
        let exit = prop_oneof![
            any::<i32>().prop_map(Exit::Code),
            "SIG[A-Z]{1,6}(\\+[0-9]{1,2})?".prop_map(Exit::Signal),
            Just(Exit::Unknown),
        ];
        let end = (cause, exit, any::<bool>(), 0_usize..5, any::<bool>()).prop_map(
            |(cause, exit, was_waiting, left_running, output_cut)| MarkedEnd {
                cause,
                exit,
                was_waiting,
                left_running,
                output_cut,
            },
        );
        prop_oneof![
            8 => end.prop_map(ExitMarker::Ended),
            1 => Just(ExitMarker::NotRun),
            1 => any::<bool>().prop_map(|waiting| ExitMarker::Running { waiting }),
        ]
    }

    /// Any text, and more often than chance would have it one that ends like a marker.
    fn any_body() -> impl Strategy<Value = String> {
        let alike = (any_marker(), "(?s).{0,20}").prop_map(|(marker, body)| append(&body, &marker));
        prop_oneof!["(?s).{0,40}", alike]
    }

    proptest! {
        #[test]
        fn parsing_inverts_appending(body in any_body(), marker in any_marker()) {
            let content = append(&body, &marker);
            prop_assert_eq!(parse(&content), Some((body.as_str(), marker)));
        }
    }
}
