//! What is read of one session: its summary, its events, its blobs.

use std::collections::HashMap;

use super::database::{Database, natural, number, size};
use super::fault::{damaged, damaged_event};
use super::rows::{EventRow, rows};
use crate::session::SessionId;
use crate::session::event::{Entry, Event};
use crate::store::{BlobId, Damage, SessionSummary, StoreError};

/// The columns of [`SummaryRow`].
pub(super) const SUMMARY: &str = "id, header, title, archived, config, updated_at, events";

/// A session's row. What may be damaged is no text before it was looked at.
pub(super) type SummaryRow = (String, Vec<u8>, Option<Vec<u8>>, bool, Vec<u8>, i64, i64);

/// A session as its row tells it; what is wrong with a row that tells nothing.
pub(super) fn summary_of(
    row: SummaryRow,
) -> Result<SessionSummary, (SessionId, serde_json::Error)> {
    let (id, header, title, archived, config, updated_at, events) = row;
    let read = serde_json::from_slice(&header)
        .and_then(|header| Ok((header, serde_json::from_slice(&config)?)));
    let (header, config) = read.map_err(|error| (SessionId::from(id), error))?;
    Ok(SessionSummary {
        header,
        title: title.map(|title| String::from_utf8_lossy(&title).into_owned()),
        archived,
        config,
        updated_at: natural(updated_at),
        events: natural(events),
    })
}

/// A damaged row of the table of sessions.
pub(super) fn row_damage(id: &SessionId, error: &serde_json::Error) -> Damage {
    Damage {
        place: format!("the entry of session {id}"),
        at: None,
        reason: error.to_string(),
    }
}

pub(super) async fn summary(
    database: &Database,
    id: &SessionId,
) -> Result<Option<SessionSummary>, StoreError> {
    let row: Option<SummaryRow> = sqlx::query_as(
        "SELECT id, header, title, archived, config, updated_at, events FROM sessions WHERE id = ?",
    )
    .bind(id.as_str())
    .fetch_optional(database.pool())
    .await
    .map_err(|error| database.read_fault(&error))?;
    let summary = row.map(summary_of).transpose();
    summary.map_err(|(id, error)| StoreError::Damaged {
        damage: row_damage(&id, &error),
        id,
    })
}

/// How many events a session has; none without a session.
async fn length(database: &Database, id: &SessionId) -> Result<Option<i64>, StoreError> {
    sqlx::query_scalar("SELECT events FROM sessions WHERE id = ?")
        .bind(id.as_str())
        .fetch_optional(database.pool())
        .await
        .map_err(|error| database.read_fault(&error))
}

pub(super) async fn has(database: &Database, id: &SessionId) -> Result<bool, StoreError> {
    Ok(length(database, id).await?.is_some())
}

pub(super) async fn events(
    database: &Database,
    id: &SessionId,
    from: u64,
    limit: usize,
) -> Result<Vec<Event>, StoreError> {
    let missing = || StoreError::Missing { id: id.clone() };
    // What is appended from now on is not looked at, so that a number that is not there is one that was lost.
    let length = length(database, id).await?.ok_or_else(missing)?;
    let from = number(from);
    let end = from.saturating_add(size(limit)).min(length);
    let rows = rows(database, id.as_str(), from, end)
        .await
        .map_err(|error| database.read_fault(&error))?;

    let mut expected = from;
    let mut events = Vec::with_capacity(rows.len());
    for row in rows {
        let seq = row.0;
        if seq != expected {
            break;
        }
        expected += 1;
        let event = event(row).map_err(|reason| damaged_event(id, natural(seq), &reason))?;
        events.push(event);
    }
    if expected < end {
        if !has(database, id).await? {
            return Err(missing());
        }
        return Err(damaged_event(id, natural(expected), &LOST));
    }
    Ok(events)
}

/// What is said of an event whose row is gone.
pub(super) const LOST: &str = "its row is not there";

