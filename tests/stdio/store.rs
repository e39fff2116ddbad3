//! What a session leaves behind in the person's data folder.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use placard_tests::Home;
use pretty_assertions::assert_eq;

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
