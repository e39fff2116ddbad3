//! What a log tells of its session without being read again.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::beside::Beside;
use super::durable::{Stamp, fault};
use super::lines::{LogReader, Mark, Unreadable};
use crate::session::event::Event;
use crate::session::{SCHEMA_VERSION, SessionHeader, SessionId};
use crate::store::{Damage, DamagedAt, SessionSummary, StoreError};

/// What was read of a log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Facts {
    /// As far as the log tells.
    summary: SessionSummary,
    /// The number of the event that told the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    titled: Option<u64>,
    /// Where the last event ends, in bytes.
    pub(super) end: u64,
}

impl Facts {
    /// Of a log with nothing but this header, which ends there.
    pub(super) fn new(header: SessionHeader, end: u64) -> Self {
        Self {
            summary: SessionSummary::new(header),
            titled: None,
            end,
        }
    }

    pub(super) fn header(&self) -> &SessionHeader {
        &self.summary.header
    }

    /// How many events there are.
    pub(super) fn events(&self) -> u64 {
        self.summary.events
    }

    /// When the session was changed last: milliseconds of Unix time.
    pub(super) fn updated_at(&self) -> u64 {
        self.summary.updated_at
    }

    /// Takes in the next event, which ends there.
    pub(super) fn note(&mut self, event: &Event, end: u64) {
        let before = self.summary.title.take();
        self.summary.note(event);
        match self.summary.title {
            Some(_) => self.titled = Some(event.seq),
            None => self.summary.title = before,
        }
        self.end = end;
    }

    /// Together with what was set beside the log.
    pub(super) fn with(&self, beside: Option<&Beside>) -> SessionSummary {
        let mut summary = self.summary.clone();
        let Some(beside) = beside else {
            return summary;
        };
        if let Some(title) = &beside.title
            && self.titled.is_none_or(|titled| titled < title.after)
        {
            summary.title = Some(title.text.clone());
        }
        summary.archived = beside.archived;
        summary.config.clone_from(&beside.config);
        summary
    }

    /// Reads a log. What was read of this very file before is not read again, unless it has changed there. Damage behind the
    /// header ends what is read; only who reads the events is told.
    pub(super) fn read(
        open: &dyn Fn() -> Result<File, Unreadable>,
        stamp: Stamp,
        id: &SessionId,
        known: Option<(&Stamp, &Self)>,
    ) -> Result<Self, Unreadable> {
        if let Some((before, facts)) = known
            && before.inode == stamp.inode
            && facts.end <= stamp.length
            && let Some(facts) = facts.clone().read_on(open()?)?
        {
            return Ok(facts);
        }
        let (header, mut reader) = LogReader::begin(open()?, id)?;
        let mut facts = Self::new(header, reader.mark().offset);
        facts.take_in(&mut reader)?;
        Ok(facts)
    }

    /// None when the log has changed where it was read before.
    fn read_on(mut self, file: File) -> Result<Option<Self>, Unreadable> {
        let mut end = [0];
        if file.read_at(&mut end, self.end.saturating_sub(1))? != 1 || end != *b"\n" {
            return Ok(None);
        }
        let before = self.events();
        let mark = Mark {
            seq: before,
            offset: self.end,
        };
        let mut reader = LogReader::at(file, mark)?;
        let in_order = self.take_in(&mut reader)?;
        Ok((in_order || self.events() > before).then_some(self))
    }

    /// False when damage ended it.
    fn take_in(&mut self, reader: &mut LogReader) -> Result<bool, Unreadable> {
        loop {
            match reader.event() {
                Ok(Some(event)) => self.note(&event, reader.mark().offset),
                Ok(None) => return Ok(true),
                Err(Unreadable::Damaged { .. }) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }
}

/// The error of a session whose log cannot be read.
pub(super) fn unreadable(path: &Path, id: &SessionId, why: Unreadable) -> StoreError {
    match why {
        Unreadable::Io(error) => fault(path, "read")(error),
        Unreadable::Newer(found) => StoreError::Newer {
            path: path.to_owned(),
            found,
            known: SCHEMA_VERSION,
        },
        Unreadable::Damaged { line, reason } => StoreError::Damaged {
            id: id.clone(),
            damage: damage(path, line, reason),
        },
    }
}

/// Damage of a log.
pub(super) fn damage(path: &Path, line: u64, reason: String) -> Damage {
    Damage {
        place: path.display().to_string(),
        at: Some(DamagedAt::Line(line)),
        reason,
    }
}
