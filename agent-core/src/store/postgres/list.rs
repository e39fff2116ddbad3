//! Lists: a page from an index, whatever the size of logs.

use std::borrow::Cow;

use super::connections::Connections;
use super::rows::{SummaryRow, signed, storable, summary_columns};
use crate::session::SessionId;
use crate::store::{Damage, ListRequest, SessionPage, StoreError};

/// A page of a list with this condition. Each of them has an index of its own in its very order.
macro_rules! page {
    ($condition:literal) => {
        concat!(
            "SELECT ",
            summary_columns!(),
            " FROM sessions WHERE (updated_at, id) < ($1, $2)",
            $condition,
            " ORDER BY updated_at DESC, id DESC LIMIT $3"
        )
    };
}

const ALL: &str = page!("");
const OPEN: &str = page!(" AND NOT archived");
const OF_FOLDER: &str =
    page!(" AND hashtextextended(cwd, 0) = hashtextextended($4, 0) AND cwd = $4");
const OPEN_OF_FOLDER: &str =
    page!(" AND hashtextextended(cwd, 0) = hashtextextended($4, 0) AND cwd = $4 AND NOT archived");

/// Sessions that no list can show, from the index that holds nothing else.
const DAMAGED: &str = concat!(
    "SELECT ",
    summary_columns!(),
    " FROM sessions WHERE NOT is_summary(id, header, title, config) ORDER BY id"
);

/// A page of sessions.
pub(super) async fn list(
    connections: &Connections,
    request: &ListRequest,
) -> Result<SessionPage, StoreError> {
    let cwd = match &request.cwd {
        // A folder whose name is no text is no session's.
        Some(cwd) => match cwd.to_str() {
            Some(cwd) => Some(storable(cwd)),
            None => return Ok(SessionPage::default()),
        },
        None => None,
    };
    let sql = match (&cwd, request.archived) {
        (None, true) => ALL,
        (None, false) => OPEN,
        (Some(_), true) => OF_FOLDER,
        (Some(_), false) => OPEN_OF_FOLDER,
    };
    let (age, name) = match &request.after {
        Some(after) => (signed(after.updated_at), storable(after.id.as_str())),
        None => (i64::MAX, Cow::Borrowed("\u{10ffff}")),
    };
    let limit = request.limit.max(1);
    let rows: Vec<SummaryRow> = connections
        .rows("read", || {
            let question = sqlx::query_as(sql)
                .bind(age)
                .bind(name.as_ref())
                .bind(signed(limit as u64).saturating_add(1));
            match &cwd {
                Some(cwd) => question.bind(cwd.as_ref()),
                None => question,
            }
        })
        .await?;
    let mut page = SessionPage::default();
    let more = rows.len() > limit;
    for row in rows.into_iter().take(limit) {
        page.next = more.then(|| row.cursor());
        // What cannot be read is told of on the first page.
        page.sessions.extend(row.read().ok());
    }
    if request.after.is_none() {
        page.damaged = damaged(connections).await?;
    }
    Ok(page)
}

async fn damaged(connections: &Connections) -> Result<Vec<Damage>, StoreError> {
    let rows: Vec<SummaryRow> = connections.rows("read", || sqlx::query_as(DAMAGED)).await?;
    // The database is stricter here in nothing; what it cannot read, nobody can.
    Ok(rows
        .into_iter()
        .filter_map(|row| row.read().err())
        .collect())
}

/// Sessions whose id begins so, in the order of their ids.
pub(super) async fn ids(
    connections: &Connections,
    beginning: &str,
    limit: usize,
) -> Result<Vec<SessionId>, StoreError> {
    if beginning.contains('\0') {
        return Ok(Vec::new());
    }
    let end = format!("{beginning}\u{10ffff}");
    let rows: Vec<(String,)> = connections
        .rows("read", || {
            sqlx::query_as(
                "SELECT id FROM sessions WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3",
            )
            .bind(beginning)
            .bind(&end)
            .bind(signed(limit as u64))
        })
        .await?;
    Ok(rows.into_iter().map(|row| SessionId::from(row.0)).collect())
}
