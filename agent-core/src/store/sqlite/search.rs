//! Searching: the index says in which texts all the words are, the texts say where.

use std::ops::Range;

use xterm_rs_bridge::plain_text;

use super::database::{Database, size};
use super::index;
use super::pieces::LONGEST_PHRASE;
use super::read::event;
use super::rows::rows;
use crate::session::SessionId;
use crate::store::search::{self, Query, SNIPPET, Source};
use crate::store::{BlobId, Hit, SearchRequest, StoreError};

/// How many texts are asked for at a time.
const TEXTS_AT_ONCE: usize = 64;

/// A text that holds every phrase: its number, session, event and place in it, then title and folder of the session.
type Place = (i64, String, i64, i64, Option<String>, String);

pub(super) async fn search(
    database: &Database,
    request: &SearchRequest,
) -> Result<Vec<Hit>, StoreError> {
    let wanted = Wanted::of(Query::parse(&request.query)?);
    index::catch_up(database).await?;
    let mut hits = Vec::new();
    let mut before = i64::MAX;
    while hits.len() < request.limit {
        let limit = TEXTS_AT_ONCE.min(request.limit - hits.len());
        let places = places(database, request, &wanted, before, limit).await?;
        let Some((last, ..)) = places.last() else {
            break;
        };
        before = *last;
        for place in places {
            hits.extend(hit(database, &wanted, place).await?);
        }
    }
    Ok(hits)
}

/// A query, and how the index is asked for it.
#[derive(Debug)]
struct Wanted {
    query: Query,
    /// The phrases as FTS5 reads them: words hold no quotes.
    phrases: Vec<String>,
    /// A phrase is longer than what is certainly in one piece: the index knows its beginning only.
    long: bool,
}

impl Wanted {
    fn of(query: Query) -> Self {
        let phrases = query.phrases().iter();
        Self {
            phrases: phrases
                .clone()
                .map(|phrase| {
                    let known = phrase.iter().take(LONGEST_PHRASE);
                    let words: Vec<&str> = known.map(String::as_str).collect();
                    format!("\"{}\"", words.join(" "))
                })
                .collect(),
            long: phrases
                .into_iter()
                .any(|phrase| phrase.len() > LONGEST_PHRASE),
            query,
        }
    }

    fn find(&self, text: &str) -> Option<Range<usize>> {
        if self.long {
            self.query.find(text)
        } else {
            self.query.find_first(text)
        }
    }
}

async fn places(
    database: &Database,
    request: &SearchRequest,
    wanted: &Wanted,
    before: i64,
    limit: usize,
) -> Result<Vec<Place>, StoreError> {
    let cwd = request
        .cwd
        .as_ref()
        .map(|cwd| cwd.to_string_lossy().into_owned());
    sqlx::query_as(
        "SELECT words.rowid, sessions.id, indexed_texts.seq, indexed_texts.nth, sessions.title, sessions.cwd FROM words
         CROSS JOIN indexed_texts ON indexed_texts.text = words.rowid
         CROSS JOIN indexed_sessions ON indexed_sessions.number = indexed_texts.session
         CROSS JOIN sessions ON sessions.id = indexed_sessions.session_id
         WHERE words MATCH ?1 AND words.rowid < ?2 AND (?3 IS NULL OR sessions.id = ?3) AND (?4 IS NULL OR sessions.cwd = ?4)
         ORDER BY words.rowid DESC LIMIT ?5",
    )
    .bind(wanted.phrases.join(" AND "))
    .bind(before)
    .bind(request.session.as_ref().map(SessionId::as_str))
    .bind(cwd)
    .bind(size(limit))
    .fetch_all(database.pool())
    .await
    .map_err(|error| database.read_fault(&error))
}

