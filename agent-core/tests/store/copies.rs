//! Copies of sessions, and their end.

use agent_core::store::{
    Blob, Change, ListRequest, SearchRequest, SessionPage, SessionSummary, StoreError,
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::place::Place;
use crate::samples::*;

every_store!(
    a_copy_holds_everything,
    a_copy_lives_by_itself,
    a_copy_is_as_new_as_its_making,
    a_copy_of_a_session_at_work_is_made,
    a_copy_over_a_session_is_refused,
    a_copy_of_nobody_is_an_error,
    what_is_deleted_is_gone,
    what_is_deleted_can_begin_again,
    what_was_never_there_is_not_deleted,
    what_is_written_to_is_not_deleted,
);

async fn a_copy_holds_everything(place: &dyn Place) {
    let one = place.open().await;
    let output = Blob::new(*b"printed bytes");
    let events = [
        prompt(0, "words"),
        title(1, "a title"),
        news(2, json!({"type": "hologram", "b": 1, "a": 2})),
        printed(3, "call", &output),
    ];
    store_with(
        &*one,
        &header("original"),
        &events,
        std::slice::from_ref(&output),
    )
    .await;
    let config = json!({"model": "offline"}).as_object().unwrap().clone();
    let change = Change {
        title: Some("by hand".to_owned()),
        archived: Some(true),
        config: config.clone(),
    };
    one.update(&id("original"), &change).await.unwrap();
    let copy = header_in("copy", "/elsewhere");
    one.fork(&id("original"), &copy).await.unwrap();
    for store in [one, place.open().await] {
        assert_eq!(whole(&*store, &id("copy")).await, events);
        assert_eq!(
            summary(&*store, &id("copy")).await,
            SessionSummary {
                header: copy.clone(),
                title: Some("by hand".to_owned()),
                archived: true,
                config: config.clone(),
                updated_at: BEGUN + 3,
                events: 4,
            }
        );
        let back = store.blob(&id("copy"), output.id()).await.unwrap();
        assert_eq!(back.as_deref(), Some(output.bytes()));
        assert_eq!(
            summary(&*store, &id("original")).await.header,
            header("original")
        );
    }
}

async fn a_copy_lives_by_itself(place: &dyn Place) {
    let one = place.open().await;
    let output = Blob::new(*b"printed bytes");
    let events = [prompt(0, "words"), printed(1, "call", &output)];
    store_with(
        &*one,
        &header("original"),
        &events,
        std::slice::from_ref(&output),
    )
    .await;
    one.fork(&id("original"), &header("copy")).await.unwrap();
    one.fork(&id("copy"), &header("copy-of-copy"))
        .await
        .unwrap();
    store(&*one, &header("original"), &[prompt(2, "there")]).await;
    store(&*one, &header("copy"), &[prompt(2, "here"), title(3, "t")]).await;
    let change = Change {
        archived: Some(true),
        ..Change::default()
    };
    one.update(&id("original"), &change).await.unwrap();
    let two = place.open().await;
    assert!(two.delete(&id("original")).await.unwrap());
    let expected = [
        events[0].clone(),
        events[1].clone(),
        prompt(2, "here"),
        title(3, "t"),
    ];
    assert_eq!(whole(&*two, &id("copy")).await, expected);
    assert!(!summary(&*two, &id("copy")).await.archived);
    assert_eq!(whole(&*two, &id("copy-of-copy")).await, events);
    for name in ["copy", "copy-of-copy"] {
        let back = two.blob(&id(name), output.id()).await.unwrap();
        assert_eq!(back.as_deref(), Some(output.bytes()), "{name}");
    }
}

async fn a_copy_is_as_new_as_its_making(place: &dyn Place) {
    let one = place.open().await;
    store(&*one, &header("original"), &prompts(0, 2)).await;
    let mut later = header("copy");
    later.created_at = BEGUN + 1000;
    one.fork(&id("original"), &later).await.unwrap();
    assert_eq!(summary(&*one, &id("copy")).await.updated_at, BEGUN + 1000);
    let page = one.list(&ListRequest::default()).await.unwrap();
    assert_eq!(page.sessions, [summary(&*one, &id("copy")).await]);
}

async fn a_copy_of_a_session_at_work_is_made(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    let mut writer = writer(&*one, &id("original")).await;
    writer
        .append(&header("original"), &prompts(0, 3), &[])
        .await
        .unwrap();
    two.fork(&id("original"), &header("copy")).await.unwrap();
    writer
        .append(&header("original"), &prompts(3, 1), &[])
        .await
        .unwrap();
    store(&*two, &header("copy"), &prompts(3, 2)).await;
    assert_eq!(whole(&*two, &id("original")).await, prompts(0, 4));
    assert_eq!(whole(&*one, &id("copy")).await, prompts(0, 5));
}

async fn a_copy_over_a_session_is_refused(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    store(&*one, &header("original"), &prompts(0, 3)).await;
    store(&*one, &header("there"), &prompts(0, 1)).await;
    let held = writer(&*one, &id("there")).await;
    for target in ["there", "original"] {
        let refused = two.fork(&id("original"), &header(target)).await;
        assert!(
            matches!(&refused, Err(StoreError::Exists { id: it }) if *it == id(target)),
            "{refused:?}"
        );
    }
    held.release().await;
    assert_eq!(whole(&*one, &id("there")).await, prompts(0, 1));
    assert_eq!(whole(&*one, &id("original")).await, prompts(0, 3));
}

async fn a_copy_of_nobody_is_an_error(place: &dyn Place) {
    let one = place.open().await;
    let missing = one.fork(&id("nobody"), &header("copy")).await;
    assert!(
        matches!(&missing, Err(StoreError::Missing { id: it }) if *it == id("nobody")),
        "{missing:?}"
    );
    assert!(!one.has(&id("copy")).await.unwrap());
    // The name stays free.
    store(&*one, &header("copy"), &prompts(0, 1)).await;
}

async fn what_is_deleted_is_gone(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    let output = Blob::new(*b"printed bytes");
    let events = [prompt(0, "words"), printed(1, "call", &output)];
    store_with(
        &*one,
        &header("gone"),
        &events,
        std::slice::from_ref(&output),
    )
    .await;
    let change = Change {
        archived: Some(true),
        ..Change::default()
    };
    one.update(&id("gone"), &change).await.unwrap();
    let everything = ListRequest {
        archived: true,
        limit: 10,
        ..ListRequest::default()
    };
    for store in [&one, &two] {
        assert_eq!(store.list(&everything).await.unwrap().sessions.len(), 1);
    }
    assert!(two.delete(&id("gone")).await.unwrap());
    for store in [&one, &two] {
        assert_eq!(store.summary(&id("gone")).await.unwrap(), None);
        let page = store.list(&everything).await.unwrap();
        assert_eq!(page, SessionPage::default());
        let read = store.read(&id("gone"), 0, 1).await;
        assert!(matches!(read, Err(StoreError::Missing { .. })), "{read:?}");
        let blob = store.blob(&id("gone"), output.id()).await.unwrap();
        assert_eq!(blob, None);
        let found = store
            .search(&SearchRequest {
                query: "words".to_owned(),
                cwd: None,
                session: None,
                limit: 10,
            })
            .await
            .unwrap();
        assert_eq!(found, []);
        assert!(!store.delete(&id("gone")).await.unwrap());
    }
}

async fn what_is_deleted_can_begin_again(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    let old = Blob::new(*b"old bytes");
    let events = [printed(0, "call", &old), title(1, "old")];
    store_with(
        &*one,
        &header("phoenix"),
        &events,
        std::slice::from_ref(&old),
    )
    .await;
    let change = Change {
        title: Some("by hand".to_owned()),
        archived: Some(true),
        config: json!({"old": 1}).as_object().unwrap().clone(),
    };
    one.update(&id("phoenix"), &change).await.unwrap();
    assert!(one.delete(&id("phoenix")).await.unwrap());

    store(&*two, &header_in("phoenix", "/new"), &prompts(0, 1)).await;
    for store in [one, two] {
        assert_eq!(whole(&*store, &id("phoenix")).await, prompts(0, 1));
        assert_eq!(
            summary(&*store, &id("phoenix")).await,
            SessionSummary {
                events: 1,
                ..SessionSummary::new(header_in("phoenix", "/new"))
            }
        );
        let blob = store.blob(&id("phoenix"), old.id()).await.unwrap();
        assert_eq!(blob, None);
    }
}

async fn what_was_never_there_is_not_deleted(place: &dyn Place) {
    let one = place.open().await;
    assert!(!one.delete(&id("nobody")).await.unwrap());
    store(&*one, &header("somebody"), &prompts(0, 1)).await;
    assert!(!one.delete(&id("nobody")).await.unwrap());
    assert!(one.has(&id("somebody")).await.unwrap());
}

async fn what_is_written_to_is_not_deleted(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    let mut writer = writer(&*one, &id("held")).await;
    writer
        .append(&header("held"), &prompts(0, 1), &[])
        .await
        .unwrap();
    for store in [&one, &two] {
        let refused = store.delete(&id("held")).await;
        assert!(
            matches!(refused, Err(StoreError::Held { .. })),
            "{refused:?}"
        );
    }
    writer
        .append(&header("held"), &prompts(1, 1), &[])
        .await
        .unwrap();
    assert_eq!(whole(&*two, &id("held")).await, prompts(0, 2));
    writer.release().await;
    assert!(two.delete(&id("held")).await.unwrap());
}
