//! A session has one writer, whoever asks.

use std::time::{Duration, Instant};

use agent_core::store::{SessionStore, SessionWriter, StoreError};
use pretty_assertions::assert_eq;

use crate::place::Place;
use crate::samples::*;

every_store!(
    a_second_writer_is_refused,
    a_session_that_is_not_begun_has_one_writer_too,
    a_writer_that_is_released_is_free_at_once,
    a_writer_that_is_dropped_is_free,
    writers_of_other_sessions_are_not_hindered,
    a_writer_goes_on_where_another_ended,
    a_writer_with_old_knowledge_is_told,
    what_is_written_to_can_be_read,
    an_append_that_nobody_waits_for_is_whole_or_not_there,
);

fn is_held(result: &Result<Box<dyn SessionWriter>, StoreError>, name: &str) -> bool {
    matches!(result, Err(StoreError::Held { id: held }) if *held == id(name))
}

async fn a_second_writer_is_refused(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    store(&*one, &header("held"), &prompts(0, 1)).await;
    let mut writer = writer(&*one, &id("held")).await;
    for store in [&one, &two] {
        let second = store.writer(&id("held")).await;
        assert!(is_held(&second, "held"), "{second:?}");
    }
    writer
        .append(&header("held"), &prompts(1, 1), &[])
        .await
        .unwrap();
    for store in [&one, &two] {
        let second = store.writer(&id("held")).await;
        assert!(is_held(&second, "held"), "{second:?}");
    }
    assert_eq!(whole(&*two, &id("held")).await, prompts(0, 2));
}

async fn a_session_that_is_not_begun_has_one_writer_too(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    let mut writer = writer(&*one, &id("begun")).await;
    for store in [&one, &two] {
        let second = store.writer(&id("begun")).await;
        assert!(is_held(&second, "begun"), "{second:?}");
    }
    writer
        .append(&header("begun"), &prompts(0, 1), &[])
        .await
        .unwrap();
    for store in [&one, &two] {
        let second = store.writer(&id("begun")).await;
        assert!(is_held(&second, "begun"), "{second:?}");
    }
}

async fn a_writer_that_is_released_is_free_at_once(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    for begun in [false, true] {
        for (from, to) in [(&one, &two), (&two, &one), (&one, &one)] {
            from.writer(&id("free")).await.unwrap().release().await;
            to.writer(&id("free")).await.unwrap().release().await;
        }
        if !begun {
            store(&*one, &header("free"), &prompts(0, 1)).await;
        }
    }
}

async fn a_writer_that_is_dropped_is_free(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    for begun in [false, true] {
        for (from, to) in [(&one, &two), (&two, &one), (&one, &one)] {
            drop(from.writer(&id("free")).await.unwrap());
            free_soon(&**to, "free").await.release().await;
        }
        if !begun {
            store(&*one, &header("free"), &prompts(0, 1)).await;
        }
    }
}

/// The writer, once it is free. Who keeps rights on a server gives one back without waiting for the answer.
async fn free_soon(store: &dyn SessionStore, name: &str) -> Box<dyn SessionWriter> {
    let begun = Instant::now();
    loop {
        match store.writer(&id(name)).await {
            Ok(writer) => return writer,
            Err(StoreError::Held { .. }) if begun.elapsed() < Duration::from_secs(20) => {
                tokio::task::yield_now().await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

async fn writers_of_other_sessions_are_not_hindered(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    let mut writers = Vec::new();
    for number in 0..20 {
        let store = if number % 2 == 0 { &one } else { &two };
        let name = format!("session-{number}");
        writers.push((header(&name), writer(&**store, &id(&name)).await));
    }
    for (header, writer) in &mut writers {
        writer.append(header, &prompts(0, 1), &[]).await.unwrap();
    }
    for (header, _) in &writers {
        assert_eq!(whole(&*one, &header.id).await, prompts(0, 1));
    }
}

async fn a_writer_goes_on_where_another_ended(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    for number in 0..10 {
        let store_of_turn = if number % 2 == 0 { &one } else { &two };
        store(&**store_of_turn, &header("turns"), &prompts(number * 3, 3)).await;
    }
    assert_eq!(whole(&*one, &id("turns")).await, prompts(0, 30));
}

async fn a_writer_with_old_knowledge_is_told(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    store(&*one, &header("old"), &prompts(0, 1)).await;
    store(&*two, &header("old"), &prompts(1, 1)).await;
    // The first program believes that its event is the next one.
    let mut writer = writer(&*one, &id("old")).await;
    let refused = writer
        .append(&header("old"), &[reply(1, "mine")], &[])
        .await;
    assert!(
        matches!(refused, Err(StoreError::OutOfOrder { seq: 1, .. })),
        "{refused:?}"
    );
    assert_eq!(whole(&*one, &id("old")).await, prompts(0, 2));
}

async fn what_is_written_to_can_be_read(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    let mut writer = writer(&*one, &id("read")).await;
    for number in 0..20 {
        writer
            .append(&header("read"), &prompts(number, 1), &[])
            .await
            .unwrap();
        for store in [&one, &two] {
            assert_eq!(whole(&**store, &id("read")).await, prompts(0, number + 1));
            assert_eq!(summary(&**store, &id("read")).await.events, number + 1);
        }
    }
}

async fn an_append_that_nobody_waits_for_is_whole_or_not_there(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    let header = header("given-up");
    store(&*one, &header, &prompts(0, 1)).await;
    let mut stored = 1;
    for round in 0..20 {
        let events = prompts(stored, 3);
        let mut writer = free_soon(&*one, "given-up").await;
        let mut append = Box::pin(writer.append(&header, &events, &[]));
        // It is begun, and given up somewhere on its way.
        let _ = futures::poll!(&mut append);
        drop(append);
        if round % 2 == 0 {
            // The same again is the way to find out.
            writer.append(&header, &events, &[]).await.unwrap();
        }
        drop(writer);
        free_soon(&*two, "given-up").await.release().await;
        let after = whole(&*two, &header.id).await.len() as u64;
        assert!(after == stored + 3 || (after == stored && round % 2 == 1));
        assert_eq!(whole(&*one, &header.id).await, prompts(0, after));
        stored = after;
    }
}
