//! What the program finds around itself: environment variables, folders, its own path.
//!
//! Read once in `main` and passed in from there, so that nothing deeper reads or changes the process's state and
//! tests can place a session in folders of their own.

mod login_path;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

pub use login_path::LoginPath;

use crate::platform;

/// A snapshot of environment variables.
///
/// `Debug` shows the names only: values may be secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// The variables of this process.
    pub fn of_this_process() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// The value of `name` where it is set, not empty, and valid UTF-8.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(OsStr::new(name))
            .and_then(|value| value.to_str())
            .filter(|value| !value.is_empty())
    }

    /// These variables with another `PATH`.
    #[must_use]
    pub fn with_path(mut self, path: &str) -> Self {
        self.0.insert("PATH".into(), path.into());
        self
    }

    /// All variables, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(variables: I) -> Self {
        Self(
            variables
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

/// Why a program cannot find out where it is.
#[derive(Debug, thiserror::Error)]
pub enum SurroundingsError {
    /// There is nowhere to keep sessions.
    #[error(
        "no home folder is known: set HOME, or XDG_CONFIG_HOME and XDG_DATA_HOME, and start again"
    )]
    NoHome,
    /// The program cannot be run again as the supervisor of a command.
    #[error("the path of this program cannot be found out: {0}")]
    OwnPath(#[from] std::io::Error),
}

/// Everything outside the program that it depends on.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The environment that the program was started with.
    pub environment: Environment,
    /// Where `config.toml` is: `$XDG_CONFIG_HOME/placard`.
    pub config_dir: PathBuf,
    /// Where sessions are kept: `$XDG_DATA_HOME/placard`.
    pub data_dir: PathBuf,
    /// For what may be deleted at any time: `$XDG_CACHE_HOME/placard`. It need not exist.
    pub cache_dir: PathBuf,
    /// A program that understands the hidden subcommand of the supervisor: this very one.
    pub program: PathBuf,
}

impl Surroundings {
    /// Of this process. For `main` alone.
    pub fn of_this_process() -> Result<Self, SurroundingsError> {
        let folders = directories::BaseDirs::new().ok_or(SurroundingsError::NoHome)?;
        Ok(Self {
            environment: Environment::of_this_process(),
            config_dir: folders.config_dir().join("placard"),
            data_dir: folders.data_dir().join("placard"),
            cache_dir: folders.cache_dir().join("placard"),
            program: platform::own_program()?,
        })
    }
}
