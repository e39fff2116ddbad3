//! Events go in whole, once, in order, and come back as they were.

use agent_core::session::{SessionHeader, SessionId};
use agent_core::store::{ListRequest, SessionPage, SessionSummary, StoreError};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::place::Place;
use crate::samples::*;

every_store!(
    a_session_leaves_no_trace_before_its_first_append,
    what_was_appended_comes_back,
    a_log_is_read_in_pages,
    events_of_a_newer_build_come_back_word_for_word,
    any_text_comes_back,
    an_append_that_is_tried_again_counts_once,
    an_append_may_begin_with_stored_events,
    another_event_of_a_stored_number_is_refused,
    a_gap_is_refused,
    a_refused_append_spoils_nothing,
    the_header_of_the_first_append_stays,
    large_events_and_many_at_once,
    a_name_of_any_shape_may_be_asked_for,
    a_session_in_order_is_salvaged_whole,
);

async fn a_session_leaves_no_trace_before_its_first_append(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    let header = header("lazy");
    let mut writer = writer(&*one, &header.id).await;
    writer.append(&header, &[], &[]).await.unwrap();
    for store in [&one, &two] {
        assert_eq!(store.summary(&header.id).await.unwrap(), None);
        assert!(!store.has(&header.id).await.unwrap());
        let page = store.list(&ListRequest::default()).await.unwrap();
        assert_eq!(page, SessionPage::default());
        let missing = store.read(&header.id, 0, 10).await.unwrap_err();
        assert!(matches!(missing, StoreError::Missing { .. }), "{missing}");
    }
    writer.release().await;
    assert!(!one.has(&header.id).await.unwrap());

    store(&*two, &header, &prompts(0, 1)).await;
    assert!(one.has(&header.id).await.unwrap());
}

async fn what_was_appended_comes_back(place: &dyn Place) {
    let one = place.open().await;
    let header = header("back");
    let mut writer = writer(&*one, &header.id).await;
    writer.append(&header, &prompts(0, 2), &[]).await.unwrap();
    writer
        .append(&header, &[reply(2, "an answer")], &[])
        .await
        .unwrap();
    let mut expected = prompts(0, 2);
    expected.push(reply(2, "an answer"));
    let two = place.open().await;
    for store in [one, two] {
        assert_eq!(whole(&*store, &header.id).await, expected);
        assert_eq!(
            summary(&*store, &header.id).await,
            SessionSummary {
                updated_at: BEGUN + 2,
                events: 3,
                ..SessionSummary::new(header.clone())
            }
        );
    }
}

async fn a_log_is_read_in_pages(place: &dyn Place) {
    let one = place.open().await;
    let header = header("pages");
    let events = prompts(0, 1000);
    store(&*one, &header, &events).await;
    let two = place.open().await;
    for (from, limit) in [
        (0, 1),
        (0, 300),
        (300, 300),
        (600, 300),
        (900, 300),
        (999, 1),
        (17, 1),
        (500, 0),
        (1000, 5),
        (u64::MAX, usize::MAX),
    ] {
        let page = two.read(&header.id, from, limit).await.unwrap();
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let expected: Vec<_> = events.iter().skip(from).take(limit).cloned().collect();
        assert_eq!(page, expected, "{limit} from {from}");
    }
}

async fn events_of_a_newer_build_come_back_word_for_word(place: &dyn Place) {
    let one = place.open().await;
    let header = header("news");
    let what = json!({
        "type": "hologram",
        "zeta": {"b": 1, "a": [null, true, -7, 1.5, 18_446_744_073_709_551_615_u64]},
        "alpha": "last, \u{2028}\u{0}\n\"quoted\"",
    });
    let events = [prompt(0, "first"), news(1, what.clone()), prompt(2, "last")];
    store(&*one, &header, &events).await;
    let back = whole(&*place.open().await, &header.id).await;
    assert_eq!(back, events);
    // Also the order of the fields.
    assert_eq!(
        serde_json::to_string(&back[1].what).unwrap(),
        what.to_string()
    );
}

