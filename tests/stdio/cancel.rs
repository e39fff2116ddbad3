//! Cancelling, and the end of the client.

use std::time::Duration;

use placard_tests::Home;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::editor::{Editor, draws_cards};

/// Nothing that the command started lives longer than this.
const GONE: Duration = Duration::from_secs(2);

fn printed(message: &Value, text: &str) -> bool {
    message["params"]["update"]["_meta"]["terminal_output"]["data"]
        .as_str()
        .is_some_and(|data| data.contains(text))
}

#[tokio::test]
async fn a_cancel_while_idle_touches_nothing() {
    let home = Home::new();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    editor.cancel(&session).await;
    let answer = editor.turn(&session, "$ echo fine").await;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert_eq!(editor.printed(&session), "fine\r\n");
}

#[tokio::test]
async fn a_cancel_right_behind_its_prompt_and_a_second_one_give_one_answer() {
    let home = Home::new();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    for _ in 0..10 {
        let id = editor.prompt(&session, "$ sleep 30\n$ sleep 31").await;
        editor.cancel(&session).await;
        editor.cancel(&session).await;
        assert_eq!(
            editor.response(id).await["result"],
            json!({"stopReason": "cancelled"})
        );
    }
    // Every card that was opened was closed, by one exit.
    let calls = editor.calls(&session);
    let opened = calls
        .iter()
        .filter(|call| !call["_meta"]["terminal_info"].is_null())
        .count();
    let closed = calls
        .iter()
        .filter(|call| !call["_meta"]["terminal_exit"].is_null())
        .count();
    assert_eq!(opened, closed);
    let answers = editor
        .frames
        .iter()
        .filter(|frame| frame.message["result"]["stopReason"] == "cancelled")
        .count();
    assert_eq!(answers, 10);
}

#[tokio::test]
async fn a_second_prompt_is_refused_while_one_runs_and_the_first_goes_on() {
    let home = Home::new();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    let first = editor
        .prompt(&session, "$ echo begun; sleep 0.3; echo done")
        .await;
    editor.until(|message| printed(message, "begun")).await;
    let second = editor.turn(&session, "$ echo intruder").await;
    assert_eq!(
        second["error"],
        json!({"code": -32600, "message": "a prompt is running in this session; wait for it or cancel it first"})
    );
    assert_eq!(
        editor.response(first).await["result"]["stopReason"],
        "end_turn"
    );
    assert_eq!(editor.printed(&session), "begun\r\ndone\r\n");
}

#[tokio::test]
async fn a_client_that_closes_its_side_ends_the_program_within_a_second() {
    let home = Home::alone();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    editor
        .prompt(&session, "$ echo begun; nohup sleep 34 & sleep 35")
        .await;
    editor.until(|message| printed(message, "begun")).await;
    let status = editor.close(Duration::from_secs(1)).await;
    assert!(status.success(), "{status}");
    home.quiet(GONE).await;
}
