//! The file as the store and its writers share it: many read, one writes.

use std::path::{Path, PathBuf};

use sqlx::pool::PoolConnection;
use sqlx::sqlite::{Sqlite, SqliteConnection, SqlitePool};
use tokio::sync::{Mutex, MutexGuard, Notify};

use super::fault::{BUSY, busy, fault, system_fault};
use super::lock::SessionLock;
use crate::session::SessionId;
use crate::store::StoreError;

/// An open file.
#[derive(Debug)]
pub(super) struct Database {
    path: PathBuf,
    locks: PathBuf,
    pool: SqlitePool,
    /// Whose turn it is to write, in this program. SQLite's own waiting is by chance, this one is in order.
    turn: Mutex<()>,
    /// Fired after an append.
    appended: Notify,
    /// Whose turn it is to bring the index up to date.
    indexing: Mutex<()>,
}

impl Database {
    pub(super) fn new(path: &Path, pool: SqlitePool) -> Self {
        Self {
            path: path.to_owned(),
            locks: path.with_file_name("locks"),
            pool,
            turn: Mutex::new(()),
            appended: Notify::new(),
            indexing: Mutex::new(()),
        }
    }

    /// Waits until nobody of this program writes.
    pub(super) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Resolves after an append.
    pub(super) async fn appended(&self) {
        self.appended.notified().await;
    }

    pub(super) fn tell_appended(&self) {
        self.appended.notify_one();
    }

    /// Waits until nobody of this program reads for the index, and keeps others waiting while the result lives.
    pub(super) async fn indexing(&self) -> MutexGuard<'_, ()> {
        self.indexing.lock().await
    }

    /// For statements that only read.
    pub(super) fn pool(&self) -> &SqlitePool {
        &self.pool
    }

    pub(super) fn fault(&self, attempted: &'static str, error: &sqlx::Error) -> StoreError {
        fault(&self.path, attempted, error)
    }

    pub(super) fn read_fault(&self, error: &sqlx::Error) -> StoreError {
        self.fault("read", error)
    }

    /// The lock of a session; [`StoreError::Held`] while anybody else has it.
    pub(super) async fn lock(&self, id: &SessionId) -> Result<SessionLock, StoreError> {
        let (folder, own) = (self.locks.clone(), id.clone());
        let taken = tokio::task::spawn_blocking(move || SessionLock::try_take(&folder, &own)).await;
        let taken = taken
            .map_err(std::io::Error::other)
            .flatten()
            .map_err(|error| system_fault(&self.locks, "locked", &error))?;
        taken.ok_or_else(|| StoreError::Held { id: id.clone() })
    }

    /// Begins a transaction that reads and then writes.
    pub(super) async fn begin(&self, attempted: &'static str) -> Result<Write<'_>, StoreError> {
        let turn = tokio::time::timeout(BUSY, self.turn.lock()).await;
        let turn = turn.map_err(|_| busy(&self.path, attempted))?;
        let failed = |error| self.fault(attempted, &error);
        let connection = self.pool.acquire().await.map_err(failed)?;
        let mut write = Write {
            database: self,
            attempted,
            connection,
            settled: false,
            _turn: turn,
        };
        sqlx::query("BEGIN IMMEDIATE")
            .execute(write.connection())
            .await
            .map_err(failed)?;
        Ok(write)
    }
}

/// A transaction. Unless it is committed nothing of it is stored.
#[derive(Debug)]
pub(super) struct Write<'d> {
    database: &'d Database,
    attempted: &'static str,
    connection: PoolConnection<Sqlite>,
    settled: bool,
    _turn: MutexGuard<'d, ()>,
}

impl Write<'_> {
    pub(super) fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }

    /// What went wrong in it.
    pub(super) fn fault(&self, error: &sqlx::Error) -> StoreError {
        self.database.fault(self.attempted, error)
    }

    /// Makes it durable.
    pub(super) async fn commit(self) -> Result<(), StoreError> {
        self.settle("COMMIT").await
    }

    /// Stores nothing.
    pub(super) async fn undo(self) -> Result<(), StoreError> {
        self.settle("ROLLBACK").await
    }

    async fn settle(mut self, statement: &'static str) -> Result<(), StoreError> {
        match sqlx::query(statement).execute(self.connection()).await {
            Ok(_) => {
                self.settled = true;
                Ok(())
            }
            Err(error) => Err(self.fault(&error)),
        }
    }
}

impl Drop for Write<'_> {
    fn drop(&mut self) {
        if !self.settled {
            // A full disk can leave a connection inside a transaction that nobody can end; the next one starts afresh.
            self.connection.close_on_drop();
        }
    }
}

/// SQLite's integers are signed. Sequence numbers and times stay far below the limit.
pub(super) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The same of a size in memory.
pub(super) fn size(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A number as it was stored; what was never stored by us counts as 0.
pub(super) fn natural(value: i64) -> u64 {
    u64::try_from(value).unwrap_or_default()
}
