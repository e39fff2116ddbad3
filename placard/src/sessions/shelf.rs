//! Where the sessions of this person are.

use std::sync::Arc;

use agent_core::Agent;
use agent_core::store::memory::MemoryStore;
use agent_core::store::{SessionStore, StoreError};

/// The store, for whoever only asks: where none was made yet there are no sessions, and none is made.
pub(crate) async fn stored(agent: &Agent) -> Result<Arc<dyn SessionStore>, StoreError> {
    let made = agent.store_if_made().await?;
    Ok(made.unwrap_or_else(|| Arc::new(MemoryStore::default())))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use agent_core::session::event::{Entry, Event, EventKind, Trigger, TurnEndReason};
    use agent_core::session::{SessionHeader, SessionId};
    use agent_core::store::Blob;
    use agent_core::{Environment, Surroundings};
    use pretty_assertions::assert_eq;

    use super::*;

    /// Some sessions in memory.
    pub(crate) struct Shelf {
        pub(crate) store: MemoryStore,
    }

    /// A minute, in milliseconds.
    pub(crate) const MINUTE: u64 = 60_000;

    impl Shelf {
        /// One session after the other, each a minute later, all in `/home/ada/work`.
        pub(crate) async fn with(sessions: &[(&str, Vec<EventKind>)]) -> Self {
            let shelf = Self {
                store: MemoryStore::default(),
            };
            for (at, (id, log)) in (1..).zip(sessions) {
                shelf.put(id, at * MINUTE, log.clone(), &[]).await;
            }
            shelf
        }

        /// One more, begun at this time: its events are one second apart.
        pub(crate) async fn put(&self, id: &str, at: u64, log: Vec<EventKind>, blobs: &[Blob]) {
            let header = header(id, at);
            let mut writer = self.store.writer(&header.id).await.unwrap();
            let events = events(at, log);
            writer.append(&header, &events, blobs).await.unwrap();
        }
    }

    pub(crate) fn id(id: &str) -> SessionId {
        SessionId::from(id.to_owned())
    }

    pub(crate) fn header(name: &str, created_at: u64) -> SessionHeader {
        SessionHeader {
            id: id(name),
            cwd: "/home/ada/work".into(),
            additional_directories: Vec::new(),
            created_at,
            program_version: "0.1.0".into(),
            model: "offline".into(),
            schema_version: 1,
            forked_from: None,
        }
    }

    pub(crate) fn events(from: u64, log: Vec<EventKind>) -> Vec<Event> {
        (0..)
            .zip(log)
            .map(|(seq, kind)| Event {
                seq,
                at: from + 1000 * seq,
                what: Entry::Known(kind),
            })
            .collect()
    }

    /// The log of a session with this prompt and title, and no answer.
    pub(crate) fn said(words: &str) -> Vec<EventKind> {
        vec![
            EventKind::TurnStart {
                trigger: Trigger::Prompt,
            },
            EventKind::UserMessage { text: words.into() },
            EventKind::Title {
                title: words.into(),
            },
            EventKind::TurnEnd {
                reason: TurnEndReason::Completed,
            },
        ]
    }

    pub(crate) fn surroundings(home: &Path) -> Surroundings {
        Surroundings {
            environment: Environment::default(),
            config_dir: home.join("config"),
            data_dir: home.join("data"),
            cache_dir: home.join("cache"),
            program: "/bin/false".into(),
        }
    }

    fn agent(home: &Path) -> Agent {
        Agent::new(surroundings(home))
    }

    #[tokio::test]
    async fn whoever_only_asks_makes_no_store() {
        let home = tempfile::tempdir().unwrap();
        let store = stored(&agent(home.path())).await.unwrap();
        assert_eq!(store.ids("", 9).await.unwrap(), []);
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    }
}
