//! One session, open for writing.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use super::Shared;
use super::blobs;
use super::durable::{self, Stamp, fault};
use super::facts::{self, Facts};
use super::index::{self, IndexLine};
use super::lines::{FirstLine, LogReader};
use super::names::Names;
use super::removing;
use super::right::{self, Right};
use crate::session::event::Event;
use crate::session::{SessionHeader, SessionId};
use crate::store::{Blob, StoreError};

/// How much is appended before the index is told again, in bytes: as much of a log a list may have to read.
const TOLD_EVERY: u64 = 64 * 1024;

/// The right to write to a session and what is needed for it. Dropping it gives the right back.
#[derive(Debug)]
pub(super) struct Writing {
    shared: Arc<Shared>,
    id: SessionId,
    /// None when it was given back.
    right: Option<Right>,
    /// What the log tells, once there is one; it ends where they say.
    facts: Option<Facts>,
    /// Something of a failed append could not be taken back.
    broken: bool,
    /// How much of the log the index knows, in bytes.
    told: u64,
}

/// Events and their lines, ready to be written.
#[derive(Debug)]
pub(super) struct Append {
    pub(super) header: SessionHeader,
    pub(super) events: Vec<Event>,
    /// The line of each event, with its end.
    pub(super) lines: Vec<Vec<u8>>,
    pub(super) blobs: Vec<Blob>,
}

impl Writing {
    /// Takes the right, and cuts off what a crash left half written.
    pub(super) fn begin(shared: &Arc<Shared>, id: &SessionId) -> Result<Self, StoreError> {
        let mut writing = Self {
            shared: Arc::clone(shared),
            id: id.clone(),
            right: Some(right::take(&shared.names, id)?),
            facts: None,
            broken: false,
            told: 0,
        };
        if let Some(Right::Begun(log)) = &writing.right {
            let path = shared.names.log(id);
            let facts = check(&path, id)?;
            cut(log, facts.end).map_err(fault(&path, "repaired"))?;
            let draft = shared.names.draft(id);
            if durable::still_at(log, &draft).unwrap_or(false) {
                // Its second name, from a crash between the link and the removal.
                let _ = durable::remove(&draft);
            }
            writing.facts = Some(facts);
        }
        Ok(writing)
    }

    /// Appends what is not stored yet.
    pub(super) fn append(&mut self, append: &Append) -> Result<(), StoreError> {
        let next = self.facts.as_ref().map_or(0, Facts::events);
        let stored = append.events.iter().take_while(|it| it.seq < next).count();
        let (again, fresh) = append.events.split_at(stored);
        let out_of_order = |seq| StoreError::OutOfOrder {
            id: self.id.clone(),
            seq,
        };
        if let Some(event) = self.first_that_differs(again)? {
            return Err(out_of_order(event.seq));
        }
        let wrong = (next..).zip(fresh).find(|(seq, event)| event.seq != *seq);
        if let Some((_, event)) = wrong {
            return Err(out_of_order(event.seq));
        }
        let Some(first) = fresh.first() else {
            return Ok(());
        };
        let lines = append.lines.get(stored..).unwrap_or_default();
        if self.broken {
            return Err(self.refusal(
                "a part of what could not be saved before is still in the file; close the session and load it again",
            ));
        }
        match &self.right {
            Some(Right::Begun(log)) => self.check_place(log, first.seq)?,
            Some(Right::Draft(_)) => {
                let left = removing::leftovers(&self.shared.names, &self.id);
                left.map_err(fault(&self.shared.names.log(&self.id), "saved"))?;
            }
            None => return Err(self.given_back()),
        }
        let made = blobs::store(&self.shared.names, &self.id, &append.blobs)?;
        if let Some(facts) = &mut self.facts {
            let Some(Right::Begun(log)) = &self.right else {
                return Err(self.given_back());
            };
            let path = self.shared.names.log(&self.id);
            let written = write(log, &lines.concat());
            if let Err(error) = written {
                // Pages that could not be written are gone from memory too: what comes next is written anew.
                self.broken = log.set_len(facts.end).is_err();
                return Err(fault(&path, "saved")(error));
            }
        } else {
            self.publish(&append.header, lines)?;
        }
        made.keep();
        if let Some(facts) = &mut self.facts {
            for (event, line) in fresh.iter().zip(lines) {
                let end = facts.end + line.len() as u64;
                facts.note(event, end);
            }
            if self.told == 0 || facts.end - self.told >= TOLD_EVERY {
                self.tell();
            }
        }
        Ok(())
    }

