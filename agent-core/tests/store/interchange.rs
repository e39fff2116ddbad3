//! Sessions as lines: from any store into any store.

use std::collections::BTreeSet;
use std::sync::Arc;

use agent_core::session::{SessionHeader, SessionId};
use agent_core::store::interchange::{Carried, InterchangeError, export, import};
use agent_core::store::memory::MemoryStore;
use agent_core::store::{Blob, Change, ListRequest, SessionStore, StoreError};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::place::Place;
use crate::samples::*;

every_store!(
    a_session_is_the_same_after_a_journey,
    a_session_goes_under_another_name_when_asked,
    an_imported_session_is_written_on,
    an_import_over_a_session_is_refused,
    a_cut_file_leaves_nothing,
    a_damaged_file_leaves_nothing,
    a_log_without_its_blobs_is_taken,
    a_session_at_work_is_exported_as_far_as_it_is_stored,
    an_export_of_nobody_is_an_error,
    a_large_session_is_carried_in_pieces,
);

async fn lines_of(store: &dyn SessionStore, name: &str) -> (String, Carried) {
    let mut lines = Vec::new();
    let carried = export(store, &id(name), &mut lines).await.unwrap();
    (String::from_utf8(lines).unwrap(), carried)
}

async fn take_in(
    store: &dyn SessionStore,
    lines: impl AsRef<[u8]>,
    name: Option<SessionId>,
) -> Result<Carried, InterchangeError> {
    import(store, &mut lines.as_ref(), name).await
}

async fn is_empty(store: &dyn SessionStore) -> bool {
    let everything = ListRequest {
        archived: true,
        limit: 10,
        ..ListRequest::default()
    };
    store.list(&everything).await.unwrap().sessions.is_empty()
}

fn options(options: &Value) -> serde_json::Map<String, Value> {
    options.as_object().unwrap().clone()
}

/// A session with everything in it, under the name `traveller`.
async fn traveller(store: &dyn SessionStore) -> (Blob, Blob) {
    let (output, picture) = (Blob::new(vec![7; 100_000]), Blob::new(*b"\x89PNG"));
    let events = [
        prompt(0, "words\nand \u{0} more"),
        title(1, "told"),
        printed(2, "call-1", &output),
        news(
            3,
            json!({"type": "hologram", "z": {"deep": [picture.id().as_str()]}, "a": 1.5}),
        ),
        printed(4, "call-2", &output),
        printed(5, "call-3", &Blob::new(*b"never kept")),
    ];
    let blobs = [output.clone(), picture.clone()];
    store_with(store, &header("traveller"), &events, &blobs).await;
    let change = Change {
        title: Some("set by hand".to_owned()),
        archived: Some(true),
        config: options(&json!({"model": "offline"})),
    };
    store.update(&id("traveller"), &change).await.unwrap();
    (output, picture)
}

async fn a_session_is_the_same_after_a_journey(place: &dyn Place) {
    let here = place.open().await;
    let (output, picture) = traveller(&*here).await;
    let (lines, exported) = lines_of(&*here, "traveller").await;
    let expected = Carried {
        id: id("traveller"),
        events: 6,
        blobs: 2,
        missing: BTreeSet::from([Blob::new(*b"never kept").id().clone()]),
    };
    assert_eq!(exported, expected);
    // Each blob stands once, before the first event that refers to it.
    let sort = |line: &str| match &line[..5] {
        "{\"hea" => "header",
        "{\"seq" => "event",
        "{\"blo" => "blob",
        other => panic!("{other}"),
    };
    let sorts: Vec<&str> = lines.lines().map(sort).collect();
    assert_eq!(
        sorts,
        [
            "header", "event", "event", "blob", "event", "blob", "event", "event", "blob", "event"
        ]
    );

    let there = MemoryStore::default();
    assert_eq!(take_in(&there, &lines, None).await.unwrap(), expected);
    assert!(here.delete(&id("traveller")).await.unwrap());
    // And back again.
    let (again, _) = lines_of(&there, "traveller").await;
    assert_eq!(again, lines);
    assert_eq!(take_in(&*here, &again, None).await.unwrap(), expected);
    for store in [here, Arc::new(there) as _] {
        let store: Arc<dyn SessionStore> = store;
        assert_eq!(lines_of(&*store, "traveller").await.0, lines);
        for blob in [&output, &picture] {
            let bytes = store.blob(&id("traveller"), blob.id()).await.unwrap();
            assert_eq!(bytes.as_deref(), Some(blob.bytes()));
        }
    }
}

