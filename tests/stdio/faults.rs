//! What people and programs get wrong: a clear error, nothing lost, and the program goes on.

use std::time::Duration;

use placard_tests::{Home, SOON};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::editor::{Editor, draws_cards};

/// Every case ends with this: the program still does its work.
async fn goes_on(mut editor: Editor, home: &Home) {
    let session = editor.session(&home.work_folder()).await;
    editor.turn(&session, "$ echo fine").await;
    assert_eq!(editor.printed(&session), "fine\r\n");
    editor.close(Duration::from_secs(5)).await;
}

async fn new_session_error(editor: &mut Editor, cwd: &str) -> Value {
    editor
        .call("session/new", json!({"cwd": cwd, "mcpServers": []}))
        .await["error"]
        .clone()
}

#[tokio::test]
async fn what_comes_before_the_introduction_is_not_quoted_either() {
    let home = Home::new();
    let mut editor = Editor::start(&home);
    let answer = editor.call("s3cret/method", json!({"s3cret": 1})).await;
    assert!(answer.get("error").is_some(), "{answer}");
    assert!(!answer.to_string().contains("s3cret"), "{answer}");
    editor
        .call(
            "initialize",
            json!({"protocolVersion": 1, "clientCapabilities": draws_cards()}),
        )
        .await;
    goes_on(editor, &home).await;
}

#[tokio::test]
async fn a_folder_that_cannot_be_a_sessions_is_named_with_the_reason() {
    let home = Home::new();
    std::fs::write(home.work_folder().join("file"), "").unwrap();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let file = home.work_folder().join("file").display().to_string();
    for (cwd, reason) in [
        (
            "relative/folder",
            "it is not absolute; give the whole path from /",
        ),
        (
            "/no/such/folder",
            "it does not exist; create it or give another",
        ),
        (file.as_str(), "it is a file; give a folder"),
    ] {
        assert_eq!(
            new_session_error(&mut editor, cwd).await,
            json!({"code": -32602, "message": format!("the session's folder {cwd} cannot be used: {reason}")})
        );
    }
    goes_on(editor, &home).await;
}

#[tokio::test]
async fn garbage_is_answered_without_an_echo_and_the_connection_goes_on() {
    let home = Home::new();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    for (line, code) in [
        ("hello s3cret", -32700),
        (r#"{"s3cret": "\ud800"}"#, -32700),
        (r#"{"s3cret": 1e999}"#, -32700),
        ("[1, 2, \"s3cret\"]", -32600),
        ("17", -32600),
        (
            r#"{"jsonrpc":"2.0","id":77,"method":"no/such","params":{"s3cret":1}}"#,
            -32601,
        ),
        (
            r#"{"jsonrpc":"2.0","id":78,"method":"session/new","params":{"cwd":5,"s3cret":"s3cret"}}"#,
            -32602,
        ),
    ] {
        editor.program.send_line(line).await;
        let answer = editor.next().await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert!(!answer.to_string().contains("s3cret"), "{answer}");
    }
    // These get no answer at all.
    for line in [
        "",
        r#"{"jsonrpc":"2.0","method":"no/such/notification"}"#,
        r#"{"jsonrpc":"2.0","id":4711,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}"#,
    ] {
        editor.program.send_line(line).await;
    }
    goes_on(editor, &home).await;
}

#[tokio::test]
async fn an_unknown_session_is_an_error_of_its_own() {
    let home = Home::new();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let answer = editor.turn("nobody", "$ true").await;
    assert_eq!(
        answer["error"],
        json!({"code": -32002, "message": "this session is not open here; load it with session/load, or start one with session/new"})
    );
    goes_on(editor, &home).await;
}

/// A newer client names its capabilities as version 2 does.
#[tokio::test]
async fn a_version_from_the_future_gets_the_newest_that_there_is() {
    let home = Home::new();
    let mut editor = Editor::start(&home);
    let answer = editor
        .call(
            "initialize",
            json!({"protocolVersion": 99, "capabilities": draws_cards()}),
        )
        .await;
    assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
    goes_on(editor, &home).await;
}

#[tokio::test]
async fn a_wrong_line_of_the_configuration_is_named_and_mended_without_a_restart() {
    let home = Home::new();
    let file = home.config_folder().join("config.toml");
    std::fs::write(&file, "model = \"offline\"\nmax_stepz = 3\n").unwrap();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let error = new_session_error(&mut editor, home.work_folder().to_str().unwrap()).await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(&file.display().to_string()), "{message}");
    assert!(
        message.contains('2') && message.contains("max_stepz") && message.contains("max_steps"),
        "{message}"
    );
    std::fs::write(&file, "max_steps = 3\n").unwrap();
    goes_on(editor, &home).await;
}

#[tokio::test]
async fn an_unknown_provider_is_named_with_those_that_there_are() {
    let mut home = Home::new();
    home.set("PLACARD_MODEL", "skynet/t800");
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let error = new_session_error(&mut editor, home.work_folder().to_str().unwrap()).await;
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("skynet") && message.contains("deepseek") && message.contains("anthropic"),
        "{message}"
    );
    // It goes on: what needs no session is answered as ever, and the error stays the same.
    let unknown = editor.call("no/such", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601);
    let again = new_session_error(&mut editor, home.work_folder().to_str().unwrap()).await;
    assert_eq!(again, error);
    editor.close(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn a_missing_key_is_said_with_the_variable_and_the_session_stays() {
    let mut home = Home::new();
    home.set("PLACARD_MODEL", "anthropic/claude-test");
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    for _ in 0..2 {
        let answer = editor.turn(&session, "hello").await;
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("ANTHROPIC_API_KEY"), "{message}");
    }
    editor.close(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn a_bad_log_filter_is_said_on_stderr_and_costs_nothing() {
    let mut home = Home::new();
    home.set("PLACARD_LOG", "placard=loudest");
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    editor.turn(&session, "$ echo fine").await;
    assert_eq!(editor.printed(&session), "fine\r\n");
    editor.close(Duration::from_secs(5)).await;
    let stderr = editor.program.stderr(SOON).await;
    assert!(stderr.contains("PLACARD_LOG"), "{stderr}");
}
