//! What only a SQLite file can suffer.

mod busy;
mod damage;
mod indexed;
mod locks;
mod migration;

use std::collections::BTreeMap;
use std::path::PathBuf;

use agent_core::store::StoreError;
use agent_core::store::sqlite::SqliteStore;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use tempfile::TempDir;

/// A file that a test can reach into.
struct File {
    folder: TempDir,
}

impl File {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self) -> PathBuf {
        self.beside("")
    }

    /// What stands beside the file, under its name and something more.
    fn beside(&self, more: &str) -> PathBuf {
        self.folder.path().join(format!("sessions.sqlite{more}"))
    }

    async fn try_open(&self) -> Result<SqliteStore, StoreError> {
        SqliteStore::open(&self.path()).await
    }

    async fn open(&self) -> SqliteStore {
        self.try_open().await.unwrap()
    }

    /// The file past the store.
    async fn raw(&self) -> SqliteConnection {
        let options = SqliteConnectOptions::new()
            .filename(self.path())
            .create_if_missing(true);
        SqliteConnection::connect_with(&options).await.unwrap()
    }

    /// Does something to the file past the store.
    async fn execute(&self, statement: &str) {
        let mut raw = self.raw().await;
        execute(&mut raw, statement).await;
        raw.close().await.unwrap();
    }

    /// A number of it.
    async fn number(&self, query: &'static str) -> i64 {
        let mut raw = self.raw().await;
        let number = sqlx::query_scalar(query).fetch_one(&mut raw).await.unwrap();
        raw.close().await.unwrap();
        number
    }

    /// Everything in the folder: names and bytes.
    fn everything(&self) -> BTreeMap<String, Vec<u8>> {
        std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .map(|path| {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                (name, std::fs::read(path).unwrap())
            })
            .collect()
    }
}

async fn execute(raw: &mut SqliteConnection, statement: &str) {
    raw.execute(AssertSqlSafe(statement.to_owned()))
        .await
        .unwrap();
}
