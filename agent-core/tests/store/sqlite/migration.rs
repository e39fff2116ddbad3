//! A file of an older build is brought up after a copy was kept; what is not ours, or newer, is left as it is.

use std::os::unix::fs::PermissionsExt as _;

use agent_core::session::event::Event;
use agent_core::store::{ListRequest, SearchRequest, SessionStore as _, StoreError};
use pretty_assertions::assert_eq;
use sqlx::migrate::Migrator;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection as _, Executor as _};

use super::{File, execute};
use crate::samples::*;

static MIGRATIONS: Migrator = sqlx::migrate!("../migrations/sqlite");

/// A file as schema 1 made it, with two sessions.
async fn old_file() -> (File, SqliteConnection) {
    let file = File::new();
    let mut raw = file.raw().await;
    execute(&mut raw, "PRAGMA journal_mode = WAL").await;
    let first = MIGRATIONS.iter().take(1).cloned().collect();
    Migrator::with_migrations(first)
        .run(&mut raw)
        .await
        .unwrap();
    execute(&mut raw, "PRAGMA user_version = 1").await;
    for name in ["one", "two"] {
        append_as_before(&mut raw, name, &prompts(0, 3)).await;
    }
    (file, raw)
}

/// What a program of schema 1 does.
async fn append_as_before(raw: &mut SqliteConnection, name: &str, events: &[Event]) {
    execute(raw, "BEGIN IMMEDIATE").await;
    sqlx::query(
        "INSERT INTO sessions (id, cwd, header, created_at, updated_at) VALUES (?, '/work', ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at",
    )
    .bind(name)
    .bind(serde_json::to_string(&header(name)).unwrap())
    .bind(i64::try_from(BEGUN).unwrap())
    .bind(i64::try_from(events.last().unwrap().at).unwrap())
    .execute(&mut *raw)
    .await
    .unwrap();
    for event in events {
        sqlx::query("INSERT INTO events (session_id, seq, at, what) VALUES (?, ?, ?, ?)")
            .bind(name)
            .bind(i64::try_from(event.seq).unwrap())
            .bind(i64::try_from(event.at).unwrap())
            .bind(serde_json::to_string(&event.what).unwrap())
            .execute(&mut *raw)
            .await
            .unwrap();
    }
    raw.execute("COMMIT").await.unwrap();
}

#[tokio::test]
async fn an_older_file_is_copied_and_brought_up() {
    let (file, raw) = old_file().await;
    raw.close().await.unwrap();
    let before = std::fs::read(file.path()).unwrap();
    for _ in 0..2 {
        let one = file.open().await;
        for name in ["one", "two"] {
            assert_eq!(whole(&one, &id(name)).await, prompts(0, 3));
            assert_eq!(summary(&one, &id(name)).await.events, 3);
        }
        one.close().await;
    }
    let copy = file.beside(".before-2");
    assert_eq!(std::fs::read(&copy).unwrap(), before);
    let mode = copy.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let names: Vec<String> = file.everything().into_keys().collect();
    assert_eq!(
        names,
        [
            "sessions.sqlite",
            "sessions.sqlite.before-2",
            "sessions.sqlite.lock"
        ]
    );
}

#[tokio::test]
async fn an_earlier_copy_stays() {
    let (file, raw) = old_file().await;
    raw.close().await.unwrap();
    let before = std::fs::read(file.path()).unwrap();
    std::fs::write(file.beside(".before-2"), "an earlier one").unwrap();
    file.open().await.close().await;
    assert_eq!(
        std::fs::read(file.beside(".before-2")).unwrap(),
        b"an earlier one"
    );
    assert_eq!(std::fs::read(file.beside(".before-2.1")).unwrap(), before);
}

/// The program of before may have died between its schema and its number.
#[tokio::test]
async fn an_older_file_without_its_number_is_one_too() {
    let (file, mut raw) = old_file().await;
    execute(&mut raw, "PRAGMA user_version = 0").await;
    raw.close().await.unwrap();
    let one = file.open().await;
    assert_eq!(whole(&one, &id("one")).await, prompts(0, 3));
    assert!(file.beside(".before-2").exists());
}

