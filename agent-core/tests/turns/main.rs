//! Turns of real sessions: the log is balanced whatever fails, and what is acknowledged is stored.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of a test fail it as its body does"
)]

mod background;
mod background_tools;
mod failing;
mod loaded;
mod login_path;
mod sandboxed;
mod titles;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_core::agent::{FrontAbilities, Opened};
use agent_core::session::SessionId;
use agent_core::session::event::{Event, EventKind, TurnEndReason};
use agent_core::session::live::{PromptError, Session};
use agent_core::session::update::Update;
use agent_core::store::memory::MemoryStore;
use agent_core::store::sqlite::SqliteStore;
use agent_core::store::{SessionStore, StoreError};
use agent_core::{Agent, Environment, Surroundings};
use failing::Failing;
use inspector::model_server::{Answer, Failure, Gate, ModelServer, Script};
use pretty_assertions::assert_eq;
use tempfile::TempDir;

/// An agent in folders of its own, with one open session.
struct Stage {
    folder: TempDir,
    agent: Agent,
    opened: Option<Opened>,
}

fn supervisor() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent()
        .and_then(Path::parent)
        .unwrap()
        .join("examples/supervisor")
}

impl Stage {
    fn new(variables: &[(&str, &str)], store: Option<Arc<dyn SessionStore>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        let path = std::env::var("PATH").unwrap();
        let environment: Environment = variables
            .iter()
            .copied()
            .chain([("PATH", path.as_str())])
            .collect::<Vec<_>>()
            .into_iter()
            .collect();
        let surroundings = Surroundings {
            environment,
            config_dir: folder.path().join("config"),
            data_dir: folder.path().join("data"),
            cache_dir: folder.path().join("cache"),
            program: supervisor(),
        };
        let agent = match store {
            Some(store) => Agent::with_store(surroundings, store),
            None => Agent::new(surroundings),
        };
        let opened = agent
            .open_session(&folder.path().join("work"), &[], FrontAbilities::default())
            .unwrap();
        Self {
            folder,
            agent,
            opened: Some(opened),
        }
    }

    /// With a scripted model behind the HTTP code of a real provider.
    fn with_model(server: &ModelServer, store: Option<Arc<dyn SessionStore>>) -> Self {
        Self::new(
            &[
                ("PLACARD_MODEL", "openai/gpt-test"),
                ("OPENAI_API_KEY", "k"),
                ("OPENAI_BASE_URL", &server.openai_base_url()),
            ],
            store,
        )
    }

    fn session(&self) -> Session {
        self.opened.as_ref().unwrap().session.clone()
    }

    async fn turn(&self, prompt: &str) -> (TurnEndReason, Option<String>) {
        let end = self
            .session()
            .begin_turn()
            .unwrap()
            .run(prompt.to_owned())
            .await
            .end;
        (end.reason, end.error)
    }
}

