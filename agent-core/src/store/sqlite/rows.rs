//! The rows of events as they stand in the file, whole or damaged.

use super::database::Database;
use super::fault::is_corruption;

/// Number, time and what happened. It is no text before it was looked at.
pub(super) type EventRow = (i64, i64, Vec<u8>);

/// Rows of a session from number `from` on, before number `until`.
pub(super) async fn rows(
    database: &Database,
    session: &str,
    from: i64,
    until: i64,
) -> Result<Vec<EventRow>, sqlx::Error> {
    sqlx::query_as(
        "SELECT seq, at, what FROM events WHERE session_id = ? AND seq >= ? AND seq < ? ORDER BY seq",
    )
    .bind(session)
    .bind(from)
    .bind(until)
    .fetch_all(database.pool())
    .await
}

/// What of some rows can be read, and which cannot, with what the database says of them.
#[derive(Debug, Default)]
pub(super) struct Readable {
    /// In order.
    pub(super) rows: Vec<EventRow>,
    /// In order.
    pub(super) unreadable: Vec<(i64, String)>,
}

/// The same of a file that may be damaged: where a part of it is, row by row.
pub(super) async fn readable_rows(
    database: &Database,
    session: &str,
    from: i64,
    until: i64,
) -> Result<Readable, sqlx::Error> {
    let mut readable = Readable::default();
    match rows(database, session, from, until).await {
        Ok(rows) => readable.rows = rows,
        Err(error) if is_corruption(&error) => {
            for seq in from..until {
                match rows(database, session, seq, seq + 1).await {
                    Ok(rows) => readable.rows.extend(rows),
                    Err(error) if is_corruption(&error) => {
                        readable.unreadable.push((seq, said(&error)));
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Err(error) => return Err(error),
    }
    Ok(readable)
}

/// The rows of a session with these numbers, looked for without the index of numbers, which may be what is damaged.
pub(super) async fn rows_by_place(
    database: &Database,
    session: &str,
    wanted: &[i64],
) -> Result<Vec<EventRow>, sqlx::Error> {
    /// How many places are looked at together.
    const PLACES: i64 = 512;
    let mut found = Vec::new();
    let mut from = 1;
    let end = last_place(database).await?;
    while from <= end && found.len() < wanted.len() {
        let until = from + PLACES;
        match at_places(database, session, from, until).await {
            Ok(rows) => found.extend(rows),
            Err(error) if is_corruption(&error) => {
                for place in from..until {
                    match at_places(database, session, place, place + 1).await {
                        Ok(rows) => found.extend(rows),
                        Err(error) if is_corruption(&error) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(error),
        }
        found.retain(|(seq, ..)| wanted.contains(seq));
        from = until;
    }
    found.sort();
    Ok(found)
}

async fn at_places(
    database: &Database,
    session: &str,
    from: i64,
    until: i64,
) -> Result<Vec<EventRow>, sqlx::Error> {
    sqlx::query_as(
        "SELECT seq, at, what FROM events NOT INDEXED WHERE rowid >= ? AND rowid < ? AND session_id = ?",
    )
    .bind(from)
    .bind(until)
    .bind(session)
    .fetch_all(database.pool())
    .await
}

/// The last place of the table; 0 if that cannot be found out.
async fn last_place(database: &Database) -> Result<i64, sqlx::Error> {
    let last = sqlx::query_scalar("SELECT COALESCE(MAX(rowid), 0) FROM events NOT INDEXED")
        .fetch_one(database.pool())
        .await;
    match last {
        Err(error) if is_corruption(&error) => Ok(0),
        last => last,
    }
}

fn said(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        other => other.to_string(),
    }
}
