//! The index of words is an observer: it may be behind, or broken, and no log suffers.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_core::session::event::Event;
use agent_core::store::search::{Query, surroundings};
use agent_core::store::{Blob, SearchRequest, SessionStore, StoreError};
use pretty_assertions::assert_eq;

use super::File;
use crate::samples::*;

fn query(query: &str) -> SearchRequest {
    SearchRequest {
        query: query.to_owned(),
        cwd: None,
        session: None,
        limit: 100,
    }
}

#[tokio::test]
async fn an_index_that_cannot_be_written_fails_no_append() {
    let file = File::new();
    let one = file.open().await;
    store(&one, &header("a"), &prompts(0, 1)).await;
    file.execute("DROP TABLE words").await;
    store(&one, &header("a"), &prompts(1, 3)).await;
    assert_eq!(whole(&one, &id("a")).await, prompts(0, 4));
    let error = one.search(&query("prompt")).await.unwrap_err();
    assert!(matches!(error, StoreError::File { .. }), "{error:?}");
    assert!(one.delete(&id("a")).await.unwrap());
}

#[tokio::test]
async fn the_index_catches_up_while_nobody_appends() {
    let file = File::new();
    let one = file.open().await;
    store(&one, &header("a"), &prompts(0, 7)).await;
    let begun = Instant::now();
    let mark = "SELECT COALESCE(MAX(next), 0) FROM indexed_sessions";
    while file.number(mark).await < 7 {
        assert!(begun.elapsed() < Duration::from_secs(20));
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_deleted_session_leaves_the_index() {
    let file = File::new();
    let one = file.open().await;
    let output = Blob::new(lines(5_000).into_bytes());
    for name in ["gone", "kept"] {
        let events = [prompt(0, "a needle"), printed(1, "call", &output)];
        store_with(&one, &header(name), &events, std::slice::from_ref(&output)).await;
    }
    assert_eq!(one.search(&query("needle")).await.unwrap().len(), 2);
    assert_eq!(one.search(&query("line_4999")).await.unwrap().len(), 2);
    assert!(one.delete(&id("gone")).await.unwrap());
    assert_eq!(one.search(&query("needle")).await.unwrap().len(), 1);
    assert_eq!(one.search(&query("line_4999")).await.unwrap().len(), 1);
    let found = "SELECT COUNT(*) FROM words WHERE words MATCH 'needle OR line_4999'";
    assert_eq!(file.number(found).await, 2);
    assert_eq!(
        file.number("SELECT COUNT(*) FROM indexed_texts").await,
        2,
        "a text of the deleted session is left"
    );
    assert!(one.delete(&id("kept")).await.unwrap());
    assert_eq!(one.search(&query("needle")).await.unwrap(), []);
    for table in ["indexed_sessions", "indexed_texts", "indexed_pieces"] {
        let count = format!("SELECT COUNT(*) FROM {table}");
        let count = file.number(Box::leak(count.into_boxed_str())).await;
        assert_eq!(count, 0, "{table}");
    }
}

/// A session of the same name is another one.
#[tokio::test]
async fn a_session_that_comes_again_is_read_again() {
    let file = File::new();
    let one = file.open().await;
    for text in ["first", "second", "third"] {
        store(&one, &header("a"), &[prompt(0, text), prompt(1, "word")]).await;
        assert_eq!(one.search(&query(text)).await.unwrap().len(), 1);
        assert_eq!(one.search(&query("word")).await.unwrap().len(), 1);
        assert!(one.delete(&id("a")).await.unwrap());
        assert_eq!(one.search(&query(text)).await.unwrap(), []);
    }
}

/// Lines with words of their own, in colour.
fn lines(count: usize) -> String {
    let mut text = String::new();
    for line in 0..count {
        write!(
            text,
            "\x1b[32mCompiling\x1b[m line_{line} of everything, in {} parts – übrigens\r\n",
            line % 97
        )
        .unwrap();
    }
    text
}

/// The lines that pieces begin with.
fn borders(text: &str) -> Vec<usize> {
    let mut borders = Vec::new();
    let mut length = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        length += line.len();
        if length > 32 * 1024 {
            borders.push(number + 1);
            length = 0;
        }
    }
    borders
}

/// A hit in a large output is the same as if all of it were read.
#[tokio::test]
async fn a_large_output_is_found_as_if_it_were_read_whole() {
    let file = File::new();
    let one = file.open().await;
    let texts = [
        lines(5_000),
        format!("{}\x1b[3A\x1b[2Kdrawn_over\r\n{}", lines(600), lines(700)),
        "one_line only ".repeat(4_000),
    ];
    let outputs = texts.clone().map(|text| Blob::new(text.into_bytes()));
    let plain = texts.map(|text| xterm_rs_bridge::plain_text(&text));
    let events: Vec<Event> = (0..)
        .zip(&outputs)
        .map(|(seq, output)| printed(seq, "call", output))
        .collect();
    store_with(&one, &header("large"), &events, &outputs).await;

    let mut queries = vec![
        "compiling".to_owned(),
        "drawn_over".to_owned(),
        "only".to_owned(),
        "line_0 line_4999".to_owned(),
        "line_4999 line_0 \"96 parts\"".to_owned(),
        "line_0 line_5000".to_owned(),
        "\"übrigens compiling line_700 of everything\"".to_owned(),
        format!("\"{}\"", "one_line only ".repeat(60)),
        "\"only only\"".to_owned(),
    ];
    // The lines around the borders of the pieces, alone and as long phrases.
    let whole_line = |line: usize| {
        let parts = line % 97;
        format!("compiling line_{line} of everything in {parts} parts übrigens")
    };
    let borders = borders(&lines(5_000));
    assert!(borders.len() > 5);
    for line in borders
        .into_iter()
        .step_by(3)
        .flat_map(|line| line - 6..line + 4)
    {
        queries.push(format!("LINE_{line}"));
        let phrase: Vec<String> = (line..line + 6).map(whole_line).collect();
        queries.push(format!("\"{}\"", phrase.join(" ")));
    }
    for words in queries {
        let asked = Query::parse(&words).unwrap();
        let expected: Vec<(u64, u64, String)> = (0..)
            .zip(&plain)
            .filter_map(|(seq, text)| {
                let (line, snippet) = surroundings(text, &asked.find(text)?);
                Some((seq, line, snippet))
            })
            .collect();
        let found = one.search(&query(&words)).await.unwrap();
        let mut found: Vec<(u64, u64, String)> = found
            .into_iter()
            .map(|hit| (hit.seq, hit.line, hit.snippet))
            .collect();
        found.sort();
        assert_eq!(found, expected, "{words}");
    }
}

#[tokio::test]
async fn the_newest_are_found_first() {
    let file = File::new();
    let one = file.open().await;
    // In other than the order of time.
    for (name, at) in [("b", 30), ("a", 50), ("c", 10)] {
        let events: Vec<Event> = (0..3)
            .map(|seq| Event {
                at: BEGUN + at + seq,
                ..prompt(seq, "again")
            })
            .collect();
        store(&one, &header(name), &events).await;
        one.search(&query("again")).await.unwrap();
    }
    let request = SearchRequest {
        limit: 7,
        ..query("again")
    };
    let hits = one.search(&request).await.unwrap();
    let order: Vec<(&str, u64)> = hits
        .iter()
        .map(|hit| (hit.session.as_str(), hit.seq))
        .collect();
    assert_eq!(
        order,
        [
            ("a", 2),
            ("a", 1),
            ("a", 0),
            ("b", 2),
            ("b", 1),
            ("b", 0),
            ("c", 2)
        ]
    );
}

/// Two programs read for the index at once; neither takes for read what the other is still at.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_searches_sees_what_was_acknowledged() {
    let file = File::new();
    let stores = [Arc::new(file.open().await), Arc::new(file.open().await)];
    let work = stores.iter().enumerate().map(|(number, store)| {
        let store = Arc::clone(store);
        let name = format!("session-{number}");
        tokio::spawn(async move {
            let header = header(&name);
            let mut writer = writer(&*store, &header.id).await;
            for seq in 0..60 {
                let events: Vec<Event> = (seq * 10..seq * 10 + 10)
                    .map(|seq| prompt(seq, &format!("word_{name}_{seq}").replace('-', "_")))
                    .collect();
                writer.append(&header, &events, &[]).await.unwrap();
                for event in events.iter().step_by(4) {
                    let word = format!("word_{name}_{}", event.seq).replace('-', "_");
                    let hits = store.search(&query(&word)).await.unwrap();
                    assert_eq!(hits.len(), 1, "{word}");
                }
            }
        })
    });
    for done in futures::future::join_all(work).await {
        done.unwrap();
    }
}
