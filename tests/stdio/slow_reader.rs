//! A client that does not read costs no memory, and loses nothing of what it is owed.

use std::time::Duration;

use placard_tests::{Home, until};
use serde_json::Value;

use crate::editor::{Editor, draws_cards};

/// Resident memory of a process, in KiB.
pub fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test]
async fn output_of_a_client_that_does_not_read_waits_within_bounds() {
    let home = Home::new();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    editor.turn(&session, "$ true").await;
    let pid = editor.program.id().unwrap();
    let before = resident(pid);

    // 60 MB through the card while nobody reads; the marker file says when the command is through.
    let id = editor
        .prompt(
            &session,
            "$ yes 0123456789 | head -c 60000000; touch through",
        )
        .await;
    let marker = home.work_folder().join("through");
    let mut most = before;
    until(
        Duration::from_mins(1),
        "the command is through",
        async || {
            most = most.max(resident(pid));
            marker.exists().then_some(())
        },
    )
    .await;
    assert!(
        most - before < 24 * 1024,
        "grew from {before} to {most} KiB"
    );

    let answer = editor.response(id).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    let printed = editor.printed(&session);
    assert!(printed.len() < 1_200_000, "{}", printed.len());
    assert!(printed.starts_with("0123456789\r\n0123456789\r\n"));
    assert!(
        printed.ends_with("0123456789\r\n01234"),
        "the end of the output is there"
    );
    let last = editor.calls(&session).pop().unwrap();
    assert_eq!(last["_meta"]["terminal_exit"]["exit_code"], Value::from(0));
}
