//! A store that forgets with the program.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use xterm_rs_bridge::plain_text;

use super::search::{self, Query, Source};
use super::{
    Blob, BlobId, Change, Hit, ListRequest, Salvage, SearchRequest, SessionPage, SessionStore,
    SessionSummary, SessionWriter, StoreError,
};
use crate::session::event::Event;
use crate::session::{SessionHeader, SessionId};

/// Sessions in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    sessions: BTreeMap<SessionId, Stored>,
    /// Sessions that somebody writes to.
    held: BTreeSet<SessionId>,
}

#[derive(Debug, Clone)]
struct Stored {
    summary: SessionSummary,
    events: Vec<Event>,
    blobs: HashMap<BlobId, Blob>,
}

#[derive(Debug)]
struct MemoryWriter {
    shared: Arc<Mutex<Shared>>,
    id: SessionId,
}

impl MemoryStore {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        lock(&self.shared)
    }
}

impl Shared {
    fn session(&self, id: &SessionId) -> Result<&Stored, StoreError> {
        self.sessions
            .get(id)
            .ok_or_else(|| StoreError::Missing { id: id.clone() })
    }
}

#[async_trait]
impl SessionStore for MemoryStore {
    async fn writer(&self, id: &SessionId) -> Result<Box<dyn SessionWriter>, StoreError> {
        id.check()?;
        if !self.shared().held.insert(id.clone()) {
            return Err(StoreError::Held { id: id.clone() });
        }
        Ok(Box::new(MemoryWriter {
            shared: Arc::clone(&self.shared),
            id: id.clone(),
        }))
    }

    async fn summary(&self, id: &SessionId) -> Result<Option<SessionSummary>, StoreError> {
        let shared = self.shared();
        Ok(shared.sessions.get(id).map(|stored| stored.summary.clone()))
    }

    async fn read(
        &self,
        id: &SessionId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        let shared = self.shared();
        let events = &shared.session(id)?.events;
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        Ok(events.iter().skip(from).take(limit).cloned().collect())
    }

    async fn blob(&self, id: &SessionId, blob: &BlobId) -> Result<Option<Vec<u8>>, StoreError> {
        let shared = self.shared();
        let blob = shared.sessions.get(id).and_then(|it| it.blobs.get(blob));
        Ok(blob.map(|blob| blob.bytes().to_owned()))
    }

    async fn list(&self, request: &ListRequest) -> Result<SessionPage, StoreError> {
        let shared = self.shared();
        let mut wanted: Vec<&SessionSummary> = shared
            .sessions
            .values()
            .map(|stored| &stored.summary)
            .filter(|session| request.archived || !session.archived)
            .filter(|session| {
                let cwd = request.cwd.as_ref();
                cwd.is_none_or(|cwd| *cwd == session.header.cwd)
            })
            .filter(|session| {
                let after = request.after.as_ref();
                after.is_none_or(|after| after.precedes(session))
            })
            .collect();
        wanted.sort_by_key(|session| std::cmp::Reverse((session.updated_at, &session.header.id)));
        let limit = request.limit.max(1);
        let more = wanted.len() > limit;
        let sessions: Vec<SessionSummary> = wanted.into_iter().take(limit).cloned().collect();
        let next = sessions.last().filter(|_| more).map(SessionSummary::cursor);
        Ok(SessionPage {
            sessions,
            next,
            damaged: Vec::new(),
        })
    }

    async fn ids(&self, beginning: &str, limit: usize) -> Result<Vec<SessionId>, StoreError> {
        let shared = self.shared();
        let from = SessionId::from(beginning.to_owned());
        Ok(shared
            .sessions
            .range(from..)
            .map(|(id, _)| id)
            .take_while(|id| id.as_str().starts_with(beginning))
            .take(limit)
            .cloned()
            .collect())
    }

    async fn update(&self, id: &SessionId, change: &Change) -> Result<(), StoreError> {
        let mut shared = self.shared();
        let stored = shared.sessions.get_mut(id);
        let stored = stored.ok_or_else(|| StoreError::Missing { id: id.clone() })?;
        stored.summary.change(change);
        Ok(())
    }

