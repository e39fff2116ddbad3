//! Why the desktop program cannot run.

use std::path::PathBuf;

/// Why the desktop program did not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum DesktopError {
    /// There is no home folder, so nowhere to keep sessions.
    #[error("no home folder is known: set HOME to a folder of yours, then start again")]
    NoHome,
    /// The program cannot be run again as the supervisor of a command.
    #[error("the path of this program cannot be found out: {0}")]
    OwnPath(#[source] std::io::Error),
    /// `PLACARD_LOG` is not a filter.
    #[error(
        "PLACARD_LOG={filter:?} is no log filter: {fault}. Write for example PLACARD_LOG=debug or PLACARD_LOG=agent_core=trace,warn"
    )]
    LogFilter {
        /// The variable's value.
        filter: String,
        /// What is wrong with it.
        fault: String,
    },
    /// A folder could not be made.
    #[error("cannot make the folder {folder}: {fault}")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        #[source]
        fault: std::io::Error,
    },
    /// The window system refused.
    #[error(
        "the window cannot be opened: {0}. Without a display, `placard serve` shows the same chat in a browser"
    )]
    Window(#[from] tauri::Error),
}
