//! Commands whose meaning is certain, under both settings of `cards.classified`.

use std::fs;
use std::time::Duration;

use placard_tests::Home;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::editor::{Editor, draws_cards};

/// The calls of one prompt, and the folder that its commands ran in. The folder holds `note.txt` with three lines.
async fn run(setting: Option<&str>, capabilities: Value, prompt: &str) -> (Vec<Value>, String) {
    let home = Home::new();
    if let Some(setting) = setting {
        let file = home.config_folder().join("config.toml");
        fs::write(file, format!("[cards]\nclassified = \"{setting}\"\n")).unwrap();
    }
    let folder = home.work_folder();
    fs::write(folder.join("note.txt"), "one\ntwo\nthree\n").unwrap();
    let mut editor = Editor::connect(&home, capabilities).await;
    let session = editor.session(&folder).await;
    editor.turn(&session, prompt).await;
    let calls = editor.calls(&session);
    editor.close(Duration::from_secs(5)).await;
    (calls, folder.display().to_string())
}

/// A call of kind `kind` without a card, from its announcement to its end.
fn plain_call(kind: &str, title: &str, command: &str, paths: &Value, end: (&str, &str)) -> Value {
    let (status, text) = end;
    json!([
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "call-1",
            "title": title,
            "kind": kind,
            "locations": paths,
            "rawInput": {"command": command},
        },
        {"sessionUpdate": "tool_call_update", "toolCallId": "call-1", "status": "in_progress"},
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "call-1",
            "status": status,
            "content": [{"type": "content", "content": {"type": "text", "text": text}}],
        },
    ])
}

#[tokio::test]
async fn a_certain_read_stays_a_card_with_a_label_and_its_lines() {
    for setting in [None, Some("label")] {
        let command = "sed -n '2,3p' note.txt";
        let (calls, folder) = run(setting, draws_cards(), &format!("$ {command}")).await;
        assert_eq!(
            calls[0],
            json!({
                "sessionUpdate": "tool_call",
                "toolCallId": "call-1",
                "title": command,
                "kind": "execute",
                "content": [{"type": "terminal", "terminalId": "terminal-call-1"}],
                "locations": [{"path": format!("{folder}/note.txt"), "line": 2}],
                "rawInput": {"command": command},
                "_meta": {
                    "terminal_info": {"terminal_id": "terminal-call-1", "cwd": folder},
                    "placard": {"label": "Read note.txt, lines 2 to 3"},
                },
            })
        );
        let printed: String = calls
            .iter()
            .filter_map(|call| call["_meta"]["terminal_output"]["data"].as_str())
            .collect();
        assert_eq!(printed, "two\r\nthree\r\n");
    }
}

#[tokio::test]
async fn what_is_not_certain_has_no_label_under_any_setting() {
    for setting in ["label", "kind"] {
        let commands = [
            "cat note.txt; true",
            "cat note.txt > copy",
            "cat $PWD/note.txt",
            "find . -name note.txt -delete",
        ];
        for command in commands {
            let (calls, folder) = run(Some(setting), draws_cards(), &format!("$ {command}")).await;
            let call = &calls[0];
            assert_eq!(
                (
                    &call["kind"],
                    &call["title"],
                    &call["locations"],
                    &call["_meta"]
                ),
                (
                    &json!("execute"),
                    &json!(command),
                    &Value::Null,
                    &json!({"terminal_info": {"terminal_id": "terminal-call-1", "cwd": folder}}),
                )
            );
        }
    }
}

#[tokio::test]
async fn as_its_kind_a_read_has_nothing_of_a_terminal_whatever_the_client_draws() {
    for capabilities in [draws_cards(), json!({})] {
        let (calls, folder) = run(Some("kind"), capabilities, "$ head -n 2 note.txt").await;
        assert_eq!(
            Value::from(calls),
            plain_call(
                "read",
                "Read note.txt, lines 1 to 2",
                "head -n 2 note.txt",
                &json!([{"path": format!("{folder}/note.txt"), "line": 1}]),
                ("completed", "```console\none\ntwo\n```"),
            )
        );
    }
}

#[tokio::test]
async fn as_its_kind_a_call_that_failed_says_its_true_exit() {
    let (calls, folder) = run(Some("kind"), draws_cards(), "$ cat missing").await;
    assert_eq!(
        Value::from(calls),
        plain_call(
            "read",
            "Read missing",
            "cat missing",
            &json!([{"path": format!("{folder}/missing")}]),
            (
                "failed",
                "```console\ncat: missing: No such file or directory\n[exit 1]\n```"
            ),
        )
    );
}

#[tokio::test]
async fn as_their_kind_searches_and_lists_are_searches() {
    let cases = [
        (
            "grep -n two note.txt",
            "Search \"two\" in note.txt",
            "2:two\n",
        ),
        ("ls", "List .", "note.txt\n"),
    ];
    for (command, title, text) in cases {
        let (calls, folder) = run(Some("kind"), draws_cards(), &format!("$ {command}")).await;
        let call = &calls[0];
        assert_eq!(
            (&call["kind"], &call["title"], call.get("_meta")),
            (&json!("search"), &json!(title), None)
        );
        let places = if command == "ls" {
            Value::Null
        } else {
            json!([{"path": format!("{folder}/note.txt")}])
        };
        assert_eq!(call["locations"], places);
        assert_eq!(
            calls[2]["content"][0]["content"]["text"],
            format!("```console\n{text}```")
        );
    }
}
