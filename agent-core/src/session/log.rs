//! A session's log at work: what happened goes in here first, and from here to the store.
//!
//! In memory are only the events that no store has acknowledged yet, and what is derived from all of them.

use crate::model::Message;
use crate::session::SessionHeader;
use crate::session::event::{Entry, Event, EventKind};
use crate::session::standing::Standing;
use crate::store::{Blob, SessionStore, SessionWriter, StoreError};
use crate::turn::transcript::Transcript;

/// How many events are read from a store at a time.
pub const PAGE: usize = 256;

/// A session's log.
#[derive(Debug)]
pub struct SessionLog {
    header: SessionHeader,
    standing: Standing,
    /// The first of these follows the last one that the store has acknowledged.
    unsaved: Vec<Event>,
    /// What they refer to.
    blobs: Vec<Blob>,
    /// The right to write: from the first save on, or since the log was loaded.
    writer: Option<Box<dyn SessionWriter>>,
    /// What a model is told; read from the store when it is first asked for.
    transcript: Option<Transcript>,
    /// The right to write was given back.
    released: bool,
}

impl SessionLog {
    /// A log without events.
    pub fn new(header: SessionHeader) -> Self {
        Self {
            standing: Standing::new(&header),
            transcript: Some(Transcript::new(&header.model)),
            header,
            unsaved: Vec::new(),
            blobs: Vec::new(),
            writer: None,
            released: false,
        }
    }

    /// A stored log, of which this writer has the right to append.
    pub fn stored(
        header: SessionHeader,
        standing: Standing,
        writer: Box<dyn SessionWriter>,
    ) -> Self {
        Self {
            header,
            standing,
            unsaved: Vec::new(),
            blobs: Vec::new(),
            writer: Some(writer),
            transcript: None,
            released: false,
        }
    }

    /// The header.
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// Where it stands, events that are not stored yet included.
    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Appends to memory; [`SessionLog::save`] makes it durable.
    pub fn append(&mut self, kind: EventKind, at: u64) {
        let event = Event {
            seq: self.standing.events,
            at,
            what: Entry::Known(kind),
        };
        self.standing.note(event.what.known());
        if let Some(transcript) = &mut self.transcript {
            transcript.note(&event);
        }
        self.unsaved.push(event);
    }

    /// Bytes that an event refers to which is appended before the next save.
    pub fn keep(&mut self, blob: Blob) {
        self.blobs.push(blob);
    }

    /// Stores every event that is not stored yet. On an error they stay, and are tried again with the next call.
    pub async fn save(&mut self, store: &dyn SessionStore) -> Result<(), StoreError> {
        if self.unsaved.is_empty() {
            return Ok(());
        }
        let writer = match &mut self.writer {
            Some(writer) => writer,
            // Nobody would give it back.
            None if self.released => {
                return Err(StoreError::Closed {
                    id: self.header.id.clone(),
                });
            }
            none => none.insert(store.writer(&self.header.id).await?),
        };
        writer
            .append(&self.header, &self.unsaved, &self.blobs)
            .await?;
        self.unsaved.clear();
        self.blobs.clear();
        Ok(())
    }

    /// How many events are not stored yet.
    pub fn unsaved(&self) -> usize {
        self.unsaved.len()
    }

    /// How many events are stored.
    pub fn saved(&self) -> u64 {
        self.standing.events - self.unsaved.len() as u64
    }

    /// Gives back the right to write, for good.
    pub async fn release(&mut self) {
        self.released = true;
        if let Some(writer) = self.writer.take() {
            writer.release().await;
        }
    }

    /// What a model is told of it.
    pub async fn messages(&mut self, store: &dyn SessionStore) -> Result<Vec<Message>, StoreError> {
        if self.transcript.is_none() {
            let mut transcript = Transcript::new(&self.header.model);
            let mut next = 0;
            while next < self.saved() {
                for event in self.page(store, next).await? {
                    next = event.seq + 1;
                    transcript.note(&event);
                }
            }
            for event in &self.unsaved {
                transcript.note(event);
            }
            self.transcript = Some(transcript);
        }
        Ok(self
            .transcript
            .as_ref()
            .map(Transcript::messages)
            .unwrap_or_default())
    }

    /// Every event, those not stored yet included.
    pub async fn events(&mut self, store: &dyn SessionStore) -> Result<Vec<Event>, StoreError> {
        let mut events = Vec::new();
        while (events.len() as u64) < self.saved() {
            events.extend(self.page(store, events.len() as u64).await?);
        }
        events.extend_from_slice(&self.unsaved);
        Ok(events)
    }

    /// Stored events from this number on. That there are none, where some were stored, is a fault and no end.
    async fn page(
        &mut self,
        store: &dyn SessionStore,
        from: u64,
    ) -> Result<Vec<Event>, StoreError> {
        let left = usize::try_from(self.saved() - from).unwrap_or(PAGE);
        let page = store.read(&self.header.id, from, PAGE.min(left)).await?;
        if page.is_empty() {
            return Err(StoreError::OutOfOrder {
                id: self.header.id.clone(),
                seq: from,
            });
        }
        Ok(page)
    }
}
