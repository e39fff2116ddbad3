//! From lines to a store.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

use super::{BLOB_LINE, BlobLine, Carried, InterchangeError, referred};
use crate::session::event::Event;
use crate::session::{SCHEMA_VERSION, SessionHeader, SessionId};
use crate::store::{Blob, BlobId, Change, SessionStore, SessionSummary, SessionWriter, StoreError};

/// A line longer than this is none of ours. In bytes.
const LONGEST_LINE: u64 = 256 * 1024 * 1024;

/// How much is appended at once, in bytes: a session up to this size is stored as one.
const AT_ONCE: usize = 8 * 1024 * 1024;

/// Reads a session from lines and stores it under its own id, or under `name` where one is given. A session that exists is
/// never changed: [`StoreError::Exists`]. What fails, be it at the last line, leaves nothing in the store.
///
/// The session's writer is held until the end, so nobody else can write to what is not whole yet. Only a program that is
/// killed in the middle of a large import leaves the first part of the session, which can be deleted like any other.
pub async fn import(
    store: &dyn SessionStore,
    source: &mut (dyn AsyncBufRead + Send + Unpin),
    name: Option<SessionId>,
) -> Result<Carried, InterchangeError> {
    let mut lines = Lines {
        source,
        number: 0,
        ended: true,
    };
    let first = lines.first().await?;
    let mut header = first.header.clone();
    if let Some(name) = name {
        header.id = name;
    }
    let exists = || StoreError::Exists {
        id: header.id.clone(),
    };
    if store.has(&header.id).await? {
        return Err(exists().into());
    }
    let writer = store.writer(&header.id).await?;
    // It may have been begun by somebody else since.
    if store.has(&header.id).await? {
        writer.release().await;
        return Err(exists().into());
    }
    let mut filling = Filling {
        writer,
        summary: SessionSummary::new(header.clone()),
        events: Vec::new(),
        blobs: Vec::new(),
        size: 0,
        carried: Carried {
            id: header.id.clone(),
            events: 0,
            blobs: 0,
            missing: BTreeSet::new(),
        },
        kept: BTreeSet::new(),
    };
    let mut filled = filling.fill(&mut lines, first.events).await;
    filling.writer.release().await;
    if filled.is_ok()
        && let Some(change) = first.changes(&filling.summary)
    {
        filled = store.update(&header.id, &change).await.map_err(Into::into);
    }
    match filled {
        Ok(()) => Ok(filling.carried),
        Err(failure) => match store.delete(&header.id).await {
            Ok(_) => Err(failure),
            Err(reason) => Err(InterchangeError::LeftBehind {
                failure: Box::new(failure),
                id: header.id,
                reason,
            }),
        },
    }
}

/// The first line: a summary, or the header alone, as a log has it.
#[derive(Debug, Deserialize)]
struct FirstLine {
    header: SessionHeader,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    archived: bool,
    #[serde(default)]
    config: Map<String, Value>,
    events: Option<u64>,
}

/// What tells the schema of a session whose header this build may not know.
#[derive(Debug, Deserialize)]
struct AnyFirstLine {
    header: AnyHeader,
}

#[derive(Debug, Deserialize)]
struct AnyHeader {
    schema_version: u32,
}

impl FirstLine {
    /// The line as it is understood; else a newer schema, or what is wrong.
    fn read(line: &[u8]) -> Result<Self, Result<u32, String>> {
        if let Ok(AnyFirstLine { header }) = serde_json::from_slice(line)
            && header.schema_version > SCHEMA_VERSION
        {
            return Err(Ok(header.schema_version));
        }
        serde_json::from_slice(line)
            .map_err(|error| Err(format!("a session begins with its header ({error})")))
    }

    /// What was set beside the log, where the events do not tell the same.
    fn changes(self, told: &SessionSummary) -> Option<Change> {
        let change = Change {
            title: self
                .title
                .filter(|title| Some(title) != told.title.as_ref()),
            archived: self.archived.then_some(true),
            config: self.config,
        };
        (change != Change::default()).then_some(change)
    }
}

/// A session on its way into the store.
struct Filling {
    writer: Box<dyn SessionWriter>,
    /// What the events tell so far.
    summary: SessionSummary,
    /// What is appended next, and the bytes in it.
    events: Vec<Event>,
    blobs: Vec<Blob>,
    size: usize,
    carried: Carried,
    /// The blobs whose bytes came.
    kept: BTreeSet<BlobId>,
}