async fn a_session_goes_under_another_name_when_asked(place: &dyn Place) {
    let store = place.open().await;
    traveller(&*store).await;
    let (lines, _) = lines_of(&*store, "traveller").await;
    let carried = take_in(&*store, &lines, Some(id("double"))).await.unwrap();
    assert_eq!(carried.id, id("double"));
    let expected = SessionHeader {
        id: id("double"),
        ..header("traveller")
    };
    let original = summary(&*store, &id("traveller")).await;
    let double = summary(&*store, &id("double")).await;
    assert_eq!(double.header, expected);
    assert_eq!(
        (double.title, double.archived, double.config, double.events),
        (
            original.title,
            original.archived,
            original.config,
            original.events
        )
    );
    assert_eq!(
        whole(&*store, &id("double")).await,
        whole(&*store, &id("traveller")).await
    );
}

async fn an_imported_session_is_written_on(place: &dyn Place) {
    let store_here = place.open().await;
    let elsewhere = MemoryStore::default();
    store(&elsewhere, &header("on"), &prompts(0, 3)).await;
    let (lines, _) = lines_of(&elsewhere, "on").await;
    take_in(&*store_here, &lines, None).await.unwrap();
    store(&*store_here, &header("on"), &prompts(3, 2)).await;
    assert_eq!(whole(&*store_here, &id("on")).await, prompts(0, 5));
}

async fn an_import_over_a_session_is_refused(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    traveller(&*one).await;
    let (lines, _) = lines_of(&*one, "traveller").await;
    let exists = |refused: &Result<Carried, InterchangeError>| matches!(refused, Err(InterchangeError::Store(StoreError::Exists { id: it })) if *it == id("traveller"));
    let refused = take_in(&*two, &lines, None).await;
    assert!(exists(&refused), "{refused:?}");
    let held = writer(&*one, &id("traveller")).await;
    let refused = take_in(&*two, &lines, None).await;
    assert!(exists(&refused), "{refused:?}");
    held.release().await;
    assert_eq!(lines_of(&*one, "traveller").await.0, lines);
}

async fn a_cut_file_leaves_nothing(place: &dyn Place) {
    let store = place.open().await;
    let elsewhere = MemoryStore::default();
    traveller(&elsewhere).await;
    let (lines, _) = lines_of(&elsewhere, "traveller").await;
    let ends: Vec<usize> = lines.match_indices('\n').map(|(at, _)| at).collect();
    // At every line's end, and around it; the very last line may lack its end.
    let cuts = ends
        .iter()
        .flat_map(|end| [end - 1, *end, end + 1, end + 9])
        .filter(|cut| *cut < lines.len() - 1);
    for cut in [0, 1].into_iter().chain(cuts) {
        let whole_lines = lines[..cut].matches('\n').count() as u64;
        let failed = take_in(&*store, &lines[..cut], None).await;
        let at = match &failed {
            Err(InterchangeError::Cut { line, .. }) => *line,
            other => panic!("cut at {cut}: {other:?}"),
        };
        // A line that lacks nothing but its end is whole.
        assert!(at == whole_lines || at == whole_lines + 1, "{failed:?}");
        assert!(is_empty(&*store).await, "cut at {cut}");
    }
    take_in(&*store, lines.trim_end(), None).await.unwrap();
}

async fn a_damaged_file_leaves_nothing(place: &dyn Place) {
    let store = place.open().await;
    let elsewhere = MemoryStore::default();
    traveller(&elsewhere).await;
    let (lines, _) = lines_of(&elsewhere, "traveller").await;
    let lines: Vec<&str> = lines.lines().collect();
    let with = |at: usize, line: &str| {
        let mut lines: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
        line.clone_into(&mut lines[at]);
        lines.join("\n") + "\n"
    };
    let without = |at: usize| {
        let mut lines = lines.clone();
        lines.remove(at);
        lines.join("\n") + "\n"
    };
    let other_bytes = lines[3].replace("BwcH", "AAAA");
    let no_base64 = lines[3].replace("BwcH", "B*cH");
    let huge = with(
        1,
        &lines[1].replace("\"seq\":0", "\"seq\":18446744073709551615"),
    );
    for (damaged, line, words) in [
        (with(0, "{}"), 1, "header"),
        (with(0, lines[1]), 1, "header"),
        (with(1, ""), 2, "EOF"),
        (with(1, "\0\0\0\0"), 2, "expected value"),
        (with(1, "[]"), 2, "invalid"),
        (
            with(1, "{\"seq\":0,\"at\":0,\"what\":{\"type\":\"title\"}}"),
            2,
            "title",
        ),
        (with(1, lines[2]), 2, "number 1, and 0"),
        (with(2, lines[1]), 3, "number 0, and 1"),
        (huge, 2, "number 18446744073709551615"),
        (without(1), 2, "number 1, and 0"),
        (without(4), 6, "number 3, and 2"),
        (without(3), 4, "do not stand before it"),
        (without(8), 9, "do not stand before it"),
        (with(3, &other_bytes), 4, "its bytes are those of sha256:"),
        (with(3, &no_base64), 4, "nvalid"),
        (with(3, lines[5]), 5, "does not refer to"),
        (
            with(3, "{\"blob\":\"sha256:00\",\"base64\":null}"),
            4,
            "no blob's name",
        ),
        (
            lines.join("\n") + "\n{\"seq\":6,\"at\":0,\"what\":{\"type\":\"step/end\"}}\n",
            11,
            "6 events",
        ),
        (lines.join("\n") + "\nwhat else\n", 11, "expected value"),
    ] {
        let failed = take_in(&*store, &damaged, None).await.unwrap_err();
        let at = match &failed {
            InterchangeError::Malformed { line, .. } | InterchangeError::Cut { line, .. } => *line,
            other => panic!("{words}: {other}"),
        };
        assert_eq!(at, line, "{failed}");
        assert!(failed.to_string().contains(words), "{words}: {failed}");
        assert!(is_empty(&*store).await, "{words}");
    }
    let newer = with(0, "{\"header\":{\"schema_version\":99}}");
    let failed = take_in(&*store, &newer, None).await.unwrap_err();
    assert!(
        matches!(failed, InterchangeError::Newer { found: 99, .. }),
        "{failed}"
    );
    assert!(is_empty(&*store).await);
    // The name is free after all that.
    take_in(&*store, lines.join("\n"), None).await.unwrap();
}

