//! Reading what is left of a log that is damaged.

use super::connections::Connections;
use super::rows::{SummaryRow, missing_event, read_event, signed, summary_columns};
use crate::session::SessionId;
use crate::store::{Salvage, StoreError};

/// How many events are read at a time.
const BATCH: i64 = 1000;

/// Everything that can be read of a session, and what cannot.
pub(super) async fn salvage(
    connections: &Connections,
    id: &SessionId,
) -> Result<Salvage, StoreError> {
    let rows: Vec<SummaryRow> = connections
        .rows("read", || {
            sqlx::query_as(concat!(
                "SELECT ",
                summary_columns!(),
                " FROM sessions WHERE id = $1"
            ))
            .bind(id.as_str())
        })
        .await?;
    let Some(row) = rows.into_iter().next() else {
        return Err(StoreError::Missing { id: id.clone() });
    };
    let mut salvage = Salvage {
        header: row.header(),
        events: Vec::new(),
        damage: Vec::new(),
    };
    let end = row.events.cast_unsigned();
    salvage.damage.extend(row.read().err());
    let mut next = 0;
    loop {
        let rows: Vec<(i64, i64, String)> = connections
            .rows("read", || {
                sqlx::query_as(
                    "SELECT seq, at, what FROM events
                     WHERE session_id = $1 AND seq >= $2 ORDER BY seq LIMIT $3",
                )
                .bind(id.as_str())
                .bind(signed(next))
                .bind(BATCH)
            })
            .await?;
        let Some((last, ..)) = rows.last() else {
            break;
        };
        let behind = last.cast_unsigned() + 1;
        for (seq, at, what) in rows {
            let seq_found = seq.cast_unsigned();
            salvage.damage.extend((next..seq_found).map(missing_event));
            match read_event(seq, at, &what) {
                Ok(event) => salvage.events.push(event),
                Err(damage) => salvage.damage.push(damage),
            }
            next = seq_found + 1;
        }
        next = behind;
    }
    salvage.damage.extend((next..end).map(missing_event));
    Ok(salvage)
}
