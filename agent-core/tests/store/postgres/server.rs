//! A server that goes away, comes back, keeps silent, or loses an answer on the way.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent_core::store::postgres::PostgresStore;
use agent_core::store::postgres::address::ServerAddress;
use agent_core::store::{ListRequest, SessionStore, StoreError};
use pretty_assertions::assert_eq;
use tempfile::TempDir;
use test_postgres::{Cluster, Database, Durability};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use super::{address, open};
use crate::samples::*;

/// What a server's socket is called.
const SOCKET: &str = ".s.PGSQL.5432";

fn reason(error: StoreError) -> String {
    match error {
        StoreError::Server { reason, .. } => reason,
        other => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_outlives_the_servers_crash_and_the_rest_is_saved_then() {
    let cluster = Cluster::start(Durability::Machine, &[]);
    let database = cluster.database();
    let one = open(&database).await;
    let header = header("crash");
    let mut writer = writer(&one, &header.id).await;
    for seq in 0..20 {
        writer.append(&header, &prompts(seq, 1), &[]).await.unwrap();
    }
    cluster.stop();
    let error = writer
        .append(&header, &prompts(20, 1), &[])
        .await
        .unwrap_err();
    let told = error.to_string();
    assert!(
        told.starts_with(&format!(
            "the sessions on {} cannot be saved: nobody answers there (",
            database.shown()
        )),
        "{told}"
    );
    let error = one.list(&ListRequest::default()).await.unwrap_err();
    assert!(reason(error).starts_with("nobody answers there ("));

    cluster.start_again();
    assert_eq!(whole(&one, &header.id).await, prompts(0, 20));
    // The same call again, and the right to write is still ours.
    writer.append(&header, &prompts(20, 1), &[]).await.unwrap();
    assert_eq!(whole(&one, &header.id).await, prompts(0, 21));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_the_server_has_closed_are_replaced_without_a_word() {
    let database = Cluster::shared().database();
    let one = open(&database).await;
    let header = header("closed");
    let mut writer = writer(&one, &header.id).await;
    for seq in 0..10 {
        database.tell(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        );
        writer.append(&header, &prompts(seq, 1), &[]).await.unwrap();
        assert_eq!(whole(&one, &header.id).await.len() as u64, seq + 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_whose_answer_was_lost_counts_once() {
    let database = Cluster::shared().database();
    let way = Way::to(Cluster::shared());
    let one = PostgresStore::open(&way.address(&database)).await.unwrap();
    let header = header("lost");
    let mut writer = writer(&one, &header.id).await;
    writer.append(&header, &prompts(0, 1), &[]).await.unwrap();
    way.lose_answers_to("append_events", 1);
    writer.append(&header, &prompts(1, 2), &[]).await.unwrap();
    assert_eq!(way.lost(), 1);
    assert_eq!(whole(&one, &header.id).await, prompts(0, 3));

    // Twice is one time too many for one call; the next one finds what was stored.
    way.lose_answers_to("append_events", 2);
    let error = writer
        .append(&header, &prompts(3, 1), &[])
        .await
        .unwrap_err();
    assert_eq!(
        reason(error),
        "the connection was lost; try again when the server is back"
    );
    writer.append(&header, &prompts(3, 2), &[]).await.unwrap();
    assert_eq!(whole(&one, &header.id).await, prompts(0, 5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_questions_whose_answer_was_lost_count_once_too() {
    let database = Cluster::shared().database();
    let way = Way::to(Cluster::shared());
    let one = PostgresStore::open(&way.address(&database)).await.unwrap();
    way.lose_answers_to("take_lease", 1);
    store(&one, &header("one"), &prompts(0, 3)).await;
    way.lose_answers_to("fork_session", 1);
    one.fork(&id("one"), &header("two")).await.unwrap();
    assert_eq!(whole(&one, &id("two")).await, prompts(0, 3));
    way.lose_answers_to("delete_session", 1);
    assert!(one.delete(&id("one")).await.unwrap());
    assert_eq!(way.lost(), 3);
    let refused = one.fork(&id("two"), &header("two")).await.unwrap_err();
    assert!(matches!(refused, StoreError::Exists { .. }), "{refused}");
    assert!(!one.delete(&id("one")).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_keeps_silent_is_an_error_and_not_a_hang() {
    let database = Cluster::shared().database();
    let way = Way::to(Cluster::shared());
    let one = PostgresStore::open(&way.address(&database)).await.unwrap();
    let header = header("silent");
    let mut writer = writer(&one, &header.id).await;
    writer.append(&header, &prompts(0, 1), &[]).await.unwrap();
    way.keep_silent(true);
    let error = writer
        .append(&header, &prompts(1, 1), &[])
        .await
        .unwrap_err();
    assert!(reason(error).starts_with("it has not answered for "));
    let opening = PostgresStore::open(&way.address(&database)).await;
    assert_eq!(
        reason(opening.unwrap_err()),
        "it has not answered for 4 seconds; see whether it runs, and whether it is reached from here"
    );
    way.keep_silent(false);
    writer.append(&header, &prompts(1, 1), &[]).await.unwrap();
    assert_eq!(whole(&one, &header.id).await, prompts(0, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_server_refuses_is_told_with_what_to_do() {
    let database = Cluster::shared().database();
    let folder = Cluster::shared().folder().display();
    let nobody = TempDir::new().unwrap();
    for (url, expected) in [
        (
            format!("postgres:///nowhere?host={folder}&user=placard&password=geheim"),
            "database \"nowhere\" does not exist; create the database, as in docs/stores.md, or correct `url`".to_owned(),
        ),
        (
            format!("{}&user=nobody-of-ours&password=geheim", database.url()),
            "role \"nobody-of-ours\" does not exist; correct the user or the password in `url`".to_owned(),
        ),
        (
            format!("postgres:///placard?host={}", nobody.path().display()),
            "nobody answers there (No such file or directory (os error 2)); start the server, or correct `url` under [store]"
                .to_owned(),
        ),
    ] {
        let address = ServerAddress::parse(&url).unwrap();
        let error = PostgresStore::open(&address).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("geheim"));
        assert_eq!(reason(error), expected);
    }
    // Somebody who may connect and make nothing.
    database.tell(
        "DO $$ BEGIN CREATE ROLE guest LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
    );
    let url = format!("{}&user=guest", database.url());
    let guest = ServerAddress::parse(&url).unwrap();
    let refused = reason(PostgresStore::open(&guest).await.unwrap_err());
    assert!(
        refused.starts_with("permission denied for database test_"),
        "{refused}"
    );
    assert!(
        refused
            .ends_with("; the user in `url` must own the database, or be allowed to create in it"),
        "{refused}"
    );
    assert!(open(&database).await.has(&id("x")).await.is_ok());
    assert_eq!(address(&database).to_string(), database.shown());
}

/// A way to a server on which answers get lost.
struct Way {
    folder: TempDir,
    state: Arc<State>,
    _relays: JoinSet<()>,
}

#[derive(Default)]
struct State {
    /// The answers to what names this …
    word: std::sync::Mutex<String>,
    /// … are lost so many times more.
    to_lose: AtomicUsize,
    lost: AtomicUsize,
    silent: tokio::sync::watch::Sender<bool>,
}

impl Way {
    fn to(cluster: &Cluster) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("way-")
            .tempdir_in("/tmp")
            .unwrap();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let state = Arc::new(State::default());
        let server = cluster.folder().join(SOCKET);
        let mut relays = JoinSet::new();
        relays.spawn(listen(listener, server, Arc::clone(&state)));
        Self {
            folder,
            state,
            _relays: relays,
        }
    }

    fn address(&self, database: &Database<'_>) -> ServerAddress {
        let folder: &Path = self.folder.path();
        let url = format!("{}&host={}", database.url(), folder.display());
        ServerAddress::parse(&url).unwrap()
    }

    /// The next answers to what names this word are lost: what was asked is done, and the connection ends.
    fn lose_answers_to(&self, word: &str, times: usize) {
        word.clone_into(&mut self.state.word.lock().unwrap());
        self.state.to_lose.store(times, Ordering::SeqCst);
    }

    fn lost(&self) -> usize {
        self.state.lost.load(Ordering::SeqCst)
    }

    /// Nothing comes back any more, and nothing ends.
    fn keep_silent(&self, silent: bool) {
        self.state.silent.send_replace(silent);
    }
}

async fn listen(listener: UnixListener, server: PathBuf, state: Arc<State>) {
    let mut relays = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let server = UnixStream::connect(&server).await.unwrap();
        relays.spawn(relay(client, server, Arc::clone(&state)));
    }
}

/// Carries bytes both ways until either side ends.
async fn relay(client: UnixStream, server: UnixStream, state: Arc<State>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let mut silent = state.silent.subscribe();
    let mut asked = String::new();
    let (mut question, mut answer) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            read = from_client.read(&mut question) => {
                let Some(length) = read.ok().filter(|length| *length > 0) else { return };
                // A statement is named when it is first asked on a connection, and then by a number.
                asked.push_str(&String::from_utf8_lossy(&question[..length]));
                if to_server.write_all(&question[..length]).await.is_err() { return }
            }
            read = from_server.read(&mut answer) => {
                let Some(length) = read.ok().filter(|length| *length > 0) else { return };
                let word = state.word.lock().unwrap().clone();
                // The end of the answer to an execution: the command's tag and the readiness for the next question.
                let done = answer[..length].windows(7).any(|bytes| bytes == b"SELECT ");
                if done && !word.is_empty() && asked.contains(&word) {
                    let taken = state.to_lose.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
                    if taken.is_ok() {
                        state.lost.fetch_add(1, Ordering::SeqCst);
                        return;
                    }
                }
                if silent.wait_for(|silent| !silent).await.is_err() { return }
                if to_client.write_all(&answer[..length]).await.is_err() { return }
            }
        }
    }
}
