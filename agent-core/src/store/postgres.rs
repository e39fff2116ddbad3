//! The store of many machines: a PostgreSQL server.
//!
//! Each thing that is asked of the store is one statement, mostly a call of one of our functions in `migrations/postgres`: one
//! transaction, one round trip, and no lock is held while a client thinks or is away. Whatever is asked may be asked twice, so
//! where a connection is lost, the question is put again on a new one, once.

pub mod address;
mod connections;
mod fault;
mod index;
mod lease;
mod list;
mod pieces;
mod rows;
mod salvage;
mod schema;
mod search;
mod writer;

use std::collections::HashMap;

use async_trait::async_trait;
use serde_json::Value;

use self::address::ServerAddress;
use self::connections::Connections;
use self::index::Indexer;
use self::lease::Leases;
use self::rows::{
    SummaryRow, can_be, damaged_log, missing_event, read_config, read_event, signed, storable,
    summary_columns,
};
use self::writer::PostgresWriter;
use super::{
    BlobId, Change, Damage, Hit, ListRequest, Salvage, SearchRequest, SessionPage, SessionStore,
    SessionSummary, SessionWriter, StoreError,
};
use crate::session::event::Event;
use crate::session::{SessionHeader, SessionId};

/// Sessions on a PostgreSQL server, which programs on many machines may share.
#[derive(Debug)]
pub struct PostgresStore {
    connections: Connections,
    leases: Leases,
    indexer: Indexer,
}

impl PostgresStore {
    /// Opens the database at this address and brings it to this build's schema. One of a newer build is refused and not
    /// touched.
    pub async fn open(address: &ServerAddress) -> Result<Self, StoreError> {
        let connections = Connections::new(address)?;
        schema::prepare(&connections).await?;
        Ok(Self {
            leases: Leases::new(connections.clone()),
            indexer: Indexer::new(connections.clone()),
            connections,
        })
    }

    /// Whether the database holds a store, and what a person may want to know of the server. Looks and changes nothing; an error
    /// where [`open`](Self::open) would find one, too.
    pub async fn look(address: &ServerAddress) -> Result<(bool, Vec<String>), StoreError> {
        schema::look(&Connections::new(address)?).await
    }

    /// Whether the log of a session has all its events.
    async fn check(&self, id: &SessionId) -> Result<(), StoreError> {
        let rows: Vec<(i64, i64)> = self
            .connections
            .rows("read", || {
                sqlx::query_as(
                    "SELECT events, (SELECT count(*) FROM events WHERE session_id = id AND seq < sessions.events)
                     FROM sessions WHERE id = $1",
                )
                .bind(id.as_str())
            })
            .await?;
        match rows.first() {
            Some((said, there)) if said != there => Err(damaged_log(id, *said, *there)),
            _ => Ok(()),
        }
    }

    async fn is_there(&self, id: &SessionId) -> Result<bool, StoreError> {
        if !can_be(id) {
            return Ok(false);
        }
        let rows: Vec<(i32,)> = self
            .connections
            .rows("read", || {
                sqlx::query_as("SELECT 1 FROM sessions WHERE id = $1").bind(id.as_str())
            })
            .await?;
        Ok(!rows.is_empty())
    }
}

fn missing(id: &SessionId) -> StoreError {
    StoreError::Missing { id: id.clone() }
}

fn damaged(id: &SessionId, damage: Damage) -> StoreError {
    StoreError::Damaged {
        id: id.clone(),
        damage,
    }
}

/// Bytes that are what their name says.
fn whole(id: &SessionId, name: &BlobId, bytes: Vec<u8>) -> Result<Vec<u8>, StoreError> {
    if BlobId::of(&bytes) == *name {
        return Ok(bytes);
    }
    let damage = Damage {
        place: format!("the blob {name}"),
        at: None,
        reason: "it does not hold the bytes that it is named by".to_owned(),
    };
    Err(damaged(id, damage))
}

/// The bytes that a session's events refer to, as they are stored.
async fn blob(
    connections: &Connections,
    id: &str,
    name: &BlobId,
) -> Result<Option<Vec<u8>>, StoreError> {
    let rows: Vec<(Vec<u8>,)> = connections
        .rows("read", || {
            sqlx::query_as(
                "SELECT bytes FROM blobs JOIN blob_refs ON blob_id = blobs.id WHERE session_id = $1 AND blobs.id = $2",
            )
            .bind(id)
            .bind(name.as_str())
        })
        .await?;
    Ok(rows.into_iter().next().map(|row| row.0))
}

