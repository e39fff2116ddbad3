//! A session has one writer, on however many machines.

use std::time::{Duration, Instant};

use agent_core::store::{SessionStore, SessionWriter, StoreError};
use pretty_assertions::assert_eq;
use test_postgres::Cluster;

use super::open;
use super::owner::Owner;
use crate::samples::*;

/// The right to write, once its owner is not heard of any more. How fast that is is asserted by a test that runs alone.
async fn once_free(store: &dyn SessionStore, name: &str) -> Box<dyn SessionWriter> {
    let begun = Instant::now();
    loop {
        match store.writer(&id(name)).await {
            Ok(writer) => return writer,
            Err(StoreError::Held { .. }) if begun.elapsed() < Duration::from_secs(30) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_right_of_a_killed_program_is_free() {
    let database = Cluster::shared().database();
    let store = open(&database).await;
    let mut owner = Owner::of(&database, "killed");
    owner.tell_to_append(0);
    assert_eq!(owner.answer(), "stored");
    let refused = store.writer(&id("killed")).await.unwrap_err();
    assert!(matches!(refused, StoreError::Held { .. }), "{refused}");
    owner.kill();

    let mut writer = once_free(&store, "killed").await;
    let events = prompts(1, 1);
    writer
        .append(&header("killed"), &events, &[])
        .await
        .unwrap();
    assert_eq!(whole(&store, &id("killed")).await, prompts(0, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_was_away_and_replaced_stores_nothing() {
    let database = Cluster::shared().database();
    let store = open(&database).await;
    let mut owner = Owner::of(&database, "away");
    owner.tell_to_append(0);
    assert_eq!(owner.answer(), "stored");
    owner.pause();

    let mut writer = once_free(&store, "away").await;
    // It does not know yet that it was away.
    owner.tell_to_append(1);
    owner.go_on();
    assert_eq!(
        owner.answer(),
        StoreError::TakenOver { id: id("away") }.to_string()
    );
    let events = [reply(1, "by another")];
    writer.append(&header("away"), &events, &[]).await.unwrap();
    // Nor when the other one is gone again.
    writer.release().await;
    owner.tell_to_append(2);
    assert_eq!(
        owner.answer(),
        StoreError::TakenOver { id: id("away") }.to_string()
    );
    let mut expected = prompts(0, 1);
    expected.extend(events);
    assert_eq!(whole(&store, &id("away")).await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_was_away_and_not_replaced_goes_on() {
    let database = Cluster::shared().database();
    let store = open(&database).await;
    let mut owner = Owner::of(&database, "back");
    owner.tell_to_append(0);
    assert_eq!(owner.answer(), "stored");
    owner.pause();
    let expired = "SELECT count(*) FROM placard.leases WHERE expires_at < clock_timestamp()";
    let begun = Instant::now();
    while database.tell(expired) != "1" {
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
    owner.tell_to_append(1);
    owner.go_on();
    assert_eq!(owner.answer(), "stored");
    assert_eq!(whole(&store, &id("back")).await, prompts(0, 2));
    let refused = store.writer(&id("back")).await.unwrap_err();
    assert!(matches!(refused, StoreError::Held { .. }), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_that_want_a_dead_owners_right_one_gets_it() {
    let database = Cluster::shared().database();
    let owner = Owner::of(&database, "wanted");
    owner.kill();
    let store = std::sync::Arc::new(open(&database).await);
    let asking: Vec<_> = (0..10)
        .map(|_| {
            let store = std::sync::Arc::clone(&store);
            tokio::spawn(async move {
                let begun = Instant::now();
                loop {
                    match store.writer(&id("wanted")).await {
                        Ok(writer) => return Some(writer),
                        Err(StoreError::Held { .. })
                            if begun.elapsed() > Duration::from_secs(8) =>
                        {
                            return None;
                        }
                        Err(StoreError::Held { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        })
        .collect();
    let mut writers = Vec::new();
    for asked in asking {
        writers.extend(asked.await.unwrap());
    }
    assert_eq!(writers.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_renewed_while_its_owner_has_nothing_to_say() {
    let database = Cluster::shared().database();
    let store = open(&database).await;
    let _writer = writer(&store, &id("quiet")).await;
    let ends = "SELECT expires_at FROM placard.leases";
    let first = database.tell(ends);
    let begun = Instant::now();
    while database.tell(ends) == first {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "it is not renewed"
        );
    }
    let tokens = "SELECT count(DISTINCT token) FROM placard.leases";
    assert_eq!(database.tell(tokens), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_closed_gives_everything_back() {
    let database = Cluster::shared().database();
    let (one, two) = (open(&database).await, open(&database).await);
    let _first = writer(&one, &id("first")).await;
    let _second = writer(&one, &id("second")).await;
    one.close().await;
    two.writer(&id("first")).await.unwrap();
    two.writer(&id("second")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_programs_append_five_hundred_times_each() {
    let database = Cluster::shared().database();
    let store = open(&database).await;
    let mut owners = ["here", "there"].map(|name| Owner::of(&database, name));
    for seq in 0..500 {
        for owner in &mut owners {
            owner.tell_to_append(seq);
        }
    }
    for owner in &mut owners {
        for _ in 0..500 {
            assert_eq!(owner.answer(), "stored");
        }
    }
    for name in ["here", "there"] {
        assert_eq!(whole(&store, &id(name)).await, prompts(0, 500));
        assert_eq!(summary(&store, &id(name)).await.events, 500);
    }
}
