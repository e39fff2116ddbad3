//! Stored sessions that are opened again: with their past, in silence, as copies; and when that is not to be had.

mod copies;
mod live;
mod refused;

use std::path::Path;
use std::time::Duration;

use inspector::model_server::Script;
use placard_tests::Home;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::editor::{Editor, draws_cards};
use crate::scripted::{Scripted, bash, finished};
use crate::seen::{Message, Seen, loaded};

/// The protocol's code of an error, and its words.
fn refusal(answer: &Value) -> (i64, &str) {
    let error = &answer["error"];
    (
        error["code"].as_i64().unwrap_or_else(|| panic!("{answer}")),
        error["message"].as_str().unwrap(),
    )
}

async fn resume(editor: &mut Editor, session: &str, cwd: &Path) -> Value {
    let wanted = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
    editor.call("session/resume", wanted).await
}

async fn fork(editor: &mut Editor, session: &str, cwd: &Path) -> Value {
    let wanted = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
    editor.call("session/fork", wanted).await
}

/// A session that ran one prompt in a program that has ended.
async fn stored(home: &Home, prompt: &str) -> String {
    let mut editor = Editor::connect(home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    let answer = editor.turn(&session, prompt).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    editor.close(Duration::from_secs(10)).await;
    session
}

#[tokio::test]
async fn what_is_offered_is_advertised() {
    let home = Home::new();
    let mut editor = Editor::start(&home);
    let answer = editor
        .call("initialize", json!({"protocolVersion": 1}))
        .await;
    let offered = &answer["result"]["agentCapabilities"];
    assert_eq!(
        (&offered["loadSession"], &offered["sessionCapabilities"]),
        (
            &json!(true),
            &json!({
                "list": {},
                "delete": {},
                "additionalDirectories": {},
                "fork": {},
                "resume": {},
                "close": {},
            })
        )
    );
}

#[tokio::test]
async fn a_session_goes_on_in_another_program_where_it_stood() {
    let script = Script::new()
        .then(bash(&json!({"command": "echo kept"})))
        .then(finished())
        .then(bash(&json!({"command": "echo more"})))
        .then(finished());
    let mut agent = Scripted::start(Home::new(), draws_cards(), script).await;
    agent.turn().await;
    let cwd = agent.home.work_folder();
    agent.editor.close(Duration::from_secs(10)).await;

    agent.editor = Editor::connect(&agent.home, draws_cards()).await;
    let past = loaded(&mut agent.editor, &agent.session, &cwd).await;
    assert_eq!(
        past.messages,
        [
            Message::User("go on".to_owned()),
            Message::Call("call-1".to_owned()),
            Message::Agent("Finished.".to_owned()),
        ]
    );
    let answer = agent.turn().await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    let commands: Vec<Value> = agent
        .editor
        .calls(&agent.session)
        .into_iter()
        .filter(|call| call["sessionUpdate"] == "tool_call")
        .map(|call| json!([call["toolCallId"], call["title"]]))
        .collect();
    assert_eq!(
        commands,
        [
            json!(["call-1", "echo kept"]),
            json!(["call-2", "echo more"])
        ]
    );
    let read = agent.model_read();
    assert_eq!(read.len(), 2);
    assert!(read[0].starts_with("kept\n"), "{read:?}");
    agent.editor.close(Duration::from_secs(10)).await;
}

/// Its cwd and its further folders are those of the request, and stay so for who does not say otherwise.
#[tokio::test]
async fn a_session_goes_on_in_the_folders_of_the_request() {
    let home = Home::new();
    let session = stored(&home, "$ pwd").await;
    let (other, further) = (home.folder("other"), home.folder("further"));
    std::fs::write(further.join("note"), "in another root\n").unwrap();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let wanted = json!({
        "sessionId": session,
        "cwd": other,
        "additionalDirectories": [further],
        "mcpServers": [],
    });
    let answer = editor.call("session/load", wanted).await;
    assert_eq!(
        answer["result"],
        json!({"_meta": {"placard": {"model": "offline"}}})
    );
    editor.turn(&session, "$ pwd").await;
    let past = loaded_with(&mut editor, &session, &other, &further).await;
    let folders: Vec<Option<&str>> = past.cards.iter().map(|card| card.cwd.as_deref()).collect();
    let work = home.work_folder();
    assert_eq!(folders, [work.to_str(), other.to_str()]);
    let printed: Vec<&str> = past.cards.iter().map(|card| card.text.as_str()).collect();
    assert_eq!(
        printed,
        [
            format!("{}\r\n", work.display()),
            format!("{}\r\n", other.display())
        ]
    );
    editor.close(Duration::from_secs(10)).await;
}

async fn loaded_with(editor: &mut Editor, session: &str, cwd: &Path, further: &Path) -> Seen {
    let before = editor.updates(session).len();
    let wanted = json!({
        "sessionId": session,
        "cwd": cwd,
        "additionalDirectories": [further],
        "mcpServers": [],
    });
    let answer = editor.call("session/load", wanted).await;
    assert!(answer["result"].is_object(), "{answer}");
    Seen::of(&editor.updates(session)[before..])
}

#[tokio::test]
async fn a_session_that_is_resumed_says_nothing_of_its_past_and_knows_it() {
    let script = Script::new()
        .then(bash(&json!({"command": "echo kept"})))
        .then(finished())
        .then(finished());
    let mut agent = Scripted::start(Home::new(), draws_cards(), script).await;
    agent.turn().await;
    agent.editor.close(Duration::from_secs(10)).await;

    agent.editor = Editor::connect(&agent.home, draws_cards()).await;
    let answer = resume(&mut agent.editor, &agent.session, &agent.home.work_folder()).await;
    assert_eq!(
        answer["result"],
        json!({"_meta": {"placard": {"model": "openai/gpt-test"}}})
    );
    agent.turn().await;
    assert_eq!(agent.editor.calls(&agent.session), [] as [Value; 0]);
    assert!(agent.model_read()[0].starts_with("kept\n"));
    agent.editor.close(Duration::from_secs(10)).await;
}