async fn a_log_without_its_blobs_is_taken(place: &dyn Place) {
    let store = place.open().await;
    let output = Blob::new(*b"left behind");
    let header_line = json!({"header": header("log")}).to_string();
    let events = [prompt(0, "words"), printed(1, "call", &output)];
    let lines: Vec<String> = std::iter::once(header_line)
        .chain(events.iter().map(|it| serde_json::to_string(it).unwrap()))
        .collect();
    let carried = take_in(&*store, lines.join("\n"), None).await.unwrap();
    assert_eq!(
        carried,
        Carried {
            id: id("log"),
            events: 2,
            blobs: 0,
            missing: BTreeSet::from([output.id().clone()]),
        }
    );
    assert_eq!(whole(&*store, &id("log")).await, events);
    assert_eq!(store.blob(&id("log"), output.id()).await.unwrap(), None);
}

async fn a_session_at_work_is_exported_as_far_as_it_is_stored(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    let mut writer = writer(&*one, &id("work")).await;
    writer
        .append(&header("work"), &prompts(0, 600), &[])
        .await
        .unwrap();
    let (lines, carried) = lines_of(&*two, "work").await;
    writer
        .append(&header("work"), &prompts(600, 1), &[])
        .await
        .unwrap();
    assert_eq!(carried.events, 600);
    let elsewhere = MemoryStore::default();
    take_in(&elsewhere, &lines, None).await.unwrap();
    assert_eq!(whole(&elsewhere, &id("work")).await, prompts(0, 600));
}

async fn an_export_of_nobody_is_an_error(place: &dyn Place) {
    let store = place.open().await;
    let mut lines = Vec::new();
    let failed = export(&*store, &id("nobody"), &mut lines).await;
    assert!(
        matches!(
            failed,
            Err(InterchangeError::Store(StoreError::Missing { .. }))
        ),
        "{failed:?}"
    );
    assert_eq!(lines, b"");
}

async fn a_large_session_is_carried_in_pieces(place: &dyn Place) {
    let store = place.open().await;
    let elsewhere = MemoryStore::default();
    let mut events = Vec::new();
    let mut blobs = Vec::new();
    for seq in 0..9 {
        let number = u8::try_from(seq).unwrap();
        let blob = Blob::new(vec![number; 1024 * 1024]);
        events.push(printed(seq, &format!("call-{seq}"), &blob));
        blobs.push(blob);
    }
    store_with(&elsewhere, &header("large"), &events, &blobs).await;
    let (lines, _) = lines_of(&elsewhere, "large").await;
    let carried = take_in(&*store, &lines, None).await.unwrap();
    assert_eq!((carried.events, carried.blobs), (9, 9));
    assert_eq!(whole(&*store, &id("large")).await, events);
    for blob in [&blobs[0], &blobs[8]] {
        let bytes = store.blob(&id("large"), blob.id()).await.unwrap();
        assert!(bytes.as_deref() == Some(blob.bytes()), "{blob:?}");
    }
    // Most of it was stored when the damage shows, and goes again.
    assert!(store.delete(&id("large")).await.unwrap());
    let cut = &lines[..lines.len() - 100];
    take_in(&*store, cut, None).await.unwrap_err();
    assert!(is_empty(&*store).await);
    for blob in &blobs {
        let bytes = store.blob(&id("large"), blob.id()).await.unwrap();
        assert_eq!(bytes, None);
    }
}
