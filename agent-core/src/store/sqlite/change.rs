//! What changes a session beside its log: an update, a fork, its end.

use serde_json::{Map, Value};
use sqlx::SqliteConnection;

use super::database::{Database, natural, number};
use super::fault::{damaged, damaged_event};
use super::read;
use crate::session::{SessionHeader, SessionId};
use crate::store::{Change, StoreError};

pub(super) async fn update(
    database: &Database,
    id: &SessionId,
    change: &Change,
) -> Result<(), StoreError> {
    let mut write = database.begin("changed").await?;
    let config: Option<String> = sqlx::query_scalar("SELECT config FROM sessions WHERE id = ?")
        .bind(id.as_str())
        .fetch_optional(write.connection())
        .await
        .map_err(|error| write.fault(&error))?;
    let Some(config) = config else {
        write.undo().await?;
        return Err(StoreError::Missing { id: id.clone() });
    };
    let config = changed(&config, change);
    let config = match config {
        Ok(config) => config,
        Err(error) => {
            write.undo().await?;
            return Err(damaged(id, "the table of sessions", &error));
        }
    };
    sqlx::query(
        "UPDATE sessions SET title = COALESCE(?, title), archived = COALESCE(?, archived), config = ? WHERE id = ?",
    )
    .bind(change.title.as_deref())
    .bind(change.archived)
    .bind(config)
    .bind(id.as_str())
    .execute(write.connection())
    .await
    .map_err(|error| write.fault(&error))?;
    write.commit().await
}

/// The options after a change.
fn changed(config: &str, change: &Change) -> serde_json::Result<String> {
    let mut config: Map<String, Value> = serde_json::from_str(config)?;
    config.extend(change.config.clone());
    serde_json::to_string(&config)
}

pub(super) async fn fork(
    database: &Database,
    id: &SessionId,
    header: &SessionHeader,
) -> Result<(), StoreError> {
    // A damaged log is recovered, not multiplied.
    read::check(database, id).await?;
    let text = serde_json::to_string(header);
    let text = text.map_err(|error| damaged(&header.id, "the new header", &error))?;
    let mut write = database.begin("copied").await?;
    let copied = copy(write.connection(), id, header, &text).await;
    match copied.map_err(|error| write.fault(&error))? {
        Copied::Whole => write.commit().await,
        refused => {
            write.undo().await?;
            Err(match refused {
                Copied::Exists => StoreError::Exists {
                    id: header.id.clone(),
                },
                Copied::Lost(seq) => damaged_event(id, seq, &read::LOST),
                _ => StoreError::Missing { id: id.clone() },
            })
        }
    }
}

/// What came of a copy.
#[derive(Debug)]
enum Copied {
    Whole,
    Missing,
    Exists,
    /// So many events were there, fewer than are told.
    Lost(u64),
}

async fn copy(
    connection: &mut SqliteConnection,
    id: &SessionId,
    header: &SessionHeader,
    text: &str,
) -> Result<Copied, sqlx::Error> {
    let lengths: Vec<(String, i64)> =
        sqlx::query_as("SELECT id, events FROM sessions WHERE id = ? OR id = ?")
            .bind(id.as_str())
            .bind(header.id.as_str())
            .fetch_all(&mut *connection)
            .await?;
    let length = |id: &SessionId| lengths.iter().find(|(it, _)| it == id.as_str());
    let Some((_, length_there)) = length(id) else {
        return Ok(Copied::Missing);
    };
    if length(&header.id).is_some() {
        return Ok(Copied::Exists);
    }
    sqlx::query(
        "INSERT INTO sessions (id, cwd, header, created_at, updated_at, title, archived, config, events)
         SELECT ?, ?, ?, ?, MAX(updated_at, ?), title, archived, config, events FROM sessions WHERE id = ?",
    )
    .bind(header.id.as_str())
    .bind(header.cwd.to_string_lossy().into_owned())
    .bind(text)
    .bind(number(header.created_at))
    .bind(number(header.created_at))
    .bind(id.as_str())
    .execute(&mut *connection)
    .await?;
    let events = sqlx::query(
        "INSERT INTO events (session_id, seq, at, what) SELECT ?, seq, at, what FROM events WHERE session_id = ? ORDER BY seq",
    )
    .bind(header.id.as_str())
    .bind(id.as_str())
    .execute(&mut *connection)
    .await?
    .rows_affected();
    sqlx::query("INSERT INTO kept_blobs (session_id, blob) SELECT ?, blob FROM kept_blobs WHERE session_id = ?")
        .bind(header.id.as_str())
        .bind(id.as_str())
        .execute(&mut *connection)
        .await?;
    Ok(if events == natural(*length_there) {
        Copied::Whole
    } else {
        Copied::Lost(events)
    })
}

pub(super) async fn delete(database: &Database, id: &SessionId) -> Result<bool, StoreError> {
    let _lock = database.lock(id).await?;
    let mut write = database.begin("deleted").await?;
    let removed = remove(write.connection(), id).await;
    let removed = removed.map_err(|error| write.fault(&error))?;
    write.commit().await?;
    Ok(removed)
}

async fn remove(connection: &mut SqliteConnection, id: &SessionId) -> Result<bool, sqlx::Error> {
    let blobs: Vec<i64> = sqlx::query_scalar("SELECT blob FROM kept_blobs WHERE session_id = ?")
        .bind(id.as_str())
        .fetch_all(&mut *connection)
        .await?;
    // Its events go with it, and what it keeps.
    let removed = sqlx::query("DELETE FROM sessions WHERE id = ?")
        .bind(id.as_str())
        .execute(&mut *connection)
        .await?
        .rows_affected();
    for blob in blobs {
        sqlx::query(
            "DELETE FROM blobs WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM kept_blobs WHERE blob = ?1)",
        )
        .bind(blob)
        .execute(&mut *connection)
        .await?;
    }
    sqlx::query("UPDATE indexed_sessions SET session_id = NULL WHERE session_id = ?")
        .bind(id.as_str())
        .execute(&mut *connection)
        .await?;
    Ok(removed > 0)
}
