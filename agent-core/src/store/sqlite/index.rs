//! The index of words: an observer of the logs, brought up to date apart from their writers.
//!
//! What it has read is marked for each session, in the transaction that adds the words. So it can stop anywhere, be behind, or
//! be thrown away, and no log depends on it.

use sqlx::SqliteConnection;

use super::database::Database;
use crate::session::event::Entry;
use crate::store::StoreError;
use crate::store::search::{self, Source};
use xterm_rs_bridge::plain_text;

/// How many events are read at a time.
const EVENTS_AT_ONCE: i64 = 256;

/// How much text goes into one transaction, in bytes, before it is committed: whoever appends waits for it.
const TEXT_AT_ONCE: usize = 2 << 20;

/// How far the times of events are shifted in the numbers of their texts.
const ROOM: i64 = 1 << 21;

/// A session whose log is longer than what was read of it.
#[derive(Debug)]
struct Behind {
    session: String,
    next: i64,
    end: i64,
}

/// A text on its way into the index.
#[derive(Debug)]
struct Found {
    at: i64,
    seq: i64,
    nth: i64,
    words: String,
}

/// Reads what was stored before this call. What cannot be read of a damaged log is passed over.
pub(super) async fn catch_up(database: &Database) -> Result<(), StoreError> {
    forget_deleted(database).await?;
    for mut behind in find_behind(database).await? {
        while behind.next < behind.end {
            behind.next = read_some(database, &behind).await?;
        }
    }
    Ok(())
}

async fn find_behind(database: &Database) -> Result<Vec<Behind>, StoreError> {
    let rows: Vec<(String, i64, i64)> = sqlx::query_as(
        "SELECT sessions.id, COALESCE(indexed_sessions.next, 0), sessions.events
         FROM sessions LEFT JOIN indexed_sessions ON indexed_sessions.session_id = sessions.id
         WHERE sessions.events > COALESCE(indexed_sessions.next, 0)",
    )
    .fetch_all(database.pool())
    .await
    .map_err(|error| database.read_fault(&error))?;
    let behind = rows
        .into_iter()
        .map(|(session, next, end)| Behind { session, next, end });
    Ok(behind.collect())
}

/// Adds the words of some events; the number of the next one.
async fn read_some(database: &Database, behind: &Behind) -> Result<i64, StoreError> {
    let end = behind.end.min(behind.next + EVENTS_AT_ONCE);
    let rows: Vec<(i64, i64, String)> = sqlx::query_as(
        "SELECT seq, at, what FROM events WHERE session_id = ? AND seq >= ? AND seq < ? ORDER BY seq",
    )
    .bind(&behind.session)
    .bind(behind.next)
    .bind(end)
    .fetch_all(database.pool())
    .await
    .map_err(|error| database.read_fault(&error))?;
    let mut found = Vec::new();
    let mut length = 0;
    let mut next = end;
    for (seq, at, what) in rows {
        if length >= TEXT_AT_ONCE {
            next = seq;
            break;
        }
        let Ok(Entry::Known(kind)) = Entry::from_json(&what) else {
            continue;
        };
        for (nth, text) in (0..).zip(search::texts(&kind)) {
            let words = match text.source {
                Source::Here(text) => index_text(text),
                Source::Blob(blob) => match bytes_of(database, blob.as_str()).await? {
                    // Plain text of a megabyte takes a moment.
                    Some(bytes) => tokio::task::spawn_blocking(move || {
                        index_text(&plain_text(&String::from_utf8_lossy(&bytes)))
                    })
                    .await
                    .unwrap_or_default(),
                    None => continue,
                },
            };
            length += words.len();
            found.push(Found {
                at,
                seq,
                nth,
                words,
            });
        }
    }
    let mut write = database.begin("indexed").await?;
    let added = add(write.connection(), behind, next, &found).await;
    added.map_err(|error| write.fault(&error))?;
    write.commit().await?;
    Ok(next)
}

