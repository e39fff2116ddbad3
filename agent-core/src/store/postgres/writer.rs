//! Appending: one call of one function of the schema, and so all or nothing.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::connections::Connections;
use super::index::Indexer;
use super::lease::{LEASE, Lease, milliseconds};
use super::rows::{signed, storable};
use crate::session::event::{Event, EventKind};
use crate::session::{SessionHeader, SessionId};
use crate::store::{Blob, SessionWriter, StoreError};

/// The right to append to one session.
#[derive(Debug)]
pub(super) struct PostgresWriter {
    pub(super) connections: Connections,
    pub(super) indexer: Indexer,
    pub(super) id: SessionId,
    pub(super) lease: Lease,
}

/// What the function of the schema says.
type Outcome = (String, Option<i64>);

#[async_trait]
impl SessionWriter for PostgresWriter {
    async fn append(
        &mut self,
        header: &SessionHeader,
        events: &[Event],
        blobs: &[Blob],
    ) -> Result<(), StoreError> {
        if events.is_empty() {
            return Ok(());
        }
        let unwritable = |reason: String| self.connections.refusal("saved", reason);
        let header_text = serde_json::to_string(header).map_err(|error| {
            unwritable(format!("the session's header cannot be written: {error}"))
        })?;
        let cwd = storable(&header.cwd.to_string_lossy()).into_owned();
        let mut whats = Vec::with_capacity(events.len());
        for event in events {
            let what = serde_json::to_string(&event.what);
            whats.push(what.map_err(|error| {
                unwritable(format!("event {} cannot be written: {error}", event.seq))
            })?);
        }
        let seqs: Vec<i64> = events.iter().map(|event| signed(event.seq)).collect();
        let ats: Vec<i64> = events.iter().map(|event| event.at.cast_signed()).collect();
        let titles: Vec<Option<String>> = events.iter().map(title).collect();
        // Each once, and in one order for all, so that no two appends wait for each other.
        let blobs: BTreeMap<&str, &[u8]> = blobs
            .iter()
            .map(|blob| (blob.id().as_str(), blob.bytes()))
            .collect();
        let (blob_ids, blob_bytes): (Vec<&str>, Vec<&[u8]>) = blobs.into_iter().unzip();
        let question = || {
            sqlx::query_as::<_, Outcome>(
                "SELECT outcome, wrong FROM append_events($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
            )
            .bind(self.id.as_str())
            .bind(self.lease.token())
            .bind(milliseconds(LEASE))
            .bind(&cwd)
            .bind(&header_text)
            .bind(header.created_at.cast_signed())
            .bind(&seqs)
            .bind(&ats)
            .bind(&whats)
            .bind(&titles)
            .bind(&blob_ids)
            .bind(&blob_bytes)
        };
        let answer = self.connections.rows("saved", question).await?;
        let id = self.id.clone();
        match answer.into_iter().next() {
            Some((outcome, _)) if outcome == "stored" => {
                self.indexer.note(id);
                Ok(())
            }
            Some((_, Some(wrong))) => {
                let seq = wrong.cast_unsigned();
                Err(StoreError::OutOfOrder { id, seq })
            }
            _ => Err(StoreError::TakenOver { id }),
        }
    }

    async fn release(self: Box<Self>) {
        self.lease.give_back().await;
    }
}

/// The title that an event sets, as a JSON string.
fn title(event: &Event) -> Option<String> {
    match event.what.known() {
        Some(EventKind::Title { title }) => {
            Some(serde_json::Value::from(title.as_str()).to_string())
        }
        _ => None,
    }
}
