//! Why the desktop program cannot run.

use std::path::PathBuf;

use agent_core::surroundings::SurroundingsError;

/// Why the desktop program did not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum DesktopError {
    /// The program does not know where it is.
    #[error(transparent)]
    Surroundings(#[from] SurroundingsError),
    /// A folder could not be made.
    #[error("cannot make the folder {folder}: {fault}")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        #[source]
        fault: std::io::Error,
    },
    /// There is no display, or none that answers.
    #[error(
        "there is no display to open a window on: {0}. `placard serve` shows the same chat in a browser"
    )]
    NoDisplay(String),
    /// The window system refused.
    #[error(
        "the window cannot be opened: {0}. Without a display, `placard serve` shows the same chat in a browser"
    )]
    Window(#[from] tauri::Error),
}
