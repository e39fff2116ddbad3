//! Typing into a command, stopping it alone, and being told that it waits: what goes beyond the card convention.

use std::time::Duration;

use inspector::model_server::{Answer, ModelServer, Script};
use placard_tests::Home;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::editor::{Editor, draws_cards};

const INPUT: &str = "_placard/terminal_input";
const STOP: &str = "_placard/terminal_stop";
const TERMINAL: &str = "terminal-call-1";

fn types() -> Value {
    json!({"_meta": {"terminal_output": true, "placard": {"terminal_input": true}}})
}

fn state(message: &Value) -> Option<&str> {
    (message["method"] == "_placard/terminal_state")
        .then(|| message["params"]["state"].as_str())
        .flatten()
}

fn exit(message: &Value) -> &Value {
    &message["params"]["update"]["_meta"]["terminal_exit"]
}

fn with(session: &str, more: &Value) -> Value {
    let mut params = json!({"sessionId": session, "terminalId": TERMINAL});
    let own = params.as_object_mut().unwrap();
    own.extend(more.as_object().unwrap().clone());
    params
}

#[tokio::test]
async fn a_command_that_waits_is_answered_line_by_line_and_then_ended() {
    let home = Home::new();
    let mut editor = Editor::connect(&home, types()).await;
    let session = editor.session(&home.work_folder()).await;
    let turn = editor
        .prompt(
            &session,
            "$ read -p 'Name? ' x; echo got $x; cat; echo over",
        )
        .await;
    editor
        .until(|message| state(message) == Some("waiting"))
        .await;
    let typed = with(&session, &json!({"data": "Ada\r"}));
    assert_eq!(editor.call(INPUT, typed).await["result"], json!({}));
    editor
        .until(|message| state(message) == Some("waiting"))
        .await;
    let end = with(&session, &json!({"eof": true}));
    assert_eq!(editor.call(INPUT, end).await["result"], json!({}));
    let answer = editor.response(turn).await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    assert_eq!(editor.printed(&session), "Name? Ada\r\ngot Ada\r\nover\r\n");

    let late = with(&session, &json!({"data": "x"}));
    let late = editor.call(INPUT, late).await;
    assert_eq!(
        late["error"],
        json!({"code": -32600, "message": "no command runs in this terminal any more"})
    );
    editor.close(Duration::from_secs(5)).await;
}

/// Who sees no card cannot type either, whatever it says.
#[tokio::test]
async fn a_client_that_cannot_type_gets_the_end_of_the_input_and_no_word_of_states() {
    for capabilities in [
        draws_cards(),
        json!({"_meta": {"terminal_output": true, "placard": {"terminal_input": "true"}}}),
        json!({"_meta": {"placard": {"terminal_input": true}}}),
    ] {
        let home = Home::new();
        let mut editor = Editor::connect(&home, capabilities.clone()).await;
        let session = editor.session(&home.work_folder()).await;
        editor.turn(&session, "$ read x; echo \"got ($x)\"").await;
        let told = format!("{:?}", editor.calls(&session));
        assert!(told.contains("got ()"), "{capabilities}: {told}");
        assert!(
            editor
                .frames
                .iter()
                .all(|frame| state(&frame.message).is_none())
        );
        editor.close(Duration::from_secs(5)).await;
    }
}

#[tokio::test]
async fn a_command_has_a_terminal_of_the_size_that_the_client_draws() {
    let usual = json!({"columns": 19, "rows": 24});
    for (size, expected) in [
        (json!({"columns": 98, "rows": 24}), "24 98"),
        (usual, "40 120"),
    ] {
        let home = Home::new();
        let capabilities =
            json!({"_meta": {"terminal_output": true, "placard": {"terminal_size": size}}});
        let mut editor = Editor::connect(&home, capabilities).await;
        let session = editor.session(&home.work_folder()).await;
        editor.turn(&session, "$ stty size </dev/tty").await;
        assert_eq!(editor.printed(&session), format!("{expected}\r\n"));
        editor.close(Duration::from_secs(5)).await;
    }
}