#[tokio::test]
async fn an_older_program_that_still_runs_goes_on() {
    let (file, mut raw) = old_file().await;
    // It reads: what it wrote cannot all be moved into the file before the copy.
    execute(&mut raw, "BEGIN; SELECT COUNT(*) FROM events").await;
    append_as_before(&mut file.raw().await, "one", &prompts(3, 1)).await;
    let one = file.open().await;
    execute(&mut raw, "COMMIT").await;
    append_as_before(&mut raw, "one", &prompts(4, 2)).await;
    append_as_before(&mut raw, "three", &[prompt(0, "quite new")]).await;

    assert_eq!(whole(&one, &id("one")).await, prompts(0, 6));
    assert_eq!(summary(&one, &id("one")).await.events, 6);
    let page = one
        .list(&ListRequest {
            limit: 9,
            ..ListRequest::default()
        })
        .await
        .unwrap();
    let listed: Vec<_> = page
        .sessions
        .iter()
        .map(|it| (it.header.id.as_str(), it.events))
        .collect();
    assert_eq!(listed, [("one", 6), ("two", 3), ("three", 1)]);
    let query = SearchRequest {
        query: "new".into(),
        cwd: None,
        session: None,
        limit: 9,
    };
    assert_eq!(one.search(&query).await.unwrap().len(), 1);

    // The copy is whole with what was not in the file itself.
    let copy = sqlx::sqlite::SqliteConnectOptions::new().filename(file.beside(".before-2"));
    let mut copy = SqliteConnection::connect_with(&copy).await.unwrap();
    let events: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM events")
        .fetch_one(&mut copy)
        .await
        .unwrap();
    assert_eq!(events, 7);
}

#[tokio::test]
async fn programs_that_migrate_together_make_one_copy() {
    let (file, raw) = old_file().await;
    raw.close().await.unwrap();
    let opening = (0..6).map(|_| file.open());
    for store in futures::future::join_all(opening).await {
        assert_eq!(whole(&store, &id("two")).await, prompts(0, 3));
        store.close().await;
    }
    let copies = file.everything().into_keys();
    assert_eq!(copies.filter(|name| name.contains("before")).count(), 1);
}

/// The number may be in the log beside the file only, when the newer build was killed.
#[tokio::test]
async fn a_newer_file_is_not_touched_whichever_way_it_ended() {
    for killed in [false, true] {
        let made = File::new();
        made.open().await.close().await;
        let mut raw = made.raw().await;
        execute(&mut raw, "PRAGMA journal_mode = WAL").await;
        execute(&mut raw, "PRAGMA wal_autocheckpoint = 0").await;
        execute(&mut raw, "PRAGMA user_version = 7").await;
        execute(&mut raw, "CREATE TABLE newer (of INTEGER)").await;
        let file = File::new();
        if !killed {
            raw.close().await.unwrap();
        }
        for more in ["", "-wal"] {
            if made.beside(more).exists() {
                std::fs::copy(made.beside(more), file.beside(more)).unwrap();
            }
        }
        let before = file.everything();
        assert_eq!(before.len(), if killed { 2 } else { 1 });
        let refused = file.try_open().await;
        assert!(
            matches!(
                refused,
                Err(StoreError::Newer {
                    found: 7,
                    known: 2,
                    ..
                })
            ),
            "{refused:?}"
        );
        assert!(file.everything() == before, "killed: {killed}");
    }
}

/// What is half written at the end of a log was never committed.
#[tokio::test]
async fn a_log_counts_as_far_as_it_is_committed() {
    let made = File::new();
    made.open().await.close().await;
    let mut raw = made.raw().await;
    execute(&mut raw, "PRAGMA journal_mode = WAL").await;
    execute(&mut raw, "PRAGMA user_version = 7").await;
    let file = File::new();
    std::fs::copy(made.path(), file.path()).unwrap();
    let log = std::fs::read(made.beside("-wal")).unwrap();
    std::fs::write(file.beside("-wal"), &log[..log.len() - 1]).unwrap();
    file.open().await.close().await;
}

#[tokio::test]
async fn what_is_no_store_is_left_as_it_is() {
    let other = File::new();
    other.execute("CREATE TABLE other (of TEXT)").await;
    let (zeros, text, short) = (File::new(), File::new(), File::new());
    std::fs::write(zeros.path(), [0; 8192]).unwrap();
    std::fs::write(text.path(), "no database, ".repeat(1000)).unwrap();
    std::fs::write(short.path(), "SQLite").unwrap();
    for (file, what) in [
        (other, "another program"),
        (zeros, "no SQLite database"),
        (text, "no SQLite database"),
        (short, "no SQLite database"),
    ] {
        let before = file.everything();
        let refused = file.try_open().await.unwrap_err();
        assert!(
            matches!(&refused, StoreError::Corrupt { reason, .. } if reason.contains(what)),
            "{refused:?}"
        );
        let mut after = file.everything();
        after.remove("sessions.sqlite.lock");
        assert!(after == before, "{what}");
    }
}
