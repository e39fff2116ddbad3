//! What a command may do beyond reading: the sandbox that it runs in.
//!
//! A [`Sandbox`] is a plain value. It is worked out in the agent, travels in the order to the supervisor, and the launcher
//! applies it to itself just before it becomes the command: everything that the command starts is in it too, and none
//! of it can leave.

mod bubblewrap;
mod capabilities;
mod denial;
mod enforce;
mod links;
pub mod macos;
mod policy;
mod stored_path;
mod support;
mod worktree;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub(crate) use bubblewrap::arguments as bubblewrap_arguments;
pub use denial::{Denial, Denied, Place as DeniedPlace, denial, denial_by, is_certain_denial};
pub(crate) use enforce::{apply, keep_to_own_processes};
pub use policy::{SandboxConfig, not_there, policy};
use support::INSTALL_BUBBLEWRAP;
pub use support::{Support, can_run, notice};

/// How far a command may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Wherever the person may.
    Off,
    /// In the session's folders, in temporary ones, and in the caches of tools.
    WorkspaceWrite,
    /// Nowhere.
    ReadOnly,
}

impl Level {
    /// As it is written in the configuration: `off`, `workspace-write`, `read-only`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::WorkspaceWrite => "workspace-write",
            Self::ReadOnly => "read-only",
        }
    }
}

/// What keeps a command to its sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// The kernel's own Landlock and seccomp: nothing to install, and nothing between the command and its folders.
    #[default]
    Landlock,
    /// The program `bwrap`: mounts of the command's own, and a network of its own where it shall have none.
    Bubblewrap,
}

/// The sandbox of one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// How far the command may write.
    pub level: Level,
    /// Whether it may use the network.
    pub network: bool,
    /// The files and folders, with all beneath them, that it may write: absolute, without symbolic links, and there when
    /// this was worked out. Nothing of it counts at the level [`Level::Off`].
    #[serde(with = "stored_path::list")]
    pub writable: Vec<PathBuf>,
    /// What enforces it.
    pub engine: Engine,
    /// The program that does it, where one does and was found.
    #[serde(with = "stored_path::perhaps")]
    pub bubblewrap: Option<PathBuf>,
    /// No level was asked for, and this system cannot enforce the usual one: commands run without. The card says so.
    pub given_up: bool,
}

/// Why a command's sandbox could not be put up. The command does not run then.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SandboxError {
    /// The kernel has no Landlock, or it is switched off.
    #[error("this system has no Landlock to enforce `{0}` with")]
    NoLandlock(&'static str),
    /// Landlock refused the rules.
    #[error("Landlock does not take the rules: {0}")]
    Landlock(#[from] landlock::RulesetError),
    /// The filter against the network was refused.
    #[error("the network cannot be cut off: {0}")]
    Seccomp(#[from] seccompiler::Error),
    /// The powers of root could not be given up.
    #[error("the powers of root cannot be given up: {0}")]
    Powers(#[from] rustix::io::Errno),
    /// `bwrap` is asked for and not there.
    #[error("{INSTALL_BUBBLEWRAP}")]
    NoBubblewrap,
    /// `bwrap` did not do it.
    #[error("{program}: {reason}")]
    Bubblewrap {
        /// Who failed.
        program: PathBuf,
        /// Why.
        reason: String,
    },
}
