//! Pages of logs, and what can be read of a damaged one.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::durable::{self, absent, fault};
use super::facts::{damage, unreadable};
use super::lines::{LogReader, Mark, Salvaged, Unreadable};
use super::names::Names;
use crate::session::SessionId;
use crate::session::event::Event;
use crate::store::{Salvage, StoreError};

/// Every so many events the place in front of one is remembered.
const EVERY: u64 = 128;

/// Of so many logs places are remembered.
const LOGS: usize = 64;

/// How often a log is read again that looks damaged: a writer may just have cut off what a crash had left.
const TRIES: usize = 3;

/// Places in logs, so that a page is found without reading all before it.
#[derive(Debug, Default)]
pub(super) struct Places {
    logs: Mutex<HashMap<SessionId, Remembered>>,
}

/// Places in one file: the place in front of an event, by its number.
#[derive(Debug, Default)]
struct Remembered {
    inode: u64,
    marks: BTreeMap<u64, u64>,
}

impl Places {
    fn logs(&self) -> MutexGuard<'_, HashMap<SessionId, Remembered>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The nearest place at or before an event, in this file of this length.
    fn before(&self, id: &SessionId, inode: u64, length: u64, seq: u64) -> Option<Mark> {
        let logs = self.logs();
        let known = logs.get(id).filter(|known| known.inode == inode)?;
        let (&seq, &offset) = known.marks.range(..=seq).next_back()?;
        (offset <= length).then_some(Mark { seq, offset })
    }

    fn remember(&self, id: &SessionId, inode: u64, marks: &[Mark]) {
        let mut logs = self.logs();
        if logs.len() >= LOGS && !logs.contains_key(id) {
            logs.clear();
        }
        let known = logs.entry(id.clone()).or_default();
        if known.inode != inode {
            *known = Remembered {
                inode,
                marks: BTreeMap::new(),
            };
        }
        known
            .marks
            .extend(marks.iter().map(|mark| (mark.seq, mark.offset)));
    }

    fn forget(&self, id: &SessionId) {
        self.logs().remove(id);
    }

    /// A page of a log.
    pub(super) fn page(
        &self,
        names: &Names,
        id: &SessionId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        let path = names.log(id);
        let mut tries = 0;
        loop {
            tries += 1;
            match self.try_page(&path, id, from, limit) {
                Ok(Some(page)) => return Ok(page),
                Ok(None) => return Err(StoreError::Missing { id: id.clone() }),
                Err(Unreadable::Damaged { .. }) if tries < TRIES => self.forget(id),
                Err(why) => return Err(unreadable(&path, id, why)),
            }
        }
    }

    fn try_page(
        &self,
        path: &Path,
        id: &SessionId,
        from: u64,
        limit: usize,
    ) -> Result<Option<Vec<Event>>, Unreadable> {
        if !id.fits() {
            return Ok(None);
        }
        let Some((file, stamp)) = absent(durable::open(path))? else {
            return Ok(None);
        };
        let mut reader = match self.before(id, stamp.inode, stamp.length, from) {
            Some(mark) => LogReader::at(file, mark)?,
            None => LogReader::begin(file, id)?.1,
        };
        let mut page = Vec::new();
        let mut marks = Vec::new();
        while page.len() < limit || reader.mark().seq < from {
            let Some(event) = reader.event()? else {
                break;
            };
            if event.seq >= from {
                page.push(event);
            }
            if reader.mark().seq.is_multiple_of(EVERY) {
                marks.push(reader.mark());
            }
        }
        // The next page begins here.
        marks.push(reader.mark());
        self.remember(id, stamp.inode, &marks);
        Ok(Some(page))
    }
}

/// Everything that can be read of a log, damaged or not.
pub(super) fn salvage(names: &Names, id: &SessionId) -> Result<Salvage, StoreError> {
    let path = names.log(id);
    let missing = || StoreError::Missing { id: id.clone() };
    if !id.fits() {
        return Err(missing());
    }
    let opened = absent(durable::open(&path)).map_err(fault(&path, "read"))?;
    let (file, _) = opened.ok_or_else(missing)?;
    let Salvaged {
        header,
        events,
        damage: lines,
    } = LogReader::salvage(file, id).map_err(|why| unreadable(&path, id, why))?;
    let damage = lines
        .into_iter()
        .map(|(line, reason)| damage(&path, line, reason))
        .collect();
    Ok(Salvage {
        header,
        events,
        damage,
    })
}
