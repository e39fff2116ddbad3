//! Commands that go on outside of turns: read, typed into, ended, listed, and ended with their session.

use std::sync::{Arc, Mutex};

use agent_core::session::event::{Decision, EventKind, TurnEndReason};
use agent_core::session::update::{TerminalState, Update, Updates};
use agent_core::shell::exit::Exit;
use agent_core::store::memory::MemoryStore;
use inspector::model_server::{Answer, ModelServer, Script};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{Stage, assert_balanced};

/// A front that allows everything and remembers what it was told of calls and terminals.
#[derive(Clone, Default)]
struct Front {
    told: Arc<Mutex<Vec<String>>>,
    more: Arc<Notify>,
}

impl Front {
    fn watch(mut updates: Updates) -> Self {
        let front = Self::default();
        let watching = front.clone();
        tokio::spawn(async move {
            loop {
                let word = match updates.next().await {
                    Update::Permission(request) => {
                        let _ = request.answer.send(Decision::AllowOnce);
                        continue;
                    }
                    Update::CallEnded {
                        call_id,
                        presentation,
                    } if presentation.goes_on => format!("{call_id} goes on"),
                    Update::CallEnded { call_id, .. } => format!("{call_id} ended"),
                    Update::TerminalEnded {
                        call_id,
                        presentation,
                    } => format!("{call_id} exit {:?}", presentation.exit.unwrap()),
                    Update::TerminalState {
                        call_id,
                        state: TerminalState::Waiting,
                    } => format!("{call_id} waits"),
                    _ => continue,
                };
                watching.told.lock().unwrap().push(word);
                watching.more.notify_waiters();
            }
        });
        front
    }

    async fn hears(&self, word: &str) {
        loop {
            let more = self.more.notified();
            if self.told.lock().unwrap().iter().any(|told| told == word) {
                return;
            }
            more.await;
        }
    }
}

fn bash(id: &str, args: &Value) -> Answer {
    tool(id, "bash", args)
}

fn tool(id: &str, name: &str, args: &Value) -> Answer {
    Answer::new().call(id, name, [args.to_string()])
}

/// The contents of the results, in order.
async fn results(stage: &Stage) -> Vec<String> {
    let events = stage.session().events().await.unwrap();
    assert_balanced(&events);
    events
        .iter()
        .filter_map(|event| match event.what.known()? {
            EventKind::ToolResult { content, .. } => Some(content.clone()),
            _ => None,
        })
        .collect()
}

async fn exits(stage: &Stage) -> Vec<(String, Exit)> {
    let events = stage.session().events().await.unwrap();
    events
        .iter()
        .filter_map(|event| match event.what.known()? {
            EventKind::TerminalExit { call_id, exit, .. } => Some((call_id.clone(), exit.clone())),
            _ => None,
        })
        .collect()
}

fn stage(server: &ModelServer) -> (Stage, Front) {
    let mut stage = Stage::with_model(server, Some(Arc::new(MemoryStore::default())));
    let opened = stage.opened.take().unwrap();
    let front = Front::watch(opened.updates);
    // Its updates are the front's from now on.
    stage.opened = Some(agent_core::agent::Opened {
        session: opened.session,
        updates: agent_core::session::update::channel().1,
        registration: opened.registration,
    });
    (stage, front)
}