#[tokio::test]
async fn one_command_is_stopped_and_the_turn_goes_on() {
    let home = Home::new();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    let turn = editor
        .prompt(&session, "$ echo up; sleep 307\n$ echo and on")
        .await;
    editor
        .until(|message| {
            message["params"]["update"]["_meta"]["terminal_output"]["data"] == "up\r\n"
        })
        .await;
    assert_eq!(
        editor.call(STOP, with(&session, &json!({}))).await["result"],
        json!({})
    );
    let answer = editor.response(turn).await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    let exits: Vec<Value> = editor
        .frames
        .iter()
        .map(|frame| &frame.message)
        .filter(|message| exit(message).is_object())
        .map(|message| {
            let update = &message["params"]["update"];
            json!([
                update["status"],
                exit(message)["signal"],
                update["_meta"]["placard"]
            ])
        })
        .collect();
    assert_eq!(
        exits,
        [
            json!(["failed", "SIGINT", {"stopped": true}]),
            json!(["completed", null, null]),
        ]
    );
    editor.close(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn what_makes_no_sense_is_said_and_the_connection_goes_on() {
    let home = Home::new();
    let mut editor = Editor::connect(&home, types()).await;
    let session = editor.session(&home.work_folder()).await;
    let table = [
        (INPUT, json!({}), -32602),
        (INPUT, json!([]), -32602),
        (
            INPUT,
            json!({"sessionId": session, "terminalId": TERMINAL, "data": 1}),
            -32602,
        ),
        (
            INPUT,
            json!({"sessionId": "secret", "terminalId": TERMINAL, "data": "secret"}),
            -32002,
        ),
        (
            STOP,
            json!({"sessionId": session, "terminalId": "secret"}),
            -32002,
        ),
        (
            STOP,
            json!({"sessionId": session, "terminalId": TERMINAL}),
            -32600,
        ),
        ("_placard/other", json!({}), -32601),
    ];
    for (method, params, code) in table {
        let error = editor.call(method, params).await["error"].clone();
        assert_eq!(error["code"], code, "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
        assert_eq!(error.get("data"), None);
    }
    editor.turn(&session, "$ echo still here").await;
    assert_eq!(editor.printed(&session), "still here\r\n");
    editor.close(Duration::from_secs(5)).await;
}

/// Its card is closed by the end of the session, which a client that has only closed its own side still reads.
#[tokio::test]
async fn a_background_command_goes_on_after_its_turn_and_its_card_is_closed_with_the_session() {
    let arguments = json!({"command": "echo up; until [ -e go ]; do sleep 0.02; done; echo on; sleep 308", "run_in_background": true});
    let script = Script::new()
        .then(Answer::new().call("m1", "bash", [arguments.to_string()]))
        .then(Answer::new().text(["It runs."]));
    let server = ModelServer::start(script).unwrap();
    let mut home = Home::new();
    home.set("PLACARD_MODEL", "deepseek/deepseek-chat");
    home.set("DEEPSEEK_API_KEY", "key-for-tests");
    home.set("DEEPSEEK_BASE_URL", &server.openai_base_url());
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    let turn = editor.prompt(&session, "serve").await;
    let question = editor
        .until(|message| message["method"] == "session/request_permission")
        .await;
    let allow = json!({"outcome": {"outcome": "selected", "optionId": "allow-once"}});
    editor.answer(&question["id"], allow).await;
    let answer = editor.response(turn).await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    std::fs::write(home.work_folder().join("go"), "").unwrap();
    editor
        .until(|message| {
            message["params"]["update"]["_meta"]["terminal_output"]["data"]
                .as_str()
                .is_some_and(|data| data.ends_with("on\r\n"))
        })
        .await;
    editor.program.close_stdin();
    let last = editor.until(|message| exit(message).is_object()).await;
    assert_eq!(last["params"]["update"].get("status"), None);
    let statuses: Vec<Value> = editor
        .calls(&session)
        .iter()
        .filter_map(|call| call.get("status").cloned())
        .collect();
    assert_eq!(statuses, ["in_progress", "completed"]);
    assert_eq!(editor.printed(&session), "up\r\non\r\n");
}
