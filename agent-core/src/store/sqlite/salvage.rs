//! What can be read of a damaged session: row by row where the file itself is damaged.

use super::database::{Database, natural};
use super::read::{LOST, SummaryRow, event, row_damage, summary_of};
use super::rows::{Readable, readable_rows, rows_by_place};
use crate::session::SessionId;
use crate::store::{Damage, DamagedAt, Salvage, StoreError};

/// How many rows are read at a time while nothing is wrong with them.
const ROWS_AT_ONCE: i64 = 256;

pub(super) async fn salvage(database: &Database, id: &SessionId) -> Result<Salvage, StoreError> {
    let failed = |error| database.read_fault(&error);
    let row: Option<SummaryRow> = sqlx::query_as(
        "SELECT id, header, title, archived, config, updated_at, events FROM sessions WHERE id = ?",
    )
    .bind(id.as_str())
    .fetch_optional(database.pool())
    .await
    .map_err(failed)?;
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
        let mut readable = readable_rows(database, id.as_str(), next, until)
            .await
            .map_err(failed)?;
        find_elsewhere(database, id, &mut readable)
            .await
            .map_err(failed)?;
        take(&mut salvage, readable, next, until);
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

/// Rows that their index does not lead to may still be there.
async fn find_elsewhere(
    database: &Database,
    id: &SessionId,
    readable: &mut Readable,
) -> Result<(), sqlx::Error> {
    if readable.unreadable.is_empty() {
        return Ok(());
    }
    let wanted: Vec<i64> = readable.unreadable.iter().map(|(seq, _)| *seq).collect();
    let found = rows_by_place(database, id.as_str(), &wanted).await?;
    let is_found = |seq: i64| found.iter().any(|row| row.0 == seq);
    readable.unreadable.retain(|(seq, _)| !is_found(*seq));
    readable.rows.extend(found);
    readable.rows.sort();
    Ok(())
}

/// Takes in what of the rows in this range can be read, and what is wrong with the others.
fn take(salvage: &mut Salvage, readable: Readable, from: i64, until: i64) {
    let mut rows = readable.rows.into_iter().peekable();
    let mut unreadable = readable.unreadable.into_iter().peekable();
    for seq in from..until {
        let wrong = if let Some((_, reason)) = unreadable.next_if(|(at, _)| *at == seq) {
            Err(reason)
        } else {
            let row = rows.next_if(|(at, ..)| *at == seq);
            row.ok_or_else(|| LOST.to_owned()).and_then(event)
        };
        match wrong {
            Ok(event) => salvage.events.push(event),
            Err(reason) => salvage.damage.push(Damage {
                place: "the table of events".to_owned(),
                at: Some(DamagedAt::Event(natural(seq))),
                reason,
            }),
        }
    }
}
