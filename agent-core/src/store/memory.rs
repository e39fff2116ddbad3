//! A store that forgets with the program.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use super::{SessionStore, StoreError};
use crate::session::event::Event;
use crate::session::{SessionHeader, SessionId};

/// Logs in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    sessions: Mutex<HashMap<SessionId, (SessionHeader, Vec<Event>)>>,
}

#[async_trait]
impl SessionStore for MemoryStore {
    async fn append(&self, header: &SessionHeader, events: &[Event]) -> Result<(), StoreError> {
        let Some(first) = events.first() else {
            return Ok(());
        };
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let stored = sessions
            .get(&header.id)
            .map_or(0, |(_, events)| events.len()) as u64;
        if first.seq != stored {
            return Err(StoreError::OutOfOrder {
                id: header.id.clone(),
                seq: first.seq,
            });
        }
        let (_, log) = sessions
            .entry(header.id.clone())
            .or_insert_with(|| (header.clone(), Vec::new()));
        log.extend_from_slice(events);
        Ok(())
    }

    async fn load(
        &self,
        id: &SessionId,
    ) -> Result<Option<(SessionHeader, Vec<Event>)>, StoreError> {
        Ok(self
            .sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(id)
            .cloned())
    }

    async fn has(&self, id: &SessionId) -> Result<bool, StoreError> {
        Ok(self
            .sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains_key(id))
    }
}
