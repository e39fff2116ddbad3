//! Who looks at sessions: what is shown depends on their time, home and terminal.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use agent_core::Environment;

use crate::ink::{Ink, harmless};

/// The person, or the program, that stdout is read by.
#[derive(Debug, Clone)]
pub(crate) struct Viewer {
    /// Milliseconds of Unix time.
    pub(crate) now: u64,
    /// Their home folder.
    pub(crate) home: Option<PathBuf>,
    /// Whether there are colours.
    pub(crate) ink: Ink,
    /// How many columns their terminal has; none without a terminal.
    pub(crate) columns: Option<usize>,
}

impl Viewer {
    /// Who started this program.
    pub(crate) fn of_stdout(environment: &Environment) -> Self {
        let stdout = std::io::stdout();
        let is_terminal = stdout.is_terminal();
        let size = rustix::termios::tcgetwinsize(&stdout).ok();
        let columns = size.map(|size| usize::from(size.ws_col));
        Self {
            now: unix_time(),
            home: environment.get("HOME").map(PathBuf::from),
            ink: Ink::of(environment, is_terminal),
            columns: columns.filter(|columns| *columns > 0 && is_terminal),
        }
    }

    /// A folder as a person writes it: `~` for their home.
    pub(crate) fn folder(&self, folder: &Path) -> String {
        let below_home = |home: &PathBuf| folder.strip_prefix(home).ok().map(Path::to_owned);
        let home = self
            .home
            .as_ref()
            .filter(|home| home.parent().is_some())
            .and_then(below_home);
        let words = match home {
            Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
            Some(below) => format!("~/{}", below.display()),
            None => folder.display().to_string(),
        };
        one_line(&words)
    }
}

/// Text that only prints, on one line.
pub(crate) fn one_line(text: &str) -> String {
    harmless(text).replace(['\n', '\t'], " ").trim().to_owned()
}

/// Milliseconds since 1970.
pub(crate) fn unix_time() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since
        .ok()
        .and_then(|since| u64::try_from(since.as_millis()).ok())
        .unwrap_or_default()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// Somebody with the home `/home/ada`, a day after the beginning of time.
    pub(crate) fn ada() -> Viewer {
        Viewer {
            now: 24 * 3600 * 1000,
            home: Some("/home/ada".into()),
            ink: Ink::Plain,
            columns: None,
        }
    }

    #[test]
    fn folders_are_told_from_home() {
        let table = [
            ("/home/ada", "~"),
            ("/home/ada/", "~"),
            ("/home/ada/a b", "~/a b"),
            ("/home/adam", "/home/adam"),
            ("/", "/"),
            ("/x\x1b[2J\ny", "/x[2J y"),
        ];
        for (folder, words) in table {
            assert_eq!(ada().folder(Path::new(folder)), words);
        }
        // Everything is below the home of a system without homes.
        let root = Viewer {
            home: Some("/".into()),
            ..ada()
        };
        assert_eq!(root.folder(Path::new("/srv")), "/srv");
    }
}