/// The event of a row, or what is wrong with it.
pub(super) fn event((seq, at, what): EventRow) -> Result<Event, String> {
    let what = str::from_utf8(&what).map_err(|error| error.to_string())?;
    let what = Entry::from_json(what).map_err(|error| error.to_string())?;
    Ok(Event {
        seq: natural(seq),
        at: natural(at),
        what,
    })
}

pub(super) async fn blob(
    database: &Database,
    id: &SessionId,
    blob: &BlobId,
) -> Result<Option<Vec<u8>>, StoreError> {
    let bytes: Option<Vec<u8>> = sqlx::query_scalar(
        "SELECT bytes FROM blobs JOIN kept_blobs ON kept_blobs.blob = blobs.number
         WHERE blobs.name = ? AND kept_blobs.session_id = ?",
    )
    .bind(blob.as_str())
    .bind(id.as_str())
    .fetch_optional(database.pool())
    .await
    .map_err(|error| database.read_fault(&error))?;
    bytes.map(|bytes| whole(id, blob, bytes)).transpose()
}

/// Several blobs in one question.
pub(super) async fn blobs(
    database: &Database,
    id: &SessionId,
    blobs: &[BlobId],
) -> Result<HashMap<BlobId, Vec<u8>>, StoreError> {
    let names: Vec<&str> = blobs.iter().map(BlobId::as_str).collect();
    let names = serde_json::Value::from(names).to_string();
    let rows: Vec<(String, Vec<u8>)> = sqlx::query_as(
        "SELECT blobs.name, blobs.bytes FROM json_each(?) AS wanted
         JOIN blobs ON blobs.name = wanted.value
         JOIN kept_blobs ON kept_blobs.blob = blobs.number AND kept_blobs.session_id = ?",
    )
    .bind(names)
    .bind(id.as_str())
    .fetch_all(database.pool())
    .await
    .map_err(|error| database.read_fault(&error))?;
    let mut found = HashMap::with_capacity(rows.len());
    for (name, bytes) in rows {
        let wanted = blobs.iter().find(|blob| blob.as_str() == name);
        if let Some(blob) = wanted {
            found.insert(blob.clone(), whole(id, blob, bytes)?);
        }
    }
    Ok(found)
}

/// The bytes of a blob, if they still are what its name says.
fn whole(id: &SessionId, blob: &BlobId, bytes: Vec<u8>) -> Result<Vec<u8>, StoreError> {
    if BlobId::of(&bytes) == *blob {
        return Ok(bytes);
    }
    Err(damaged(
        id,
        &format!("the blob {blob}"),
        &"its bytes are not those that were stored",
    ))
}

/// An error if a session's log is not whole, as far as that is seen without reading it to a person.
pub(super) async fn check(database: &Database, id: &SessionId) -> Result<(), StoreError> {
    let Some(summary) = summary(database, id).await? else {
        return Ok(());
    };
    let (stored, unreadable): (i64, Option<i64>) = sqlx::query_as(
        "SELECT COUNT(*), MIN(seq) FILTER (WHERE json_valid(what) = 0) FROM events WHERE session_id = ?",
    )
    .bind(id.as_str())
    .fetch_one(database.pool())
    .await
    .map_err(|error| database.read_fault(&error))?;
    if let Some(seq) = unreadable {
        return Err(damaged_event(id, natural(seq), &"it is no JSON"));
    }
    if natural(stored) == summary.events {
        return Ok(());
    }
    let first_lost: Option<i64> = sqlx::query_scalar(
        "SELECT place FROM (
             SELECT seq, ROW_NUMBER() OVER (ORDER BY seq) - 1 AS place FROM events WHERE session_id = ?
         ) WHERE seq <> place ORDER BY place LIMIT 1",
    )
    .bind(id.as_str())
    .fetch_optional(database.pool())
    .await
    .map_err(|error| database.read_fault(&error))?;
    Err(damaged_event(
        id,
        first_lost.map_or(natural(stored), natural),
        &LOST,
    ))
}
