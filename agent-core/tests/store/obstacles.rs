//! What stands in the way of a SQLite file is an error that names it. (For plain files: `jsonl::obstacles`.)

use std::os::unix::fs::symlink;
use std::path::Path;

use agent_core::store::sqlite::SqliteStore;
use agent_core::store::{ListRequest, SessionStore as _, StoreError};
use pretty_assertions::assert_eq;

use crate::samples::*;

type Plant = fn(&Path);

fn fifo(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_is_named() {
    let table: [(&str, &str, Plant); 6] = [
        ("data", "", |it| std::fs::write(it, "words").unwrap()),
        ("data", "symbolic link", |it| symlink(it, it).unwrap()),
        ("data/sessions.sqlite", "regular file", |it| {
            std::fs::create_dir(it).unwrap();
        }),
        ("data/sessions.sqlite", "regular file", fifo),
        ("data/sessions.sqlite", "symbolic link", |it| {
            symlink(it, it).unwrap();
        }),
        ("data/sessions.sqlite-wal", "directory", |it| {
            std::fs::create_dir(it).unwrap();
        }),
    ];
    for (name, reason, plant) in table {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join(name);
        if name.contains('/') {
            std::fs::create_dir(folder.path().join("data")).unwrap();
        }
        plant(&place);
        let file = folder.path().join("data/sessions.sqlite");
        for _ in 0..2 {
            match SqliteStore::open(&file).await {
                Err(StoreError::File {
                    path,
                    attempted,
                    reason: why,
                }) => {
                    assert_eq!((path, attempted), (file.clone(), "opened"));
                    assert!(why.contains(reason), "{name}: {why}");
                }
                other => panic!("{name}: {other:?}"),
            }
        }
        // Once the way is free, it opens.
        if place.is_dir() {
            std::fs::remove_dir(&place).unwrap();
        } else {
            std::fs::remove_file(&place).unwrap();
        }
        let store = SqliteStore::open(&file).await.unwrap();
        crate::samples::store(&store, &header("session"), &prompts(0, 1)).await;
        store.close().await;
    }
}

#[tokio::test]
async fn a_right_that_cannot_be_had_is_a_fault_and_everything_else_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.sqlite");
    let store = SqliteStore::open(&file).await.unwrap();
    crate::samples::store(&store, &header("session"), &prompts(0, 3)).await;
    let locks = folder.path().join("locks");
    let _ = std::fs::remove_dir_all(&locks);
    std::fs::write(&locks, "in the way").unwrap();
    for refused in [
        store.writer(&id("session")).await.err(),
        store.writer(&id("new")).await.err(),
        store.delete(&id("session")).await.err(),
    ] {
        assert!(
            matches!(refused, Some(StoreError::File { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(whole(&store, &id("session")).await, prompts(0, 3));
    let page = store.list(&ListRequest::default()).await.unwrap();
    assert_eq!(page.sessions, [summary(&store, &id("session")).await]);
    std::fs::remove_file(&locks).unwrap();
    crate::samples::store(&store, &header("session"), &prompts(3, 1)).await;
}
