//! What is known of sessions without reading their logs.

use std::path::PathBuf;

use agent_core::store::{
    Change, Cursor, ListRequest, SessionPage, SessionStore, SessionSummary, StoreError,
};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};

use crate::place::Place;
use crate::samples::*;

every_store!(
    the_last_title_counts,
    a_change_stays_beside_the_log,
    a_change_needs_no_writer,
    a_change_of_nobody_is_an_error,
    the_newest_change_comes_first,
    a_list_comes_in_pages,
    sessions_of_one_folder_are_listed,
    what_is_put_away_is_listed_on_demand,
    a_cursor_survives_being_written_down,
    a_cursor_outlives_its_session,
    sessions_are_found_by_the_beginning_of_their_id,
);

/// Everything from the front.
fn all() -> ListRequest {
    ListRequest {
        archived: true,
        limit: 1000,
        ..ListRequest::default()
    }
}

async fn listed(store: &dyn SessionStore, request: &ListRequest) -> Vec<String> {
    names(&store.list(request).await.unwrap())
}

fn names(page: &SessionPage) -> Vec<String> {
    let name = |session: &SessionSummary| session.header.id.to_string();
    page.sessions.iter().map(name).collect()
}

fn titled(title: &str) -> Change {
    Change {
        title: Some(title.to_owned()),
        ..Change::default()
    }
}

fn put_away(archived: bool) -> Change {
    Change {
        archived: Some(archived),
        ..Change::default()
    }
}

fn options(options: &Value) -> Map<String, Value> {
    options.as_object().unwrap().clone()
}

async fn the_last_title_counts(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    let header = header("title");
    let mut writer = writer(&*one, &header.id).await;
    let title_of = async |store: &dyn SessionStore| summary(store, &header.id).await.title;

    writer.append(&header, &prompts(0, 1), &[]).await.unwrap();
    assert_eq!(title_of(&*two).await, None);
    let events = [title(1, "first"), title(2, "second"), prompt(3, "more")];
    writer.append(&header, &events, &[]).await.unwrap();
    assert_eq!(title_of(&*two).await.as_deref(), Some("second"));
    two.update(&header.id, &titled("by hand")).await.unwrap();
    assert_eq!(title_of(&*one).await.as_deref(), Some("by hand"));
    writer.append(&header, &prompts(4, 1), &[]).await.unwrap();
    assert_eq!(title_of(&*two).await.as_deref(), Some("by hand"));
    writer
        .append(&header, &[title(5, "third")], &[])
        .await
        .unwrap();
    for store in [&one, &two, &place.open().await] {
        assert_eq!(title_of(&**store).await.as_deref(), Some("third"));
        assert_eq!(
            store.list(&all()).await.unwrap().sessions,
            [summary(&**store, &header.id).await]
        );
    }
}

async fn a_change_stays_beside_the_log(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    let header = header("change");
    store(&*one, &header, &prompts(0, 2)).await;
    one.update(
        &header.id,
        &Change {
            title: Some("Ä title".to_owned()),
            archived: Some(true),
            config: options(&json!({"model": "offline", "mode": {"deep": [1, null]}})),
        },
    )
    .await
    .unwrap();
    two.update(
        &header.id,
        &Change {
            config: options(&json!({"model": "another", "more": 1})),
            ..Change::default()
        },
    )
    .await
    .unwrap();
    one.update(&header.id, &Change::default()).await.unwrap();
    let expected = SessionSummary {
        header: header.clone(),
        title: Some("Ä title".to_owned()),
        archived: true,
        config: options(&json!({"model": "another", "mode": {"deep": [1, null]}, "more": 1})),
        updated_at: BEGUN + 1,
        events: 2,
    };
    for store in [one, two, place.open().await] {
        assert_eq!(summary(&*store, &header.id).await, expected);
        assert_eq!(whole(&*store, &header.id).await, prompts(0, 2));
    }
}

async fn a_change_needs_no_writer(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    let header = header("written");
    let mut writer = writer(&*one, &header.id).await;
    for number in 0..10 {
        writer
            .append(&header, &prompts(number, 1), &[])
            .await
            .unwrap();
        let name = format!("option-{number}");
        let change = Change {
            config: options(&json!({ name: number })),
            ..Change::default()
        };
        two.update(&header.id, &change).await.unwrap();
    }
    let after = summary(&*one, &header.id).await;
    assert_eq!((after.events, after.config.len()), (10, 10));
}

