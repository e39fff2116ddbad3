//! Where the stores under test keep their sessions.

use std::sync::Arc;

use agent_core::store::SessionStore;
use agent_core::store::jsonl::JsonlStore;
use agent_core::store::memory::MemoryStore;
use agent_core::store::postgres::PostgresStore;
use agent_core::store::postgres::address::ServerAddress;
use agent_core::store::sqlite::SqliteStore;
use async_trait::async_trait;
use tempfile::TempDir;
use test_postgres::{Cluster, Database};

/// A place for sessions: empty at first, gone with the test.
#[async_trait]
pub trait Place: Send + Sync {
    /// The store, opened anew: what another program would do, as far as one process can play two.
    async fn open(&self) -> Arc<dyn SessionStore>;
}

/// The memory of this process; who opens it again gets the same store.
pub struct Memory(Arc<MemoryStore>);

impl Memory {
    pub fn new() -> Self {
        Self(Arc::default())
    }
}

#[async_trait]
impl Place for Memory {
    async fn open(&self) -> Arc<dyn SessionStore> {
        Arc::clone(&self.0) as _
    }
}

/// A folder of plain files.
pub struct Jsonl(TempDir);

impl Jsonl {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

#[async_trait]
impl Place for Jsonl {
    async fn open(&self) -> Arc<dyn SessionStore> {
        Arc::new(JsonlStore::new(self.0.path().join("sessions")))
    }
}

/// A SQLite file.
pub struct Sqlite(TempDir);

impl Sqlite {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

#[async_trait]
impl Place for Sqlite {
    async fn open(&self) -> Arc<dyn SessionStore> {
        let path = self.0.path().join("sessions.sqlite");
        Arc::new(SqliteStore::open(&path).await.unwrap())
    }
}

/// A database on a server of this process.
pub struct Postgres(Database<'static>);

impl Postgres {
    pub fn new() -> Self {
        Self(Cluster::shared().database())
    }
}

#[async_trait]
impl Place for Postgres {
    async fn open(&self) -> Arc<dyn SessionStore> {
        let address = ServerAddress::parse(&self.0.url()).unwrap();
        Arc::new(PostgresStore::open(&address).await.unwrap())
    }
}