    /// The first of some events that is stored otherwise than here.
    fn first_that_differs<'e>(&self, events: &'e [Event]) -> Result<Option<&'e Event>, StoreError> {
        let (Some(first), Some(last)) = (
            events.iter().map(|event| event.seq).min(),
            events.iter().map(|event| event.seq).max(),
        ) else {
            return Ok(None);
        };
        let count = usize::try_from(last - first + 1).unwrap_or(usize::MAX);
        let stored = self.shared.read(&self.id, first, count)?;
        let as_stored = |event: &Event| {
            let at = usize::try_from(event.seq - first).unwrap_or(usize::MAX);
            stored.get(at) == Some(event)
        };
        Ok(events.iter().find(|event| !as_stored(event)))
    }

    /// Whether the log is still the one that was locked, and as long as it was left.
    fn check_place(&self, log: &File, seq: u64) -> Result<(), StoreError> {
        let path = self.shared.names.log(&self.id);
        let end = self.facts.as_ref().map_or(0, |facts| facts.end);
        if !durable::still_at(log, &path).map_err(fault(&path, "saved"))? {
            return Err(self.refusal(
                "the file was removed or replaced while the session was open; close the session",
            ));
        }
        if log.metadata().map_err(fault(&path, "saved"))?.len() != end {
            return Err(StoreError::OutOfOrder {
                id: self.id.clone(),
                seq,
            });
        }
        Ok(())
    }

    /// Makes the log of the draft, with its first events.
    fn publish(&mut self, header: &SessionHeader, lines: &[Vec<u8>]) -> Result<(), StoreError> {
        let Some(Right::Draft(draft)) = self.right.take() else {
            return Err(self.given_back());
        };
        let written = publish(
            &self.shared.names,
            &self.id,
            &draft,
            header,
            &lines.concat(),
        );
        match written {
            Ok(facts) => {
                self.facts = Some(facts);
                self.right = Some(Right::Begun(draft));
                Ok(())
            }
            Err(error) => {
                let path = self.shared.names.log(&self.id);
                self.broken = durable::still_at(&draft, &path).unwrap_or(true);
                self.right = Some(Right::Draft(draft));
                Err(error)
            }
        }
    }

    /// Tells the index.
    fn tell(&mut self) {
        let (Some(Right::Begun(log)), Some(facts)) = (&self.right, &self.facts) else {
            return;
        };
        if let Ok(metadata) = log.metadata() {
            let line = IndexLine::log(Stamp::of(&metadata), facts.clone());
            index::add(&self.shared.names, &[line]);
            self.told = facts.end;
        }
    }

    fn given_back(&self) -> StoreError {
        self.refusal("the right to write was given back; load the session again")
    }

    fn refusal(&self, reason: &str) -> StoreError {
        StoreError::File {
            path: self.shared.names.log(&self.id),
            attempted: "saved",
            reason: reason.to_owned(),
        }
    }

    /// Gives the right back.
    pub(super) fn end(&mut self) {
        let changed = self.facts.as_ref().is_some_and(|it| it.end != self.told);
        if self.told > 0 && changed {
            self.tell();
        }
        if let Some(Right::Draft(_)) = self.right {
            // While it is locked, so that it is still ours.
            let _ = durable::remove(&self.shared.names.draft(&self.id));
        }
        self.right = None;
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads a whole log: what it tells, and where it ends.
fn check(path: &Path, id: &SessionId) -> Result<Facts, StoreError> {
    let read = || {
        let (header, mut reader) = LogReader::begin(durable::open(path)?.0, id)?;
        let mut facts = Facts::new(header, reader.mark().offset);
        while let Some(event) = reader.event()? {
            facts.note(&event, reader.mark().offset);
        }
        Ok(facts)
    };
    read().map_err(|why| facts::unreadable(path, id, why))
}

/// Cuts off what stands behind the last event.
fn cut(log: &File, end: u64) -> io::Result<()> {
    if log.metadata()?.len() > end {
        log.set_len(end)?;
        log.sync_all()?;
    }
    Ok(())
}

/// Appends and syncs. The length of a file counts as data for this, so what is read later is all there; only times may be old.
fn write(mut log: &File, bytes: &[u8]) -> io::Result<()> {
    log.write_all(bytes)?;
    log.sync_data()
}

/// Fills the draft of a log and gives it the log's name. All of it is durable when this returns, or nothing of it is there.
pub(super) fn publish(
    names: &Names,
    id: &SessionId,
    draft: &File,
    header: &SessionHeader,
    events: &[u8],
) -> Result<Facts, StoreError> {
    let path = names.log(id);
    let fill = || -> io::Result<u64> {
        let mut bytes = serde_json::to_vec(&FirstLine { header })?;
        bytes.push(b'\n');
        let end = bytes.len() as u64;
        bytes.extend_from_slice(events);
        // Something may be left of an attempt that failed.
        draft.set_len(0)?;
        let mut file = draft;
        file.write_all(&bytes)?;
        draft.sync_all()?;
        Ok(end)
    };
    let end = fill().map_err(fault(&path, "saved"))?;
    match std::fs::hard_link(names.draft(id), &path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(StoreError::Exists { id: id.clone() });
        }
        Err(error) => return Err(fault(&path, "saved")(error)),
    }
    if let Err(error) = durable::sync_folder(names.root()) {
        // Nobody may find what was not acknowledged.
        let _ = durable::remove(&path);
        return Err(fault(&path, "saved")(error));
    }
    // Only another name for the log by now.
    let _ = durable::remove(&names.draft(id));
    Ok(Facts::new(header.clone(), end))
}

/// A line of a log.
pub(super) fn line_of(event: &Event) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    Ok(line)
}