async fn a_change_of_nobody_is_an_error(place: &dyn Place) {
    let one = place.open().await;
    let missing = one.update(&id("nobody"), &put_away(true)).await;
    assert!(
        matches!(missing, Err(StoreError::Missing { .. })),
        "{missing:?}"
    );
    assert!(!one.has(&id("nobody")).await.unwrap());
}

async fn the_newest_change_comes_first(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    // Of the same age, the later name first.
    for name in ["b", "d", "a", "c"] {
        store(&*one, &header(name), &prompts(0, 1)).await;
    }
    assert_eq!(listed(&*two, &all()).await, ["d", "c", "b", "a"]);
    store(&*two, &header("b"), &prompts(1, 1)).await;
    assert_eq!(listed(&*one, &all()).await, ["b", "d", "c", "a"]);
    store(&*one, &header("a"), &prompts(1, 2)).await;
    assert_eq!(listed(&*two, &all()).await, ["a", "b", "d", "c"]);
    // A clock that was set back makes nothing older.
    let mut back = prompt(3, "from yesterday");
    back.at = BEGUN - 86_400_000;
    store(&*two, &header("a"), &[back]).await;
    assert_eq!(listed(&*one, &all()).await, ["a", "b", "d", "c"]);
    // What a person changes makes nothing newer.
    one.update(&id("c"), &titled("changed")).await.unwrap();
    assert_eq!(listed(&*two, &all()).await, ["a", "b", "d", "c"]);
}

async fn a_list_comes_in_pages(place: &dyn Place) {
    let one = place.open().await;
    let mut expected = Vec::new();
    for number in 0..20 {
        // Two by two of the same age.
        let name = format!("session-{number:02}");
        let mut event = prompt(0, "words");
        event.at = BEGUN + number / 2;
        store(&*one, &header(&name), &[event]).await;
        expected.insert(0, name);
    }
    let two = place.open().await;
    for limit in [0, 1, 3, 10, 19, 20, 21] {
        let mut found = Vec::new();
        let mut request = ListRequest {
            limit,
            ..ListRequest::default()
        };
        loop {
            let page = two.list(&request).await.unwrap();
            assert!(page.sessions.len() <= limit.max(1));
            found.extend(names(&page));
            match page.next {
                Some(next) => request.after = Some(next),
                None => break,
            }
        }
        assert_eq!(found, expected, "{limit} at a time");
    }
    let whole = two.list(&all()).await.unwrap();
    for session in whole.sessions {
        assert_eq!(summary(&*one, &session.header.id).await, session);
    }
}

async fn sessions_of_one_folder_are_listed(place: &dyn Place) {
    let one = place.open().await;
    for (name, cwd) in [
        ("a", "/work"),
        ("b", "/work/inner"),
        ("c", "/work2"),
        ("d", "/wor_"),
        ("e", "/%"),
        ("f", "/WORK"),
        ("g", "/work"),
        ("h", "/a 'quoted' \"folder\" ü"),
    ] {
        store(&*one, &header_in(name, cwd), &prompts(0, 1)).await;
    }
    let two = place.open().await;
    for (cwd, expected) in [
        ("/work", &["g", "a"][..]),
        ("/work/inner", &["b"]),
        ("/wor_", &["d"]),
        ("/%", &["e"]),
        ("/a 'quoted' \"folder\" ü", &["h"]),
        ("/nowhere", &[]),
        ("/", &[]),
    ] {
        let mut request = ListRequest {
            cwd: Some(PathBuf::from(cwd)),
            limit: 1,
            ..ListRequest::default()
        };
        let mut found = Vec::new();
        loop {
            let page = two.list(&request).await.unwrap();
            found.extend(names(&page));
            match page.next {
                Some(next) => request.after = Some(next),
                None => break,
            }
        }
        assert_eq!(found, expected, "{cwd}");
    }
}

