//! What the desktop program finds around itself.

use std::fs;
use std::path::{Path, PathBuf};

use agent_core::Surroundings;
use agent_core::surroundings::{LoginPath, SurroundingsError};
use directories::BaseDirs;

use crate::error::DesktopError;

/// The surroundings of the agent, and what only a window needs beside them.
#[derive(Debug)]
pub(crate) struct Around {
    /// The agent's own.
    pub(crate) agent: Surroundings,
    /// The folder to offer for a new session.
    pub(crate) cwd: PathBuf,
    /// For what may be deleted at any time; it exists.
    pub(crate) cache: PathBuf,
}

impl Around {
    /// Of this process.
    pub(crate) fn of_this_process() -> Result<Self, DesktopError> {
        let base = BaseDirs::new().ok_or(SurroundingsError::NoHome)?;
        let agent = Surroundings::of_this_process()?;
        fs::create_dir_all(&agent.cache_dir).map_err(|fault| DesktopError::Folder {
            folder: agent.cache_dir.clone(),
            fault,
        })?;
        Ok(Self {
            cwd: first_folder(std::env::current_dir().ok(), base.home_dir()),
            cache: agent.cache_dir.clone(),
            agent,
        })
    }
}

/// The login shell's `PATH`, where this program cannot have it: started from a menu and not from a shell in a terminal.
#[cfg(unix)]
pub(crate) fn login_path(agent: &Surroundings) -> Option<LoginPath> {
    use std::io::IsTerminal as _;

    let in_a_terminal = std::io::stdin().is_terminal() || std::io::stderr().is_terminal();
    (!in_a_terminal).then(|| LoginPath::of(agent.environment.clone()))
}

/// There is no login shell.
#[cfg(not(unix))]
pub(crate) fn login_path(_agent: &Surroundings) -> Option<LoginPath> {
    None
}

/// The displays that the environment names, as `DISPLAY=:0`.
#[cfg(target_os = "linux")]
pub(crate) fn displays() -> Vec<String> {
    ["WAYLAND_DISPLAY", "DISPLAY"]
        .into_iter()
        .filter_map(|name| {
            let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
            Some(format!("{name}={value}"))
        })
        .collect()
}

/// The folder that the program was started in; the home folder where that is no choice of the person's: a program
/// started from a menu is in `/`, or in a folder that is gone.
fn first_folder(started_in: Option<PathBuf>, home: &Path) -> PathBuf {
    started_in
        .filter(|folder| folder.parent().is_some())
        .unwrap_or_else(|| home.to_owned())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_start_from_a_menu_offers_the_home_folder() {
        let offered = |started_in: Option<&str>| {
            first_folder(started_in.map(PathBuf::from), Path::new("/home/ada"))
        };
        assert_eq!(
            offered(Some("/home/ada/atlas")),
            Path::new("/home/ada/atlas")
        );
        assert_eq!(offered(Some("/")), Path::new("/home/ada"));
        assert_eq!(offered(None), Path::new("/home/ada"));
    }
}
