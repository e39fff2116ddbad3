//! Several programs at one store lose nothing and do not wait for each other in vain.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agent_core::store::{Blob, Change, ListRequest, SessionStore};
use pretty_assertions::assert_eq;

use crate::place::Place;
use crate::samples::*;

every_store!(
    two_programs_append_at_once,
    two_programs_append_to_one_session_by_turns,
    sessions_are_listed_and_read_while_they_are_written,
    many_sessions_of_one_program_are_written_at_once,
    two_programs_change_one_session,
    two_programs_copy_and_delete_at_once,
);

/// Appends one event at a time, as a turn does.
async fn append_one_by_one(store: Arc<dyn SessionStore>, name: String, count: u64) {
    let header = header(&name);
    let mut writer = writer(&*store, &header.id).await;
    for seq in 0..count {
        writer.append(&header, &prompts(seq, 1), &[]).await.unwrap();
    }
    writer.release().await;
}

async fn two_programs_append_at_once(place: &dyn Place) {
    let one = tokio::spawn(append_one_by_one(place.open().await, "one".into(), 500));
    let two = tokio::spawn(append_one_by_one(place.open().await, "two".into(), 500));
    one.await.unwrap();
    two.await.unwrap();
    let after = place.open().await;
    for name in ["one", "two"] {
        assert_eq!(whole(&*after, &id(name)).await, prompts(0, 500));
        assert_eq!(summary(&*after, &id(name)).await.events, 500);
    }
}

async fn two_programs_append_to_one_session_by_turns(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    for turn in 0..50 {
        let (this, that) = if turn % 2 == 0 {
            (&one, &two)
        } else {
            (&two, &one)
        };
        let mut writer = writer(&**this, &id("both")).await;
        for step in 0..2 {
            writer
                .append(&header("both"), &prompts(turn * 2 + step, 1), &[])
                .await
                .unwrap();
            assert!(that.writer(&id("both")).await.is_err());
        }
        writer.release().await;
    }
    assert_eq!(whole(&*one, &id("both")).await, prompts(0, 100));
}

async fn sessions_are_listed_and_read_while_they_are_written(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    store(&*one, &header("before"), &prompts(0, 3)).await;
    let done = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn({
        let done = Arc::clone(&done);
        async move {
            for number in 0..5 {
                append_one_by_one(Arc::clone(&one), format!("during-{number}"), 40).await;
            }
            done.store(true, Ordering::SeqCst);
        }
    });
    let everything = ListRequest {
        limit: 100,
        ..ListRequest::default()
    };
    let mut seen = 0;
    loop {
        let last = done.load(Ordering::SeqCst);
        let page = two.list(&everything).await.unwrap();
        assert_eq!(page.damaged, []);
        assert!(page.sessions.len() >= seen.max(1), "a session went missing");
        seen = page.sessions.len();
        for session in page.sessions {
            // At least what the list saw, and all of it whole.
            let events = whole(&*two, &session.header.id).await;
            assert!(events.len() as u64 >= session.events);
            assert_eq!(events, prompts(0, events.len() as u64));
        }
        if last {
            break;
        }
    }
    assert_eq!(seen, 6);
    writing.await.unwrap();
}

async fn many_sessions_of_one_program_are_written_at_once(place: &dyn Place) {
    let one = place.open().await;
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            tokio::spawn(append_one_by_one(
                Arc::clone(&one),
                format!("session-{number}"),
                20,
            ))
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    for number in 0..20 {
        let name = format!("session-{number}");
        assert_eq!(whole(&*one, &id(&name)).await, prompts(0, 20));
    }
}

async fn two_programs_change_one_session(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    store(&*one, &header("changed"), &prompts(0, 1)).await;
    let change_all = |store: Arc<dyn SessionStore>, side: &'static str| {
        tokio::spawn(async move {
            for number in 0..30 {
                let name = format!("{side}-{number}");
                let change = Change {
                    config: std::iter::once((name, number.into())).collect(),
                    ..Change::default()
                };
                store.update(&id("changed"), &change).await.unwrap();
            }
        })
    };
    let (left, right) = (
        change_all(Arc::clone(&one), "left"),
        change_all(two, "right"),
    );
    left.await.unwrap();
    right.await.unwrap();
    assert_eq!(summary(&*one, &id("changed")).await.config.len(), 60);
}

async fn two_programs_copy_and_delete_at_once(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    let output = Blob::new(*b"shared by all copies");
    let events = [prompt(0, "words"), printed(1, "call", &output)];
    store_with(
        &*one,
        &header("original"),
        &events,
        std::slice::from_ref(&output),
    )
    .await;
    let copy_and_delete = |store: Arc<dyn SessionStore>, side: &'static str| {
        tokio::spawn(async move {
            for number in 0..20 {
                let name = format!("{side}-{number}");
                store.fork(&id("original"), &header(&name)).await.unwrap();
                if number % 2 == 0 {
                    assert!(store.delete(&id(&name)).await.unwrap());
                }
            }
        })
    };
    let (left, right) = (
        copy_and_delete(Arc::clone(&one), "left"),
        copy_and_delete(two, "right"),
    );
    left.await.unwrap();
    right.await.unwrap();
    let everything = ListRequest {
        limit: 100,
        ..ListRequest::default()
    };
    let page = one.list(&everything).await.unwrap();
    assert_eq!(page.sessions.len(), 21);
    for session in page.sessions {
        let back = one.blob(&session.header.id, output.id()).await.unwrap();
        assert_eq!(back.as_deref(), Some(output.bytes()));
    }
}
