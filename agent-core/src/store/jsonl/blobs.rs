//! The bytes beside a log: a file for each, named by its content, in a folder of the session.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::durable::{self, absent, fault};
use super::names::Names;
use crate::session::SessionId;
use crate::store::{Blob, BlobId, Damage, StoreError};

/// Reads a blob; `None` when it is not kept. Bytes that are not those of the name are damage.
pub(super) fn read(
    names: &Names,
    id: &SessionId,
    blob: &BlobId,
) -> Result<Option<Vec<u8>>, StoreError> {
    let path = names.blob(id, blob);
    let read = || -> io::Result<Option<Vec<u8>>> {
        let Some((mut file, _)) = absent(durable::open(&path))? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    };
    let bytes = read().map_err(fault(&path, "read"))?;
    if let Some(bytes) = &bytes
        && BlobId::of(bytes) != *blob
    {
        return Err(StoreError::Damaged {
            id: id.clone(),
            damage: Damage {
                place: path.display().to_string(),
                at: None,
                reason: "its bytes are not those that were kept".to_owned(),
            },
        });
    }
    Ok(bytes)
}

/// Blobs that were made for events that are not stored yet. Unless it is [kept](Self::keep), they go again.
#[derive(Debug, Default)]
pub(super) struct Made {
    files: Vec<PathBuf>,
    folder: Option<PathBuf>,
}

impl Made {
    /// The events are stored.
    pub(super) fn keep(mut self) {
        self.files.clear();
        self.folder = None;
    }

    /// Makes the folder, if it is not there.
    fn folder(&mut self, names: &Names, id: &SessionId) -> io::Result<PathBuf> {
        let folder = names.blobs(id);
        if durable::make_folder(&folder)? {
            self.folder = Some(folder.clone());
        }
        Ok(folder)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for file in &self.files {
            let _ = durable::remove(file);
        }
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Makes blobs durable. The caller has the right to write to the session.
pub(super) fn store(names: &Names, id: &SessionId, blobs: &[Blob]) -> Result<Made, StoreError> {
    let mut made = Made::default();
    if blobs.is_empty() {
        return Ok(made);
    }
    let folder = names.blobs(id);
    let mut store = || -> io::Result<()> {
        made.folder(names, id)?;
        for blob in blobs {
            let path = names.blob(id, blob.id());
            let there = absent(path.symlink_metadata())?;
            if there.is_some_and(|it| it.is_file() && it.len() == blob.bytes().len() as u64) {
                continue;
            }
            let draft = names.blob_draft(id, blob.id());
            let published = durable::write_draft(&draft, blob.bytes())
                // Whatever bears the name now is not what the name says.
                .and_then(|()| durable::remove(&path))
                .and_then(|_| std::fs::hard_link(&draft, &path));
            let _ = durable::remove(&draft);
            published?;
            made.files.push(path);
        }
        durable::sync_folder(&folder)
    };
    store().map_err(fault(&folder, "saved"))?;
    Ok(made)
}

/// Gives another session the same blobs: other names for the same bytes, or copies where the file system has no such names.
pub(super) fn share(names: &Names, from: &SessionId, to: &SessionId) -> io::Result<Made> {
    let mut made = Made::default();
    let Some(blobs) = absent(std::fs::read_dir(names.blobs(from)))? else {
        return Ok(made);
    };
    let folder = made.folder(names, to)?;
    for blob in blobs {
        let blob = blob?;
        // A draft belongs to whoever writes it.
        if blob.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = folder.join(blob.file_name());
        match std::fs::hard_link(blob.path(), &path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
            Err(_) => copy(&blob.path(), &path)?,
            Ok(()) => {}
        }
        made.files.push(path);
    }
    durable::sync_folder(&folder)?;
    Ok(made)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut bytes = Vec::new();
    durable::open(from)?.0.read_to_end(&mut bytes)?;
    durable::write_draft(to, &bytes)
}

/// Removes all blobs of a session. Nothing below a folder that does not belong there is touched.
pub(super) fn remove_all(names: &Names, id: &SessionId) -> io::Result<()> {
    let folder = names.blobs(id);
    match absent(folder.symlink_metadata())? {
        None => Ok(()),
        Some(there) if there.is_dir() => {
            for blob in std::fs::read_dir(&folder)? {
                std::fs::remove_file(blob?.path())?;
            }
            std::fs::remove_dir(&folder)
        }
        Some(_) => std::fs::remove_file(&folder),
    }
}