#[tokio::test]
async fn a_background_command_is_read_answered_and_its_end_reaches_the_model() {
    let line = "echo ready; read name; echo hello $name; read code; exit $code";
    let script = Script::new()
        .then(bash(
            "m1",
            &json!({"command": line, "run_in_background": true}),
        ))
        .then(tool(
            "m2",
            "bash_output",
            &json!({"id": "call-1", "wait": 20}),
        ))
        .then(tool(
            "m3",
            "bash_input",
            &json!({"id": "call-1", "text": "Ada\n"}),
        ))
        .then(tool("m4", "bash_list", &json!({})))
        .then(Answer::new().text(["It runs."]))
        .then(tool(
            "m5",
            "bash_input",
            &json!({"id": "call-1", "text": "7", "keys": ["Enter"]}),
        ))
        .then(Answer::new().text(["It has ended."]))
        .then(Answer::new().text(["I know."]));
    let server = ModelServer::start(script).unwrap();
    let (stage, front) = stage(&server);
    assert_eq!(stage.turn("go").await, (TurnEndReason::Completed, None));
    front.hears("call-1 waits").await;
    assert_eq!(stage.turn("end it").await, (TurnEndReason::Completed, None));
    front.hears("call-1 exit Code(7)").await;
    assert_eq!(
        stage.turn("and now?").await,
        (TurnEndReason::Completed, None)
    );

    let results = results(&stage).await;
    assert_eq!(
        results[0],
        "Started in the background as call-1.\n[running]"
    );
    assert!(results[1].starts_with("ready\n[running"), "{results:?}");
    assert!(
        results[2].starts_with("Ada\nhello Ada\n[running"),
        "{results:?}"
    );
    assert!(
        results[3].starts_with("call-1  [") && results[3].ends_with(&format!("]  {line}")),
        "{results:?}"
    );
    assert_eq!(exits(&stage).await, [("call-1".to_owned(), Exit::Code(7))]);
    let last = server.requests().pop().unwrap().body.to_string();
    assert!(
        last.contains("The command in the background call-1 has ended: exit 7."),
        "{last}"
    );
    let told = front.told.lock().unwrap().clone();
    let place = |word: &str| told.iter().position(|told| told == word);
    assert!(place("call-1 goes on") < place("call-1 exit Code(7)"));
}

#[tokio::test]
async fn a_cancel_leaves_the_background_alone_and_a_kill_ends_it() {
    let script = Script::new()
        .then(bash(
            "m1",
            &json!({"command": "trap 'echo bye; exit 9' INT; echo up; sleep 98711 & wait", "run_in_background": true}),
        ))
        .then(Answer::new().text(["It runs."]))
        .then(bash("m2", &json!({"command": "echo here; sleep 98712"})))
        .then(tool("m3", "bash_kill", &json!({"id": "call-1"})))
        .then(Answer::new().text(["Done."]));
    let server = ModelServer::start(script).unwrap();
    let (stage, front) = stage(&server);
    assert_eq!(stage.turn("go").await.0, TurnEndReason::Completed);
    let session = stage.session();
    let turn = tokio::spawn(session.begin_turn().unwrap().run("again".into()));
    let started = async {
        loop {
            let running = session.commands().list();
            if let Some(command) = running.iter().find(|command| command.call_id == "call-2") {
                command.output.wait_for_more(0).await;
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    started.await;
    session.cancel();
    assert_eq!(turn.await.unwrap().end.reason, TurnEndReason::Cancelled);
    let first = session.commands().find("call-1").unwrap();
    assert_eq!(first.end(), None);
    assert_eq!(stage.turn("end it").await.0, TurnEndReason::Completed);
    front.hears("call-1 exit Code(9)").await;
    let results = results(&stage).await;
    assert!(
        results.last().unwrap().ends_with("bye\n[stopped; exit 9]"),
        "{results:?}"
    );
}

#[tokio::test]
async fn what_runs_in_the_background_ends_with_its_session_and_its_end_is_written() {
    let script = Script::new()
        .then(bash(
            "m1",
            &json!({"command": "sleep 98721", "run_in_background": true}),
        ))
        .then(Answer::new().text(["It runs."]));
    let server = ModelServer::start(script).unwrap();
    let (stage, front) = stage(&server);
    assert_eq!(stage.turn("go").await.0, TurnEndReason::Completed);
    stage.session().close().await;
    front.hears("call-1 exit Signal(\"SIGINT\")").await;
    assert_eq!(
        exits(&stage).await,
        [("call-1".to_owned(), Exit::Signal("SIGINT".into()))]
    );
}

#[tokio::test]
async fn a_session_knows_only_its_own_commands_and_says_which() {
    let script = Script::new()
        .then(tool("m1", "bash_kill", &json!({"id": "call-9"})))
        .then(bash(
            "m2",
            &json!({"command": "true", "run_in_background": true, "timeout": 5}),
        ))
        .then(Answer::new().text(["Oh."]));
    let server = ModelServer::start(script).unwrap();
    let (stage, _front) = stage(&server);
    assert_eq!(stage.turn("go").await.0, TurnEndReason::Completed);
    let results = results(&stage).await;
    assert_eq!(
        results[0],
        "There is no command \"call-9\" in this session; there is none at all."
    );
    assert!(
        results[1].starts_with("bash has a `timeout` and `run_in_background`"),
        "{results:?}"
    );
}
