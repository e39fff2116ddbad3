//! Who may write.
//!
//! The right to write to a session is the system's lock on its log, which no other file ever replaces. Before there is a log
//! it is the lock on the draft of one. A lock goes with its owner, so it is free at once when a program died, and nothing
//! needs to be cleaned up.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::durable::{self, absent, fault};
use super::names::Names;
use crate::session::SessionId;
use crate::store::StoreError;

/// How often a name may change its file between two looks before that is called a fault.
const TRIES: usize = 100;

/// How long is waited for a program that changes something beside the logs.
const BUSY: Duration = Duration::from_secs(10);

/// How long between two tries to get a lock.
const PAUSE: Duration = Duration::from_millis(5);

/// A file that is locked, as long as this lives.
#[derive(Debug)]
pub(super) struct Locked(File);

impl std::ops::Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for Locked {
    /// Closing the file would do, were it not that a process which is just being started has it open too, until it has become
    /// another program.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// The right to write to a session, as long as this lives. Its file only ever grows at its end.
#[derive(Debug)]
pub(super) enum Right {
    /// Of a session that exists: its log.
    Begun(Locked),
    /// Of one that does not: the draft of its log, which is empty.
    Draft(Locked),
}

/// Takes the right to write to a session. [`StoreError::Held`] while somebody else has it.
pub(super) fn take(names: &Names, id: &SessionId) -> Result<Right, StoreError> {
    id.check()?;
    let (log, draft) = (names.log(id), names.draft(id));
    for _ in 0..TRIES {
        if let Some(file) = open_log(&log).map_err(fault(&log, "opened"))? {
            let file = lock(file, &log, id)?;
            if durable::still_at(&file, &log).map_err(fault(&log, "opened"))? {
                return Ok(Right::Begun(file));
            }
            continue;
        }
        if let Some(file) = take_draft(names, &draft, id)? {
            // Who had the draft before may have made the log of it meanwhile.
            let begun = absent(log.symlink_metadata()).map_err(fault(&log, "opened"))?;
            // Who deletes a session moves its log to the draft's name.
            let ours = durable::still_at(&file, &draft).map_err(fault(&draft, "saved"))?;
            match (begun.is_none(), ours) {
                (true, true) => return Ok(Right::Draft(file)),
                (false, true) => _ = durable::remove(&draft),
                (_, false) => {}
            }
        }
    }
    Err(fault(&log, "opened")(io::Error::other(
        "other programs keep replacing it",
    )))
}

fn open_log(path: &Path) -> io::Result<Option<File>> {
    let mut options = durable::existing();
    let opened = options.read(true).append(true).open(path);
    let Some(file) = absent(opened.map_err(durable::told))? else {
        return Ok(None);
    };
    durable::regular(&file.metadata()?)?;
    Ok(Some(file))
}

/// Makes a draft and locks it; none when somebody else was quicker with something, and all has to be looked at again.
fn take_draft(names: &Names, draft: &Path, id: &SessionId) -> Result<Option<Locked>, StoreError> {
    let saving = || fault(draft, "saved");
    durable::make_folder(names.root()).map_err(fault(names.root(), "saved"))?;
    let left = match absent(draft.symlink_metadata()).map_err(saving())? {
        // It is never opened to be written, and if it is not locked it was left by a crash.
        Some(there) if there.is_file() => {
            let Some((file, _)) = absent(durable::open(draft)).map_err(saving())? else {
                return Ok(None);
            };
            let file = lock(file, draft, id)?;
            if !durable::still_at(&file, draft).map_err(saving())? {
                return Ok(None);
            }
            Some(file)
        }
        _ => None,
    };
    let file = durable::draft(draft).map_err(saving())?;
    drop(left);
    let file = lock(file, draft, id)?;
    let ours = durable::still_at(&file, draft).map_err(saving())?;
    Ok(ours.then_some(file))
}

fn lock(file: File, path: &Path, id: &SessionId) -> Result<Locked, StoreError> {
    match file.try_lock() {
        Ok(()) => Ok(Locked(file)),
        Err(TryLockError::WouldBlock) => Err(StoreError::Held { id: id.clone() }),
        Err(TryLockError::Error(error)) => Err(fault(path, "opened")(error)),
    }
}

/// The right to change what lies beside the logs, one program at a time: the lock on their folder.
#[derive(Debug)]
pub(super) struct FolderRight {
    _folder: Locked,
}

impl FolderRight {
    /// Waits for it. None without a folder.
    pub(super) fn take(names: &Names, attempted: &'static str) -> Result<Option<Self>, StoreError> {
        let begun = Instant::now();
        let root = names.root();
        let Some(folder) = absent(File::open(root)).map_err(fault(root, attempted))? else {
            return Ok(None);
        };
        loop {
            match folder.try_lock() {
                Ok(()) => {
                    return Ok(Some(Self {
                        _folder: Locked(folder),
                    }));
                }
                Err(TryLockError::WouldBlock) if begun.elapsed() < BUSY => {
                    std::thread::sleep(PAUSE);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::Busy {
                        path: root.to_owned(),
                        attempted,
                        seconds: BUSY.as_secs(),
                    });
                }
                Err(TryLockError::Error(error)) => return Err(fault(root, attempted)(error)),
            }
        }
    }

    /// The same if it is free; for what can as well be done another time.
    pub(super) fn if_free(names: &Names) -> Option<Self> {
        let folder = File::open(names.root()).ok()?;
        folder.try_lock().ok()?;
        Some(Self {
            _folder: Locked(folder),
        })
    }
}
