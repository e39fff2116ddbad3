//! A fault of the system is an error that names the file. It is never an empty list, and never "not there".

use std::os::unix::fs::{PermissionsExt as _, symlink};

use agent_core::store::{SessionStore, StoreError};
use pretty_assertions::assert_eq;

use super::*;

/// Every call, and what became of it: an error, or nothing if it was answered.
async fn every_call(store: &JsonlStore, name: &str) -> Vec<(&'static str, Option<StoreError>)> {
    let session = id(name);
    let blob = output(name);
    vec![
        ("writer", store.writer(&session).await.err()),
        ("summary", store.summary(&session).await.err()),
        ("has", store.has(&session).await.err()),
        ("read", store.read(&session, 0, 1).await.err()),
        ("blob", store.blob(&session, blob.id()).await.err()),
        ("list", store.list(&ListRequest::default()).await.err()),
        ("ids", store.ids("", 10).await.err()),
        ("update", store.update(&session, &put_away()).await.err()),
        ("fork", store.fork(&session, &header("copy")).await.err()),
        ("delete", store.delete(&session).await.err()),
        ("search", store.search(&needle()).await.err()),
        ("salvage", store.salvage(&session).await.err()),
    ]
}

fn assert_file_fault(call: &str, error: Option<&StoreError>, below: &Path, reason: &str) {
    match error {
        Some(StoreError::File {
            path, reason: why, ..
        }) => {
            assert!(path.starts_with(below), "{call}: {}", path.display());
            assert!(why.contains(reason), "{call}: {why}");
        }
        other => panic!("{call}: {other:?}"),
    }
}

#[tokio::test]
async fn a_folder_that_is_none_is_an_error_of_every_call() {
    for (reason, plant) in [
        ("Not a directory", &|root: &Path| {
            std::fs::write(root, "words").unwrap();
        }),
        ("symbolic link", &|root: &Path| symlink(root, root).unwrap()),
    ] as [(&str, &dyn Fn(&Path)); 2]
    {
        let files = Files::new();
        plant(&files.root());
        for (call, error) in every_call(&files.open(), "hurt").await {
            assert_file_fault(call, error.as_ref(), &files.root(), reason);
        }
        let below = JsonlStore::new(files.root().join("deeper/still"));
        for (call, error) in every_call(&below, "hurt").await {
            assert_file_fault(call, error.as_ref(), &files.root(), reason);
        }
    }
}

#[tokio::test]
async fn a_folder_that_is_missing_holds_no_sessions() {
    let files = Files::new();
    let store = JsonlStore::new(files.root().join("deep/below"));
    assert_eq!(list(&store).await, SessionPage::default());
    assert_eq!(store.summary(&id("hurt")).await.unwrap(), None);
    assert_eq!(store.search(&needle()).await.unwrap(), []);
    crate::samples::store(&store, &header("hurt"), &prompts(0, 1)).await;
    assert_eq!(whole(&store, &id("hurt")).await, prompts(0, 1));
}

#[tokio::test]
async fn what_stands_in_the_place_of_a_log_is_named() {
    for (reason, plant) in [
        ("a folder stands", &|path: &Path| {
            std::fs::create_dir(path).unwrap();
        }),
        ("symbolic link", &|path: &Path| symlink(path, path).unwrap()),
        ("symbolic link", &|path: &Path| {
            symlink("/nowhere at all", path).unwrap();
        }),
        ("symbolic link", &|path: &Path| {
            symlink(path.with_file_name("whole.jsonl"), path).unwrap();
        }),
        ("not a regular file", &|path: &Path| {
            rustix::fs::mknodat(
                rustix::fs::CWD,
                path,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RUSR,
                0,
            )
            .unwrap();
        }),
    ] as [(&str, &dyn Fn(&Path)); 5]
    {
        let files = Files::with_two_sessions().await;
        let before = files.open();
        assert_eq!(whole(&before, &id("hurt")).await, events("hurt"));
        let path = files.path("hurt.jsonl");
        std::fs::remove_file(&path).unwrap();
        plant(&path);
        let untouched = files.everything();
        for store in [&before, &files.open()] {
            for call in ["writer", "read", "fork", "delete", "salvage"] {
                let error = every_call(store, "hurt").await;
                let error = error.iter().find(|it| it.0 == call).unwrap().1.as_ref();
                assert_file_fault(call, error, &path, reason);
            }
            for error in [
                store.summary(&id("hurt")).await.unwrap_err(),
                store.has(&id("hurt")).await.unwrap_err(),
                store.update(&id("hurt"), &put_away()).await.unwrap_err(),
            ] {
                let place = path.display().to_string();
                assert!(
                    matches!(&error, StoreError::Damaged { damage, .. } if damage.place == place),
                    "{error}"
                );
            }
            // The others are listed and found, and this one is not kept quiet.
            let page = list(store).await;
            assert_eq!(
                (page.sessions.len(), page.damaged.len()),
                (1, 1),
                "{reason}"
            );
            assert_eq!(store.search(&needle()).await.unwrap().len(), 1);
            files.assert_whole(store).await;
        }
        assert_eq!(files.everything(), untouched, "{reason}");
    }
}

