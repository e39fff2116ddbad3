//! Names that are there already are never followed and never written through.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use agent_core::store::{SessionStore, StoreError};
use pretty_assertions::assert_eq;

use super::*;

const DRAFT: &str = ".new.jsonl.new";

/// A file elsewhere that nothing may change.
fn victim(files: &Files) -> PathBuf {
    let victim = files.folder.path().join("victim");
    std::fs::write(&victim, "precious").unwrap();
    victim
}

#[tokio::test]
async fn what_bears_a_hidden_name_is_not_followed() {
    let blob = Blob::new(*b"bytes");
    let blob_draft = format!("new.blobs/.{}.new", blob.id().digits());
    for name in [
        DRAFT,
        ".new.meta.json.new",
        ".index.jsonl",
        ".index.jsonl.new",
        &blob_draft,
        "new.meta.json",
    ] {
        for hard in [false, true] {
            let files = Files::with_two_sessions().await;
            let victim = victim(&files);
            let link = files.path(name);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            let _ = std::fs::remove_file(&link);
            if hard {
                std::fs::hard_link(&victim, &link).unwrap();
            } else {
                symlink(&victim, &link).unwrap();
            }
            let store = files.open();
            let events = [printed(0, "call", &blob)];
            store_with(&store, &header("new"), &events, std::slice::from_ref(&blob)).await;
            store.update(&id("new"), &put_away()).await.unwrap();
            assert_eq!(list(&store).await.sessions.len(), 3, "{name}");
            assert_eq!(whole(&store, &id("new")).await, events, "{name}");
            // The index may be added to by whoever may write to the folder, if it is a file of it.
            if !(hard && name == ".index.jsonl") {
                assert_eq!(
                    std::fs::read_to_string(&victim).unwrap(),
                    "precious",
                    "{name}"
                );
            }
        }
    }
}

#[tokio::test]
async fn what_a_crash_left_under_a_hidden_name_is_taken_over() {
    let files = Files::with_two_sessions().await;
    std::fs::write(
        files.path(DRAFT),
        "half of a log that was never acknowledged",
    )
    .unwrap();
    let store = files.open();
    assert_eq!(store.summary(&id("new")).await.unwrap(), None);
    assert_eq!(list(&store).await.sessions.len(), 2);
    crate::samples::store(&store, &header("new"), &prompts(0, 1)).await;
    assert_eq!(whole(&store, &id("new")).await, prompts(0, 1));
    assert!(!files.path(DRAFT).exists());

    // A second name of a finished log, from a crash between linking and unlinking.
    std::fs::hard_link(files.path("new.jsonl"), files.path(DRAFT)).unwrap();
    crate::samples::store(&store, &header("new"), &prompts(1, 1)).await;
    assert!(!files.path(DRAFT).exists());
    assert_eq!(whole(&store, &id("new")).await, prompts(0, 2));
    std::fs::hard_link(files.path("new.jsonl"), files.path(DRAFT)).unwrap();
    assert!(store.delete(&id("new")).await.unwrap());
    assert!(!files.path(DRAFT).exists());
    assert!(!store.has(&id("new")).await.unwrap());
}

#[tokio::test]
async fn a_folder_under_a_hidden_name_is_a_fault_with_that_name() {
    let files = Files::with_two_sessions().await;
    std::fs::create_dir(files.path(DRAFT)).unwrap();
    let store = files.open();
    match store.writer(&id("new")).await {
        Err(StoreError::File {
            path, attempted, ..
        }) => {
            assert_eq!((path, attempted), (files.path(DRAFT), "saved"));
        }
        other => panic!("{other:?}"),
    }
    files.assert_whole(&store).await;
}

#[tokio::test]
async fn a_log_that_appears_is_never_replaced() {
    let files = Files::with_two_sessions().await;
    let store = files.open();
    let mut writer = writer(&store, &id("new")).await;
    // Somebody copies a log here that is not ours.
    let text = String::from_utf8(files.text("hurt.jsonl")).unwrap();
    files.write("new.jsonl", text.replace("\"hurt\"", "\"new\""));
    let refused = writer.append(&header("new"), &prompts(0, 1), &[]).await;
    assert!(
        matches!(refused, Err(StoreError::Exists { .. })),
        "{refused:?}"
    );
    writer.release().await;
    assert_eq!(whole(&store, &id("new")).await, events("hurt"));
    assert!(!files.path(DRAFT).exists());
}

#[tokio::test]
async fn everything_is_for_its_owner_alone() {
    let files = Files::with_two_sessions().await;
    let store = files.open();
    store.update(&id("hurt"), &put_away()).await.unwrap();
    store.fork(&id("hurt"), &header("copy")).await.unwrap();
    list(&store).await;
    let mut paths: Vec<PathBuf> = files.everything().into_keys().collect();
    paths.extend([files.root(), files.path(".index.jsonl")]);
    assert_eq!(paths.len(), 13);
    for path in paths {
        let metadata = path.metadata().unwrap();
        let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
        let mode = metadata.permissions().mode() & 0o777;
        assert_eq!(mode, expected, "{}", path.display());
    }
}

#[tokio::test]
async fn nothing_is_left_of_what_was_given_up_or_deleted() {
    let files = Files::new();
    let store = files.open();
    drop(writer(&store, &id("new")).await);
    writer(&store, &id("new")).await.release().await;
    assert!(files.everything().is_empty());
    store_with(&store, &header("new"), &events("new"), &[output("new")]).await;
    store.update(&id("new"), &put_away()).await.unwrap();
    assert_eq!(files.everything().len(), 4);
    assert!(store.delete(&id("new")).await.unwrap());
    assert!(files.everything().is_empty());
    // An index is no trace of a session that was never begun.
    let untouched = Files::new();
    let store = untouched.open();
    assert_eq!(list(&store).await.sessions, []);
    assert!(!store.delete(&id("new")).await.unwrap());
    assert!(!untouched.root().exists());
}

/// A crash in the middle of a deletion, or of a first append, an hour ago: nothing of the session may lie around for ever.
#[tokio::test]
async fn what_a_crash_left_of_a_session_goes_with_time() {
    let files = Files::with_two_sessions().await;
    let store = files.open();
    let before = files.everything();
    let leave = |name: &str| {
        let draft = files.path(&format!(".{name}.jsonl.new"));
        std::fs::write(&draft, "half of a log").unwrap();
        files.write(&format!("{name}.meta.json"), "{\"archived\":true}");
        std::fs::create_dir(files.path(&format!("{name}.blobs"))).unwrap();
        files.write(&format!("{name}.blobs/0000"), "bytes");
        std::fs::File::options().append(true).open(draft).unwrap()
    };
    let age = std::time::SystemTime::now() - std::time::Duration::from_hours(2);
    leave("old").set_modified(age).unwrap();
    // One that is held is never old, whatever its time says.
    let held = writer(&store, &id("held")).await;
    let draft = files.path(".held.jsonl.new");
    let draft = std::fs::File::options().append(true).open(draft).unwrap();
    draft.set_modified(age).unwrap();
    leave("young");
    assert_eq!(list(&store).await.sessions.len(), 2);
    let left: Vec<String> = files
        .everything()
        .into_keys()
        .filter(|path| !before.contains_key(path))
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(
        left,
        [
            ".held.jsonl.new",
            ".young.jsonl.new",
            "young.blobs",
            "0000",
            "young.meta.json"
        ]
    );
    held.release().await;
    assert!(!store.delete(&id("young")).await.unwrap());
    assert_eq!(files.everything(), before);
}
