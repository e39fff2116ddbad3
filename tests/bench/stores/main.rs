//! What stores cost beside the bare thing: a durable append, a page of a long list, a search.
//!
//! Run by `make bench` on the release build. The sides of a ratio run in turn in one process, on the disk that holds temporary
//! files, and are told as medians. `cargo bench -p placard-tests --bench stores -- append list search` runs the parts that are
//! named. The search writes 3 GB, which it removes, and takes some minutes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark stops at the first surprise, and what it prints is its result"
)]

#[path = "../shell/figures.rs"]
#[allow(dead_code, reason = "this benchmark needs a part of it")]
mod figures;
mod find;

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use agent_core::session::event::{Entry, Event, EventKind};
use agent_core::session::{SessionHeader, SessionId};
use agent_core::store::jsonl::JsonlStore;
use agent_core::store::sqlite::SqliteStore;
use agent_core::store::{ListRequest, SessionStore};
use figures::{Aim, hope, median};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection as _, Executor as _};

/// A durable append against writing the same bytes and waiting for the disk.
const APPEND: Aim = Aim::ratio(1.3);
/// A page of a list against its query.
const LIST: Aim = Aim::ratio(1.5);
/// The same with logs that are ten times as long.
const FLAT: Aim = Aim::ratio(1.1);

const APPENDS: u64 = 400;
const SESSIONS: u64 = 10_000;
const PAGE: usize = 50;
const PAGES: usize = 200;

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let runs = |part: &str| wanted.is_empty() || wanted.iter().any(|word| word == part);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        if runs("append") {
            append().await;
        }
        if runs("list") {
            list().await;
        }
        if runs("search") {
            find::search().await;
        }
    });
}

fn header(id: SessionId) -> SessionHeader {
    SessionHeader {
        id,
        cwd: "/home/ann/work".into(),
        additional_directories: vec![],
        created_at: 1,
        program_version: "0".into(),
        model: "offline".into(),
        schema_version: 1,
        forked_from: None,
    }
}

/// About 300 bytes as they are stored.
fn event(seq: u64) -> Event {
    Event {
        seq,
        at: 1_000 + seq,
        what: Entry::Known(EventKind::UserMessage {
            text: format!("{seq} {}", "and what was asked for ".repeat(11)),
        }),
    }
}

async fn append() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::open(&folder.path().join("s.sqlite"))
        .await
        .unwrap();
    let jsonl = JsonlStore::new(folder.path().join("sessions"));
    let stores: [(&str, &dyn SessionStore); 2] = [("SQLite", &sqlite), ("JSONL", &jsonl)];
    let mut bare = Vec::new();
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.path().join("bare"))
        .unwrap();
    let mut sides = Vec::new();
    for (name, store) in stores {
        let header = header(SessionId::fresh());
        let writer = store.writer(&header.id).await.unwrap();
        sides.push((name, header, writer, Vec::new()));
    }
    for seq in 0..APPENDS {
        bare.push(write_and_sync(&mut file, seq));
        for (_, header, writer, times) in &mut sides {
            let events = [event(seq)];
            let begun = Instant::now();
            writer.append(header, &events, &[]).await.unwrap();
            times.push(begun.elapsed());
        }
    }
    let bare = median(&mut bare);
    println!("a bare write and fsync: {bare:.1?}");
    for (name, _, _, mut times) in sides {
        let time = median(&mut times);
        hope(
            &format!("a durable append, {name}: {time:.1?}"),
            APPEND,
            ratio(time, bare),
        );
    }
}

fn write_and_sync(file: &mut File, seq: u64) -> Duration {
    let line = serde_json::to_string(&event(seq)).unwrap();
    let begun = Instant::now();
    file.write_all(line.as_bytes()).unwrap();
    file.sync_all().unwrap();
    begun.elapsed()
}

async fn list() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sqlite");
    let store = SqliteStore::open(&path).await.unwrap();
    let options = SqliteConnectOptions::new().filename(&path);
    let mut raw = SqliteConnection::connect_with(&options).await.unwrap();
    fill(&mut raw).await;
    let (page, query) = time_lists(&store, &mut raw).await;
    hope(
        &format!("a page of {SESSIONS} sessions: {page:.1?}, its query {query:.1?}"),
        LIST,
        ratio(page, query),
    );
    // Ten times as long logs, and nothing else.
    let longer = "WITH RECURSIVE times(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM times WHERE n < 9)
        INSERT INTO events (session_id, seq, at, what) SELECT session_id, seq + 10 * n, at, what FROM events, times WHERE seq < 10";
    raw.execute(longer).await.unwrap();
    let (long, _) = time_lists(&store, &mut raw).await;
    hope(
        "the same page of logs that are ten times as long",
        FLAT,
        ratio(long, page),
    );
    store.close().await;
}

/// Sessions of ten events each, in one transaction.
async fn fill(raw: &mut SqliteConnection) {
    raw.execute("BEGIN").await.unwrap();
    for number in 0..SESSIONS {
        let header = header(SessionId::fresh());
        let number = i64::try_from(number).unwrap();
        sqlx::query("INSERT INTO sessions (id, cwd, header, created_at, updated_at, title) VALUES (?, ?, ?, 1, ?, ?)")
            .bind(header.id.as_str())
            .bind("/home/ann/work")
            .bind(serde_json::to_string(&header).unwrap())
            .bind(number)
            .bind(format!("What was asked for in number {number}"))
            .execute(&mut *raw)
            .await
            .unwrap();
        for seq in 0..10_u32 {
            sqlx::query("INSERT INTO events (session_id, seq, at, what) VALUES (?, ?, 1, ?)")
                .bind(header.id.as_str())
                .bind(seq)
                .bind(serde_json::to_string(&event(seq.into()).what).unwrap())
                .execute(&mut *raw)
                .await
                .unwrap();
        }
    }
    raw.execute("COMMIT").await.unwrap();
}

/// The medians of a page through the store and of its bare query.
async fn time_lists(store: &SqliteStore, raw: &mut SqliteConnection) -> (Duration, Duration) {
    let request = ListRequest {
        limit: PAGE,
        ..ListRequest::default()
    };
    let mut pages = Vec::new();
    let mut queries = Vec::new();
    for _ in 0..PAGES {
        let begun = Instant::now();
        let page = store.list(&request).await.unwrap();
        pages.push(begun.elapsed());
        assert_eq!(page.sessions.len(), PAGE);
        let begun = Instant::now();
        let rows = sqlx::query(
            "SELECT id, header, title, archived, config, updated_at, events FROM sessions WHERE archived = 0
             ORDER BY updated_at DESC, id DESC LIMIT 51",
        )
        .fetch_all(&mut *raw)
        .await
        .unwrap();
        queries.push(begun.elapsed());
        assert_eq!(rows.len(), PAGE + 1);
    }
    (median(&mut pages), median(&mut queries))
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

/// The size of what is in a folder, in MB.
fn size(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).unwrap();
    let bytes: u64 = files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    bytes / 1_000_000
}
