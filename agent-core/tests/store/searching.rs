//! Words are found where they are, by the same reading in every store.

use std::path::PathBuf;

use agent_core::store::{Blob, Change, Hit, Part, SearchRequest, SessionStore, StoreError};
use pretty_assertions::assert_eq;

use crate::place::Place;
use crate::samples::*;

every_store!(
    all_four_sorts_of_text_are_found,
    what_commands_printed_is_read_as_it_looked,
    all_words_must_occur_in_one_text,
    phrases_and_scripts_without_spaces,
    a_query_is_words_and_no_language,
    only_what_was_acknowledged_is_found,
    a_search_keeps_to_its_session_and_folder,
    a_search_ends_at_its_limit,
    a_query_without_a_word_is_an_error,
    a_copy_is_found_too,
);

fn query(query: &str) -> SearchRequest {
    SearchRequest {
        query: query.to_owned(),
        cwd: None,
        session: None,
        limit: 100,
    }
}

/// The hits in the order of sessions and events: stores may put better ones first.
async fn found(store: &dyn SessionStore, request: &SearchRequest) -> Vec<Hit> {
    let mut hits = store.search(request).await.unwrap();
    hits.sort_by(|a, b| (&a.session, a.seq, a.part).cmp(&(&b.session, b.seq, b.part)));
    hits
}

/// Where a query occurs: session and event.
async fn places(store: &dyn SessionStore, request: &SearchRequest) -> Vec<(String, u64)> {
    let hits = found(store, request).await;
    let place = |hit: Hit| (hit.session.to_string(), hit.seq);
    hits.into_iter().map(place).collect()
}

async fn events_found(store: &dyn SessionStore, words: &str) -> Vec<u64> {
    let places = places(store, &query(words)).await;
    places.into_iter().map(|(_, seq)| seq).collect()
}

async fn all_four_sorts_of_text_are_found(place: &dyn Place) {
    let one = place.open().await;
    let output = Blob::new(*b"   Compiling placard\r\n\r\nerror: needle in the output\r\n");
    let events = [
        title(0, "of needles"),
        prompt(1, "Where is the\nneedle?"),
        reply(2, "The Needle is in the hay."),
        command(3, "call-1", "grep -r needle ."),
        printed(4, "call-1", &output),
    ];
    store_with(
        &*one,
        &header("hay"),
        &events,
        std::slice::from_ref(&output),
    )
    .await;
    let hit = |seq, part, call_id: Option<&str>, line, snippet: &str| Hit {
        session: id("hay"),
        title: Some("of needles".to_owned()),
        cwd: PathBuf::from("/work"),
        seq,
        at: BEGUN + seq,
        call_id: call_id.map(str::to_owned),
        part,
        line,
        snippet: snippet.to_owned(),
    };
    let expected = [
        hit(1, Part::Prompt, None, 2, "Where is the needle?"),
        hit(2, Part::Reply, None, 1, "The Needle is in the hay."),
        hit(3, Part::Command, Some("call-1"), 1, "grep -r needle ."),
        hit(
            4,
            Part::Output,
            Some("call-1"),
            3,
            "Compiling placard  error: needle in the output",
        ),
    ];
    for store in [one, place.open().await] {
        assert_eq!(found(&*store, &query("NEEDLE")).await, expected);
    }
}

async fn what_commands_printed_is_read_as_it_looked(place: &dyn Place) {
    let one = place.open().await;
    let output = Blob::new(
        *b"\x1b[1m\x1b[32mgre\x1b[0men\x1b[0m light\r\nloading 10%\rloading 99%\r\nbad \xff byte\r\n",
    );
    store_with(
        &*one,
        &header("look"),
        &[printed(0, "call", &output)],
        std::slice::from_ref(&output),
    )
    .await;
    for (words, lines) in [
        ("green", &[1][..]),
        ("\"green light\"", &[1]),
        ("99", &[2]),
        ("10", &[]),
        ("32mgre", &[]),
        ("1m", &[]),
        ("byte", &[3]),
    ] {
        let hits = found(&*one, &query(words)).await;
        let at: Vec<u64> = hits.iter().map(|hit| hit.line).collect();
        assert_eq!(at, lines, "{words}");
    }
}