/// The tags of a log, in order.
fn shape(events: &[Event]) -> Vec<String> {
    events
        .iter()
        .map(|event| {
            serde_json::to_value(&event.what).unwrap()["type"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect()
}

/// The whole log of a session as it is stored.
async fn stored(store: &dyn SessionStore, id: &SessionId) -> Vec<Event> {
    store.read(id, 0, usize::MAX).await.unwrap()
}

/// Every turn, step and call that was opened is closed once, and nothing else.
fn assert_balanced(events: &[Event]) {
    let count = |wanted: fn(&EventKind) -> bool| {
        events
            .iter()
            .filter_map(|event| event.what.known())
            .filter(|kind| wanted(kind))
            .count()
    };
    assert_eq!(
        count(|kind| matches!(kind, EventKind::TurnStart { .. })),
        count(|kind| matches!(kind, EventKind::TurnEnd { .. })),
    );
    assert_eq!(
        count(|kind| matches!(kind, EventKind::StepStart)),
        count(|kind| matches!(kind, EventKind::StepEnd))
    );
    let mut calls: Vec<&str> = Vec::new();
    for kind in events.iter().filter_map(|event| event.what.known()) {
        match kind {
            EventKind::ToolCall { call_id, .. } => calls.push(call_id),
            EventKind::ToolResult { call_id, .. } => {
                let at = calls
                    .iter()
                    .position(|call| call == call_id)
                    .expect("a result without its call");
                calls.remove(at);
            }
            _ => {}
        }
    }
    assert_eq!(calls, Vec::<&str>::new());
}

#[tokio::test]
async fn a_turn_is_a_balanced_story_and_the_store_has_all_of_it() {
    let stage = Stage::new(&[], None);
    assert_eq!(
        stage.turn("$ echo hi").await,
        (TurnEndReason::Completed, None)
    );
    let events = stage.session().events().await.unwrap();
    assert_eq!(
        shape(&events),
        [
            "turn/start",
            "user/message",
            "title",
            "step/start",
            "assistant/message",
            "tool/call",
            "terminal/exit",
            "tool/result",
            "step/end",
            "step/start",
            "assistant/message",
            "step/end",
            "turn/end"
        ]
    );
    let store = SqliteStore::open(&stage.folder.path().join("data/sessions.sqlite"))
        .await
        .unwrap();
    let summary = store.summary(stage.session().id()).await.unwrap().unwrap();
    assert_eq!(summary.header.cwd, stage.folder.path().join("work"));
    assert_eq!(stored(&store, stage.session().id()).await, events);
    assert!(!store.has(&SessionId::fresh()).await.unwrap());
}

#[tokio::test]
async fn a_cancel_in_mid_answer_keeps_what_was_said_and_the_next_turn_is_accepted() {
    let gate = Gate::new();
    let script = Script::new()
        .then(
            Answer::new()
                .text(["So far"])
                .hold(&gate)
                .text([" and no further"]),
        )
        .then(Answer::new().text(["Again."]));
    let server = ModelServer::start(script).unwrap();
    let mut stage = Stage::with_model(&server, Some(Arc::new(MemoryStore::default())));
    let session = stage.session();
    let slot = session.begin_turn().unwrap();
    assert_eq!(session.begin_turn().unwrap_err(), PromptError::Busy);
    let turn = tokio::spawn(slot.run("go".into()));
    let updates = &mut stage.opened.as_mut().unwrap().updates;
    assert!(matches!(updates.next().await, Update::Title(title) if title == "go"));
    assert!(matches!(updates.next().await, Update::Text(text) if text == "So far"));
    session.cancel();
    assert_eq!(turn.await.unwrap().end.reason, TurnEndReason::Cancelled);
    let events = session.events().await.unwrap();
    assert_balanced(&events);
    assert_eq!(
        shape(&events),
        [
            "turn/start",
            "user/message",
            "title",
            "step/start",
            "assistant/message",
            "step/end",
            "turn/end"
        ]
    );

    assert_eq!(stage.turn("go on").await, (TurnEndReason::Completed, None));
    assert_balanced(&session.events().await.unwrap());
}

#[tokio::test]
async fn a_cancel_in_mid_command_answers_the_calls_that_never_ran() {
    let stage = Stage::new(&[], Some(Arc::new(MemoryStore::default())));
    let session = stage.session();
    let turn = tokio::spawn(
        session
            .begin_turn()
            .unwrap()
            .run("$ touch begun; sleep 600\n$ touch never".into()),
    );
    let begun = stage.folder.path().join("work/begun");
    while !begun.exists() {
        tokio::task::yield_now().await;
    }
    session.cancel();
    assert_eq!(turn.await.unwrap().end.reason, TurnEndReason::Cancelled);
    let events = session.events().await.unwrap();
    assert_balanced(&events);
    let results = shape(&events)
        .iter()
        .filter(|tag| *tag == "tool/result")
        .count();
    assert_eq!(results, 2);
    assert!(!stage.folder.path().join("work/never").exists());
    session.when_idle().await;
}

#[tokio::test]
async fn arguments_that_are_cut_or_garbled_are_never_run() {
    let script = Script::new()
        .then(Answer::new().call("m1", "bash", [r#"{"command": "touch ran"#]))
        .then(Answer::new().call("m2", "no_such_tool", ["{}"]))
        .then(Answer::new().text(["Sorry."]));
    let server = ModelServer::start(script).unwrap();
    let stage = Stage::with_model(&server, Some(Arc::new(MemoryStore::default())));
    assert_eq!(stage.turn("go").await, (TurnEndReason::Completed, None));
    assert!(!stage.folder.path().join("work/ran").exists());
    let events = stage.session().events().await.unwrap();
    assert_balanced(&events);
    let results: Vec<String> = events
        .iter()
        .filter_map(|event| match event.what.known()? {
            EventKind::ToolResult {
                content,
                is_error: true,
                ..
            } => Some(content.clone()),
            _ => None,
        })
        .collect();
    assert!(
        results[0].starts_with("The arguments of bash are not a JSON object, so nothing was run."),
        "{results:?}"
    );
    assert_eq!(
        results[1],
        "There is no tool \"no_such_tool\"; there are: bash, bash_output, bash_input, bash_kill, bash_list, read_file."
    );
}

#[tokio::test]
async fn the_limit_of_steps_ends_a_turn_that_would_go_on_for_ever() {
    let script =
        Script::new().otherwise(Answer::new().call("m", "read_file", [r#"{"path": "missing"}"#]));
    let server = ModelServer::start(script).unwrap();
    let stage = Stage::with_model(&server, Some(Arc::new(MemoryStore::default())));
    assert_eq!(stage.turn("go").await, (TurnEndReason::MaxSteps, None));
    assert_balanced(&stage.session().events().await.unwrap());
}

#[tokio::test]
async fn a_provider_that_refuses_fails_the_turn_in_words_and_the_session_stays() {
    let script = Script::new()
        .then(Failure::new(401, "no"))
        .then(Answer::new().text(["Hello."]));
    let server = ModelServer::start(script).unwrap();
    let stage = Stage::with_model(&server, Some(Arc::new(MemoryStore::default())));
    let (reason, error) = stage.turn("hi").await;
    assert_eq!(reason, TurnEndReason::Error);
    assert!(error.unwrap().contains("OPENAI_API_KEY"));
    assert_eq!(
        stage.turn("hi again").await,
        (TurnEndReason::Completed, None)
    );
    assert_balanced(&stage.session().events().await.unwrap());
}

#[tokio::test]
async fn a_store_that_fails_fails_the_turn_by_name_and_is_tried_again() {
    let store = Arc::new(Failing::appends(2));
    let stage = Stage::new(&[], Some(store.clone()));
    let fault = "the sessions in /disk cannot be saved: no space left";
    assert_eq!(
        stage.turn("$ touch ran").await,
        (TurnEndReason::Error, Some(fault.to_owned()))
    );
    assert!(
        !stage.folder.path().join("work/ran").exists(),
        "a command ran whose call was not on disk"
    );
    let session = stage.session();
    assert_balanced(&session.events().await.unwrap());
    assert!(!store.has(session.id()).await.unwrap());

    assert_eq!(
        stage.turn("$ touch ran").await,
        (TurnEndReason::Completed, None)
    );
    let stored = stored(store.as_ref(), session.id()).await;
    assert_eq!(stored, session.events().await.unwrap());
    assert_balanced(&stored);
}

#[tokio::test]
async fn a_viewer_that_is_gone_changes_neither_turn_nor_log() {
    let mut stage = Stage::new(&[], Some(Arc::new(MemoryStore::default())));
    let session = stage.session();
    let Opened {
        updates,
        registration,
        ..
    } = stage.opened.take().unwrap();
    drop(updates);
    let end = session
        .begin_turn()
        .unwrap()
        .run("$ echo unseen".into())
        .await
        .end;
    assert_eq!(end.reason, TurnEndReason::Completed);
    session.shown().await;
    assert_balanced(&session.events().await.unwrap());
    drop(registration);
}

#[tokio::test]
async fn a_shutdown_disposes_of_what_runs_and_leaves_a_balanced_log() {
    let stage = Stage::new(&[], None);
    let session = stage.session();
    let turn = tokio::spawn(
        session
            .begin_turn()
            .unwrap()
            .run("$ touch begun; sleep 600".into()),
    );
    let begun = stage.folder.path().join("work/begun");
    while !begun.exists() {
        tokio::task::yield_now().await;
    }
    stage.agent.shutdown().await;
    assert_eq!(turn.await.unwrap().end.reason, TurnEndReason::Disposed);
    assert_eq!(session.begin_turn().unwrap_err(), PromptError::Closed);
    let store = SqliteStore::open(&stage.folder.path().join("data/sessions.sqlite"))
        .await
        .unwrap();
    assert_balanced(&stored(&store, session.id()).await);
}

#[tokio::test]
async fn a_file_of_a_newer_build_is_refused_and_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.sqlite");
    SqliteStore::open(&path).await.unwrap().close().await;
    let mut bytes = std::fs::read(&path).unwrap();
    // The schema number of a SQLite file stands at byte 60, big-endian.
    bytes[60..64].copy_from_slice(&7_u32.to_be_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let error = SqliteStore::open(&path).await.unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Newer {
                found: 7,
                known: 2,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[tokio::test]
async fn a_prompt_that_was_cancelled_does_not_run_with_the_next_one() {
    let stage = Stage::new(&[], Some(Arc::new(MemoryStore::default())));
    let session = stage.session();
    let slot = session.begin_turn().unwrap();
    session.cancel();
    assert_eq!(
        slot.run("$ touch withdrawn".into()).await.end.reason,
        TurnEndReason::Cancelled
    );
    assert_eq!(
        stage.turn("$ touch wanted").await,
        (TurnEndReason::Completed, None)
    );
    let made = |name: &str| stage.folder.path().join("work").join(name).exists();
    assert_eq!((made("withdrawn"), made("wanted")), (false, true));
}

#[tokio::test]
async fn a_session_takes_no_prompt_before_the_one_before_it_was_answered() {
    let stage = Stage::new(&[], Some(Arc::new(MemoryStore::default())));
    let session = stage.session();
    let ended = session.begin_turn().unwrap().run("hello".into()).await;
    session.when_idle().await;
    assert_eq!(session.begin_turn().unwrap_err(), PromptError::Busy);
    drop(ended);
    drop(session.begin_turn().unwrap());
}

#[tokio::test]
async fn programs_that_open_a_new_store_together_all_get_it() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..5 {
        let path = folder.path().join(format!("{round}.sqlite"));
        let opening = (0..8).map(|_| SqliteStore::open(&path));
        for store in futures::future::join_all(opening).await {
            store.unwrap().close().await;
        }
    }
}
