//! What the files of a session are called.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use super::durable::{absent, fault};
use crate::session::SessionId;
use crate::store::{BlobId, StoreError};

/// The longest id that is a file's name, in bytes: with what is put around it, it stays below the 255 of every file system.
const LONGEST_ID: usize = 200;

const LOG: &str = ".jsonl";
const BESIDE: &str = ".meta.json";
const NEW: &str = ".new";

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
        self.root.join(format!(".{id}{LOG}{NEW}"))
    }

    /// What was changed beside the log.
    pub(super) fn beside(&self, id: &SessionId) -> PathBuf {
        self.root.join(format!("{id}{BESIDE}"))
    }

    /// The same before it is durable.
    pub(super) fn beside_draft(&self, id: &SessionId) -> PathBuf {
        self.root.join(format!(".{id}{BESIDE}{NEW}"))
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

/// What a file is to a session.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The log.
    Log(SessionId),
    /// A log that is not, or no more.
    Draft(SessionId),
    /// The sidecar.
    Beside(SessionId),
}

/// What the name of a file tells; none for a file that is not of a session, or only through its folder.
pub(super) fn meaning(file: &OsStr) -> Option<Meaning> {
    let file = file.to_str()?;
    let session = |id: &str| Some(SessionId::from(id.to_owned())).filter(fits);
    if let Some(hidden) = file.strip_prefix('.') {
        let log = hidden.strip_suffix(NEW)?;
        return session(log.strip_suffix(LOG)?).map(Meaning::Draft);
    }
    if let Some(id) = file.strip_suffix(LOG) {
        return session(id).map(Meaning::Log);
    }
    session(file.strip_suffix(BESIDE)?).map(Meaning::Beside)
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
            if let Some(Meaning::Log(id)) = meaning(&file?.file_name())
                && id.as_str().starts_with(beginning)
            {
                found.push(id);
            }
        }
        found.sort();
        found.truncate(limit);
        Ok(found)
    };
    read().map_err(fault(names.root(), "listed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn files_are_named_after_sessions_and_back() {
        let session = |id: &str| SessionId::from(id.to_owned());
        let names = Names::new(PathBuf::new());
        for id in [
            "0198c3f2-7c4e-7e0a",
            "a.b_c",
            "a.jsonl",
            "a.meta.json",
            "a.jsonl.new",
        ]
        .map(session)
        {
            let found = |path: PathBuf| meaning(path.as_os_str());
            assert_eq!(found(names.log(&id)), Some(Meaning::Log(id.clone())));
            assert_eq!(found(names.draft(&id)), Some(Meaning::Draft(id.clone())));
            assert_eq!(found(names.beside(&id)), Some(Meaning::Beside(id.clone())));
            for other in [names.beside_draft(&id), names.blobs(&id)] {
                assert_eq!(found(other), None);
            }
        }
        for file in [
            ".a.jsonl",
            ".jsonl",
            "..jsonl.new",
            "a.jsonl.new",
            "copy of a.jsonl",
            "ä.jsonl",
            ".index.jsonl",
            "notes.json",
        ] {
            assert_eq!(meaning(OsStr::new(file)), None, "{file}");
        }
        for id in ["", "..", "a/b", "a\0", "a b", &"x".repeat(201)] {
            assert!(names.refuse(&SessionId::from(id.to_owned())).is_err());
        }
    }
}
