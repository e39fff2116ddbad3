//! Every card that was opened is closed by exactly one exit, whatever happened to its command (rule W7).

use std::collections::BTreeMap;

use inspector::model_server::{Answer, Failure, Script};
use placard_tests::Home;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::command::{closed, exits, output};
use crate::editor::draws_cards;
use crate::scripted::{Scripted, finished};

/// How the client behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    Allows,
    Refuses,
    /// Cancels instead of answering the question.
    CancelsTheQuestion,
    /// Allows, and cancels when the command has printed.
    CancelsTheCommand,
}

/// A turn of a model that asks for these calls; what closed its cards, and the answer to the prompt.
async fn turn(calls: &[Value], then: Option<Answer>, client: Client) -> (Vec<Value>, Value) {
    let asks = calls
        .iter()
        .zip(["m1", "m2", "m3"])
        .fold(Answer::new(), |answer, (arguments, id)| {
            answer.call(id, "bash", [arguments.to_string()])
        });
    let script = Script::new().then(asks);
    let script = match then {
        Some(answer) => script.then(answer),
        None => script.then(Failure::new(400, "no more")),
    };
    let mut agent = Scripted::start(Home::new(), draws_cards(), script).await;
    let prompt = agent.editor.prompt(&agent.session, "go on").await;
    let answer = loop {
        let message = agent.editor.next().await;
        if message["id"] == prompt && message.get("method").is_none() {
            break message;
        }
        let asked = message["method"] == "session/request_permission";
        let printed = output(&message["params"]["update"]).is_some();
        let outcome = match client {
            Client::Allows | Client::CancelsTheCommand => "allow-once",
            Client::Refuses => "reject-once",
            Client::CancelsTheQuestion => "",
        };
        if asked && !outcome.is_empty() {
            let chosen = json!({"outcome": {"outcome": "selected", "optionId": outcome}});
            agent.editor.answer(&message["id"], chosen).await;
        } else if asked {
            agent.editor.cancel(&agent.session).await;
            let withdrawn = json!({"outcome": {"outcome": "cancelled"}});
            agent.editor.answer(&message["id"], withdrawn).await;
        } else if printed && client == Client::CancelsTheCommand {
            agent.editor.cancel(&agent.session).await;
        }
    };
    // Whatever would still come, comes before the end of the output.
    agent.editor.rest().await;
    let calls = agent.editor.calls(&agent.session);
    let mut opened = BTreeMap::new();
    for call in &calls {
        if let Some(id) = call["_meta"]["terminal_info"]["terminal_id"].as_str() {
            assert_eq!(opened.insert(id.to_owned(), 0), None, "{id} opened twice");
        }
        if let Some(id) = call["_meta"]["terminal_exit"]["terminal_id"].as_str() {
            *opened.get_mut(id).expect("opened before it is closed") += 1;
        }
    }
    assert!(opened.values().all(|exits| *exits == 1), "{opened:?}");
    (exits(&calls), answer)
}

fn with(mut exit: Value, name: &str) -> Value {
    exit["_meta"]["placard"] = json!({name: true});
    exit
}

#[tokio::test]
async fn whatever_happens_to_a_command() {
    let command = |line: &str| json!({"command": line});
    let cases: Vec<(&str, Value, Client, Value)> = vec![
        (
            "success",
            command("true"),
            Client::Allows,
            closed("call-1", "completed", Some(0), None),
        ),
        (
            "failure",
            command("exit 3"),
            Client::Allows,
            closed("call-1", "failed", Some(3), None),
        ),
        (
            "a signal",
            command("kill -SEGV $$"),
            Client::Allows,
            closed("call-1", "failed", None, Some("SIGSEGV")),
        ),
        (
            "time-out",
            json!({"command": "exec sleep 30", "timeout": 0.3}),
            Client::Allows,
            with(
                closed("call-1", "failed", None, Some("SIGINT")),
                "timed_out",
            ),
        ),
        (
            "left running",
            command("sleep 30 & exit 0"),
            Client::Allows,
            with(closed("call-1", "completed", Some(0), None), "left_running"),
        ),
        (
            "cancelled while it runs",
            command("echo begun; exec sleep 30"),
            Client::CancelsTheCommand,
            closed("call-1", "failed", None, Some("SIGINT")),
        ),
        (
            "cancelled before it ran",
            command("echo begun"),
            Client::CancelsTheQuestion,
            closed("call-1", "failed", None, None),
        ),
        (
            "refused",
            command("echo begun"),
            Client::Refuses,
            closed("call-1", "failed", None, None),
        ),
        (
            "a folder that is not there",
            json!({"command": "true", "workdir": "/no/such/folder"}),
            Client::Allows,
            closed("call-1", "failed", None, None),
        ),
        (
            "a limit that is none",
            json!({"command": "true", "timeout": -1}),
            Client::Allows,
            closed("call-1", "failed", None, None),
        ),
        (
            "its supervisor killed",
            command("kill -9 $PPID; sleep 30"),
            Client::Allows,
            closed("call-1", "failed", None, None),
        ),
    ];
    for (what, arguments, client, expected) in cases {
        let (exits, answer) = turn(&[arguments], Some(finished()), client).await;
        assert_eq!(exits, [expected], "{what}");
        let cancels = matches!(
            client,
            Client::CancelsTheCommand | Client::CancelsTheQuestion
        );
        let reason = if cancels { "cancelled" } else { "end_turn" };
        assert_eq!(answer["result"], json!({"stopReason": reason}), "{what}");
    }
}

#[tokio::test]
async fn calls_that_wait_behind_a_cancelled_one_are_closed_too() {
    let command = |line: &str| json!({"command": line});
    let (exits, answer) = turn(
        &[
            command("echo begun; exec sleep 30"),
            command("touch never"),
            command("touch never"),
        ],
        None,
        Client::CancelsTheCommand,
    )
    .await;
    assert_eq!(
        exits,
        [
            closed("call-1", "failed", None, Some("SIGINT")),
            closed("call-2", "failed", None, None),
            closed("call-3", "failed", None, None),
        ]
    );
    assert_eq!(answer["result"], json!({"stopReason": "cancelled"}));
}

#[tokio::test]
async fn a_turn_that_fails_after_its_command_has_closed_the_card() {
    let (exits, answer) = turn(&[json!({"command": "exit 3"})], None, Client::Allows).await;
    assert_eq!(exits, [closed("call-1", "failed", Some(3), None)]);
    assert!(answer["error"]["message"].is_string(), "{answer}");
}