async fn all_words_must_occur_in_one_text(place: &dyn Place) {
    let one = place.open().await;
    let events = [
        prompt(0, "alpha beta"),
        prompt(1, "alpha"),
        reply(2, "beta, then gamma and ALPHA"),
        prompt(3, "alphabeta"),
        prompt(4, "snake_case and CamelCase"),
        prompt(5, "src/main.rs:12"),
    ];
    store(&*one, &header("words"), &events).await;
    for (words, expected) in [
        ("alpha", &[0, 1, 2][..]),
        ("alpha beta", &[0, 2]),
        ("beta alpha", &[0, 2]),
        ("alpha delta", &[]),
        ("alph", &[]),
        ("alphabeta", &[3]),
        ("snake", &[]),
        ("SNAKE_CASE", &[4]),
        ("camelcase", &[4]),
        ("main.rs", &[5]),
        ("rs:12", &[5]),
        ("main.12", &[]),
        ("12 main", &[5]),
    ] {
        assert_eq!(events_found(&*one, words).await, expected, "{words}");
    }
}

async fn phrases_and_scripts_without_spaces(place: &dyn Place) {
    let one = place.open().await;
    let events = [
        prompt(0, "the quick brown fox"),
        prompt(1, "the brown, quick fox"),
        prompt(2, "编译错误：找不到文件 E0308"),
        prompt(3, "エラーが発生しました"),
        prompt(4, "die Übung über naïve Straßen"),
        prompt(5, "错了，没有误会"),
        prompt(6, "오류가 발생했습니다"),
    ];
    store(&*one, &header("phrases"), &events).await;
    for (words, expected) in [
        ("\"quick brown\"", &[0][..]),
        ("\"brown quick\"", &[1]),
        ("quick brown", &[0, 1]),
        ("\"quick brown\" fox", &[0]),
        ("\"quick brown", &[0]),
        ("错误", &[2]),
        ("错 误", &[2, 5]),
        ("错误E0308", &[]),
        ("文件 e0308", &[2]),
        ("エラー", &[3]),
        ("発生", &[3]),
        ("übung", &[4]),
        ("ÜBER", &[4]),
        ("ubung", &[]),
        ("naive", &[]),
        ("straßen", &[4]),
        ("오류가", &[6]),
        ("오류", &[]),
    ] {
        assert_eq!(events_found(&*one, words).await, expected, "{words}");
    }
}

async fn a_query_is_words_and_no_language(place: &dyn Place) {
    let one = place.open().await;
    let events = [
        prompt(0, "salt and pepper"),
        prompt(1, "salt or sugar"),
        prompt(2, "it's 100% near(by)"),
        prompt(3, "pepper not salt & <-> title"),
    ];
    store(&*one, &header("language"), &events).await;
    for (words, expected) in [
        ("salt AND pepper", &[0][..]),
        ("salt OR sugar", &[1]),
        ("NOT salt", &[3]),
        ("NEAR(by)", &[2]),
        ("it's", &[2]),
        ("100%", &[2]),
        ("sal*", &[]),
        ("pep%", &[]),
        ("-salt pepper", &[0, 3]),
        ("what:salt", &[]),
        ("title:salt", &[]),
        ("salt & pepper", &[0, 3]),
        ("salt <-> pepper", &[0, 3]),
        ("!salt | sugar", &[1]),
        ("') OR 1=1 --", &[]),
    ] {
        assert_eq!(events_found(&*one, words).await, expected, "{words}");
    }
}

