//! Searching: the index says in which texts all the words are, the texts say where.

use super::database::{Database, natural};
use super::index;
use super::read::summary;
use crate::session::SessionId;
use crate::session::event::Entry;
use crate::store::search::{self, Query, Source};
use crate::store::{Hit, SearchRequest, StoreError};
use xterm_rs_bridge::plain_text;

/// How many texts are asked for at a time.
const TEXTS_AT_ONCE: i64 = 64;

/// A text that holds every phrase.
type Place = (i64, String, i64, i64);

pub(super) async fn search(
    database: &Database,
    request: &SearchRequest,
) -> Result<Vec<Hit>, StoreError> {
    let query = Query::parse(&request.query)?;
    index::catch_up(database).await?;
    let wanted = matching(&query);
    let mut hits = Vec::new();
    let mut before = i64::MAX;
    while hits.len() < request.limit {
        let places = places(database, request, &wanted, before).await?;
        let Some((last, ..)) = places.last() else {
            break;
        };
        before = *last;
        for (_, session, seq, nth) in places {
            if hits.len() >= request.limit {
                break;
            }
            let session = SessionId::from(session);
            hits.extend(hit(database, &query, &session, seq, nth).await?);
        }
    }
    Ok(hits)
}

/// The phrases as FTS5 reads them. Words hold no quotes.
fn matching(query: &Query) -> String {
    let phrases: Vec<String> = query
        .phrases()
        .iter()
        .map(|phrase| format!("\"{}\"", phrase.join(" ")))
        .collect();
    phrases.join(" AND ")
}

async fn places(
    database: &Database,
    request: &SearchRequest,
    wanted: &str,
    before: i64,
) -> Result<Vec<Place>, StoreError> {
    let cwd = request
        .cwd
        .as_ref()
        .map(|cwd| cwd.to_string_lossy().into_owned());
    sqlx::query_as(
        "SELECT words.rowid, sessions.id, indexed_texts.seq, indexed_texts.nth FROM words
         CROSS JOIN indexed_texts ON indexed_texts.text = words.rowid
         CROSS JOIN indexed_sessions ON indexed_sessions.number = indexed_texts.session
         CROSS JOIN sessions ON sessions.id = indexed_sessions.session_id
         WHERE words MATCH ?1 AND words.rowid < ?2 AND (?3 IS NULL OR sessions.id = ?3) AND (?4 IS NULL OR sessions.cwd = ?4)
         ORDER BY words.rowid DESC LIMIT ?5",
    )
    .bind(wanted)
    .bind(before)
    .bind(request.session.as_ref().map(SessionId::as_str))
    .bind(cwd)
    .bind(TEXTS_AT_ONCE)
    .fetch_all(database.pool())
    .await
    .map_err(|error| database.read_fault(&error))
}

/// The place in a text; none when the session was deleted in this moment.
async fn hit(
    database: &Database,
    query: &Query,
    session: &SessionId,
    seq: i64,
    nth: i64,
) -> Result<Option<Hit>, StoreError> {
    let Some(summary) = summary(database, session).await? else {
        return Ok(None);
    };
    let row: Option<(i64, String)> =
        sqlx::query_as("SELECT at, what FROM events WHERE session_id = ? AND seq = ?")
            .bind(session.as_str())
            .bind(seq)
            .fetch_optional(database.pool())
            .await
            .map_err(|error| database.read_fault(&error))?;
    let Some((at, what)) = row else {
        return Ok(None);
    };
    let Ok(Entry::Known(kind)) = Entry::from_json(&what) else {
        return Ok(None);
    };
    let texts = search::texts(&kind);
    let Some(text) = usize::try_from(nth).ok().and_then(|nth| texts.get(nth)) else {
        return Ok(None);
    };
    let words = match &text.source {
        Source::Here(words) => (*words).to_owned(),
        Source::Blob(blob) => match index::bytes_of(database, blob.as_str()).await? {
            Some(bytes) => plain_text(&String::from_utf8_lossy(&bytes)),
            None => return Ok(None),
        },
    };
    let Some(place) = query.find_first(&words) else {
        return Ok(None);
    };
    let (line, snippet) = search::surroundings(&words, &place);
    Ok(Some(Hit {
        session: session.clone(),
        title: summary.title,
        cwd: summary.header.cwd,
        seq: natural(seq),
        at: natural(at),
        call_id: text.call_id.map(str::to_owned),
        part: text.part,
        line,
        snippet,
    }))
}