async fn what_is_put_away_is_listed_on_demand(place: &dyn Place) {
    let one = place.open().await;
    for name in ["a", "b", "c"] {
        store(&*one, &header(name), &prompts(0, 1)).await;
    }
    let two = place.open().await;
    let open = ListRequest {
        limit: 10,
        ..ListRequest::default()
    };
    one.update(&id("b"), &put_away(true)).await.unwrap();
    assert_eq!(listed(&*two, &open).await, ["c", "a"]);
    assert_eq!(listed(&*two, &all()).await, ["c", "b", "a"]);
    assert!(two.has(&id("b")).await.unwrap());
    two.update(&id("b"), &put_away(false)).await.unwrap();
    assert_eq!(listed(&*one, &open).await, ["c", "b", "a"]);
    // Work on it does not take it out again.
    one.update(&id("b"), &put_away(true)).await.unwrap();
    store(&*two, &header("b"), &prompts(1, 1)).await;
    assert_eq!(listed(&*two, &open).await, ["c", "a"]);
}

async fn a_cursor_survives_being_written_down(place: &dyn Place) {
    let one = place.open().await;
    for name in ["01a2-b.c", "01a2-b.d", "01a2-b.e"] {
        store(&*one, &header(name), &prompts(0, 1)).await;
    }
    let first = ListRequest {
        limit: 1,
        ..ListRequest::default()
    };
    let page = one.list(&first).await.unwrap();
    let written = page.next.as_ref().unwrap().to_string();
    let cursor: Cursor = written.parse().unwrap();
    assert_eq!(Some(&cursor), page.next.as_ref());
    let request = ListRequest {
        after: Some(cursor),
        ..all()
    };
    assert_eq!(
        listed(&*place.open().await, &request).await,
        ["01a2-b.d", "01a2-b.c"]
    );
}

async fn a_cursor_outlives_its_session(place: &dyn Place) {
    let one = place.open().await;
    for name in ["a", "b", "c"] {
        store(&*one, &header(name), &prompts(0, 1)).await;
    }
    let request = ListRequest {
        after: Some(summary(&*one, &id("b")).await.cursor()),
        ..all()
    };
    assert!(one.delete(&id("b")).await.unwrap());
    assert_eq!(listed(&*one, &request).await, ["a"]);
    // A place before everything, and one behind.
    for (updated_at, expected) in [(u64::MAX, &["c", "a"][..]), (0, &[])] {
        let request = ListRequest {
            after: Some(Cursor {
                updated_at,
                id: id("x"),
            }),
            ..all()
        };
        assert_eq!(listed(&*one, &request).await, expected);
    }
}

#[test]
fn an_invented_cursor_is_an_error() {
    for text in [
        "",
        ".",
        "1",
        "1.",
        ".a",
        "x.a",
        "-1.a",
        "+1.a",
        " 1.a",
        "99999999999999999999.a",
    ] {
        let error = text.parse::<Cursor>().unwrap_err();
        assert!(
            matches!(&error, StoreError::UnknownCursor { cursor } if cursor == text),
            "{text:?}: {error}"
        );
    }
}

async fn sessions_are_found_by_the_beginning_of_their_id(place: &dyn Place) {
    let one = place.open().await;
    for name in ["b-1", "a-2", "a-10", "b-2", "a-1", "a", "A-1"] {
        store(&*one, &header(name), &prompts(0, 1)).await;
    }
    one.update(&id("a-2"), &put_away(true)).await.unwrap();
    let two = place.open().await;
    let table: [(&str, usize, &[&str]); 8] = [
        ("a-", 9, &["a-1", "a-10", "a-2"]),
        ("a-", 2, &["a-1", "a-10"]),
        ("a-", 0, &[]),
        ("b-2", 9, &["b-2"]),
        ("c", 9, &[]),
        ("%", 9, &[]),
        ("a_", 9, &[]),
        ("", 9, &["A-1", "a", "a-1", "a-10", "a-2", "b-1", "b-2"]),
    ];
    for (beginning, limit, expected) in table {
        let expected: Vec<_> = expected.iter().map(|name| id(name)).collect();
        assert_eq!(
            two.ids(beginning, limit).await.unwrap(),
            expected,
            "{limit} of {beginning:?}"
        );
    }
}
