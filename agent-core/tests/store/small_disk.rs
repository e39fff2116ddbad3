//! A disk that is full: the one limit that works for root too is that on the size of files, so a process of its own sets it.

use agent_core::store::{Blob, Change, StoreError};
use pretty_assertions::assert_eq;
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::other::{Kind, Shared};
use crate::processes::stores_in_files;
use crate::samples::*;

stores_in_files!(what_does_not_fit_is_refused_and_leaves_nothing);

async fn what_does_not_fit_is_refused_and_leaves_nothing(shared: &Shared) {
    // The store is there before the disk is full.
    let store = shared.open().await;
    crate::samples::store(&*store, &header("there"), &prompts(0, 3)).await;
    store.close().await;
    shared.start("small-disk").succeeds();
    let store = shared.open().await;
    let mut expected = prompts(0, 3);
    expected.extend([large(3), prompt(4, "behind it")]);
    assert_eq!(whole(&*store, &id("there")).await, expected);
}

/// The longest file from now on, in bytes.
fn limit(bytes: Option<u64>) {
    let limit = Rlimit {
        current: bytes,
        maximum: None,
    };
    setrlimit(Resource::Fsize, limit).unwrap();
}

/// An event that does not fit.
fn large(seq: u64) -> agent_core::session::event::Event {
    prompt(seq, &"large words ".repeat(100_000))
}

fn is_full<T: std::fmt::Debug>(result: Result<T, StoreError>) {
    match result {
        Err(StoreError::File { reason, .. }) => {
            assert!(
                reason.contains("too large") || reason.contains("full") || reason.contains("disk"),
                "{reason}"
            );
        }
        other => panic!("{other:?}"),
    }
}

/// The files of the folder and their lengths.
fn files(shared: &Shared) -> Vec<(String, u64)> {
    let mut found: Vec<_> = std::fs::read_dir(shared.folder.join("sessions"))
        .unwrap()
        .map(|file| {
            let file = file.unwrap();
            let name = file.file_name().to_string_lossy().into_owned();
            (name, file.metadata().unwrap().len())
        })
        .filter(|(name, _)| name != ".index.jsonl")
        .collect();
    found.sort();
    found
}

pub async fn everything_on_it(shared: &Shared) {
    let store = shared.open().await;
    let mut there = writer(&*store, &id("there")).await;
    let mut fresh = writer(&*store, &id("fresh")).await;
    let before = (shared.kind == Kind::Jsonl).then(|| files(shared));
    let blob = Blob::new(vec![7; 1_000_000]);
    limit(Some(100_000));
    for _ in 0..2 {
        // The last of these does fit, but nothing of an append that failed may stay.
        let events = [large(3), prompt(4, "behind it")];
        is_full(there.append(&header("there"), &events, &[]).await);
        is_full(fresh.append(&header("fresh"), &[large(0)], &[]).await);
        let events = [printed(3, "call", &blob)];
        let blobs = std::slice::from_ref(&blob);
        is_full(there.append(&header("there"), &events, blobs).await);
        let events = [printed(0, "call", &blob)];
        is_full(fresh.append(&header("fresh"), &events, blobs).await);
        assert_eq!(whole(&*store, &id("there")).await, prompts(0, 3));
        assert_eq!(summary(&*store, &id("there")).await.events, 3);
        assert!(!store.has(&id("fresh")).await.unwrap());
        for name in ["there", "fresh"] {
            assert_eq!(store.blob(&id(name), blob.id()).await.unwrap(), None);
        }
    }
    let change = Change {
        title: Some("large words ".repeat(100_000)),
        ..Change::default()
    };
    is_full(store.update(&id("there"), &change).await);
    assert_eq!(summary(&*store, &id("there")).await.title, None);
    if let Some(before) = before {
        let after = files(shared);
        // The draft of a log that is held may be there; nothing of it counts.
        let logs = |files: Vec<(String, u64)>| -> Vec<_> {
            files
                .into_iter()
                .filter(|it| !it.0.starts_with('.'))
                .collect()
        };
        assert_eq!(logs(after), logs(before));
    }

    limit(None);
    there
        .append(&header("there"), &[large(3), prompt(4, "behind it")], &[])
        .await
        .unwrap();
    let events = [printed(0, "call", &blob)];
    let blobs = std::slice::from_ref(&blob);
    fresh
        .append(&header("fresh"), &events, blobs)
        .await
        .unwrap();
    let back = store.blob(&id("fresh"), blob.id()).await.unwrap();
    assert_eq!(back.map(Blob::new), Some(blob.clone()));

    limit(Some(100_000));
    is_full(store.fork(&id("there"), &header("copy")).await);
    assert!(!store.has(&id("copy")).await.unwrap());
    // What only reads, and what makes room, works.
    assert_eq!(whole(&*store, &id("there")).await.len(), 5);
    fresh.release().await;
    if shared.kind == Kind::Jsonl {
        assert!(store.delete(&id("fresh")).await.unwrap());
    }
    limit(None);
    store.fork(&id("there"), &header("copy")).await.unwrap();
    assert_eq!(whole(&*store, &id("copy")).await.len(), 5);
    assert!(store.delete(&id("copy")).await.unwrap());
    there.release().await;
    store.close().await;
}
