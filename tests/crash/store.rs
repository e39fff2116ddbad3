//! The ways to keep sessions on a disk.

use std::path::Path;
use std::sync::Arc;

use agent_core::store::sqlite::SqliteStore;
use agent_core::store::{SessionStore, StoreError};

/// A way to keep sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kept {
    Sqlite,
}

impl Kept {
    /// What `config.toml` says.
    pub fn config(self) -> &'static str {
        match self {
            // A title of the model's own comes when it comes.
            Self::Sqlite => "[sessions]\ntitles = \"prompt\"\n",
        }
    }

    /// Opens the store of a data folder.
    pub async fn open(self, data: &Path) -> Result<Arc<dyn SessionStore>, StoreError> {
        match self {
            Self::Sqlite => {
                let store = SqliteStore::open(&data.join("sessions.sqlite")).await?;
                Ok(Arc::new(store))
            }
        }
    }
}
