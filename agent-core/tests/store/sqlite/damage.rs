//! Damage is told by its place, hides nothing else, and is left as it is.

use agent_core::session::event::Event;
use agent_core::store::sqlite::SqliteStore;
use agent_core::store::{
    Blob, Damage, DamagedAt, ListRequest, SearchRequest, SessionStore as _, StoreError,
};
use pretty_assertions::assert_eq;

use super::File;
use crate::samples::*;

/// Two sessions: `hurt`, which a test hurts, and `whole`, which must stay as it is.
async fn two_sessions() -> File {
    let file = File::new();
    let one = file.open().await;
    for name in ["hurt", "whole"] {
        store(&one, &header(name), &prompts(0, 5)).await;
    }
    one.close().await;
    file
}

async fn assert_others_are_unharmed(store: &SqliteStore) {
    assert_eq!(whole(store, &id("whole")).await, prompts(0, 5));
    drop(store.writer(&id("whole")).await.unwrap());
}

fn everything() -> ListRequest {
    ListRequest {
        limit: 100,
        ..ListRequest::default()
    }
}

fn query(query: &str) -> SearchRequest {
    SearchRequest {
        query: query.to_owned(),
        cwd: None,
        session: None,
        limit: 1000,
    }
}

#[tokio::test]
async fn a_damaged_event_is_told_with_its_number() {
    // What is done to event 2, whether it shows without reading the log, a word of the reason.
    for (what, shows, reason) in [
        ("UPDATE events SET what = '{'", true, "JSON"),
        ("UPDATE events SET what = ''", true, "JSON"),
        (
            "UPDATE events SET what = '{\"type\":\"turn/start\"}'",
            false,
            "trigger",
        ),
        (
            "UPDATE events SET what = CAST(x'7b2261223a22ff227d' AS TEXT)",
            false,
            "utf-8",
        ),
        ("DELETE FROM events", true, "not there"),
    ] {
        let file = two_sessions().await;
        let at = "WHERE session_id = 'hurt' AND seq = 2";
        file.execute(&format!("{what} {at}")).await;
        let one = file.open().await;
        let is_told = |error: &StoreError| matches!(error, StoreError::Damaged { id: hurt, damage: Damage { at: Some(DamagedAt::Event(2)), .. } } if *hurt == id("hurt"));
        let error = one.read(&id("hurt"), 0, 100).await.unwrap_err();
        assert!(is_told(&error), "{what}: {error:?}");
        assert_eq!(
            one.read(&id("hurt"), 0, 2).await.unwrap(),
            prompts(0, 2),
            "{what}"
        );
        assert_eq!(one.read(&id("hurt"), 3, 9).await.unwrap(), prompts(3, 2));
        match one.writer(&id("hurt")).await {
            Err(error) => assert!(shows && is_told(&error), "{what}: {error:?}"),
            Ok(_) => assert!(!shows, "{what}"),
        }
        if shows {
            let copy = one.fork(&id("hurt"), &header("copy")).await.unwrap_err();
            assert!(is_told(&copy), "{what}: {copy:?}");
        }

        let salvage = one.salvage(&id("hurt")).await.unwrap();
        assert_eq!(salvage.header, Some(header("hurt")));
        let others: Vec<Event> = [prompts(0, 2), prompts(3, 2)].concat();
        assert_eq!(salvage.events, others, "{what}");
        let [damage] = salvage.damage.as_slice() else {
            panic!("{what}: {:?}", salvage.damage);
        };
        assert_eq!(damage.at, Some(DamagedAt::Event(2)));
        assert!(
            damage.reason.to_lowercase().contains(reason)
                || damage.reason.contains(reason)
                || reason == "JSON",
            "{what}: {damage}"
        );

        assert_eq!(one.list(&everything()).await.unwrap().sessions.len(), 2);
        let found = one.search(&query("prompt")).await.unwrap();
        assert_eq!(found.len(), 9, "{what}");
        assert_others_are_unharmed(&one).await;
        assert!(one.delete(&id("hurt")).await.unwrap());
        one.close().await;
    }
}

#[tokio::test]
async fn events_that_are_lost_at_the_end_are_missed() {
    let file = two_sessions().await;
    file.execute("DELETE FROM events WHERE session_id = 'hurt' AND seq >= 3")
        .await;
    let one = file.open().await;
    let damaged_at = |error: &StoreError| match error {
        StoreError::Damaged { damage, .. } => damage.at,
        _ => None,
    };
    let error = one.read(&id("hurt"), 0, 100).await.unwrap_err();
    assert_eq!(damaged_at(&error), Some(DamagedAt::Event(3)));
    let error = one.writer(&id("hurt")).await.unwrap_err();
    assert_eq!(damaged_at(&error), Some(DamagedAt::Event(3)));
    let salvage = one.salvage(&id("hurt")).await.unwrap();
    assert_eq!(salvage.events, prompts(0, 3));
    assert_eq!(salvage.damage.len(), 2);
    assert_others_are_unharmed(&one).await;
}

