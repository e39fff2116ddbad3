//! What can be read of a damaged session: row by row where the file itself is damaged.

use super::database::{Database, natural};
use super::fault::is_corruption;
use super::read::{LOST, SummaryRow, row_damage, summary_of};
use crate::session::SessionId;
use crate::session::event::{Entry, Event};
use crate::store::{Damage, DamagedAt, Salvage, StoreError};

/// How many rows are read at a time while nothing is wrong with them.
const ROWS_AT_ONCE: i64 = 256;

type EventRow = (i64, i64, String);

pub(super) async fn salvage(database: &Database, id: &SessionId) -> Result<Salvage, StoreError> {
    let row: Option<SummaryRow> = sqlx::query_as(
        "SELECT id, header, title, archived, config, updated_at, events FROM sessions WHERE id = ?",
    )
    .bind(id.as_str())
    .fetch_optional(database.pool())
    .await
    .map_err(|error| database.read_fault(&error))?;
    let Some(row) = row else {
        return Err(StoreError::Missing { id: id.clone() });
    };
    let told = row.6;
    let mut salvage = Salvage {
        header: None,
        events: Vec::new(),
        damage: Vec::new(),
    };
    match summary_of(row) {
        Ok(summary) => salvage.header = Some(summary.header),
        Err((id, error)) => salvage.damage.push(row_damage(&id, &error)),
    }
    let end = last(database, id)
        .await
        .map_or(told, |last| told.max(last + 1));
    let mut next = 0;
    while next < end {
        let until = end.min(next + ROWS_AT_ONCE);
        match rows(database, id, next, until).await {
            Ok(rows) => take(&mut salvage, rows, next, until),
            Err(error) if is_corruption(&error) => {
                one_by_one(database, id, next, until, &mut salvage).await?;
            }
            Err(error) => return Err(database.read_fault(&error)),
        }
        next = until;
    }
    Ok(salvage)
}

/// The number of the last row that there is; none if that cannot be found out.
async fn last(database: &Database, id: &SessionId) -> Option<i64> {
    sqlx::query_scalar("SELECT MAX(seq) FROM events WHERE session_id = ?")
        .bind(id.as_str())
        .fetch_one(database.pool())
        .await
        .ok()
        .flatten()
}

async fn rows(
    database: &Database,
    id: &SessionId,
    from: i64,
    until: i64,
) -> Result<Vec<EventRow>, sqlx::Error> {
    sqlx::query_as(
        "SELECT seq, at, what FROM events WHERE session_id = ? AND seq >= ? AND seq < ? ORDER BY seq",
    )
    .bind(id.as_str())
    .bind(from)
    .bind(until)
    .fetch_all(database.pool())
    .await
}

async fn one_by_one(
    database: &Database,
    id: &SessionId,
    from: i64,
    until: i64,
    salvage: &mut Salvage,
) -> Result<(), StoreError> {
    for seq in from..until {
        match rows(database, id, seq, seq + 1).await {
            Ok(rows) => take(salvage, rows, seq, seq + 1),
            Err(error) if is_corruption(&error) => {
                salvage.damage.push(damage(seq, error.to_string()));
            }
            Err(error) => return Err(database.read_fault(&error)),
        }
    }
    Ok(())
}

/// Takes in what of these rows can be read, and what is missing among them.
fn take(salvage: &mut Salvage, rows: Vec<EventRow>, from: i64, until: i64) {
    let mut expected = from;
    for (seq, at, what) in rows {
        for lost in expected..seq {
            salvage.damage.push(damage(lost, LOST.to_owned()));
        }
        expected = seq + 1;
        match Entry::from_json(&what) {
            Ok(what) => salvage.events.push(Event {
                seq: natural(seq),
                at: natural(at),
                what,
            }),
            Err(error) => salvage.damage.push(damage(seq, error.to_string())),
        }
    }
    for lost in expected..until {
        salvage.damage.push(damage(lost, LOST.to_owned()));
    }
}

fn damage(seq: i64, reason: String) -> Damage {
    Damage {
        place: "the table of events".to_owned(),
        at: Some(DamagedAt::Event(natural(seq))),
        reason,
    }
}
