//! The index is only a cache, and a sidecar only tells what was set beside a log.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use agent_core::session::event::EventKind;
use agent_core::store::{Damage, SessionSummary};
use pretty_assertions::assert_eq;

use super::*;

const INDEX: &str = ".index.jsonl";

fn expected(name: &str) -> SessionSummary {
    SessionSummary {
        title: Some(format!("title of {name}")),
        updated_at: BEGUN + 4,
        events: 5,
        ..SessionSummary::new(header(name))
    }
}

#[tokio::test]
async fn a_list_is_right_whatever_the_index_says() {
    let files = Files::with_two_sessions().await;
    list(&files.open()).await;
    let index = files.text(INDEX);
    let text = String::from_utf8(index.clone()).unwrap();
    let wrong_lines = text.replace("\"events\":5", "\"events\":\"five\"");
    // Lines of other files that had these names.
    let stale = text
        .replace("title of", "another title of")
        .replace("\"inode\":", "\"inode\":1");
    for (what, text) in [
        ("as it was", index.clone()),
        ("empty", vec![]),
        ("half", index[..index.len() / 2].to_vec()),
        ("not written", vec![0; index.len()]),
        ("of something else", b"hello\n[]\n{}\n\xff\n".to_vec()),
        ("of wrong types", wrong_lines.into_bytes()),
        ("stale", stale.into_bytes()),
        ("twice", index.repeat(2)),
    ] {
        files.write(INDEX, text);
        let store = files.open();
        for _ in 0..2 {
            let page = list(&store).await;
            assert_eq!(
                page.sessions,
                [expected("whole"), expected("hurt")],
                "{what}"
            );
            assert_eq!(page.damaged, [] as [Damage; 0]);
        }
        assert_eq!(summary(&files.open(), &id("hurt")).await, expected("hurt"));
    }
    std::fs::remove_file(files.path(INDEX)).unwrap();
    std::fs::create_dir(files.path(INDEX)).unwrap();
    let store = files.open();
    let page = list(&store).await;
    assert_eq!(page.sessions, [expected("whole"), expected("hurt")]);
    crate::samples::store(&store, &header("hurt"), &prompts(5, 1)).await;
    assert_eq!(list(&store).await.sessions[0].events, 6);
}

#[tokio::test]
async fn a_list_opens_no_log_that_has_not_changed() {
    let files = Files::with_two_sessions().await;
    assert_eq!(list(&files.open()).await.sessions.len(), 2);
    // The same length and the same time: only who opened the file could see the difference.
    let path = files.path("hurt.jsonl");
    let time = path.metadata().unwrap().modified().unwrap();
    let text = String::from_utf8(files.text("hurt.jsonl")).unwrap();
    files.write("hurt.jsonl", text.replace("title of", "other of"));
    let file = std::fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(time).unwrap();
    let store = files.open();
    let titles: Vec<_> = list(&store)
        .await
        .sessions
        .into_iter()
        .map(|it| it.title)
        .collect();
    assert_eq!(
        titles,
        [Some("title of whole".into()), Some("title of hurt".into())]
    );
    // Who reads it reads it as it is.
    let what = whole(&store, &id("hurt")).await.remove(2).what;
    assert!(matches!(what.known(), Some(EventKind::Title { title }) if title == "other of hurt"));
}

#[tokio::test]
async fn the_index_does_not_grow_with_the_logs() {
    let files = Files::new();
    let store = files.open();
    for turn in 0..300 {
        crate::samples::store(&store, &header("one"), &prompts(turn, 1)).await;
        assert_eq!(list(&store).await.sessions[0].events, turn + 1);
    }
    let lines = files.lines(INDEX).len();
    assert!(lines < 150, "{lines} lines");
    assert_eq!(summary(&files.open(), &id("one")).await.events, 300);
}

#[tokio::test]
async fn a_session_is_there_whatever_its_sidecar_says() {
    let files = Files::with_two_sessions().await;
    let store = files.open();
    let sidecar = "hurt.meta.json";
    store.update(&id("hurt"), &put_away()).await.unwrap();
    assert!(summary(&store, &id("hurt")).await.archived);
    let mode = files.path(sidecar).metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for text in ["", "{", "null", "{\"archived\":\"yes\"}", "\0\0\0\0"] {
        files.write(sidecar, text);
        for store in [&store, &files.open()] {
            assert_eq!(
                summary(store, &id("hurt")).await,
                expected("hurt"),
                "{text:?}"
            );
            assert_eq!(list(store).await.sessions.len(), 2, "{text:?}");
        }
    }
    // It can be set again.
    store.update(&id("hurt"), &put_away()).await.unwrap();
    assert!(summary(&files.open(), &id("hurt")).await.archived);
    std::fs::remove_file(files.path(sidecar)).unwrap();
    assert_eq!(summary(&store, &id("hurt")).await, expected("hurt"));
    for plant in [
        &|path: &Path| std::fs::create_dir(path).unwrap(),
        &|path: &Path| symlink("/nowhere at all", path).unwrap(),
        &|path: &Path| symlink(path, path).unwrap(),
    ] as [&dyn Fn(&Path); 3]
    {
        let path = files.path(sidecar);
        plant(&path);
        let store = files.open();
        assert_eq!(summary(&store, &id("hurt")).await, expected("hurt"));
        assert_eq!(list(&store).await.sessions.len(), 2);
        if path.is_dir() {
            store.update(&id("hurt"), &put_away()).await.unwrap_err();
            std::fs::remove_dir(&path).unwrap();
        } else {
            std::fs::remove_file(&path).unwrap();
        }
    }
}

#[tokio::test]
async fn files_that_are_no_sessions_are_left_out() {
    let files = Files::with_two_sessions().await;
    for name in [
        "notes.txt",
        "copy of hurt.jsonl",
        ".hidden.jsonl",
        "jsonl",
        "hurt.jsonl~",
    ] {
        files.write(name, "words");
    }
    std::fs::create_dir(files.path("a folder")).unwrap();
    let page = list(&files.open()).await;
    assert_eq!(page.sessions, [expected("whole"), expected("hurt")]);
    assert_eq!(page.damaged, [] as [Damage; 0]);
}

#[tokio::test]
async fn a_session_is_copied_and_removed_with_ordinary_tools() {
    let files = Files::with_two_sessions().await;
    let store = files.open();
    store.update(&id("hurt"), &put_away()).await.unwrap();
    let other = Files::new();
    let copied = std::process::Command::new("/bin/sh")
        .args([
            "-c",
            "mkdir \"$1\" && cp -r \"$0\"/hurt.* \"$1\" && rm -r \"$0\"/hurt.*",
        ])
        .args([files.root(), other.root()])
        .status()
        .unwrap();
    assert!(copied.success());
    assert_eq!(list(&store).await.sessions, [expected("whole")]);
    assert_eq!(store.summary(&id("hurt")).await.unwrap(), None);
    let there = other.open();
    let archived = SessionSummary {
        archived: true,
        ..expected("hurt")
    };
    assert_eq!(list(&there).await.sessions, [archived]);
    assert_eq!(whole(&there, &id("hurt")).await, events("hurt"));
    let output = output("hurt");
    let kept = there.blob(&id("hurt"), output.id()).await.unwrap();
    assert_eq!(kept.as_deref(), Some(output.bytes()));
}
