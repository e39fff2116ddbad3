//! How a command ended.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The true end of a command. A shell's `128+n` stays a code: it is what the shell returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// It exited with this code (0 to 255).
    Code(i32),
    /// A signal killed it; the name is exact, such as `SIGKILL`.
    Signal(String),
    /// It never ran, or nobody could learn how it ended.
    Unknown,
}

impl Exit {
    /// From the numbers of a wait status.
    pub fn from_numbers(code: Option<i32>, signal: Option<i32>) -> Self {
        match (code, signal) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal_name(signal)),
            (None, None) => Self::Unknown,
        }
    }

    /// The number of the signal on this platform, where a signal with a known name killed it.
    pub fn signal_number(&self) -> Option<i32> {
        let Self::Signal(name) = self else {
            return None;
        };
        (1..=64).find(|number| signal_name(*number) == *name)
    }

    /// True for code 0 only.
    pub fn is_success(&self) -> bool {
        *self == Self::Code(0)
    }
}

/// In words: `exit 3`, `killed by SIGKILL`, `ended, exit unknown`.
impl fmt::Display for Exit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "exit {code}"),
            Self::Signal(name) => write!(formatter, "killed by {name}"),
            Self::Unknown => formatter.write_str("ended, exit unknown"),
        }
    }
}

/// The name of a signal on this platform; the kernel's real-time signals count from `SIGRTMIN` (34 where the C library keeps two).
fn signal_name(number: i32) -> String {
    match signal_hook::low_level::signal_name(number) {
        Some(name) => name.to_owned(),
        // Named here because signal-hook leaves out what no program may handle or few platforms share.
        None => match number {
            4 => "SIGILL".to_owned(),
            5 => "SIGTRAP".to_owned(),
            7 => "SIGBUS".to_owned(),
            8 => "SIGFPE".to_owned(),
            11 => "SIGSEGV".to_owned(),
            16 => "SIGSTKFLT".to_owned(),
            26 => "SIGVTALRM".to_owned(),
            30 => "SIGPWR".to_owned(),
            34 => "SIGRTMIN".to_owned(),
            35..=64 => format!("SIGRTMIN+{}", number - 34),
            other => format!("signal {other}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn every_deadly_signal_has_its_name() {
        let named: Vec<String> = [1, 2, 3, 4, 6, 7, 8, 9, 11, 13, 14, 15, 24, 25, 31, 34, 64]
            .into_iter()
            .map(signal_name)
            .collect();
        assert_eq!(
            named,
            [
                "SIGHUP",
                "SIGINT",
                "SIGQUIT",
                "SIGILL",
                "SIGABRT",
                "SIGBUS",
                "SIGFPE",
                "SIGKILL",
                "SIGSEGV",
                "SIGPIPE",
                "SIGALRM",
                "SIGTERM",
                "SIGXCPU",
                "SIGXFSZ",
                "SIGSYS",
                "SIGRTMIN",
                "SIGRTMIN+30"
            ]
        );
    }

    #[test]
    fn a_code_wins_and_nothing_is_never_success() {
        assert_eq!(Exit::from_numbers(Some(137), None), Exit::Code(137));
        assert_eq!(
            Exit::from_numbers(None, Some(9)),
            Exit::Signal("SIGKILL".into())
        );
        assert!(!Exit::from_numbers(None, None).is_success());
    }
}