/// The words as they are indexed: lower-case, with a space between.
fn index_text(text: &str) -> String {
    let mut indexed = String::with_capacity(text.len());
    for (_, word) in search::words(text) {
        if !indexed.is_empty() {
            indexed.push(' ');
        }
        if word.is_ascii() {
            indexed.push_str(word);
            let from = indexed.len() - word.len();
            if let Some(added) = indexed.get_mut(from..) {
                added.make_ascii_lowercase();
            }
        } else {
            indexed.push_str(&word.to_lowercase());
        }
    }
    indexed
}

pub(super) async fn bytes_of(
    database: &Database,
    blob: &str,
) -> Result<Option<Vec<u8>>, StoreError> {
    sqlx::query_scalar("SELECT bytes FROM blobs WHERE name = ?")
        .bind(blob)
        .fetch_optional(database.pool())
        .await
        .map_err(|error| database.read_fault(&error))
}

async fn add(
    connection: &mut SqliteConnection,
    behind: &Behind,
    next: i64,
    found: &[Found],
) -> Result<(), sqlx::Error> {
    // Another program may have been faster, or the session may be gone.
    let marked: Option<i64> =
        sqlx::query_scalar("SELECT next FROM indexed_sessions WHERE session_id = ?")
            .bind(&behind.session)
            .fetch_optional(&mut *connection)
            .await?;
    let there: bool = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?)")
        .bind(&behind.session)
        .fetch_one(&mut *connection)
        .await?;
    if !there || marked.unwrap_or_default() != behind.next {
        return Ok(());
    }
    let session: i64 = sqlx::query_scalar(
        "INSERT INTO indexed_sessions (session_id, next) VALUES (?, ?)
         ON CONFLICT (session_id) DO UPDATE SET next = excluded.next RETURNING number",
    )
    .bind(&behind.session)
    .bind(next)
    .fetch_one(&mut *connection)
    .await?;
    for text in found.iter().filter(|text| !text.words.is_empty()) {
        let first = text.at.clamp(0, i64::MAX / ROOM - 1) * ROOM;
        let last: Option<i64> =
            sqlx::query_scalar("SELECT MAX(text) FROM indexed_texts WHERE text >= ? AND text < ?")
                .bind(first)
                .bind(first + ROOM)
                .fetch_one(&mut *connection)
                .await?;
        let number = last.map_or(first, |last| last + 1);
        sqlx::query("INSERT INTO words (rowid, text) VALUES (?, ?)")
            .bind(number)
            .bind(&text.words)
            .execute(&mut *connection)
            .await?;
        sqlx::query("INSERT INTO indexed_texts (text, session, seq, nth) VALUES (?, ?, ?, ?)")
            .bind(number)
            .bind(session)
            .bind(text.seq)
            .bind(text.nth)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Takes out the words of sessions that were deleted.
async fn forget_deleted(database: &Database) -> Result<(), StoreError> {
    let deleted: Vec<i64> =
        sqlx::query_scalar("SELECT number FROM indexed_sessions WHERE session_id IS NULL")
            .fetch_all(database.pool())
            .await
            .map_err(|error| database.read_fault(&error))?;
    for session in deleted {
        let mut write = database.begin("indexed").await?;
        let forgotten = forget(write.connection(), session).await;
        forgotten.map_err(|error| write.fault(&error))?;
        write.commit().await?;
    }
    Ok(())
}

async fn forget(connection: &mut SqliteConnection, session: i64) -> Result<(), sqlx::Error> {
    sqlx::query(
        "DELETE FROM words WHERE rowid IN (SELECT text FROM indexed_texts WHERE session = ?)",
    )
    .bind(session)
    .execute(&mut *connection)
    .await?;
    // Its texts go with it.
    sqlx::query("DELETE FROM indexed_sessions WHERE number = ?")
        .bind(session)
        .execute(&mut *connection)
        .await?;
    Ok(())
}
