//! What the files of a session are called.

use std::io;
use std::path::{Path, PathBuf};

use super::durable::{absent, fault};
use crate::session::SessionId;
use crate::store::{BlobId, StoreError};

/// The longest id that is a file's name, in bytes: with what is put around it, it stays below the 255 of every file system.
const LONGEST_ID: usize = 200;

const LOG: &str = ".jsonl";

/// The names of files below one folder. Names with a dot in front are never those of a session.
#[derive(Debug)]
pub(super) struct Names {
    root: PathBuf,
}

impl Names {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The log.
    pub(super) fn log(&self, id: &SessionId) -> PathBuf {
        self.root.join(format!("{id}{LOG}"))
    }

    /// The log before its first events are durable. Who has it locked may begin the session.
    pub(super) fn draft(&self, id: &SessionId) -> PathBuf {
        self.root.join(format!(".{id}{LOG}.new"))
    }

    /// What was changed beside the log.
    pub(super) fn beside(&self, id: &SessionId) -> PathBuf {
        self.root.join(format!("{id}.meta.json"))
    }

    /// The same before it is durable.
    pub(super) fn beside_draft(&self, id: &SessionId) -> PathBuf {
        self.root.join(format!(".{id}.meta.json.new"))
    }

    /// The folder of blobs.
    pub(super) fn blobs(&self, id: &SessionId) -> PathBuf {
        self.root.join(format!("{id}.blobs"))
    }

    pub(super) fn blob(&self, id: &SessionId, blob: &BlobId) -> PathBuf {
        self.blobs(id).join(blob.digits())
    }

    /// A blob before it is durable.
    pub(super) fn blob_draft(&self, id: &SessionId, blob: &BlobId) -> PathBuf {
        self.blobs(id).join(format!(".{}.new", blob.digits()))
    }

    /// What lists are made of.
    pub(super) fn index(&self) -> PathBuf {
        self.root.join(".index.jsonl")
    }

    pub(super) fn index_draft(&self) -> PathBuf {
        self.root.join(".index.jsonl.new")
    }

    /// An error for an id that no file here can be named after. Such a session is nobody's; it can only not be begun.
    pub(super) fn refuse(&self, id: &SessionId) -> Result<(), StoreError> {
        if fits(id) {
            return Ok(());
        }
        Err(StoreError::File {
            path: self.root.clone(),
            attempted: "saved",
            reason: format!(
                "the session id {:?} is no name for a file: at most {LONGEST_ID} letters, digits, `-`, `_` and `.` are, \
                 with no dot in front",
                id.as_str()
            ),
        })
    }
}

/// Whether files can be named after a session. What does not fit is not there.
pub(super) fn fits(id: &SessionId) -> bool {
    let id = id.as_str();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !id.is_empty() && id.len() <= LONGEST_ID && !id.starts_with('.') && id.bytes().all(plain)
}

/// The session whose log has this name; none for any other file.
pub(super) fn session_of(file: &std::ffi::OsStr) -> Option<SessionId> {
    let id = SessionId::from(file.to_str()?.strip_suffix(LOG)?.to_owned());
    fits(&id).then_some(id)
}

/// The sessions of a folder whose id begins so: at most `limit`, in order.
pub(super) fn beginning_with(
    names: &Names,
    beginning: &str,
    limit: usize,
) -> Result<Vec<SessionId>, StoreError> {
    let read = || -> io::Result<Vec<SessionId>> {
        let mut found = Vec::new();
        let Some(folder) = absent(std::fs::read_dir(names.root()))? else {
            return Ok(found);
        };
        for file in folder {
            found.extend(session_of(&file?.file_name()));
        }
        found.retain(|id| id.as_str().starts_with(beginning));
        found.sort();
        found.truncate(limit);
        Ok(found)
    };
    read().map_err(fault(names.root(), "listed"))
}

/// The session of which this is the name of a draft.
pub(super) fn session_of_draft(file: &std::ffi::OsStr) -> Option<SessionId> {
    let log = file.to_str()?.strip_prefix('.')?.strip_suffix(".new")?;
    session_of(log.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::ffi::OsStr;

    #[test]
    fn files_are_named_after_sessions_and_back() {
        let table = [
            ("0198c3f2-7c4e-7e0a.jsonl", Some("0198c3f2-7c4e-7e0a")),
            ("a.b_c.jsonl", Some("a.b_c")),
            ("a.jsonl.jsonl", Some("a.jsonl")),
            (".a.jsonl", None),
            (".jsonl", None),
            ("a.jsonl.new", None),
            ("a.meta.json", None),
            ("copy of a.jsonl", None),
            ("ä.jsonl", None),
        ];
        for (file, id) in table {
            let found = session_of(OsStr::new(file));
            assert_eq!(found.as_ref().map(SessionId::as_str), id, "{file}");
        }
        let names = Names::new(PathBuf::from("/data"));
        for id in ["", "..", "a/b", "a\0", "a b", &"x".repeat(201)] {
            assert!(names.refuse(&SessionId::from(id.to_owned())).is_err());
        }
    }
}