    async fn fork(&self, id: &SessionId, header: &SessionHeader) -> Result<(), StoreError> {
        let mut shared = self.shared();
        header.id.check()?;
        let mut copy = shared.session(id)?.clone();
        if shared.sessions.contains_key(&header.id) {
            return Err(StoreError::Exists {
                id: header.id.clone(),
            });
        }
        copy.summary.header = header.clone();
        copy.summary.updated_at = copy.summary.updated_at.max(header.created_at);
        shared.sessions.insert(header.id.clone(), copy);
        Ok(())
    }

    async fn delete(&self, id: &SessionId) -> Result<bool, StoreError> {
        let mut shared = self.shared();
        if shared.held.contains(id) {
            return Err(StoreError::Held { id: id.clone() });
        }
        Ok(shared.sessions.remove(id).is_some())
    }

    async fn search(&self, request: &SearchRequest) -> Result<Vec<Hit>, StoreError> {
        let query = Query::parse(&request.query)?;
        let shared = self.shared();
        let mut hits = Vec::new();
        for (id, stored) in shared.sessions.iter().rev() {
            let header = &stored.summary.header;
            if request.session.as_ref().is_some_and(|wanted| wanted != id)
                || request.cwd.as_ref().is_some_and(|cwd| *cwd != header.cwd)
            {
                continue;
            }
            for event in stored.events.iter().rev() {
                let Some(kind) = event.what.known() else {
                    continue;
                };
                for text in search::texts(kind) {
                    let words = match &text.source {
                        Source::Here(words) => (*words).to_owned(),
                        Source::Blob(blob) => match stored.blobs.get(blob) {
                            Some(blob) => plain_text(&String::from_utf8_lossy(blob.bytes())),
                            None => continue,
                        },
                    };
                    let Some(place) = query.find(&words) else {
                        continue;
                    };
                    let (line, snippet) = search::surroundings(&words, &place);
                    hits.push(Hit {
                        session: id.clone(),
                        title: stored.summary.title.clone(),
                        cwd: header.cwd.clone(),
                        seq: event.seq,
                        at: event.at,
                        call_id: text.call_id.map(str::to_owned),
                        part: text.part,
                        line,
                        snippet,
                    });
                    if hits.len() >= request.limit {
                        return Ok(hits);
                    }
                }
            }
        }
        Ok(hits)
    }

    async fn salvage(&self, id: &SessionId) -> Result<Salvage, StoreError> {
        let shared = self.shared();
        let stored = shared.session(id)?;
        Ok(Salvage {
            header: Some(stored.summary.header.clone()),
            events: stored.events.clone(),
            damage: Vec::new(),
        })
    }
}

#[async_trait]
impl SessionWriter for MemoryWriter {
    async fn append(
        &mut self,
        header: &SessionHeader,
        events: &[Event],
        blobs: &[Blob],
    ) -> Result<(), StoreError> {
        let mut shared = lock(&self.shared);
        let known = shared.sessions.get(&self.id);
        let stored = known.map_or(&[][..], |stored| &stored.events);
        let fresh = events
            .iter()
            .position(|event| event.seq >= stored.len() as u64)
            .unwrap_or(events.len());
        let (again, fresh) = events.split_at(fresh);
        let as_stored = |event: &Event| {
            let at = usize::try_from(event.seq).ok();
            at.and_then(|at| stored.get(at)) == Some(event)
        };
        let follows = |(at, event): (usize, &Event)| event.seq == (stored.len() + at) as u64;
        let wrong = again.iter().find(|event| !as_stored(event)).or_else(|| {
            fresh
                .iter()
                .enumerate()
                .find(|it| !follows(*it))
                .map(|it| it.1)
        });
        if let Some(event) = wrong {
            return Err(StoreError::OutOfOrder {
                id: self.id.clone(),
                seq: event.seq,
            });
        }
        if fresh.is_empty() {
            return Ok(());
        }
        let stored = shared
            .sessions
            .entry(self.id.clone())
            .or_insert_with(|| Stored {
                summary: SessionSummary::new(header.clone()),
                events: Vec::new(),
                blobs: HashMap::new(),
            });
        for event in fresh {
            stored.summary.note(event);
            stored.events.push(event.clone());
        }
        for blob in blobs {
            stored.blobs.insert(blob.id().clone(), blob.clone());
        }
        Ok(())
    }
}

impl Drop for MemoryWriter {
    fn drop(&mut self) {
        lock(&self.shared).held.remove(&self.id);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
