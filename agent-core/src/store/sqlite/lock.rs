//! One writer per session: a locked file, which is free as soon as its owner dies.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::session::SessionId;
use crate::store::BlobId;

/// The right to write to a session, for as long as it lives.
#[derive(Debug)]
pub(super) struct SessionLock {
    file: File,
    path: PathBuf,
}

impl SessionLock {
    /// Takes the lock of a session, in this folder; `None` while anybody else has it.
    pub(super) fn try_take(folder: &Path, id: &SessionId) -> io::Result<Option<Self>> {
        let path = folder.join(file_name(id));
        loop {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
            let file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .mode(0o600)
                .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
                .open(&path)?;
            match file.try_lock() {
                Ok(()) if names(&path, &file)? => return Ok(Some(Self { file, path })),
                // Its last owner removed the file between our two steps: what we hold is nobody's.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

impl Drop for SessionLock {
    /// The file goes while it is still locked, so that none pile up. Whoever has it open already finds its name gone.
    fn drop(&mut self) {
        if names(&self.path, &self.file).unwrap_or(false)
            && let Err(error) = std::fs::remove_file(&self.path)
        {
            tracing::debug!(path = %self.path.display(), %error, "a lock's file stays");
        }
    }
}

/// Whether a path leads to this very file.
fn names(path: &Path, file: &File) -> io::Result<bool> {
    let held = file.metadata()?;
    match std::fs::symlink_metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (held.dev(), held.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// A session's id where it can be a file's name everywhere, as ours always can; else its digest.
fn file_name(id: &SessionId) -> String {
    let id = id.as_str();
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if (1..=64).contains(&id.len()) && id.bytes().all(plain) {
        format!("{id}.lock")
    } else {
        format!("{}.lock", BlobId::of(id.as_bytes()).digits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_lock_has_one_owner_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("locks");
        let id = SessionId::fresh();
        let take = || SessionLock::try_take(&folder, &id).unwrap();
        let held = take().unwrap();
        assert!(take().is_none());
        assert!(
            SessionLock::try_take(&folder, &SessionId::fresh())
                .unwrap()
                .is_some()
        );
        drop(held);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        assert!(take().is_some());
    }

    #[test]
    fn a_lock_whose_file_was_removed_is_not_shared_with_its_successor() {
        let folder = tempfile::tempdir().unwrap();
        let id = SessionId::fresh();
        let old = SessionLock::try_take(folder.path(), &id).unwrap().unwrap();
        std::fs::remove_file(&old.path).unwrap();
        let new = SessionLock::try_take(folder.path(), &id).unwrap().unwrap();
        drop(old);
        assert!(new.path.exists());
        assert!(SessionLock::try_take(folder.path(), &id).unwrap().is_none());
    }

    #[test]
    fn every_id_is_a_file_name_of_its_own() {
        let of = |id: &str| file_name(&SessionId::from(id.to_owned()));
        assert_eq!(of("0198-ab"), "0198-ab.lock");
        let mut names: Vec<String> = ["", ".", "..", "a/b", "A", "a", "a.lock", &"x".repeat(300)]
            .into_iter()
            .map(of)
            .collect();
        assert!(
            names
                .iter()
                .all(|name| name.len() < 80 && !name.contains('/'))
        );
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 8);
    }
}
