//! A command as a card on the wire, and as plain content for a client that draws none.

use placard_tests::Home;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::command::{Told, joined, told};
use crate::editor::{Editor, draws_cards};

#[tokio::test]
async fn a_command_is_a_card_with_folder_colours_and_exit() {
    let Told { cwd, calls, answer } = told(
        &Home::new(),
        draws_cards(),
        r"$ printf '\033[31mred\033[0m\n'; echo ok",
    )
    .await;
    let command = r"printf '\033[31mred\033[0m\n'; echo ok";
    assert_eq!(
        joined(calls),
        vec![
            json!({
                "sessionUpdate": "tool_call",
                "toolCallId": "call-1",
                "title": command,
                "kind": "execute",
                "content": [{"type": "terminal", "terminalId": "terminal-call-1"}],
                "rawInput": {"command": command},
                "_meta": {"terminal_info": {"terminal_id": "terminal-call-1", "cwd": cwd}},
            }),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "call-1", "status": "in_progress"}),
            json!({
                "sessionUpdate": "tool_call_update",
                "toolCallId": "call-1",
                "_meta": {"terminal_output": {"terminal_id": "terminal-call-1", "data": "\u{1b}[31mred\u{1b}[0m\r\nok\r\n"}},
            }),
            json!({
                "sessionUpdate": "tool_call_update",
                "toolCallId": "call-1",
                "status": "completed",
                "_meta": {"terminal_exit": {"terminal_id": "terminal-call-1", "exit_code": 0, "signal": null}},
            }),
        ]
    );
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
}

#[tokio::test]
async fn a_client_that_wants_the_delta_key_gets_that_key_only() {
    let Told { calls, .. } = told(
        &Home::new(),
        json!({"_meta": {"terminal_output": true, "terminal_output_delta": true}}),
        "$ echo ok",
    )
    .await;
    assert!(
        calls
            .iter()
            .all(|call| call["_meta"].get("terminal_output").is_none())
    );
    let data: String = calls
        .iter()
        .filter_map(|call| call["_meta"]["terminal_output_delta"]["data"].as_str())
        .collect();
    assert_eq!(data, "ok\r\n");
}

#[tokio::test]
async fn without_the_capability_nothing_of_a_card_is_sent() {
    let command = r"printf '\033[31m10%%\r100%%\033[0m\nDone\n```\n'";
    for capabilities in [
        json!({}),
        json!({"_meta": {"terminal_output": "true", "terminal_output_delta": 1}}),
    ] {
        let Told { calls, .. } = told(&Home::new(), capabilities, &format!("$ {command}")).await;
        assert_eq!(
            calls,
            vec![
                json!({
                    "sessionUpdate": "tool_call",
                    "toolCallId": "call-1",
                    "title": command,
                    "kind": "execute",
                    "rawInput": {"command": command},
                }),
                json!({"sessionUpdate": "tool_call_update", "toolCallId": "call-1", "status": "in_progress"}),
                json!({
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": "call-1",
                    "status": "completed",
                    "content": [{"type": "content", "content": {"type": "text", "text": "````console\n100%\nDone\n```\n````"}}],
                }),
            ]
        );
    }
}

#[tokio::test]
async fn two_sessions_with_folders_of_their_own_do_not_mix() {
    let home = Home::new();
    let (first, second) = (home.folder("first"), home.folder("second"));
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let (a, b) = (editor.session(&first).await, editor.session(&second).await);
    let line = "$ for i in 1 2 3 4 5; do pwd; sleep 0.02; done";
    let (asked_a, asked_b) = (editor.prompt(&a, line).await, editor.prompt(&b, line).await);
    let mut answered = 0;
    while answered < 2 {
        let message = editor.next().await;
        if message["id"] == asked_a || message["id"] == asked_b {
            answered += 1;
        }
    }
    assert_eq!(
        editor.printed(&a),
        format!("{}\r\n", first.display()).repeat(5)
    );
    assert_eq!(
        editor.printed(&b),
        format!("{}\r\n", second.display()).repeat(5)
    );
}

#[tokio::test]
async fn calls_of_one_answer_are_announced_together_and_run_in_order() {
    let Told { calls, .. } =
        told(&Home::new(), draws_cards(), "$ echo one\n$ echo two; false").await;
    let titles: Vec<&Value> = calls.iter().take(2).map(|call| &call["title"]).collect();
    assert_eq!(titles, ["echo one", "echo two; false"]);
    let exits: Vec<&Value> = calls
        .iter()
        .filter_map(|call| call["_meta"].get("terminal_exit"))
        .collect();
    assert_eq!(
        exits,
        [
            &json!({"terminal_id": "terminal-call-1", "exit_code": 0, "signal": null}),
            &json!({"terminal_id": "terminal-call-2", "exit_code": 1, "signal": null}),
        ]
    );
}
