//! What only plain files can suffer.

mod damage;
mod indexed;
mod obstacles;
mod planted;
mod torn;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agent_core::session::event::Event;
use agent_core::store::jsonl::JsonlStore;
use agent_core::store::{Blob, Change, ListRequest, SearchRequest, SessionPage, SessionStore};
use tempfile::TempDir;

use crate::samples::*;

/// A store in a folder that a test can reach into.
struct Files {
    folder: TempDir,
}

impl Files {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Two sessions: `hurt`, of which a test changes the files, and `whole`, which must stay as it is.
    async fn with_two_sessions() -> Self {
        let files = Self::new();
        let store = files.open();
        for name in ["hurt", "whole"] {
            let blob = output(name);
            store_with(&store, &header(name), &events(name), &[blob]).await;
        }
        files
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("sessions")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// The store as another program finds it.
    fn open(&self) -> JsonlStore {
        JsonlStore::new(self.root())
    }

    fn text(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// The lines of a log, with their ends.
    fn lines(&self, name: &str) -> Vec<Vec<u8>> {
        let text = self.text(name);
        text.split_inclusive(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    /// Everything below the folder but the index: the bytes of files, the targets of links.
    fn everything(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        look_into(&self.root(), &mut found);
        found.remove(&self.path(".index.jsonl"));
        found
    }

    /// The session that was left alone is there, whatever happened to the other.
    async fn assert_whole(&self, store: &JsonlStore) {
        assert_eq!(whole(store, &id("whole")).await, events("whole"));
        let output = output("whole");
        let kept = store.blob(&id("whole"), output.id()).await.unwrap();
        assert_eq!(kept.as_deref(), Some(output.bytes()));
        let page = list(store).await;
        let there = |it: &agent_core::store::SessionSummary| it.header.id == id("whole");
        assert!(page.sessions.iter().any(there), "{page:?}");
    }
}

fn look_into(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let Ok(files) = std::fs::read_dir(folder) else {
        return;
    };
    for file in files {
        let path = file.unwrap().path();
        let kind = path.symlink_metadata().unwrap();
        if kind.is_dir() {
            found.insert(path.clone(), b"a folder".to_vec());
            look_into(&path, found);
        } else if kind.is_symlink() {
            let target = std::fs::read_link(&path).unwrap();
            found.insert(path, target.into_os_string().into_encoded_bytes());
        } else if kind.is_file() {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        } else {
            found.insert(path, b"something else".to_vec());
        }
    }
}

/// Five events of one name, the last of which has an output.
fn events(name: &str) -> Vec<Event> {
    let mut events = prompts(0, 2);
    events.push(title(2, &format!("title of {name}")));
    events.push(prompt(3, &format!("needle of {name}")));
    events.push(printed(4, "call", &output(name)));
    events
}

fn output(name: &str) -> Blob {
    Blob::new(format!("output of {name}").into_bytes())
}

fn needle() -> SearchRequest {
    SearchRequest {
        query: "needle".to_owned(),
        cwd: None,
        session: None,
        limit: 10,
    }
}

async fn list(store: &JsonlStore) -> SessionPage {
    let everything = ListRequest {
        archived: true,
        limit: 100,
        ..ListRequest::default()
    };
    store.list(&everything).await.unwrap()
}

fn put_away() -> Change {
    Change {
        archived: Some(true),
        ..Change::default()
    }
}