impl Filling {
    async fn fill(
        &mut self,
        lines: &mut Lines<'_>,
        events: Option<u64>,
    ) -> Result<(), InterchangeError> {
        let mut ahead: Vec<(BlobId, Option<Blob>)> = Vec::new();
        while let Some(line) = lines.next().await? {
            if line.trim_ascii_start().starts_with(BLOB_LINE.as_bytes()) {
                ahead.push(blob(&line).map_err(|reason| lines.malformed(reason))?);
                continue;
            }
            let event: Event = serde_json::from_slice(&line)
                .map_err(|error| lines.malformed(error.to_string()))?;
            if event.seq != self.carried.events {
                let expected = self.carried.events;
                return Err(lines.malformed(format!(
                    "it has number {}, and {expected} comes next",
                    event.seq
                )));
            }
            let needed = referred(&event);
            if let Some((stray, _)) = ahead.iter().find(|(id, _)| !needed.contains(id)) {
                return Err(lines.malformed(format!(
                    "it does not refer to {stray}, whose bytes stand before it"
                )));
            }
            for (id, blob) in ahead.drain(..) {
                if let Some(blob) = blob {
                    self.size += blob.bytes().len();
                    self.blobs.push(blob);
                    self.kept.insert(id);
                } else {
                    self.carried.missing.insert(id);
                }
            }
            for id in needed {
                if self.kept.contains(&id) || self.carried.missing.contains(&id) {
                    continue;
                }
                // A log alone has no bytes beside it.
                if events.is_some() {
                    return Err(
                        lines.malformed(format!("the bytes of {id} do not stand before it"))
                    );
                }
                self.carried.missing.insert(id);
            }
            self.size += line.len();
            self.carried.events += 1;
            self.summary.note(&event);
            self.events.push(event);
            if self.size >= AT_ONCE {
                self.append().await?;
            }
        }
        let missing = if !ahead.is_empty() {
            "an event that refers to the bytes in it should follow".to_owned()
        } else if let Some(events) = events.filter(|events| *events != self.carried.events) {
            let there = self.carried.events;
            format!("it should have {events} events and has {there}")
        } else if self.carried.events == 0 {
            "its events should follow".to_owned()
        } else {
            return self.append().await;
        };
        Err(InterchangeError::Cut {
            line: lines.number,
            missing,
        })
    }

    async fn append(&mut self) -> Result<(), InterchangeError> {
        self.writer
            .append(&self.summary.header, &self.events, &self.blobs)
            .await?;
        self.carried.blobs += self.blobs.len() as u64;
        self.events.clear();
        self.blobs.clear();
        self.size = 0;
        Ok(())
    }
}

/// The name and the bytes of a blob's line.
fn blob(line: &[u8]) -> Result<(BlobId, Option<Blob>), String> {
    let line: BlobLine = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let Some(base64) = line.base64 else {
        return Ok((line.blob, None));
    };
    let bytes = STANDARD.decode(base64).map_err(|error| error.to_string())?;
    let blob = Blob::new(bytes);
    if *blob.id() == line.blob {
        Ok((line.blob, Some(blob)))
    } else {
        Err(format!("its bytes are those of {}", blob.id()))
    }
}

/// Lines with their numbers.
struct Lines<'s> {
    source: &'s mut (dyn AsyncBufRead + Send + Unpin),
    /// The number of the last line that was read, from 1.
    number: u64,
    /// Whether that line has its end.
    ended: bool,
}

impl Lines<'_> {
    async fn first(&mut self) -> Result<FirstLine, InterchangeError> {
        let line = self.next().await?.ok_or_else(|| InterchangeError::Cut {
            line: 0,
            missing: "a header should begin it".to_owned(),
        })?;
        FirstLine::read(&line).map_err(|reason| match reason {
            Ok(found) => InterchangeError::Newer {
                found,
                known: SCHEMA_VERSION,
            },
            Err(reason) => self.malformed(reason),
        })
    }

    /// The next line without its end; none at the end. The last one need not have an end, if it is whole without.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, InterchangeError> {
        let mut line = Vec::new();
        let mut source = (&mut self.source).take(LONGEST_LINE);
        let read = source.read_until(b'\n', &mut line).await;
        read.map_err(|error| InterchangeError::Read {
            line: self.number + 1,
            error,
        })?;
        if line.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        self.ended = line.pop_if(|end| *end == b'\n').is_some();
        if !self.ended && line.len() as u64 == LONGEST_LINE {
            return Err(self.malformed(format!("it is longer than {LONGEST_LINE} bytes")));
        }
        Ok(Some(line))
    }

    fn malformed(&self, reason: String) -> InterchangeError {
        if !self.ended {
            return InterchangeError::Cut {
                line: self.number - 1,
                missing: format!("line {} is not whole ({reason})", self.number),
            };
        }
        InterchangeError::Malformed {
            line: self.number,
            reason,
        }
    }
}
