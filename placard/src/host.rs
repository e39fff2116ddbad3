//! What the program finds around itself, and the hub that `run` and `serve` share.

use std::path::{Path, PathBuf};
use std::time::Duration;

use acp_client::{AgentCommand, AgentSource, Hub, HubSettings, PageAbilities, WireTap};
use agent_core::{Agent, Surroundings};
use tokio::time::timeout;

use crate::arguments::HostArguments;
use crate::error::ProgramError;

/// The agent saves and ends its commands within this; the supervisors of its commands end them in any case.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(2);

/// Ends the agent, within a limit.
pub(crate) async fn shut_down(agent: &Agent) {
    if timeout(SHUTDOWN_LIMIT, agent.shutdown()).await.is_err() {
        tracing::warn!("the agent did not end within {SHUTDOWN_LIMIT:?}");
    }
}

/// An agent behind a hub.
#[derive(Debug)]
pub(crate) struct Host {
    /// The hub.
    pub(crate) hub: Hub,
    /// The folder to work in: absolute.
    pub(crate) cwd: String,
    embedded: Option<Agent>,
}

impl Host {
    /// Starts the agent that the arguments name.
    pub(crate) fn start(
        arguments: &HostArguments,
        surroundings: Surroundings,
        abilities: PageAbilities,
        tap: WireTap,
    ) -> Result<Self, ProgramError> {
        let cwd = folder(arguments.cwd.as_deref())?;
        let spool = spool_folder(&surroundings.cache_dir);
        let (source, embedded) = match &arguments.agent {
            None => {
                let agent = Agent::new(surroundings);
                (embedded(agent.clone()), Some(agent))
            }
            Some(line) => {
                let environment = surroundings
                    .environment
                    .iter()
                    .map(|(name, value)| (name.to_owned(), value.to_owned()));
                (
                    AgentSource::Command(AgentCommand::parse(line, environment, &cwd)?),
                    None,
                )
            }
        };
        let mut settings = HubSettings::new(source, &cwd, spool);
        settings.abilities = abilities;
        settings.tap = tap;
        Ok(Self {
            hub: Hub::start(settings),
            cwd,
            embedded,
        })
    }

    /// The agent, where it is our own.
    pub(crate) fn embedded(&self) -> Option<&Agent> {
        self.embedded.as_ref()
    }

    /// Ends the agent and everything below it.
    pub(crate) async fn shut_down(self) {
        self.hub.shutdown().await;
        if let Some(agent) = &self.embedded {
            shut_down(agent).await;
        }
    }
}

/// The embedded agent, spoken to as an editor would.
fn embedded(agent: Agent) -> AgentSource {
    AgentSource::embedded("Placard", move |stream| {
        let serving = acp_bridge::serve_stream(agent.clone(), stream);
        async move { serving.await.map_err(Into::into) }
    })
}

/// Where nameless files go: on many systems the folder for temporary files is memory. No folder is made for them, so
/// the nearest one that is there serves.
pub(crate) fn spool_folder(cache: &Path) -> PathBuf {
    let takes_files = |folder: &&Path| tempfile::tempfile_in(folder).is_ok();
    cache
        .ancestors()
        .find(takes_files)
        .map_or_else(std::env::temp_dir, Path::to_owned)
}

/// The folder to work in: absolute, there, and with a name that can be told to an agent.
pub(crate) fn folder(given: Option<&Path>) -> Result<String, ProgramError> {
    let folder = match given {
        Some(given) => given_folder(given)?,
        None => std::env::current_dir().map_err(ProgramError::NoCurrentFolder)?,
    };
    folder
        .into_os_string()
        .into_string()
        .map_err(|name| ProgramError::FolderName(name.into()))
}

/// A folder from /, in one form: sessions of a folder are found by the text of its path.
pub(crate) fn absolute(folder: &Path) -> std::io::Result<PathBuf> {
    // Without a slash at its end.
    std::path::absolute(folder).map(|folder| folder.components().collect())
}

fn given_folder(given: &Path) -> Result<PathBuf, ProgramError> {
    let absolute = absolute(given)
        .and_then(|folder| std::fs::metadata(&folder).map(|metadata| (folder, metadata.is_dir())));
    match absolute {
        Ok((folder, true)) => Ok(folder),
        Ok((folder, false)) => Err(ProgramError::NotAFolder(folder)),
        Err(source) => Err(ProgramError::Folder {
            folder: given.to_owned(),
            source,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn no_folder_is_made_for_files_that_nobody_sees() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("cache/placard");
        assert_eq!(spool_folder(&cache), home.path());
        std::fs::create_dir_all(&cache).unwrap();
        assert_eq!(spool_folder(&cache), cache);
        assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_is_none_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        std::fs::write(&file, "").unwrap();
        let missing = home.path().join("missing");
        let outcome = |path: &Path| folder(Some(path)).map_err(|error| error.to_string());
        let name = home.path().to_str().unwrap();
        assert_eq!(outcome(home.path()), Ok(name.to_owned()));
        assert_eq!(outcome(&home.path().join("./")), Ok(name.to_owned()));
        assert_eq!(
            outcome(&file),
            Err(format!("--cwd {} is not a folder", file.display()))
        );
        assert_eq!(
            outcome(&missing),
            Err(format!(
                "--cwd {}: No such file or directory (os error 2)",
                missing.display()
            ))
        );
    }

    #[test]
    fn a_folder_whose_name_no_agent_can_be_told_is_refused() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let home = tempfile::tempdir().unwrap();
        let latin = home.path().join(OsStr::from_bytes(b"caf\xe9"));
        std::fs::create_dir(&latin).unwrap();
        let shown = format!("{}/caf\u{fffd}", home.path().display());
        assert_eq!(
            folder(Some(&latin)).map_err(|error| error.to_string()),
            Err(format!(
                "the folder {shown} has a name that is not UTF-8, and agents are told of folders in UTF-8 only. \
                 Rename it, or give another folder with --cwd"
            ))
        );
    }
}
