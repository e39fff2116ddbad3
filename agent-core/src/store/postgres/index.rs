//! Keeping the index of words up to the logs: behind the appends, each session from the mark on that it has reached.
//!
//! What the index lacks is put in by the next search, so a fault here costs nobody anything but time.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::sleep;
use xterm_rs_bridge::plain_text;

use super::blob;
use super::connections::Connections;
use super::pieces::pieces;
use super::rows::signed;
use crate::session::SessionId;
use crate::session::event::Entry;
use crate::store::StoreError;
use crate::store::search::{self, Source};

/// How long appends are gathered before their words are put in.
const GATHER: Duration = Duration::from_millis(300);

/// How many events are read at a time.
const BATCH: i64 = 64;

/// How many bytes of words are put in at a time.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Puts words into the index. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Indexer {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    connections: Connections,
    pending: Mutex<Pending>,
    /// Two at once would do the same work.
    turn: tokio::sync::Mutex<()>,
    /// A fault was told; the next one is news only after it went well again.
    told: AtomicBool,
}

#[derive(Debug, Default)]
struct Pending {
    sessions: BTreeSet<SessionId>,
    /// Somebody sees to them.
    working: bool,
}

/// A session that the index does not know all of: its name, its generation, how far it is known, and how far it goes.
type Behind = (String, i64, i64, i64);

impl Indexer {
    pub(super) fn new(connections: Connections) -> Self {
        Self {
            shared: Arc::new(Shared {
                connections,
                pending: Mutex::default(),
                turn: tokio::sync::Mutex::default(),
                told: AtomicBool::default(),
            }),
        }
    }

    /// A session has grown. Its words are put in soon.
    pub(super) fn note(&self, id: SessionId) {
        let mut pending = self.shared.pending();
        pending.sessions.insert(id);
        if !std::mem::replace(&mut pending.working, true) {
            tokio::spawn(Shared::work(Arc::clone(&self.shared)));
        }
    }

    /// Puts in everything that is not in yet, of one session or of all.
    pub(super) async fn catch_up(&self, only: Option<&SessionId>) -> Result<(), StoreError> {
        self.shared.catch_up(only).await
    }
}

impl Shared {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn work(this: Arc<Self>) {
        loop {
            sleep(GATHER).await;
            let sessions = {
                let mut pending = this.pending();
                if pending.sessions.is_empty() {
                    pending.working = false;
                    return;
                }
                std::mem::take(&mut pending.sessions)
            };
            for session in sessions {
                match this.catch_up(Some(&session)).await {
                    Ok(()) => this.told.store(false, Ordering::Relaxed),
                    Err(error) if this.told.swap(true, Ordering::Relaxed) => {
                        tracing::debug!(%session, %error, "the index of words is behind");
                    }
                    Err(error) => {
                        tracing::warn!(%session, %error, "the index of words is behind; the next search will take longer");
                    }
                }
            }
        }
    }

    async fn catch_up(&self, only: Option<&SessionId>) -> Result<(), StoreError> {
        let _turn = self.turn.lock().await;
        let behind: Vec<Behind> = self
            .connections
            .rows("searched", || {
                sqlx::query_as(
                    "SELECT id, generation, coalesce(indexed, 0), events
                     FROM sessions LEFT JOIN search_marks ON session_id = id
                     WHERE coalesce(indexed, 0) < events AND ($1::text IS NULL OR id = $1)",
                )
                .bind(only.map(SessionId::as_str))
            })
            .await?;
        for session in behind {
            self.catch_up_with(&session).await?;
        }
        Ok(())
    }

    async fn catch_up_with(&self, (id, generation, known, end): &Behind) -> Result<(), StoreError> {
        let mut from = *known;
        while from < *end {
            let events: Vec<(i64, String)> = self
                .connections
                .rows("searched", || {
                    sqlx::query_as(
                        "SELECT seq, what FROM events
                         WHERE session_id = $1 AND seq >= $2 AND seq < $3 ORDER BY seq LIMIT $4",
                    )
                    .bind(id)
                    .bind(from)
                    .bind(end)
                    .bind(BATCH)
                })
                .await?;
            // What is missing in a damaged log is not awaited.
            let mut upto = match events.last() {
                Some((seq, _)) => seq + 1,
                None => *end,
            };
            let mut words = Words::default();
            for (seq, what) in events {
                self.read(id, seq, what, &mut words).await?;
                if words.bytes >= MOST_BYTES {
                    upto = seq + 1;
                    break;
                }
            }
            match self.put_in(id, *generation, from, upto, &words).await? {
                // At least as far; further where somebody else was at it too.
                Some(known) if known > from => from = known,
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    /// Takes in the words of one event. One that cannot be read has none: whoever reads the log is told.
    async fn read(
        &self,
        id: &str,
        seq: i64,
        what: String,
        words: &mut Words,
    ) -> Result<(), StoreError> {
        let Ok(entry) = serde_json::from_str::<Entry>(&what) else {
            return Ok(());
        };
        let Some(kind) = entry.known() else {
            return Ok(());
        };
        for (place, text) in search::texts(kind).into_iter().enumerate() {
            let bytes;
            let vectors = match text.source {
                Source::Here(text) => {
                    let text = text.to_owned();
                    tokio::task::spawn_blocking(move || pieces(&text)).await
                }
                Source::Blob(name) => {
                    bytes = blob(&self.connections, id, &name).await?;
                    let Some(bytes) = bytes else { continue };
                    tokio::task::spawn_blocking(move || {
                        pieces(&plain_text(&String::from_utf8_lossy(&bytes)))
                    })
                    .await
                }
            };
            // The program ends: the next search goes on here.
            let vectors =
                vectors.map_err(|error| self.connections.refusal("searched", error.to_string()))?;
            words.add(seq, signed(place as u64), vectors);
        }
        Ok(())
    }

    async fn put_in(
        &self,
        id: &str,
        generation: i64,
        from: i64,
        upto: i64,
        words: &Words,
    ) -> Result<Option<i64>, StoreError> {
        let answer: Vec<(Option<i64>,)> = self
            .connections
            .rows("searched", || {
                sqlx::query_as("SELECT index_words($1, $2, $3, $4, $5, $6, $7, $8)")
                    .bind(id)
                    .bind(generation)
                    .bind(from)
                    .bind(upto)
                    .bind(&words.seqs)
                    .bind(&words.places)
                    .bind(&words.pieces)
                    .bind(&words.vectors)
            })
            .await?;
        Ok(answer.first().and_then(|answer| answer.0))
    }
}

/// Words on their way into the index: a column of its table each.
#[derive(Debug, Default)]
struct Words {
    seqs: Vec<i64>,
    places: Vec<i64>,
    pieces: Vec<i64>,
    vectors: Vec<String>,
    bytes: usize,
}

impl Words {
    fn add(&mut self, seq: i64, place: i64, vectors: Vec<String>) {
        for (piece, vector) in (0..).zip(vectors) {
            self.seqs.push(seq);
            self.places.push(place);
            self.pieces.push(piece);
            self.bytes += vector.len();
            self.vectors.push(vector);
        }
    }
}
