//! A real provider's commands ask first.

use std::time::Duration;

use inspector::model_server::{Answer, ModelServer, Script};
use placard_tests::Home;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::editor::{Editor, draws_cards};

/// A model that wants to make a file, and then says that it is finished.
fn model() -> ModelServer {
    let script = Script::new()
        .then(Answer::new().call(
            "m1",
            "bash",
            [
                r#"{"command": "echo hi > made"#,
                r#"", "description": "Makes a file"}"#,
            ],
        ))
        .then(Answer::new().text(["Finished."]));
    ModelServer::start(script).unwrap()
}

struct Asked {
    home: Home,
    editor: Editor,
    session: String,
    prompt: i64,
    question: Value,
    server: ModelServer,
}

async fn asked() -> Asked {
    let server = model();
    let mut home = Home::new();
    home.set("PLACARD_MODEL", "openai/gpt-test");
    home.set("OPENAI_API_KEY", "key-for-tests");
    home.set("OPENAI_BASE_URL", &server.openai_base_url());
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    let prompt = editor.prompt(&session, "make a file").await;
    let question = editor
        .until(|message| message["method"] == "session/request_permission")
        .await;
    Asked {
        home,
        editor,
        session,
        prompt,
        question,
        server,
    }
}

#[tokio::test]
async fn the_question_names_the_exact_call_and_nothing_runs_before_the_answer() {
    let asked = asked().await;
    let arguments = json!({"command": "echo hi > made", "description": "Makes a file"});
    assert_eq!(
        asked.question["params"],
        json!({
            "sessionId": asked.session,
            "toolCall": {"toolCallId": "call-1", "kind": "execute", "status": "pending", "title": "echo hi > made", "rawInput": arguments},
            "options": [
                {"optionId": "allow-once", "name": "Allow once", "kind": "allow_once"},
                {"optionId": "reject-once", "name": "Reject", "kind": "reject_once"},
            ],
        })
    );
    let call = &asked.editor.calls(&asked.session)[0];
    assert_eq!(
        call["content"],
        json!([
            {"type": "content", "content": {"type": "text", "text": "Makes a file"}},
            {"type": "terminal", "terminalId": "terminal-call-1"},
        ])
    );
    assert!(!asked.home.work_folder().join("made").exists());
}

#[tokio::test]
async fn allowed_it_runs() {
    let mut asked = asked().await;
    let id = asked.question["id"].clone();
    asked
        .editor
        .answer(
            &id,
            json!({"outcome": {"outcome": "selected", "optionId": "allow-once"}}),
        )
        .await;
    let answer = asked.editor.response(asked.prompt).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert_eq!(
        std::fs::read_to_string(asked.home.work_folder().join("made")).unwrap(),
        "hi\n"
    );
    assert_eq!(asked.editor.said(&asked.session), "Finished.");
}

#[tokio::test]
async fn refused_it_does_not_run_the_model_is_told_and_the_turn_goes_on() {
    let mut asked = asked().await;
    let id = asked.question["id"].clone();
    asked
        .editor
        .answer(
            &id,
            json!({"outcome": {"outcome": "selected", "optionId": "reject-once"}}),
        )
        .await;
    let answer = asked.editor.response(asked.prompt).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert!(!asked.home.work_folder().join("made").exists());
    let last = asked.editor.calls(&asked.session).pop().unwrap();
    assert_eq!(
        last,
        json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": "call-1",
            "status": "failed",
            "_meta": {"terminal_exit": {"terminal_id": "terminal-call-1", "exit_code": null, "signal": null}},
        })
    );
    let requests = asked.server.requests();
    let told = requests[1].body["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()["content"]
        .clone();
    assert!(
        told.as_str()
            .unwrap()
            .starts_with("The user refused this call; nothing was run."),
        "{told}"
    );
}

#[tokio::test]
async fn a_cancel_while_it_asks_is_neither_a_yes_nor_a_refusal() {
    let mut asked = asked().await;
    let session = asked.session.clone();
    asked.editor.cancel(&session).await;
    let id = asked.question["id"].clone();
    asked
        .editor
        .answer(&id, json!({"outcome": {"outcome": "cancelled"}}))
        .await;
    let answer = asked.editor.response(asked.prompt).await;
    assert_eq!(answer["result"], json!({"stopReason": "cancelled"}));
    assert!(!asked.home.work_folder().join("made").exists());
    assert_eq!(
        asked.server.requests().len(),
        1,
        "a cancelled turn asks the model nothing more"
    );
    asked.editor.close(Duration::from_secs(5)).await;
}
