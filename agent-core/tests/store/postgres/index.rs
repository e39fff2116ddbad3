//! The index of words: long texts, a fault, and what another program did not get to.

use agent_core::store::memory::MemoryStore;
use agent_core::store::{Blob, Hit, SearchRequest, SessionStore, StoreError};
use pretty_assertions::assert_eq;
use test_postgres::Cluster;

use super::open;
use crate::samples::*;

fn request(query: &str) -> SearchRequest {
    SearchRequest {
        query: query.to_owned(),
        cwd: None,
        session: None,
        limit: 100,
    }
}

async fn found(store: &dyn SessionStore, query: &str) -> Vec<Hit> {
    let mut hits = store.search(&request(query)).await.unwrap();
    hits.sort_by(|a, b| (&a.session, a.seq, a.part).cmp(&(&b.session, b.seq, b.part)));
    hits
}

/// How many lines the long build has.
const LINES: usize = 5000;

/// A long build: numbered lines of which each has a word that many have, and one that no other has.
fn long_output() -> String {
    let line = |number: usize| {
        let sort = if number.is_multiple_of(97) {
            "warning"
        } else {
            "note"
        };
        format!(
            "\x1b[1m{sort}\x1b[0m: unused variable v{number} in crate{}\r\n",
            number % 7
        )
    };
    (0..LINES).map(line).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_texts_are_found_as_memory_finds_them() {
    let database = Cluster::shared().database();
    let (one, memory) = (open(&database).await, MemoryStore::default());
    let output = Blob::new(long_output().into_bytes());
    let long_word = "ab1".repeat(1000);
    let events = [
        prompt(0, &format!("what is {long_word}")),
        reply(1, &"again and ".repeat(5000)),
        printed(2, "call", &output),
        prompt(3, "warning: unused variable"),
    ];
    let stores: [&dyn SessionStore; 2] = [&one, &memory];
    for to in stores {
        store_with(to, &header("long"), &events, std::slice::from_ref(&output)).await;
    }
    // Wherever a text is cut, somewhere there is a phrase across.
    let mut queries: Vec<String> = (0..LINES)
        .step_by(397)
        .map(|number| format!("\"v{number} in crate{} note\"", number % 7))
        .collect();
    let phrase: Vec<String> = (500..512)
        .map(|number| format!("unused variable v{number} in crate{} note", number % 7))
        .collect();
    queries.push(format!("\"{}\"", phrase.join(" ")));
    queries.extend(
        [
            &long_word[..],
            &long_word[..2997],
            "again",
            "\"again and again\"",
            "\"and and\"",
            "v0 v4999",
            "v4999 v5000",
            "\"crate3 warning\" v5",
            "\"warning unused variable v4947\"",
            "warning",
            "v2345",
        ]
        .map(str::to_owned),
    );
    for query in queries {
        let expected = found(&memory, &query).await;
        assert_eq!(found(&one, &query).await, expected, "{query}");
    }
    let pieces: u64 = database
        .tell("SELECT count(*) FROM placard.search_pieces")
        .parse()
        .unwrap();
    assert!(pieces > 15, "{pieces} pieces");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_of_the_index_touches_no_log() {
    let database = Cluster::shared().database();
    let one = open(&database).await;
    database.tell("ALTER TABLE placard.search_pieces RENAME TO elsewhere");
    let mut writer = writer(&one, &id("log")).await;
    for seq in 0..5 {
        let events = prompts(seq, 1);
        writer.append(&header("log"), &events, &[]).await.unwrap();
    }
    assert_eq!(whole(&one, &id("log")).await, prompts(0, 5));
    let error = one.search(&request("prompt")).await.unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Server {
                attempted: "searched",
                ..
            }
        ),
        "{error}"
    );
    database.tell("ALTER TABLE placard.elsewhere RENAME TO search_pieces");
    assert_eq!(found(&one, "prompt").await.len(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_program_did_not_get_to_is_put_in_by_whoever_searches() {
    let database = Cluster::shared().database();
    let one = open(&database).await;
    store(&one, &header("left"), &prompts(0, 100)).await;
    assert_eq!(found(&one, "prompt").await.len(), 100);
    // As if it had died before half of it was in.
    database.tell("UPDATE placard.search_marks SET indexed = 50");
    database.tell("DELETE FROM placard.search_pieces WHERE seq >= 50");
    let stores = [one, open(&database).await, open(&database).await];
    let searches = stores.iter().map(|it| found(it, "prompt"));
    for hits in futures::future::join_all(searches).await {
        assert_eq!(hits.len(), 100);
    }
    assert_eq!(
        database.tell("SELECT count(*) FROM placard.search_pieces"),
        "100"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_what_is_deleted() {
    let database = Cluster::shared().database();
    let (one, two) = (open(&database).await, open(&database).await);
    let output = Blob::new(*b"shared by all");
    for round in 0..10 {
        let names = [format!("a{round}"), format!("b{round}")];
        for name in &names {
            let events = [prompt(0, "words"), printed(1, "call", &output)];
            store_with(&one, &header(name), &events, std::slice::from_ref(&output)).await;
        }
        found(&one, "words").await;
        let (a, b) = (id(&names[0]), id(&names[1]));
        let (first, second) = tokio::join!(one.delete(&a), two.delete(&b));
        assert!(first.unwrap() && second.unwrap());
    }
    for table in [
        "sessions",
        "events",
        "blobs",
        "blob_refs",
        "leases",
        "search_marks",
        "search_pieces",
    ] {
        let count = database.tell(&format!("SELECT count(*) FROM placard.{table}"));
        assert_eq!(count, "0", "{table}");
    }
}
