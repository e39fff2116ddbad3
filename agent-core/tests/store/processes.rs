//! Two processes at one store.

use std::process::{Command, Stdio};

use agent_core::store::{SessionStore, StoreError};
use pretty_assertions::assert_eq;

use crate::other::{Kind, Shared, say_ready, wait_for_the_end};
use crate::samples::*;

/// Makes a test of each case for each store in files.
macro_rules! stores_in_files {
    ($($case:ident),+ $(,)?) => {
        stores_in_files!(@ jsonl Jsonl $($case)+);
        stores_in_files!(@ sqlite Sqlite $($case)+);
    };
    (@ $store:ident $kind:ident $($case:ident)+) => {
        mod $store {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    super::$case(&crate::other::Shared::new(crate::other::Kind::$kind)).await;
                }
            )+
        }
    };
}
pub(crate) use stores_in_files;

stores_in_files!(
    two_processes_append_five_hundred_times_each,
    a_writer_that_is_killed_is_free_at_once,
    a_command_that_goes_on_keeps_no_right,
);

async fn append_all(store: &dyn SessionStore, name: &str) {
    let mut writer = writer(store, &id(name)).await;
    for seq in 0..500 {
        writer
            .append(&header(name), &prompts(seq, 1), &[])
            .await
            .unwrap();
    }
    writer.release().await;
}

async fn two_processes_append_five_hundred_times_each(shared: &Shared) {
    let mut other = shared.start("append");
    let store = shared.open().await;
    other.ready();
    append_all(&*store, "here").await;
    other.succeeds();
    for name in ["here", "there"] {
        assert_eq!(whole(&*store, &id(name)).await, prompts(0, 500));
        assert_eq!(summary(&*store, &id(name)).await.events, 500);
    }
}

pub async fn append_as_the_other(shared: &Shared) {
    let store = shared.open().await;
    say_ready();
    append_all(&*store, "there").await;
}

async fn a_writer_that_is_killed_is_free_at_once(shared: &Shared) {
    let store = shared.open().await;
    let mut other = shared.start("hold");
    other.ready();
    for name in ["begun", "not-begun"] {
        let refused = store.writer(&id(name)).await;
        assert!(
            matches!(refused, Err(StoreError::Held { .. })),
            "{name}: {refused:?}"
        );
    }
    assert_eq!(whole(&*store, &id("begun")).await, prompts(0, 3));
    let refused = store.delete(&id("begun")).await;
    assert!(
        matches!(refused, Err(StoreError::Held { .. })),
        "{refused:?}"
    );

    other.kill();
    let mut begun = store.writer(&id("begun")).await.unwrap();
    begun
        .append(&header("begun"), &prompts(3, 1), &[])
        .await
        .unwrap();
    let mut not_begun = store.writer(&id("not-begun")).await.unwrap();
    not_begun
        .append(&header("not-begun"), &prompts(0, 1), &[])
        .await
        .unwrap();
    assert_eq!(whole(&*store, &id("begun")).await, prompts(0, 4));
    assert_eq!(whole(&*store, &id("not-begun")).await, prompts(0, 1));
    begun.release().await;
    not_begun.release().await;
    for name in ["begun", "not-begun"] {
        assert!(store.delete(&id(name)).await.unwrap());
    }
    if shared.kind == Kind::Jsonl {
        let left: Vec<_> = std::fs::read_dir(shared.folder.join("sessions"))
            .unwrap()
            .map(|file| file.unwrap().file_name())
            .collect();
        assert_eq!(left, [".index.jsonl"]);
    }
}

pub async fn hold_as_the_other(shared: &Shared) {
    let store = shared.open().await;
    let mut begun = writer(&*store, &id("begun")).await;
    begun
        .append(&header("begun"), &prompts(0, 3), &[])
        .await
        .unwrap();
    let not_begun = writer(&*store, &id("not-begun")).await;
    say_ready();
    wait_for_the_end();
    drop((begun, not_begun));
}

async fn a_command_that_goes_on_keeps_no_right(shared: &Shared) {
    let (one, two) = (shared.open().await, shared.open().await);
    let mut writer = writer(&*one, &id("session")).await;
    writer
        .append(&header("session"), &prompts(0, 1), &[])
        .await
        .unwrap();
    let mut command = Command::new("/bin/cat")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    writer.release().await;
    two.writer(&id("session")).await.unwrap().release().await;
    assert!(two.delete(&id("session")).await.unwrap());
    drop(command.stdin.take());
    command.wait().unwrap();
}