/// The place in a text; none when the session was deleted in this moment, or is damaged there.
async fn hit(
    database: &Database,
    wanted: &Wanted,
    (number, session, seq, nth, title, cwd): Place,
) -> Result<Option<Hit>, StoreError> {
    let failed = |error| database.read_fault(&error);
    let row = rows(database, &session, seq, seq + 1).await;
    let Some(Ok(event)) = row.map_err(failed)?.pop().map(event) else {
        return Ok(None);
    };
    let texts = event.what.known().map(search::texts).unwrap_or_default();
    let Some(text) = usize::try_from(nth).ok().and_then(|nth| texts.get(nth)) else {
        return Ok(None);
    };
    let found = match &text.source {
        Source::Here(words) => wanted
            .find(words)
            .map(|found| search::surroundings(words, &found)),
        Source::Blob(blob) => in_output(database, wanted, number, blob)
            .await
            .map_err(failed)?,
    };
    Ok(found.map(|(line, snippet)| Hit {
        session: SessionId::from(session),
        title,
        cwd: cwd.into(),
        seq: event.seq,
        at: event.at,
        call_id: text.call_id.map(str::to_owned),
        part: text.part,
        line,
        snippet,
    }))
}

/// Line and snippet in an output.
async fn in_output(
    database: &Database,
    wanted: &Wanted,
    number: i64,
    blob: &BlobId,
) -> Result<Option<(u64, String)>, sqlx::Error> {
    if !wanted.long
        && let Some(found) = in_piece(database, wanted, number, blob).await?
    {
        return Ok(Some(found));
    }
    let Some(bytes) = index::bytes_of(database, blob.as_str()).await? else {
        return Ok(None);
    };
    let plain = plain_text(&String::from_utf8_lossy(&bytes));
    Ok(wanted
        .find(&plain)
        .map(|found| search::surroundings(&plain, &found)))
}

/// The same from the piece that the first phrase is in; none when that piece does not hold all that is shown.
async fn in_piece(
    database: &Database,
    wanted: &Wanted,
    number: i64,
    blob: &BlobId,
) -> Result<Option<(u64, String)>, sqlx::Error> {
    let Some(phrase) = wanted.phrases.first() else {
        return Ok(None);
    };
    // The pieces are asked in turn, and only until one has the phrase.
    let piece: Option<(i64, i64, Option<i64>)> = sqlx::query_as(
        "SELECT source_at, line, (
             SELECT source_at FROM indexed_pieces AS next WHERE next.text = here.text AND next.piece = here.piece + 1
         ) FROM indexed_pieces AS here
         WHERE text = ?1 AND EXISTS (
             SELECT 1 FROM words WHERE words MATCH 'piece_' || here.piece || ' : ' || ?2 AND rowid = ?1
         ) ORDER BY piece LIMIT 1",
    )
    .bind(number)
    .bind(phrase)
    .fetch_optional(database.pool())
    .await?;
    let Some((source_at, line, end)) = piece else {
        return Ok(None);
    };
    let bytes: Option<Vec<u8>> =
        sqlx::query_scalar("SELECT substr(bytes, ?, ?) FROM blobs WHERE name = ?")
            .bind(source_at + 1)
            .bind(end.map_or(i64::MAX, |end| end - source_at))
            .bind(blob.as_str())
            .fetch_optional(database.pool())
            .await?;
    let plain = plain_text(&String::from_utf8_lossy(&bytes.unwrap_or_default()));
    let Some(found) = wanted.find(&plain) else {
        return Ok(None);
    };
    let (before, behind) = (&plain[..found.start], &plain[found.start..]);
    let enough = |text: &mut dyn Iterator<Item = char>| text.take(SNIPPET).count() == SNIPPET;
    if (source_at > 0 && !enough(&mut before.chars().rev()))
        || (end.is_some() && !enough(&mut behind.chars()))
    {
        return Ok(None);
    }
    let (line_here, snippet) = search::surroundings(&plain, &found);
    Ok(Some((
        u64::try_from(line).unwrap_or_default() + line_here - 1,
        snippet,
    )))
}
