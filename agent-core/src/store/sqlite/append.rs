//! The right to append to one session.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::SqliteConnection;

use super::database::{Database, number};
use super::fault::damaged_event;
use super::lock::SessionLock;
use crate::session::event::Event;
use crate::session::{SessionHeader, SessionId};
use crate::store::{Blob, SessionSummary, SessionWriter, StoreError};

/// A session's only writer.
#[derive(Debug)]
pub(super) struct SqliteWriter {
    database: Arc<Database>,
    /// Given back when neither this nor an append under way has it any more.
    lock: Arc<SessionLock>,
    id: SessionId,
}

impl SqliteWriter {
    pub(super) fn new(database: Arc<Database>, lock: SessionLock, id: SessionId) -> Self {
        Self {
            database,
            lock: Arc::new(lock),
            id,
        }
    }
}

#[async_trait]
impl SessionWriter for SqliteWriter {
    async fn append(
        &mut self,
        header: &SessionHeader,
        events: &[Event],
        blobs: &[Blob],
    ) -> Result<(), StoreError> {
        if events.is_empty() {
            return Ok(());
        }
        let append = Append::of(&self.id, header, events, blobs)?;
        let (database, lock) = (Arc::clone(&self.database), Arc::clone(&self.lock));
        // Whoever waits for this may give up; what has begun ends all the same, and the lock is not free before.
        let work = tokio::spawn(async move {
            let stored = append.store(&database).await;
            drop(lock);
            stored
        });
        work.await.unwrap_or_else(|error| {
            Err(self
                .database
                .fault("saved", &sqlx::Error::Io(std::io::Error::other(error))))
        })
    }

    async fn release(self: Box<Self>) {
        // An append that nobody waits for any more holds the turn to write.
        let Self { database, lock, .. } = *self;
        while Arc::strong_count(&lock) > 1 {
            drop(database.turn().await);
            tokio::task::yield_now().await;
        }
    }
}

/// What is to be stored, as it is stored.
#[derive(Debug)]
struct Append {
    header: String,
    /// With the times and the title that the events bring; the number of events comes from the store.
    summary: SessionSummary,
    rows: Vec<Row>,
    blobs: Vec<Blob>,
}

/// An event as it is stored.
#[derive(Debug)]
struct Row {
    seq: u64,
    at: u64,
    what: String,
}

impl Append {
    fn of(
        id: &SessionId,
        header: &SessionHeader,
        events: &[Event],
        blobs: &[Blob],
    ) -> Result<Self, StoreError> {
        let mut header = header.clone();
        header.id = id.clone();
        let first = events.first().map_or(0, |event| event.seq);
        let text = serde_json::to_string(&header);
        let text = text.map_err(|error| damaged_event(id, first, &error))?;
        let mut rows = Vec::with_capacity(events.len());
        for event in events {
            let what = serde_json::to_string(&event.what);
            rows.push(Row {
                seq: event.seq,
                at: event.at,
                what: what.map_err(|error| damaged_event(id, event.seq, &error))?,
            });
        }
        let mut summary = SessionSummary::new(header);
        for event in events {
            summary.note(event);
        }
        Ok(Self {
            header: text,
            summary,
            rows,
            blobs: blobs.to_vec(),
        })
    }

    async fn store(&self, database: &Database) -> Result<(), StoreError> {
        let mut write = database.begin("saved").await?;
        let done = match self.insert(write.connection()).await {
            Ok(done) => done,
            Err(error) => return Err(write.fault(&error)),
        };
        match done {
            Done::Stored => {
                write.commit().await?;
                database.tell_appended();
                Ok(())
            }
            Done::StoredBefore => write.undo().await,
            Done::Wrong(seq) => {
                write.undo().await?;
                Err(StoreError::OutOfOrder {
                    id: self.summary.header.id.clone(),
                    seq,
                })
            }
        }
    }

    /// Stores what is not stored yet. Rows that are there already, word for word, are taken as stored: an append whose answer
    /// was lost is tried again.
    async fn insert(&self, connection: &mut SqliteConnection) -> Result<Done, sqlx::Error> {
        let id = self.summary.header.id.as_str();
        let next: Option<i64> = sqlx::query_scalar("SELECT events FROM sessions WHERE id = ?")
            .bind(id)
            .fetch_optional(&mut *connection)
            .await?;
        let next = next.unwrap_or_default();
        let fresh = self.rows.iter().position(|row| number(row.seq) >= next);
        let (again, fresh) = self.rows.split_at(fresh.unwrap_or(self.rows.len()));
        for row in again {
            let there: Option<(i64, String)> =
                sqlx::query_as("SELECT at, what FROM events WHERE session_id = ? AND seq = ?")
                    .bind(id)
                    .bind(number(row.seq))
                    .fetch_optional(&mut *connection)
                    .await?;
            if there.as_ref().map(|(at, what)| (*at, what)) != Some((number(row.at), &row.what)) {
                return Ok(Done::Wrong(row.seq));
            }
        }
        for (row, expected) in fresh.iter().zip(next..) {
            if number(row.seq) != expected {
                return Ok(Done::Wrong(row.seq));
            }
        }
        let Some(last) = fresh.last() else {
            return Ok(Done::StoredBefore);
        };
        sqlx::query(
            "INSERT INTO sessions (id, cwd, header, created_at, updated_at, title, events) VALUES (?, ?, ?, ?, ?, ?, ?)
             ON CONFLICT (id) DO UPDATE SET
                 updated_at = MAX(updated_at, excluded.updated_at),
                 title = COALESCE(excluded.title, title),
                 events = excluded.events",
        )
        .bind(id)
        .bind(self.summary.header.cwd.to_string_lossy().into_owned())
        .bind(self.header.as_str())
        .bind(number(self.summary.header.created_at))
        .bind(number(self.summary.updated_at))
        .bind(self.summary.title.as_deref())
        .bind(number(last.seq + 1))
        .execute(&mut *connection)
        .await?;
        for row in fresh {
            sqlx::query("INSERT INTO events (session_id, seq, at, what) VALUES (?, ?, ?, ?)")
                .bind(id)
                .bind(number(row.seq))
                .bind(number(row.at))
                .bind(row.what.as_str())
                .execute(&mut *connection)
                .await?;
        }
        for blob in &self.blobs {
            sqlx::query("INSERT INTO blobs (name, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING")
                .bind(blob.id().as_str())
                .bind(blob.bytes())
                .execute(&mut *connection)
                .await?;
            sqlx::query(
                "INSERT INTO kept_blobs (session_id, blob) SELECT ?, number FROM blobs WHERE name = ? ON CONFLICT DO NOTHING",
            )
            .bind(id)
            .bind(blob.id().as_str())
            .execute(&mut *connection)
            .await?;
        }
        Ok(Done::Stored)
    }
}

/// What came of an append.
#[derive(Debug)]
enum Done {
    Stored,
    StoredBefore,
    /// This event does not follow.
    Wrong(u64),
}
