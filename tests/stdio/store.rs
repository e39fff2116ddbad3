//! What a session leaves behind in the person's data folder.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use placard_tests::Home;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::command::{closed, exits, output};
use crate::editor::{Editor, draws_cards};

#[tokio::test]
async fn a_session_without_a_prompt_leaves_no_trace_and_one_with_a_prompt_is_private() {
    let home = Home::new();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    let file = home.data_folder().join("sessions.sqlite");
    assert!(!file.exists());
    editor.turn(&session, "$ true").await;
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    editor.close(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn a_store_that_cannot_be_used_fails_the_turn_by_name_and_the_session_stays() {
    let home = Home::new();
    // A file where the folder should be: nobody, not even root, can make sessions below it.
    std::fs::write(home.data_folder(), "in the way").unwrap();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    let answer = editor.turn(&session, "$ touch ran").await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("sessions.sqlite") && message.contains("cannot be opened"),
        "{message}"
    );
    assert!(
        !home.work_folder().join("ran").exists(),
        "a command ran whose call was not saved"
    );

    std::fs::remove_file(home.data_folder()).unwrap();
    let answer = editor.turn(&session, "$ touch ran").await;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert!(home.work_folder().join("ran").exists());
    editor.close(Duration::from_secs(5)).await;
}

/// An agent on a disk that can be made full, by the one limit that works for root too.
async fn on_a_small_disk(home: &Home) -> Editor {
    let start = "trap '' XFSZ; exec \"$0\" acp";
    let placard = placard_tests::binary("placard");
    let mut editor = Editor::from(placard_tests::Program::start(
        home,
        std::path::Path::new("/bin/bash"),
        &["-c", start, &placard.display().to_string()],
    ));
    editor
        .call(
            "initialize",
            json!({"protocolVersion": 1, "clientCapabilities": draws_cards()}),
        )
        .await;
    editor
}

/// The most bytes that the agent can write to a file from now on.
fn limit(editor: &Editor, bytes: Option<u64>) {
    let pid = editor
        .program
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(rustix::process::Pid::from_raw);
    let limit = rustix::process::Rlimit {
        current: bytes,
        maximum: None,
    };
    rustix::process::prlimit(pid, rustix::process::Resource::Fsize, limit).unwrap();
}

#[tokio::test]
async fn a_full_disk_fails_the_turn_and_not_those_after_it() {
    let home = Home::new();
    let mut editor = on_a_small_disk(&home).await;
    let session = editor.session(&home.work_folder()).await;
    editor.turn(&session, "$ true").await;

    limit(&editor, Some(40 * 1024));
    let prompt = format!(
        "$ seq 20000; touch {}",
        home.work_folder().join("full").display()
    );
    let answer = editor.turn(&session, &prompt).await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("cannot be saved"), "{message}");

    limit(&editor, None);
    for name in ["again", "and-again"] {
        let answer = editor.turn(&session, &format!("$ touch {name}")).await;
        assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
        assert!(home.work_folder().join(name).exists());
    }
    let fresh = editor.session(&home.work_folder()).await;
    let answer = editor.turn(&fresh, "$ true").await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    editor.close(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn a_disk_that_fills_up_under_a_command_leaves_its_card_closed_once_as_it_ended() {
    let home = Home::new();
    let mut editor = on_a_small_disk(&home).await;
    let session = editor.session(&home.work_folder()).await;
    let prompt = editor
        .prompt(
            &session,
            "$ echo begun; until [ -e go ]; do sleep 0.01; done; seq 2000; exit 3",
        )
        .await;
    editor
        .until(|message| output(&message["params"]["update"]).is_some())
        .await;
    limit(&editor, Some(4096));
    std::fs::write(home.work_folder().join("go"), "").unwrap();
    let answer = editor.response(prompt).await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("cannot be saved"), "{message}");
    assert_eq!(
        exits(&editor.calls(&session)),
        [closed("call-1", "failed", Some(3), None)]
    );
}

/// Another program that holds the store must not keep a cancel waiting, nor the end.
#[tokio::test]
async fn a_store_that_is_busy_keeps_neither_cancel_nor_end_waiting() {
    let home = Home::alone();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    editor.turn(&session, "$ true").await;
    let file = home.data_folder().join("sessions.sqlite");
    let mut other = placard_tests::Program::start(
        &home,
        std::path::Path::new("python3"),
        &[
            "-c",
            "import sqlite3, sys\n\
             c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
             c.execute('BEGIN IMMEDIATE')\n\
             print('held', flush=True)\n\
             sys.stdin.read()",
            &file.display().to_string(),
        ],
    );
    assert_eq!(
        other.next_line(placard_tests::SOON).await.as_deref(),
        Some("held")
    );

    let id = editor.prompt(&session, "$ touch ran").await;
    let begun = std::time::Instant::now();
    editor.cancel(&session).await;
    let answer = editor.response(id).await;
    assert_eq!(answer["result"], json!({"stopReason": "cancelled"}));
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    editor.prompt(&session, "$ touch ran").await;
    editor.close(Duration::from_secs(1)).await;
    assert!(!home.work_folder().join("ran").exists());
    other.close_stdin();
    other.ended(placard_tests::SOON).await;
}
