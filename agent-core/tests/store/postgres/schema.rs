//! A database becomes a store once, and is no older build's to touch.

use agent_core::store::StoreError;
use agent_core::store::postgres::PostgresStore;
use pretty_assertions::assert_eq;
use test_postgres::Cluster;

use super::{address, open};
use crate::samples::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_that_start_together_make_one_store() {
    let database = Cluster::shared().database();
    let address = address(&database);
    let opening: Vec<_> = (0..12)
        .map(|number| {
            let address = address.clone();
            tokio::spawn(async move {
                let one = PostgresStore::open(&address).await.unwrap();
                let name = format!("session-{number}");
                store(&one, &header(&name), &prompts(0, 1)).await;
            })
        })
        .collect();
    for opened in opening {
        opened.await.unwrap();
    }
    assert_eq!(
        database.tell("SELECT string_agg(version::text, ',') FROM placard.schema_version"),
        "1"
    );
    assert_eq!(database.tell("SELECT count(*) FROM placard.sessions"), "12");
    // Nothing of ours stands among other programs' tables.
    assert_eq!(
        database.tell("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"),
        "0"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_a_newer_build_is_refused_and_not_touched() {
    let database = Cluster::shared().database();
    store(&open(&database).await, &header("there"), &prompts(0, 1)).await;
    database.tell("INSERT INTO placard.schema_version (version) VALUES (99)");
    for error in [
        PostgresStore::open(&address(&database)).await.unwrap_err(),
        PostgresStore::look(&address(&database)).await.unwrap_err(),
    ] {
        assert_eq!(
            error.to_string(),
            format!(
                "the sessions on {} were written by a newer Placard (schema 99; this one knows 1) and were left as they \
                 are; update Placard, or name another database under [store]",
                database.shown()
            )
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_makes_nothing() {
    let database = Cluster::shared().database();
    let (made, notes) = PostgresStore::look(&address(&database)).await.unwrap();
    assert!(!made);
    // As the servers of most tests are.
    assert_eq!(
        notes,
        ["fsync", "full_page_writes"].map(|setting| format!(
            "{setting} is off on the server: a power cut there can destroy its sessions"
        ))
    );
    assert_eq!(
        database.tell("SELECT count(*) FROM pg_namespace WHERE nspname = 'placard'"),
        "0"
    );
    open(&database).await;
    assert!(PostgresStore::look(&address(&database)).await.unwrap().0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_acknowledged_is_on_disk_whatever_the_role_says() {
    let database = Cluster::shared().database();
    let one = open(&database).await;
    database.tell(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END $$",
    );
    database.tell(
        "CREATE TABLE placard.seen (setting text);
         CREATE FUNCTION placard.see() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN INSERT INTO placard.seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
         CREATE TRIGGER seen AFTER INSERT ON placard.events FOR EACH STATEMENT EXECUTE FUNCTION placard.see();",
    );
    drop(one);
    store(&open(&database).await, &header("durable"), &prompts(0, 1)).await;
    assert_eq!(
        database.tell("SELECT DISTINCT setting FROM placard.seen"),
        "on"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_in_another_encoding_is_refused() {
    let database = Cluster::shared().database();
    database.tell(
        "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'",
    );
    let url = format!(
        "postgres:///latin?host={}&user=placard",
        Cluster::shared().folder().display()
    );
    let latin = agent_core::store::postgres::address::ServerAddress::parse(&url).unwrap();
    let error = PostgresStore::open(&latin).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the sessions on {latin} cannot be opened: the database is encoded as LATIN1; create one with ENCODING 'UTF8'"
        )
    );
    assert!(matches!(error, StoreError::Server { .. }));
    database.tell("DROP DATABASE latin WITH (FORCE)");
}
