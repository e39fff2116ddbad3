//! Files that are there whole or not at all, whatever happens.
//!
//! Everything goes through the standard library, which calls the functions of libc. No name that is already there is ever
//! opened for writing, and no link is followed.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::store::StoreError;

/// Makes a store's error of the system's.
pub(super) fn fault(
    path: &Path,
    attempted: &'static str,
) -> impl FnOnce(io::Error) -> StoreError + use<> {
    let path = path.to_owned();
    move |error| StoreError::File {
        path,
        attempted,
        reason: error.to_string(),
    }
}

/// `None` where there is no such file. Anything else that is wrong stays an error.
pub(super) fn absent<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Longer than any file system's clock stands still, but for those that count in seconds, which nobody keeps sessions on.
const TICK: Duration = Duration::from_millis(100);

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    /// The file, whatever its name is.
    pub(super) inode: u64,
    /// In bytes.
    pub(super) length: u64,
    /// The last change: seconds and nanoseconds of Unix time.
    changed: (i64, i64),
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            length: metadata.len(),
            changed: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    /// Whether a later change would be told by another stamp. Clocks of file systems tick slowly, so that a file that was
    /// replaced twice within a tick may bear the same stamp before and after.
    pub(super) fn is_settled(&self) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let since = u64::try_from(seconds)
            .ok()
            .zip(u32::try_from(nanoseconds).ok());
        since.is_some_and(|(seconds, nanoseconds)| {
            let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds);
            changed.elapsed().is_ok_and(|age| age > TICK)
        })
    }
}

/// How to open what is there: no link is followed, and nobody is waited for at the other end of a pipe.
pub(super) fn existing() -> OpenOptions {
    let mut options = OpenOptions::new();
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    options
}

/// Opens a file to read it, and says which state of it.
pub(super) fn open(path: &Path) -> io::Result<(File, Stamp)> {
    let file = existing().read(true).open(path)?;
    let stamp = regular(&file.metadata()?)?;
    Ok((file, stamp))
}

/// The same error in words that say what to do.
pub(super) fn told(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::IsADirectory {
        io::Error::other("a folder stands where a file should; move it away")
    } else {
        error
    }
}

/// The state of a file; an error for a folder or anything else that is no file.
pub(super) fn regular(metadata: &Metadata) -> io::Result<Stamp> {
    if metadata.is_file() {
        Ok(Stamp::of(metadata))
    } else if metadata.is_dir() {
        Err(told(io::ErrorKind::IsADirectory.into()))
    } else {
        Err(io::Error::other("it is not a regular file; move it away"))
    }
}

/// Whether a name still stands for this open file.
pub(super) fn still_at(file: &File, path: &Path) -> io::Result<bool> {
    let there = absent(path.symlink_metadata())?;
    let open = file.metadata()?;
    Ok(there.is_some_and(|there| (there.dev(), there.ino()) == (open.dev(), open.ino())))
}

/// A new file for what will get another name once it is durable. A file of this name was left by a crash: it goes, unopened.
/// The caller has the right to the name.
pub(super) fn draft(path: &Path) -> io::Result<File> {
    let create = || {
        OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
    };
    match create() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            std::fs::remove_file(path)?;
            create()
        }
        made => made,
    }
}

/// Writes a file and makes its bytes durable, not yet its name.
pub(super) fn write_draft(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = draft(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Removes a file; false when there was none.
pub(super) fn remove(path: &Path) -> io::Result<bool> {
    Ok(absent(std::fs::remove_file(path))?.is_some())
}

/// Makes the names in a folder durable.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Makes a folder, and those above it that are missing, for their owner alone and durably. False when it was there.
pub(super) fn make_folder(path: &Path) -> io::Result<bool> {
    if absent(path.metadata())?.is_some_and(|there| there.is_dir()) {
        return Ok(false);
    }
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    if let Some(above) = above {
        make_folder(above)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        // Another program was quicker.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {
            return Ok(false);
        }
        made => made?,
    }
    if let Err(error) = sync_folder(above.unwrap_or(Path::new("."))) {
        // Or the next attempt would take it for durable.
        let _ = std::fs::remove_dir(path);
        return Err(error);
    }
    Ok(true)
}
