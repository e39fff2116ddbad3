//! What the agent takes while nobody asks for anything.

use std::time::Duration;

use placard_tests::Home;

use crate::editor::{Editor, draws_cards};

/// Memory of a process's own, in KiB. The pages of its file are left out: a debug build's file is many times a
/// release build's, whose whole resident memory `make bench` checks.
fn private(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test]
async fn an_idle_agent_takes_less_than_15_mb() {
    let home = Home::new();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    let fresh = private(editor.program.id().unwrap());
    editor.turn(&session, "$ seq 1 100000").await;
    let used = private(editor.program.id().unwrap());
    assert!(
        fresh < 15 * 1024 && used < 15 * 1024,
        "{fresh} KiB when fresh, {used} KiB after a turn"
    );
    editor.close(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn nothing_is_written_before_it_is_needed() {
    let home = Home::new();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    editor.session(&home.work_folder()).await;
    assert!(!home.data_folder().exists());
    editor.close(Duration::from_secs(5)).await;
    assert!(!home.data_folder().exists());
}
