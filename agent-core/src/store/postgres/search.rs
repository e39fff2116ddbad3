//! Looking words up: the index says where, the texts themselves say whether.

use std::borrow::Cow;

use xterm_rs_bridge::plain_text;

use super::blob;
use super::connections::Connections;
use super::index::Indexer;
use super::pieces::queries;
use super::rows::{SummaryRow, can_be, storable, summary_columns};
use crate::session::SessionId;
use crate::session::event::Entry;
use crate::store::search::{self, Query, Source};
use crate::store::{Hit, SearchRequest, SessionSummary, StoreError};

/// Texts whose pieces match, of which each names its session, the event and which of its texts it is; the newest session first.
/// A text that is in several pieces may have a phrase in each.
const CANDIDATES: &str = concat!(
    "WITH matching AS (
        SELECT session_id, seq, place
        FROM unnest($1::text[]::tsquery[]) WITH ORDINALITY AS asked (query, number)
        JOIN search_pieces ON words @@ query
        GROUP BY session_id, seq, place HAVING count(DISTINCT number) = cardinality($1)
    )
    SELECT ",
    summary_columns!(),
    ", seq, at, what, place
    FROM matching
    JOIN sessions ON sessions.id = session_id
    JOIN events USING (session_id, seq)
    WHERE ($2::text IS NULL OR sessions.id = $2) AND ($3::text IS NULL OR cwd = $3)
    ORDER BY updated_at DESC, sessions.id DESC, seq DESC, place LIMIT $4 OFFSET $5"
);

/// How many candidates are read at a time: each brings its event.
const BATCH: usize = 64;

#[derive(sqlx::FromRow)]
struct Candidate {
    #[sqlx(flatten)]
    summary: SummaryRow,
    seq: i64,
    at: i64,
    what: String,
    place: i64,
}

/// Where a query occurs.
pub(super) async fn search(
    connections: &Connections,
    indexer: &Indexer,
    request: &SearchRequest,
) -> Result<Vec<Hit>, StoreError> {
    let query = Query::parse(&request.query)?;
    let cwd = match &request.cwd {
        // A folder whose name is no text is no session's.
        Some(cwd) => match cwd.to_str() {
            Some(cwd) => Some(storable(cwd).into_owned()),
            None => return Ok(Vec::new()),
        },
        None => None,
    };
    let session = request.session.as_ref();
    if request.limit == 0 || session.is_some_and(|id| !can_be(id)) {
        return Ok(Vec::new());
    }
    indexer.catch_up(session).await?;
    let asked = queries(&query);
    let mut hits = Vec::new();
    let mut from = 0;
    loop {
        let batch = BATCH.min(request.limit - hits.len());
        let candidates: Vec<Candidate> = connections
            .rows("searched", || {
                sqlx::query_as(CANDIDATES)
                    .bind(&asked)
                    .bind(session.map(SessionId::as_str))
                    .bind(cwd.as_deref())
                    .bind(i64::try_from(batch).unwrap_or(i64::MAX))
                    .bind(from)
            })
            .await?;
        let last = candidates.len() < batch;
        for candidate in candidates {
            from += 1;
            hits.extend(hit(connections, &query, candidate).await?);
        }
        if last || hits.len() >= request.limit {
            return Ok(hits);
        }
    }
}

/// The hit in a text, if it holds what was asked for. None in what cannot be read: whoever reads the log is told.
async fn hit(
    connections: &Connections,
    query: &Query,
    candidate: Candidate,
) -> Result<Option<Hit>, StoreError> {
    let Candidate {
        summary,
        seq,
        at,
        what,
        place,
    } = candidate;
    let Ok(SessionSummary { header, title, .. }) = summary.read() else {
        return Ok(None);
    };
    let Ok(entry) = serde_json::from_str::<Entry>(&what) else {
        return Ok(None);
    };
    let mut texts = entry.known().map(search::texts).unwrap_or_default();
    let Ok(place) = usize::try_from(place) else {
        return Ok(None);
    };
    if place >= texts.len() {
        return Ok(None);
    }
    let text = texts.swap_remove(place);
    let words = match &text.source {
        Source::Here(words) => Cow::Borrowed(*words),
        Source::Blob(name) => match blob(connections, header.id.as_str(), name).await? {
            Some(bytes) => Cow::Owned(plain_text(&String::from_utf8_lossy(&bytes))),
            None => return Ok(None),
        },
    };
    let Some(found) = query.find(&words) else {
        return Ok(None);
    };
    let (line, snippet) = search::surroundings(&words, &found);
    Ok(Some(Hit {
        session: header.id,
        title,
        cwd: header.cwd,
        seq: seq.cast_unsigned(),
        at: at.cast_unsigned(),
        call_id: text.call_id.map(str::to_owned),
        part: text.part,
        line,
        snippet,
    }))
}
