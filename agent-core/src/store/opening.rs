//! Which store there is: what `[store]` comes to.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::jsonl::JsonlStore;
use super::postgres::PostgresStore;
use super::postgres::address::ServerAddress;
use super::sqlite::SqliteStore;
use super::{SessionStore, StoreError};
use crate::config::StoreConfig;

/// Where sessions are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorePlace {
    /// In this SQLite file.
    Sqlite(PathBuf),
    /// In plain files in this folder.
    Jsonl(PathBuf),
    /// In this database of a server.
    Postgres(ServerAddress),
}

/// A store as it is found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Somebody has kept sessions in it, or at least opened it.
    pub made: bool,
    /// What a person may want to know of it, a sentence each.
    pub notes: Vec<String>,
}

impl StorePlace {
    /// What the configuration comes to; files are in the data folder.
    pub fn of(config: &StoreConfig, data_dir: &Path) -> Self {
        match config {
            StoreConfig::Sqlite => Self::Sqlite(data_dir.join("sessions.sqlite")),
            StoreConfig::Jsonl => Self::Jsonl(data_dir.join("sessions")),
            StoreConfig::Postgres(address) => Self::Postgres(address.clone()),
        }
    }

    /// Opens the store, made where it is missing and brought to this build's schema where it is older. One of a newer build is
    /// refused and not touched.
    pub async fn open(&self) -> Result<Arc<dyn SessionStore>, StoreError> {
        Ok(match self {
            Self::Sqlite(path) => Arc::new(SqliteStore::open(path).await?),
            Self::Jsonl(folder) => Arc::new(JsonlStore::new(folder)),
            Self::Postgres(address) => Arc::new(PostgresStore::open(address).await?),
        })
    }

    /// Looks whether the store can be opened, and changes nothing.
    pub async fn look(&self) -> Result<Found, StoreError> {
        match self {
            Self::Sqlite(path) => Ok(Found {
                made: SqliteStore::look(path).await?,
                notes: Vec::new(),
            }),
            Self::Jsonl(folder) => Ok(Found {
                made: is_folder(folder)?,
                notes: Vec::new(),
            }),
            Self::Postgres(address) => {
                let (made, notes) = PostgresStore::look(address).await?;
                Ok(Found { made, notes })
            }
        }
    }
}

/// As a person reads it.
impl fmt::Display for StorePlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(formatter, "SQLite, in {}", path.display()),
            Self::Jsonl(folder) => write!(formatter, "JSONL, in {}", folder.display()),
            Self::Postgres(address) => write!(formatter, "PostgreSQL, on {address}"),
        }
    }
}

/// Only what is certainly not there is not.
fn is_folder(folder: &Path) -> Result<bool, StoreError> {
    let fault = |reason: String| StoreError::File {
        path: folder.to_owned(),
        attempted: "opened",
        reason,
    };
    match std::fs::read_dir(folder) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(fault(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_configuration_comes_to_a_place() {
        let address = ServerAddress::parse("postgres://ada:secret@db.example/placard").unwrap();
        let data = Path::new("/data");
        for (config, shown) in [
            (StoreConfig::Sqlite, "SQLite, in /data/sessions.sqlite"),
            (StoreConfig::Jsonl, "JSONL, in /data/sessions"),
            (
                StoreConfig::Postgres(address),
                "PostgreSQL, on db.example (database placard)",
            ),
        ] {
            assert_eq!(StorePlace::of(&config, data).to_string(), shown);
        }
    }

    #[tokio::test]
    async fn files_are_looked_at_and_not_made() {
        let folder = tempfile::tempdir().unwrap();
        for config in [StoreConfig::Sqlite, StoreConfig::Jsonl] {
            let place = StorePlace::of(&config, &folder.path().join("data"));
            assert_eq!(place.look().await.unwrap(), Found::default());
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

        let place = StorePlace::of(&StoreConfig::Sqlite, folder.path());
        place.open().await.unwrap().close().await;
        assert!(place.look().await.unwrap().made);
        std::fs::write(folder.path().join("sessions"), "a file").unwrap();
        let place = StorePlace::of(&StoreConfig::Jsonl, folder.path());
        let error = place.look().await.unwrap_err();
        assert!(matches!(error, StoreError::File { .. }), "{error}");
    }
}
