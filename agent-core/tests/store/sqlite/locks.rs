//! What the right to write leaves on the disk: nothing.

use agent_core::store::{SessionStore as _, StoreError};
use pretty_assertions::assert_eq;

use super::File;
use crate::samples::*;

fn locks(file: &File) -> usize {
    let folder = file.folder.path().join("locks");
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

#[tokio::test]
async fn a_session_that_never_appended_leaves_no_trace() {
    let file = File::new();
    let one = file.open().await;
    let held = writer(&one, &id("a")).await;
    assert_eq!(locks(&file), 1);
    drop(held);
    assert_eq!(locks(&file), 0);
    assert!(!one.has(&id("a")).await.unwrap());
    assert_eq!(file.number("SELECT COUNT(*) FROM sessions").await, 0);
}

#[tokio::test]
async fn locks_do_not_pile_up() {
    let file = File::new();
    let one = file.open().await;
    for round in 0..20 {
        let name = format!("session-{round}");
        store(&one, &header(&name), &prompts(0, 1)).await;
        if round % 2 == 0 {
            assert!(one.delete(&id(&name)).await.unwrap());
        }
        assert!(!one.delete(&id("nobody")).await.unwrap());
    }
    assert_eq!(locks(&file), 0);
}

#[tokio::test]
async fn a_file_that_a_dead_program_left_locks_nobody_out() {
    let file = File::new();
    let one = file.open().await;
    let folder = file.folder.path().join("locks");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("a.lock"), "").unwrap();
    store(&one, &header("a"), &prompts(0, 1)).await;
    assert_eq!(locks(&file), 0);
}

/// Whoever gives up waiting for an append does not let another writer in before it has ended.
#[tokio::test]
async fn a_lock_is_held_until_the_append_has_ended() {
    let file = File::new();
    let one = file.open().await;
    let mut other = file.raw().await;
    super::execute(&mut other, "BEGIN IMMEDIATE").await;
    let mut writer = writer(&one, &id("a")).await;
    let (header, events) = (header("a"), prompts(0, 1));
    let mut append = Box::pin(writer.append(&header, &events, &[]));
    assert!(futures::poll!(&mut append).is_pending());
    drop(append);
    let second = one.writer(&id("a")).await;
    assert!(matches!(second, Err(StoreError::Held { .. })), "{second:?}");
    let release = tokio::spawn(writer.release());
    super::execute(&mut other, "ROLLBACK").await;
    release.await.unwrap();
    let mut next = crate::samples::writer(&one, &id("a")).await;
    assert_eq!(whole(&one, &id("a")).await, events);
    next.append(&header, &prompts(1, 1), &[]).await.unwrap();
}
