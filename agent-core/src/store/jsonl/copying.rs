//! Copies of sessions.

use std::io;

use super::beside;
use super::blobs;
use super::durable::{self, absent, fault};
use super::facts::unreadable;
use super::lines::{LogReader, Unreadable};
use super::names::Names;
use super::right::{self, Right};
use super::{removing, writing};
use crate::session::{SessionHeader, SessionId};
use crate::store::StoreError;

/// Copies a session under a new header. Its log appears last, so the copy is there with everything or not at all.
pub(super) fn fork(
    names: &Names,
    id: &SessionId,
    header: &SessionHeader,
) -> Result<(), StoreError> {
    let (count, events) = events_of(names, id)?;
    let to = &header.id;
    to.check()?;
    let log = names.log(to);
    let begun = || absent(log.symlink_metadata()).map_err(fault(&log, "saved"));
    let exists = || Err(StoreError::Exists { id: to.clone() });
    if begun()?.is_some() {
        return exists();
    }
    let draft = match right::take(names, to)? {
        Right::Draft(draft) => draft,
        Right::Begun(_) => return exists(),
    };
    let copy = || -> Result<(), StoreError> {
        removing::leftovers(names, to).map_err(fault(&log, "saved"))?;
        // Every blob is there before the event that refers to it, so none is missing that the events above need.
        let made = blobs::share(names, id, to).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                StoreError::Missing { id: id.clone() }
            } else {
                fault(&names.blobs(to), "saved")(error)
            }
        })?;
        let (mut set, stamp) = beside::read(names, id).map_err(fault(&names.beside(id), "read"))?;
        if stamp.is_some() {
            // It may have been set behind the events that are copied; those that the copy gets count more.
            if let Some(title) = &mut set.title {
                title.after = title.after.min(count);
            }
            beside::write(names, to, &set).map_err(fault(&names.beside(to), "saved"))?;
        }
        let published = writing::publish(names, to, &draft, header, &events);
        if published.is_err() {
            let _ = durable::remove(&names.beside(to));
        } else {
            made.keep();
        }
        published.map(|_| ())
    };
    let copied = copy();
    if copied.is_err() {
        let _ = durable::remove(&names.draft(to));
    }
    copied
}

/// How many events a log has, and their lines as they stand there.
fn events_of(names: &Names, id: &SessionId) -> Result<(u64, Vec<u8>), StoreError> {
    let path = names.log(id);
    let missing = || StoreError::Missing { id: id.clone() };
    if !id.fits() {
        return Err(missing());
    }
    let read = || -> Result<Option<(u64, Vec<u8>)>, Unreadable> {
        let Some((file, _)) = absent(durable::open(&path))? else {
            return Ok(None);
        };
        let (_, mut reader) = LogReader::begin(file, id)?;
        let mut lines = Vec::new();
        while reader.event()?.is_some() {
            lines.extend_from_slice(reader.raw());
            lines.push(b'\n');
        }
        Ok(Some((reader.mark().seq, lines)))
    };
    read()
        .map_err(|why| unreadable(&path, id, why))?
        .ok_or_else(missing)
}
