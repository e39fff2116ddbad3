//! The end of sessions.

use std::io;
use std::time::{Duration, SystemTime};

use super::blobs;
use super::durable::{self, absent, fault};
use super::facts::unreadable;
use super::lines::{LogReader, Unreadable};
use super::names::Names;
use super::right::{self, FolderRight, Right};
use crate::session::SessionId;
use crate::store::StoreError;

/// A draft of this age that nobody has locked was left by a crash.
const OLD: Duration = Duration::from_hours(1);

/// Removes a session; false when there was none. [`StoreError::Held`] while anybody writes to it.
pub(super) fn delete(names: &Names, id: &SessionId) -> Result<bool, StoreError> {
    let log = names.log(id);
    let all = [
        log.clone(),
        names.draft(id),
        names.beside(id),
        names.blobs(id),
    ];
    let mut some = false;
    for path in &all {
        some |= absent(path.symlink_metadata())
            .map_err(fault(path, "deleted"))?
            .is_some();
    }
    if !some {
        return Ok(false);
    }
    let right = right::take(names, id)?;
    let _folder = FolderRight::take(names, "deleted")?;
    let begun = matches!(right, Right::Begun(_));
    if begun {
        refuse_newer(names, id)?;
    }
    let delete = || -> io::Result<()> {
        if begun {
            // A crash may have left it as a second name of the log, and nothing is renamed to what it is already.
            durable::remove(&names.draft(id))?;
            // From here on there is no such session. Under this name the lock on the log keeps others from beginning
            // another one before everything is gone.
            std::fs::rename(&log, names.draft(id))?;
            durable::sync_folder(names.root())?;
        }
        leftovers(names, id)?;
        durable::remove(&names.draft(id))?;
        Ok(())
    };
    delete().map_err(fault(&log, "deleted"))?;
    Ok(begun)
}

/// An error for a session of a newer build, of which only that knows what belongs to it. A damaged one may go.
fn refuse_newer(names: &Names, id: &SessionId) -> Result<(), StoreError> {
    let log = names.log(id);
    let (file, _) = durable::open(&log).map_err(fault(&log, "deleted"))?;
    match LogReader::begin(file, id) {
        Ok(_) | Err(Unreadable::Damaged { .. }) => Ok(()),
        Err(why) => Err(unreadable(&log, id, why)),
    }
}

/// Removes what a session that was deleted, or never wholly made, has left beside its log. The caller has the right to begin
/// it.
pub(super) fn leftovers(names: &Names, id: &SessionId) -> io::Result<()> {
    durable::remove(&names.beside(id))?;
    durable::remove(&names.beside_draft(id))?;
    blobs::remove_all(names, id)
}

/// Removes what is left of a session when its deletion, or its first append, was ended by a crash a good while ago.
pub(super) fn sweep(names: &Names, id: &SessionId) {
    let draft = names.draft(id);
    let age = |changed: SystemTime| SystemTime::now().duration_since(changed).ok();
    let old = draft
        .symlink_metadata()
        .and_then(|there| there.modified())
        .is_ok_and(|changed| age(changed).is_some_and(|age| age > OLD));
    let log_is_there = names.log(id).symlink_metadata().is_ok();
    if old && !log_is_there {
        match delete(names, id) {
            Ok(_) | Err(StoreError::Held { .. }) => {}
            Err(error) => {
                tracing::debug!(path = %draft.display(), %error, "what a crash left was not removed");
            }
        }
    }
}