#[tokio::test]
async fn a_damaged_entry_is_told_and_hides_no_session() {
    for hurt in [
        "UPDATE sessions SET header = '{' WHERE id = 'hurt'",
        "UPDATE sessions SET header = '{}' WHERE id = 'hurt'",
        "UPDATE sessions SET header = CAST(x'22ff22' AS TEXT) WHERE id = 'hurt'",
        "UPDATE sessions SET config = '[' WHERE id = 'hurt'",
    ] {
        let file = two_sessions().await;
        file.execute(hurt).await;
        let one = file.open().await;
        let page = one.list(&everything()).await.unwrap();
        let listed: Vec<&str> = page
            .sessions
            .iter()
            .map(|session| session.header.id.as_str())
            .collect();
        assert_eq!(listed, ["whole"], "{hurt}");
        let [damage] = page.damaged.as_slice() else {
            panic!("{hurt}: {:?}", page.damaged);
        };
        assert_eq!(damage.place, "the entry of session hurt");

        for error in [
            one.summary(&id("hurt")).await.unwrap_err(),
            one.writer(&id("hurt")).await.unwrap_err(),
        ] {
            assert!(
                matches!(&error, StoreError::Damaged { id: hurt, .. } if *hurt == id("hurt")),
                "{error:?}"
            );
        }
        assert_eq!(whole(&one, &id("hurt")).await, prompts(0, 5));
        let salvage = one.salvage(&id("hurt")).await.unwrap();
        assert_eq!(salvage.events, prompts(0, 5));
        assert_eq!((salvage.header, salvage.damage.len()), (None, 1));
        assert_eq!(one.search(&query("prompt")).await.unwrap().len(), 10);
        assert_others_are_unharmed(&one).await;
        assert!(one.delete(&id("hurt")).await.unwrap());
        let page = one.list(&everything()).await.unwrap();
        assert_eq!(page.damaged, []);
    }
}

/// A long list tells at its beginning what is wrong at its end.
#[tokio::test]
async fn a_damaged_entry_is_told_on_the_first_page_only() {
    let file = File::new();
    let one = file.open().await;
    for number in 0..10 {
        let name = format!("session-{number}");
        store(&one, &header(&name), &prompts(number, 0)).await;
        store(&one, &header(&name), &prompts(0, number + 1)).await;
    }
    file.execute("UPDATE sessions SET header = '' WHERE id = 'session-2'")
        .await;
    let mut request = ListRequest {
        limit: 3,
        ..ListRequest::default()
    };
    let mut told = Vec::new();
    let mut listed = 0;
    loop {
        let page = one.list(&request).await.unwrap();
        told.push(page.damaged.len());
        listed += page.sessions.len();
        match page.next {
            Some(next) => request.after = Some(next),
            None => break,
        }
    }
    assert_eq!((listed, told), (9, vec![1, 0, 0]));
}

#[tokio::test]
async fn a_blob_that_is_not_what_it_was_is_not_given() {
    let file = File::new();
    let one = file.open().await;
    let output = Blob::new(*b"as it was");
    store_with(
        &one,
        &header("hurt"),
        &[printed(0, "call", &output)],
        std::slice::from_ref(&output),
    )
    .await;
    file.execute("UPDATE blobs SET bytes = x'00'").await;
    let error = one.blob(&id("hurt"), output.id()).await.unwrap_err();
    assert!(
        matches!(&error, StoreError::Damaged { damage, .. } if damage.place.contains("sha256:")),
        "{error:?}"
    );
    let error = one
        .blobs(&id("hurt"), &[output.id().clone()])
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
}

/// Overwrites a page of a table or an index.
async fn hurt_page(file: &File, of: &str, which: i64) {
    let query = format!(
        "SELECT pageno FROM dbstat WHERE name = '{of}' AND pagetype = 'leaf' ORDER BY pageno LIMIT 1 OFFSET {which}"
    );
    let page = file.number(Box::leak(query.into_boxed_str())).await;
    let mut bytes = std::fs::read(file.path()).unwrap();
    let at = usize::try_from(page - 1).unwrap() * 4096;
    bytes[at..at + 4096].fill(0xa5);
    std::fs::write(file.path(), bytes).unwrap();
}

/// Two sessions of which each takes many pages.
async fn long_sessions() -> File {
    let file = File::new();
    let one = file.open().await;
    for name in ["hurt", "whole"] {
        store(&one, &header(name), &prompts(0, 1000)).await;
    }
    one.close().await;
    file
}

#[tokio::test]
async fn around_a_damaged_page_everything_is_read() {
    let file = long_sessions().await;
    hurt_page(&file, "events", 5).await;
    let before = std::fs::read(file.path()).unwrap();
    let one = file.open().await;
    let error = one.read(&id("hurt"), 0, 1000).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    let error = one.writer(&id("hurt")).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");

    let salvage = one.salvage(&id("hurt")).await.unwrap();
    let lost: Vec<u64> = salvage
        .damage
        .iter()
        .map(|damage| match damage.at {
            Some(DamagedAt::Event(seq)) => seq,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!((1..100).contains(&lost.len()), "{lost:?}");
    let others: Vec<Event> = prompts(0, 1000)
        .into_iter()
        .filter(|event| !lost.contains(&event.seq))
        .collect();
    assert_eq!(salvage.events, others);

    let page = one.list(&everything()).await.unwrap();
    assert_eq!((page.sessions.len(), page.damaged.len()), (2, 0));
    assert_eq!(whole(&one, &id("whole")).await, prompts(0, 1000));
    one.close().await;
    let after = std::fs::read(file.path()).unwrap();
    assert!(after == before, "the file was changed");

    // What can be read is found, and what is well goes on.
    let one = file.open().await;
    let found = one
        .search(&SearchRequest {
            limit: 3000,
            ..query("prompt")
        })
        .await
        .unwrap();
    assert_eq!(found.len(), 2000 - lost.len());
    store(&one, &header("whole"), &prompts(1000, 1)).await;
    assert_eq!(whole(&one, &id("whole")).await, prompts(0, 1001));
}

#[tokio::test]
async fn events_are_found_without_their_index() {
    let file = long_sessions().await;
    for page in [1, 2] {
        hurt_page(&file, "sqlite_autoindex_events_1", page).await;
    }
    let one = file.open().await;
    let error = one.read(&id("hurt"), 0, 1000).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    let salvage = one.salvage(&id("hurt")).await.unwrap();
    assert_eq!(salvage.damage, []);
    assert_eq!(salvage.events, prompts(0, 1000));
}