#[tokio::test]
async fn a_blob_that_cannot_be_read_or_made_is_an_error() {
    let files = Files::with_two_sessions().await;
    let store = files.open();
    let folder = files.path("hurt.blobs");
    let output = output("hurt");
    let file = folder.join(output.id().digits());
    std::fs::remove_file(&file).unwrap();
    assert_eq!(store.blob(&id("hurt"), output.id()).await.unwrap(), None);
    std::fs::create_dir(&file).unwrap();
    let error = store.blob(&id("hurt"), output.id()).await.err();
    assert_file_fault("blob", error.as_ref(), &file, "a folder stands");
    let again = [printed(5, "call", &output)];
    let mut writer = writer(&store, &id("hurt")).await;
    let refused = writer
        .append(&header("hurt"), &again, std::slice::from_ref(&output))
        .await;
    assert_file_fault("append", refused.err().as_ref(), &folder, "directory");
    std::fs::remove_dir(&file).unwrap();
    std::fs::remove_dir(&folder).unwrap();
    std::fs::write(&folder, "in the way").unwrap();
    let error = store.blob(&id("hurt"), output.id()).await.err();
    assert_file_fault("blob", error.as_ref(), &folder, "Not a directory");
    let refused = writer
        .append(&header("hurt"), &again, std::slice::from_ref(&output))
        .await;
    assert_file_fault("append", refused.err().as_ref(), &folder, "");
    assert_eq!(whole(&store, &id("hurt")).await, events("hurt"));
    // Once the way is free, the same append does.
    std::fs::remove_file(&folder).unwrap();
    writer
        .append(&header("hurt"), &again, std::slice::from_ref(&output))
        .await
        .unwrap();
    let back = store.blob(&id("hurt"), output.id()).await.unwrap();
    assert_eq!(back.as_deref(), Some(output.bytes()));
    assert_eq!(whole(&store, &id("hurt")).await.len(), 6);
}

#[tokio::test]
async fn a_log_that_is_taken_from_under_its_writer_is_not_written_to() {
    let files = Files::with_two_sessions().await;
    let store = files.open();
    let path = files.path("hurt.jsonl");
    let mut writer = writer(&store, &id("hurt")).await;
    let whole_text = files.text("hurt.jsonl");

    std::fs::remove_file(&path).unwrap();
    let refused = writer.append(&header("hurt"), &prompts(5, 1), &[]).await;
    assert_file_fault(
        "append",
        refused.err().as_ref(),
        &path,
        "removed or replaced",
    );
    std::fs::write(&path, &whole_text).unwrap();
    let refused = writer.append(&header("hurt"), &prompts(5, 1), &[]).await;
    assert_file_fault(
        "append",
        refused.err().as_ref(),
        &path,
        "removed or replaced",
    );
    assert_eq!(files.text("hurt.jsonl"), whole_text);
    writer.release().await;
    crate::samples::store(&store, &header("hurt"), &prompts(5, 1)).await;
    assert_eq!(whole(&store, &id("hurt")).await.len(), 6);
}

#[tokio::test]
async fn a_log_that_somebody_else_wrote_to_is_not_written_to() {
    let files = Files::with_two_sessions().await;
    let store = files.open();
    let mut writer = writer(&store, &id("hurt")).await;
    let mut text = files.text("hurt.jsonl");
    let mut line = serde_json::to_vec(&prompt(5, "theirs")).unwrap();
    line.push(b'\n');
    text.extend_from_slice(&line);
    // Appended in place, by one that asks for no lock.
    std::fs::write(files.path("hurt.jsonl"), &text).unwrap();
    let refused = writer
        .append(&header("hurt"), &[prompt(5, "ours")], &[])
        .await;
    assert!(
        matches!(refused, Err(StoreError::OutOfOrder { seq: 5, .. })),
        "{refused:?}"
    );
    assert_eq!(files.text("hurt.jsonl"), text);
}

#[tokio::test]
async fn what_may_not_be_read_is_an_error() {
    if rustix::process::geteuid().is_root() {
        // Modes do not hold root back. The cases above make the same errors by other means.
        return;
    }
    let files = Files::with_two_sessions().await;
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let path = files.path("hurt.jsonl");
    mode(&path, 0o000);
    let store = files.open();
    for (call, error) in every_call(&store, "hurt").await {
        match call {
            // These do not look at the log.
            "blob" | "ids" => assert!(error.is_none(), "{error:?}"),
            _ => assert_file_fault(call, error.as_ref(), &path, "Permission denied"),
        }
    }
    mode(&path, 0o600);
    mode(&files.root(), 0o000);
    for (call, error) in every_call(&store, "hurt").await {
        assert_file_fault(call, error.as_ref(), &files.root(), "Permission denied");
    }
    mode(&files.root(), 0o700);
    files.assert_whole(&store).await;
}