async fn only_what_was_acknowledged_is_found(place: &dyn Place) {
    let (one, two) = (place.open().await, place.open().await);
    let header = header("acknowledged");
    let mut writer = writer(&*one, &header.id).await;
    writer
        .append(&header, &[prompt(0, "first word")], &[])
        .await
        .unwrap();
    let output = Blob::new(*b"refused word");
    let refused = [printed(2, "call", &output)];
    writer
        .append(&header, &refused, std::slice::from_ref(&output))
        .await
        .unwrap_err();
    writer
        .append(&header, &[prompt(0, "another word")], &[])
        .await
        .unwrap_err();
    for seq in 1..20 {
        // What is acknowledged is found at once, from elsewhere, and once, even when it is appended twice.
        let events = [prompt(seq, &format!("word {seq}th"))];
        writer.append(&header, &events, &[]).await.unwrap();
        writer.append(&header, &events, &[]).await.unwrap();
        for store in [&one, &two] {
            let words = format!("word {seq}th");
            assert_eq!(events_found(&**store, &words).await, [seq]);
        }
    }
    for store in [&one, &two] {
        let expected: Vec<u64> = (0..20).collect();
        assert_eq!(events_found(&**store, "word").await, expected);
        assert_eq!(events_found(&**store, "refused").await, [0; 0]);
        assert_eq!(events_found(&**store, "another").await, [0; 0]);
    }
}

async fn a_search_keeps_to_its_session_and_folder(place: &dyn Place) {
    let one = place.open().await;
    for (name, cwd) in [("a", "/work"), ("b", "/work/inner"), ("c", "/work")] {
        store(&*one, &header_in(name, cwd), &[prompt(0, "a common word")]).await;
    }
    let put_away = Change {
        archived: Some(true),
        ..Change::default()
    };
    one.update(&id("c"), &put_away).await.unwrap();
    let hits = async |cwd: Option<&str>, session: Option<&str>| {
        let request = SearchRequest {
            cwd: cwd.map(PathBuf::from),
            session: session.map(id),
            ..query("common")
        };
        let places = places(&*one, &request).await;
        places.into_iter().map(|it| it.0).collect::<Vec<_>>()
    };
    assert_eq!(hits(None, None).await, ["a", "b", "c"]);
    assert_eq!(hits(Some("/work"), None).await, ["a", "c"]);
    assert_eq!(hits(Some("/work/inner"), None).await, ["b"]);
    assert_eq!(hits(Some("/wor%"), None).await, [""; 0]);
    assert_eq!(hits(None, Some("b")).await, ["b"]);
    assert_eq!(hits(Some("/work"), Some("b")).await, [""; 0]);
    assert_eq!(hits(None, Some("nobody")).await, [""; 0]);
}

async fn a_search_ends_at_its_limit(place: &dyn Place) {
    let one = place.open().await;
    for name in ["a", "b", "c"] {
        let events: Vec<_> = (0..10).map(|seq| prompt(seq, "again and again")).collect();
        store(&*one, &header(name), &events).await;
    }
    for limit in [1, 7, 30, 31] {
        let request = SearchRequest {
            limit,
            ..query("again")
        };
        let mut hits = places(&*one, &request).await;
        assert_eq!(hits.len(), limit.min(30));
        hits.dedup();
        assert_eq!(hits.len(), limit.min(30));
    }
}

async fn a_query_without_a_word_is_an_error(place: &dyn Place) {
    let one = place.open().await;
    for words in ["", "  ", "\"\"", "--", "\\", "%", "*"] {
        let empty = one.search(&query(words)).await;
        assert!(
            matches!(&empty, Err(StoreError::EmptyQuery { query }) if query == words),
            "{words:?}: {empty:?}"
        );
    }
}

async fn a_copy_is_found_too(place: &dyn Place) {
    let one = place.open().await;
    let output = Blob::new(*b"a printed needle");
    let events = [prompt(0, "a needle"), printed(1, "call", &output)];
    store_with(
        &*one,
        &header("original"),
        &events,
        std::slice::from_ref(&output),
    )
    .await;
    one.fork(&id("original"), &header("copy")).await.unwrap();
    let place_of = |name: &str, seq| (name.to_owned(), seq);
    assert_eq!(
        places(&*one, &query("needle")).await,
        [
            place_of("copy", 0),
            place_of("copy", 1),
            place_of("original", 0),
            place_of("original", 1)
        ]
    );
    assert!(one.delete(&id("original")).await.unwrap());
    assert_eq!(
        places(&*one, &query("needle")).await,
        [place_of("copy", 0), place_of("copy", 1)]
    );
}
