//! Keeps the index up while the program has nothing better to do.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use super::database::Database;
use super::index;

/// How long nothing was appended before the index reads on: a turn at work shares the disk with nobody.
const QUIET: Duration = Duration::from_millis(500);

/// The task that reads on. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Observer(JoinHandle<()>);

impl Observer {
    pub(super) fn new(database: Arc<Database>) -> Self {
        Self(tokio::spawn(watch(database)))
    }

    pub(super) fn stop(&self) {
        self.0.abort();
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn watch(database: Arc<Database>) {
    let mut failed = false;
    loop {
        database.appended().await;
        while tokio::time::timeout(QUIET, database.appended())
            .await
            .is_ok()
        {}
        if let Err(error) = index::catch_up(&database).await {
            // The log is not concerned, and the next search reads on or says why it cannot.
            if !std::mem::replace(&mut failed, true) {
                tracing::warn!(%error, "the search index could not be brought up to date");
            }
        }
    }
}
