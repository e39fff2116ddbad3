//! A search reads the logs, newest first.

use std::collections::VecDeque;
use std::io::ErrorKind;

use xterm_rs_bridge::plain_text;

use super::durable;
use super::facts::unreadable;
use super::lines::{LogReader, Unreadable};
use super::names::Names;
use super::{Shared, blobs, reading};
use crate::session::event::Event;
use crate::store::search::{self, Query, Source};
use crate::store::{Hit, SearchRequest, SessionSummary, StoreError};

/// Looks through all sessions that are asked for.
///
/// A damaged session does not keep what is in the others from being found, nor what can still be read of itself.
pub(super) fn search(shared: &Shared, request: &SearchRequest) -> Result<Vec<Hit>, StoreError> {
    let query = Query::parse(&request.query)?;
    let mut hits = Vec::new();
    for session in sessions(shared, request)? {
        let mut search = SessionSearch {
            names: &shared.names,
            session: &session,
            query: &query,
            room: request.limit.saturating_sub(hits.len()),
            hits: VecDeque::new(),
        };
        if search.room == 0 {
            break;
        }
        search.run()?;
        hits.extend(search.hits);
    }
    Ok(hits)
}

/// The sessions to look through, newest first.
fn sessions(shared: &Shared, request: &SearchRequest) -> Result<Vec<SessionSummary>, StoreError> {
    let mut found = match &request.session {
        Some(id) => shared.summary(id)?.into_iter().collect(),
        None => shared.summaries()?,
    };
    if let Some(cwd) = &request.cwd {
        found.retain(|session| session.header.cwd == *cwd);
    }
    found.sort_by(|a, b| (b.updated_at, &b.header.id).cmp(&(a.updated_at, &a.header.id)));
    Ok(found)
}

/// The search of one session.
struct SessionSearch<'s> {
    names: &'s Names,
    session: &'s SessionSummary,
    query: &'s Query,
    /// So many hits are kept: the newest ones.
    room: usize,
    /// The newest first.
    hits: VecDeque<Hit>,
}

impl SessionSearch<'_> {
    fn run(&mut self) -> Result<(), StoreError> {
        let id = &self.session.header.id;
        let path = self.names.log(id);
        let begin = || LogReader::begin(durable::open(&path)?.0, id);
        let mut reader = match begin() {
            Ok((_, reader)) => reader,
            // It was deleted since the search began.
            Err(Unreadable::Io(error)) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(why) => return Err(unreadable(&path, id, why)),
        };
        loop {
            match reader.event() {
                Ok(Some(event)) => self.look_at(&event)?,
                Ok(None) => return Ok(()),
                Err(Unreadable::Damaged { line, reason }) => {
                    tracing::warn!(session = %id, line, reason, "a damaged session is searched as far as it can be read");
                    self.hits.clear();
                    let events = reading::salvage(self.names, id)?.events;
                    return events.iter().try_for_each(|event| self.look_at(event));
                }
                Err(why) => return Err(unreadable(&path, id, why)),
            }
        }
    }

    fn look_at(&mut self, event: &Event) -> Result<(), StoreError> {
        let SessionSummary { header, title, .. } = self.session;
        let texts = event.what.known().map(search::texts).unwrap_or_default();
        for text in texts.into_iter().rev() {
            let words = match &text.source {
                Source::Here(words) => (*words).to_owned(),
                Source::Blob(blob) => match blobs::read(self.names, &header.id, blob) {
                    Ok(Some(bytes)) => plain_text(&String::from_utf8_lossy(&bytes)),
                    Ok(None) => continue,
                    Err(error @ StoreError::Damaged { .. }) => {
                        tracing::warn!(session = %header.id, %error, "an output is not searched");
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            };
            let Some(place) = self.query.find(&words) else {
                continue;
            };
            let (line, snippet) = search::surroundings(&words, &place);
            self.hits.push_front(Hit {
                session: header.id.clone(),
                title: title.clone(),
                cwd: header.cwd.clone(),
                seq: event.seq,
                at: event.at,
                call_id: text.call_id.map(str::to_owned),
                part: text.part,
                line,
                snippet,
            });
        }
        self.hits.truncate(self.room);
        Ok(())
    }
}