async fn any_text_comes_back(place: &dyn Place) {
    let one = place.open().await;
    let header = header("texts");
    let texts = [
        "",
        "\n",
        "line\r\nline\rline\u{85}\u{2028}",
        "nul \u{0} and \u{1b}[31mred\u{1b}[0m",
        "\\u0000 \\ \" ' % _ $1 ? ; -- /*",
        "日本語 한국어 🧑‍🚀 ñ n\u{303} \u{feff}\u{fffd}",
        "{\"seq\":9,\"at\":9}\n{\"seq\":10}",
    ];
    let events: Vec<_> = (0..).zip(texts).map(|(seq, it)| prompt(seq, it)).collect();
    store(&*one, &header, &events).await;
    assert_eq!(whole(&*place.open().await, &header.id).await, events);
}

async fn an_append_that_is_tried_again_counts_once(place: &dyn Place) {
    let one = place.open().await;
    let header = header("again");
    let events = [
        prompt(0, "first"),
        news(1, json!({"type": "hologram", "n": 1.25})),
    ];
    let mut first = writer(&*one, &header.id).await;
    first.append(&header, &events, &[]).await.unwrap();
    first.append(&header, &events, &[]).await.unwrap();
    first.append(&header, &events[1..], &[]).await.unwrap();
    first.release().await;
    // The answer was lost with the program.
    let two = place.open().await;
    store(&*two, &header, &events).await;
    assert_eq!(whole(&*one, &header.id).await, events);
    assert_eq!(summary(&*one, &header.id).await.events, 2);
}

async fn an_append_may_begin_with_stored_events(place: &dyn Place) {
    let one = place.open().await;
    let header = header("overlap");
    store(&*one, &header, &prompts(0, 3)).await;
    store(&*one, &header, &prompts(1, 5)).await;
    assert_eq!(whole(&*one, &header.id).await, prompts(0, 6));
}

async fn another_event_of_a_stored_number_is_refused(place: &dyn Place) {
    let one = place.open().await;
    let header = header("other");
    store(&*one, &header, &prompts(0, 3)).await;
    let mut writer = writer(&*one, &header.id).await;
    let other_time = {
        let mut event = prompt(1, "prompt 1");
        event.at += 1;
        event
    };
    for (events, number) in [
        (vec![prompt(2, "another"), prompt(3, "behind it")], 2),
        (vec![prompt(1, "prompt 1"), prompt(2, "another")], 2),
        (vec![other_time], 1),
        (vec![reply(0, "prompt 0")], 0),
    ] {
        let refused = writer.append(&header, &events, &[]).await.unwrap_err();
        assert!(
            matches!(&refused, StoreError::OutOfOrder { id, seq } if *id == header.id && *seq == number),
            "{refused}"
        );
        assert_eq!(whole(&*one, &header.id).await, prompts(0, 3));
    }
}

async fn a_gap_is_refused(place: &dyn Place) {
    let one = place.open().await;
    let header = header("gap");
    let mut writer = writer(&*one, &header.id).await;
    let refused = writer.append(&header, &prompts(1, 1), &[]).await;
    assert!(
        matches!(refused, Err(StoreError::OutOfOrder { seq: 1, .. })),
        "{refused:?}"
    );
    assert!(!one.has(&header.id).await.unwrap());

    writer.append(&header, &prompts(0, 2), &[]).await.unwrap();
    let hole = [prompt(2, "next"), prompt(4, "not next")];
    let doubled = [prompt(2, "next"), prompt(2, "next")];
    let reversed = [prompt(3, "then"), prompt(2, "next")];
    for (events, number) in [(hole, 4), (doubled, 2), (reversed, 3)] {
        let refused = writer.append(&header, &events, &[]).await;
        assert!(
            matches!(refused, Err(StoreError::OutOfOrder { seq, .. }) if seq == number),
            "{refused:?}"
        );
        assert_eq!(whole(&*one, &header.id).await, prompts(0, 2));
    }
}

