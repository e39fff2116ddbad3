//! What the program finds around itself: environment variables, folders, its own path.
//!
//! Read once in `main` and passed in from there, so that nothing deeper reads or changes the process's state and
//! tests can place a session in folders of their own.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

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

/// Everything outside the program that it depends on.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The environment that the program was started with.
    pub environment: Environment,
    /// Where `config.toml` is: `$XDG_CONFIG_HOME/placard`.
    pub config_dir: PathBuf,
    /// Where sessions are kept: `$XDG_DATA_HOME/placard`.
    pub data_dir: PathBuf,
    /// A program that understands the hidden subcommand of the supervisor: this very one.
    pub program: PathBuf,
}
