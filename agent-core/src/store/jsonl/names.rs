//! What the files of a session are called.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use super::durable::{absent, fault};
use crate::session::SessionId;
use crate::store::{BlobId, StoreError};

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
    let session = |id: &str| Some(SessionId::from(id.to_owned())).filter(SessionId::fits);
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
            assert!(!SessionId::from(id.to_owned()).fits());
        }
    }
}
