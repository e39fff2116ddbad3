//! Output for a client that draws no cards (rule W1).

use std::time::Duration;

use placard_tests::Home;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::editor::Editor;

/// The text that a command leaves in its call, and the keys of all its updates' `_meta`.
async fn text_of(command: &str) -> String {
    let home = Home::new();
    let mut editor = Editor::connect(&home, json!({})).await;
    let session = editor.session(&home.work_folder()).await;
    editor
        .turn(&session, &format!("```sh\n{command}\n```"))
        .await;
    let calls = editor.calls(&session);
    editor.close(Duration::from_secs(5)).await;
    assert!(
        calls.iter().all(|call| call.get("_meta").is_none()),
        "{calls:#?}"
    );
    let content = &calls.last().unwrap()["content"];
    assert_eq!(content.as_array().map(Vec::len), Some(1), "{content}");
    content[0]["content"]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text: {content}"))
        .to_owned()
}

#[tokio::test]
async fn f3_progress_that_is_overwritten_is_what_finally_stands_there() {
    assert_eq!(
        text_of(r"printf '10%%\r20%%\r100%%\nDone\n'").await,
        "```console\n100%\nDone\n```"
    );
    // A progress of two lines that goes up, and colours.
    assert_eq!(
        text_of(r"printf 'a 1\nb 1\n\033[2A\033[2Ka \033[32m2\033[0m\n\033[2Kb 2\n'").await,
        "```console\na 2\nb 2\n```"
    );
}

#[tokio::test]
async fn f7_the_fence_is_longer_than_any_backticks_in_the_output() {
    let five = r"printf '```\nx\n`````\ny'";
    assert_eq!(
        text_of(five).await,
        "``````console\n```\nx\n`````\ny\n``````"
    );
    // Also where a sequence stands between them on the wire, and none on the screen.
    assert_eq!(
        text_of(r"printf '``\033[31m``\033[0m\n'").await,
        "`````console\n````\n`````"
    );
}

#[tokio::test]
async fn a_command_without_output_leaves_an_empty_block() {
    assert_eq!(text_of("true").await, "```console\n```");
}

#[tokio::test]
async fn the_clipboard_a_link_and_a_query_leave_their_words_only() {
    let command = r"printf '\033]52;c;QQ==\aa\033]8;;javascript:alert(1)\aX\033]8;;\a\033[6n\n'";
    let text: Value = text_of(command).await.into();
    assert_eq!(text, "```console\naX\n```");
}