#[async_trait]
impl SessionStore for PostgresStore {
    async fn writer(&self, id: &SessionId) -> Result<Box<dyn SessionWriter>, StoreError> {
        id.check()?;
        let lease = self.leases.take(id, "saved").await?;
        self.check(id).await?;
        Ok(Box::new(PostgresWriter {
            connections: self.connections.clone(),
            indexer: self.indexer.clone(),
            id: id.clone(),
            lease,
        }))
    }

    async fn summary(&self, id: &SessionId) -> Result<Option<SessionSummary>, StoreError> {
        if !can_be(id) {
            return Ok(None);
        }
        let rows: Vec<SummaryRow> = self
            .connections
            .rows("read", || {
                sqlx::query_as(concat!(
                    "SELECT ",
                    summary_columns!(),
                    " FROM sessions WHERE id = $1"
                ))
                .bind(id.as_str())
            })
            .await?;
        let row = rows.into_iter().next();
        row.map(SummaryRow::read)
            .transpose()
            .map_err(|damage| damaged(id, damage))
    }

    async fn read(
        &self,
        id: &SessionId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        if !can_be(id) {
            return Err(missing(id));
        }
        // The number of events comes along, so that a row that is not there is missed.
        let rows: Vec<(i64, Option<i64>, Option<i64>, Option<String>)> = self
            .connections
            .rows("read", || {
                sqlx::query_as(
                    "SELECT sessions.events, page.seq, page.at, page.what
                     FROM sessions LEFT JOIN LATERAL (
                         SELECT seq, at, what FROM events
                         WHERE session_id = sessions.id AND seq >= $2 AND seq < sessions.events
                         ORDER BY seq LIMIT $3
                     ) AS page ON true
                     WHERE sessions.id = $1 ORDER BY page.seq",
                )
                .bind(id.as_str())
                .bind(signed(from))
                .bind(signed(limit as u64))
            })
            .await?;
        let end = rows.first().ok_or_else(|| missing(id))?.0.cast_unsigned();
        let expected = end.saturating_sub(from).min(limit as u64);
        let found = rows
            .into_iter()
            .filter_map(|(_, seq, at, what)| Some((seq?, at?, what?)));
        let mut events = Vec::new();
        for ((seq, at, what), place) in found.zip(from..) {
            if seq.cast_unsigned() != place {
                return Err(damaged(id, missing_event(place)));
            }
            events.push(read_event(seq, at, &what).map_err(|damage| damaged(id, damage))?);
        }
        if (events.len() as u64) < expected {
            let place = from + events.len() as u64;
            return Err(damaged(id, missing_event(place)));
        }
        Ok(events)
    }

    async fn blob(&self, id: &SessionId, name: &BlobId) -> Result<Option<Vec<u8>>, StoreError> {
        if !can_be(id) {
            return Ok(None);
        }
        let bytes = blob(&self.connections, id.as_str(), name).await?;
        bytes.map(|bytes| whole(id, name, bytes)).transpose()
    }

    async fn blobs(
        &self,
        id: &SessionId,
        names: &[BlobId],
    ) -> Result<HashMap<BlobId, Vec<u8>>, StoreError> {
        if !can_be(id) {
            return Ok(HashMap::new());
        }
        let asked: Vec<&str> = names.iter().map(BlobId::as_str).collect();
        let rows: Vec<(String, Vec<u8>)> = self
            .connections
            .rows("read", || {
                sqlx::query_as(
                    "SELECT blobs.id, bytes FROM blobs JOIN blob_refs ON blob_id = blobs.id
                     WHERE session_id = $1 AND blobs.id = ANY ($2)",
                )
                .bind(id.as_str())
                .bind(&asked)
            })
            .await?;
        let mut found: HashMap<String, Vec<u8>> = rows.into_iter().collect();
        names
            .iter()
            .filter_map(|name| Some((name, found.remove(name.as_str())?)))
            .map(|(name, bytes)| Ok((name.clone(), whole(id, name, bytes)?)))
            .collect()
    }

