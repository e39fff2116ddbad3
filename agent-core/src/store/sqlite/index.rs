//! The index of words: an observer of the logs, brought up to date apart from their writers.
//!
//! What it has read is marked for each session, in the transaction that adds the words. So it can stop anywhere, be behind, or
//! be thrown away, and no log depends on it.

use sqlx::{QueryBuilder, SqliteConnection};

use super::database::{Database, size};
use super::fault::is_corruption;
use super::pieces::{self, Piece};
use super::read::event;
use super::rows::readable_rows;
use crate::store::StoreError;
use crate::store::search::{self, Source};

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
    pieces: Vec<Piece>,
}

/// Reads what was stored before this call. What cannot be read of a damaged log is passed over.
pub(super) async fn catch_up(database: &Database) -> Result<(), StoreError> {
    // Two of us would read the same twice.
    let _alone = database.indexing().await;
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

/// Adds the words of some events; where the index stands afterwards.
async fn read_some(database: &Database, behind: &Behind) -> Result<i64, StoreError> {
    let end = behind.end.min(behind.next + EVENTS_AT_ONCE);
    let readable = readable_rows(database, &behind.session, behind.next, end)
        .await
        .map_err(|error| database.read_fault(&error))?;
    let mut found = Vec::new();
    let mut length = 0;
    let mut next = end;
    for row in readable.rows {
        let (seq, at) = (row.0, row.1);
        if length >= TEXT_AT_ONCE {
            next = seq;
            break;
        }
        let Ok(event) = event(row) else {
            continue;
        };
        let Some(kind) = event.what.known() else {
            continue;
        };
        for (nth, text) in (0..).zip(search::texts(kind)) {
            let pieces = match text.source {
                Source::Here(text) => pieces::whole(text),
                Source::Blob(blob) => {
                    let bytes = match bytes_of(database, blob.as_str()).await {
                        Ok(Some(bytes)) => bytes,
                        Ok(None) => continue,
                        Err(error) if is_corruption(&error) => continue,
                        Err(error) => return Err(database.read_fault(&error)),
                    };
                    // Plain text of a megabyte takes a moment.
                    let cut = tokio::task::spawn_blocking(move || pieces::cut(&bytes));
                    cut.await.unwrap_or_default()
                }
            };
            length += pieces.iter().map(|piece| piece.words.len()).sum::<usize>();
            found.push(Found {
                at,
                seq,
                nth,
                pieces,
            });
        }
    }
    let mut write = database.begin("indexed").await?;
    let added = add(write.connection(), behind, next, &found).await;
    let stands = added.map_err(|error| write.fault(&error))?;
    write.commit().await?;
    Ok(stands)
}

pub(super) async fn bytes_of(
    database: &Database,
    blob: &str,
) -> Result<Option<Vec<u8>>, sqlx::Error> {
    sqlx::query_scalar("SELECT bytes FROM blobs WHERE name = ?")
        .bind(blob)
        .fetch_optional(database.pool())
        .await
}

/// Adds texts that were read from where the index stood up to `next`. Where it stands now: elsewhere if another program read as
/// well, at the end if the session is gone.
async fn add(
    connection: &mut SqliteConnection,
    behind: &Behind,
    next: i64,
    found: &[Found],
) -> Result<i64, sqlx::Error> {
    let mark: Option<Option<i64>> = sqlx::query_scalar(
        "SELECT indexed_sessions.next FROM sessions
         LEFT JOIN indexed_sessions ON indexed_sessions.session_id = sessions.id WHERE sessions.id = ?",
    )
    .bind(&behind.session)
    .fetch_optional(&mut *connection)
    .await?;
    let Some(mark) = mark else {
        return Ok(behind.end);
    };
    let mark = mark.unwrap_or_default();
    if mark != behind.next {
        return Ok(mark);
    }
    let session: i64 = sqlx::query_scalar(
        "INSERT INTO indexed_sessions (session_id, next) VALUES (?, ?)
         ON CONFLICT (session_id) DO UPDATE SET next = excluded.next RETURNING number",
    )
    .bind(&behind.session)
    .bind(next)
    .fetch_one(&mut *connection)
    .await?;
    for text in found {
        add_text(connection, session, text).await?;
    }
    Ok(next)
}

async fn add_text(
    connection: &mut SqliteConnection,
    session: i64,
    text: &Found,
) -> Result<(), sqlx::Error> {
    if text.pieces.iter().all(|piece| piece.words.is_empty()) {
        return Ok(());
    }
    let first = text.at.clamp(0, i64::MAX / ROOM - 1) * ROOM;
    let last: Option<i64> =
        sqlx::query_scalar("SELECT MAX(text) FROM indexed_texts WHERE text >= ? AND text < ?")
            .bind(first)
            .bind(first + ROOM)
            .fetch_one(&mut *connection)
            .await?;
    let number = last.map_or(first, |last| last + 1);
    let mut insert = QueryBuilder::new("INSERT INTO words (rowid");
    for column in 0..text.pieces.len() {
        insert.push(", piece_").push(column);
    }
    insert.push(") VALUES (").push_bind(number);
    for piece in &text.pieces {
        insert.push(", ").push_bind(&piece.words);
    }
    insert.push(")").build().execute(&mut *connection).await?;
    sqlx::query("INSERT INTO indexed_texts (text, session, seq, nth) VALUES (?, ?, ?, ?)")
        .bind(number)
        .bind(session)
        .bind(text.seq)
        .bind(text.nth)
        .execute(&mut *connection)
        .await?;
    if text.pieces.len() == 1 {
        return Ok(());
    }
    for (column, piece) in text.pieces.iter().enumerate() {
        sqlx::query(
            "INSERT INTO indexed_pieces (text, piece, source_at, line) VALUES (?, ?, ?, ?)",
        )
        .bind(number)
        .bind(size(column))
        .bind(size(piece.source_at))
        .bind(size(piece.line))
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