async fn a_refused_append_spoils_nothing(place: &dyn Place) {
    let one = place.open().await;
    let header = header("spoils");
    let mut writer = writer(&*one, &header.id).await;
    writer
        .append(&header, &prompts(5, 1), &[])
        .await
        .unwrap_err();
    writer.append(&header, &prompts(0, 1), &[]).await.unwrap();
    writer
        .append(&header, &[prompt(0, "another")], &[])
        .await
        .unwrap_err();
    writer.append(&header, &prompts(1, 1), &[]).await.unwrap();
    assert_eq!(whole(&*one, &header.id).await, prompts(0, 2));
    assert_eq!(summary(&*one, &header.id).await.events, 2);
}

async fn the_header_of_the_first_append_stays(place: &dyn Place) {
    let one = place.open().await;
    let first = header("header");
    store(&*one, &first, &prompts(0, 1)).await;
    let later = SessionHeader {
        model: "another".to_owned(),
        ..header_in("header", "/elsewhere")
    };
    store(&*one, &later, &prompts(1, 1)).await;
    assert_eq!(summary(&*one, &first.id).await.header, first);
}

async fn large_events_and_many_at_once(place: &dyn Place) {
    let one = place.open().await;
    let header = header("large");
    let mut events = vec![prompt(0, &"wörds of a prompt ".repeat(200_000))];
    events.extend(prompts(1, 5000));
    store(&*one, &header, &events).await;
    let back = whole(&*place.open().await, &header.id).await;
    assert!(back == events, "{} events came back", back.len());
}

async fn a_name_of_any_shape_may_be_asked_for(place: &dyn Place) {
    let one = place.open().await;
    store(&*one, &header("there"), &prompts(0, 1)).await;
    let long = "x".repeat(5000);
    for name in [
        "",
        ".",
        "..",
        "../there",
        "./there",
        "/etc/passwd",
        "there/",
        "there\0",
        "a\nb",
        "%",
        "there' OR 1=1 --",
        "THERE",
        "…",
        &long,
    ] {
        let id = SessionId::from(name.to_owned());
        assert_eq!(one.summary(&id).await.unwrap(), None, "{name:?}");
        assert!(!one.has(&id).await.unwrap(), "{name:?}");
        assert!(!one.delete(&id).await.unwrap(), "{name:?}");
        let read = one.read(&id, 0, 1).await;
        assert!(
            matches!(read, Err(StoreError::Missing { .. })),
            "{name:?}: {read:?}"
        );
        let salvaged = one.salvage(&id).await;
        assert!(
            matches!(salvaged, Err(StoreError::Missing { .. })),
            "{name:?}: {salvaged:?}"
        );
        let forked = one.fork(&id, &header("copy")).await;
        assert!(
            matches!(forked, Err(StoreError::Missing { .. })),
            "{name:?}: {forked:?}"
        );
        // Files are named after sessions: none is begun under such a name.
        if !matches!(name, "THERE") {
            let writer = one.writer(&id).await.map(drop);
            assert!(
                matches!(writer, Err(StoreError::Name(_))),
                "{name:?}: {writer:?}"
            );
            let forked = one.fork(&header("there").id, &header(name)).await;
            assert!(
                matches!(forked, Err(StoreError::Name(_))),
                "{name:?}: {forked:?}"
            );
        }
    }
    assert_eq!(whole(&*one, &id("there")).await, prompts(0, 1));
}

async fn a_session_in_order_is_salvaged_whole(place: &dyn Place) {
    let one = place.open().await;
    let header = header("salvage");
    let mut events = prompts(0, 10);
    events.push(news(10, json!({"type": "hologram"})));
    store(&*one, &header, &events).await;
    let salvage = one.salvage(&header.id).await.unwrap();
    assert_eq!(
        (salvage.header, salvage.events, salvage.damage),
        (Some(header), events, vec![])
    );
}