    async fn list(&self, request: &ListRequest) -> Result<SessionPage, StoreError> {
        list::list(&self.connections, request).await
    }

    async fn ids(&self, beginning: &str, limit: usize) -> Result<Vec<SessionId>, StoreError> {
        list::ids(&self.connections, beginning, limit).await
    }

    async fn update(&self, id: &SessionId, change: &Change) -> Result<(), StoreError> {
        if !can_be(id) {
            return Err(missing(id));
        }
        let title = change
            .title
            .as_deref()
            .map(|title| Value::from(title).to_string());
        loop {
            // Options are put in here and not by the database, which would reorder them; so it is done again when somebody
            // else was faster.
            let rows: Vec<(String,)> = self
                .connections
                .rows("saved", || {
                    sqlx::query_as("SELECT config FROM sessions WHERE id = $1").bind(id.as_str())
                })
                .await?;
            let (old,) = rows.into_iter().next().ok_or_else(|| missing(id))?;
            let mut config =
                read_config(id.as_str(), &old).map_err(|damage| damaged(id, damage))?;
            config.extend(change.config.clone());
            let new = Value::Object(config).to_string();
            let done: Vec<(String,)> = self
                .connections
                .rows("saved", || {
                    sqlx::query_as(
                        "UPDATE sessions SET title = coalesce($3, title), archived = coalesce($4, archived), config = $5
                         WHERE id = $1 AND config = $2 RETURNING id",
                    )
                    .bind(id.as_str())
                    .bind(&old)
                    .bind(&title)
                    .bind(change.archived)
                    .bind(&new)
                })
                .await?;
            if !done.is_empty() {
                return Ok(());
            }
        }
    }

    async fn fork(&self, id: &SessionId, header: &SessionHeader) -> Result<(), StoreError> {
        if !can_be(id) {
            return Err(missing(id));
        }
        header.id.check()?;
        let text = serde_json::to_string(header).map_err(|error| {
            let reason = format!("the session's header cannot be written: {error}");
            self.connections.refusal("copied", reason)
        })?;
        let cwd = header.cwd.to_string_lossy();
        let rows: Vec<(String,)> = self
            .connections
            .rows_again("copied", |again| {
                sqlx::query_as("SELECT fork_session($1, $2, $3, $4, $5, $6)")
                    .bind(id.as_str())
                    .bind(header.id.as_str())
                    .bind(storable(&cwd).into_owned())
                    .bind(&text)
                    .bind(header.created_at.cast_signed())
                    .bind(again)
            })
            .await?;
        match rows.first().map(|row| row.0.as_str()) {
            Some("stored") => {
                self.indexer.note(header.id.clone());
                Ok(())
            }
            Some("exists") => Err(StoreError::Exists {
                id: header.id.clone(),
            }),
            Some("damaged") => match self.check(id).await {
                Ok(()) => Err(missing(id)),
                Err(damaged) => Err(damaged),
            },
            _ => Err(missing(id)),
        }
    }

    async fn delete(&self, id: &SessionId) -> Result<bool, StoreError> {
        if !self.is_there(id).await? {
            return Ok(false);
        }
        let lease = self.leases.take(id, "deleted").await?;
        let rows: Vec<(Option<bool>,)> = self
            .connections
            .rows("deleted", || {
                sqlx::query_as("SELECT delete_session($1, $2)")
                    .bind(id.as_str())
                    .bind(lease.token())
            })
            .await?;
        lease.give_back().await;
        match rows.first() {
            Some((Some(was_there),)) => Ok(*was_there),
            // Another one has the right to write by now; or the first answer was lost, and it is gone as it should be.
            _ if self.is_there(id).await? => Err(StoreError::TakenOver { id: id.clone() }),
            _ => Ok(true),
        }
    }

    async fn search(&self, request: &SearchRequest) -> Result<Vec<Hit>, StoreError> {
        search::search(&self.connections, &self.indexer, request).await
    }

    async fn salvage(&self, id: &SessionId) -> Result<Salvage, StoreError> {
        if !can_be(id) {
            return Err(missing(id));
        }
        salvage::salvage(&self.connections, id).await
    }

    /// Gives back the right to write to every session.
    async fn close(&self) {
        self.leases.close().await;
        self.connections.close().await;
    }
}
