//! A page of sessions, from their rows alone.

use sqlx::QueryBuilder;

use super::database::{Database, number, size};
use super::read::{SUMMARY, SummaryRow, row_damage, summary_of};
use crate::session::SessionId;
use crate::store::{Cursor, Damage, ListRequest, SessionPage, StoreError};

pub(super) async fn list(
    database: &Database,
    request: &ListRequest,
) -> Result<SessionPage, StoreError> {
    let mut page = SessionPage::default();
    if request.after.is_none() {
        page.damaged = unreadable(database).await?;
    }
    let mut query = QueryBuilder::new("SELECT ");
    query
        .push(SUMMARY)
        .push(" FROM sessions WHERE json_valid(header)");
    if let Some(cwd) = &request.cwd {
        // Every stored folder is text, as JSON has no other.
        let Some(cwd) = cwd.to_str() else {
            return Ok(page);
        };
        query.push(" AND cwd = ").push_bind(cwd);
    }
    if !request.archived {
        query.push(" AND archived = 0");
    }
    if let Some(after) = &request.after {
        query.push(" AND (updated_at, id) < (");
        query.push_bind(number(after.updated_at)).push(", ");
        query.push_bind(after.id.as_str()).push(")");
    }
    let limit = request.limit.max(1);
    query.push(" ORDER BY updated_at DESC, id DESC LIMIT ");
    query.push_bind(size(limit.saturating_add(1)));
    let mut rows: Vec<SummaryRow> = query
        .build_query_as()
        .fetch_all(database.pool())
        .await
        .map_err(|error| database.read_fault(&error))?;

    let more = rows.len() > limit;
    rows.truncate(limit);
    page.next = rows.last().filter(|_| more).map(cursor);
    for row in rows {
        match summary_of(row) {
            Ok(summary) => page.sessions.push(summary),
            // What is JSON and none of our headers turns up where it stands.
            Err((id, error)) => page.damaged.push(row_damage(&id, &error)),
        }
    }
    Ok(page)
}

/// Sessions whose id begins so, whatever state they are in; by the index of ids.
pub(super) async fn ids(
    database: &Database,
    beginning: &str,
    limit: usize,
) -> Result<Vec<SessionId>, StoreError> {
    let ids: Vec<String> = sqlx::query_scalar(
        "SELECT id FROM sessions WHERE id >= ?1 AND id < ?1 || char(1114111) ORDER BY id LIMIT ?2",
    )
    .bind(beginning)
    .bind(size(limit))
    .fetch_all(database.pool())
    .await
    .map_err(|error| database.read_fault(&error))?;
    Ok(ids.into_iter().map(SessionId::from).collect())
}

fn cursor(row: &SummaryRow) -> Cursor {
    Cursor {
        updated_at: super::database::natural(row.5),
        id: SessionId::from(row.0.clone()),
    }
}

/// The sessions whose headers are no JSON, wherever they stand.
async fn unreadable(database: &Database) -> Result<Vec<Damage>, StoreError> {
    let rows: Vec<SummaryRow> = sqlx::query_as(
        "SELECT id, header, title, archived, config, updated_at, events FROM sessions
         WHERE json_valid(header) = 0 ORDER BY id",
    )
    .fetch_all(database.pool())
    .await
    .map_err(|error| database.read_fault(&error))?;
    Ok(rows
        .into_iter()
        .filter_map(|row| summary_of(row).err())
        .map(|(id, error)| row_damage(&id, &error))
        .collect())
}
