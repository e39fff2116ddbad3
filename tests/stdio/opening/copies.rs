//! Copies of sessions.

use std::path::Path;
use std::time::Duration;

use placard_tests::Home;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{fork, refusal, resume};
use crate::editor::{Editor, draws_cards};
use crate::seen::{Seen, load, loaded};

#[tokio::test]
async fn a_new_session_can_be_looked_at_again_and_has_nothing_to_copy() {
    let home = Home::new();
    let work = home.work_folder();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&work).await;
    assert_eq!(loaded(&mut editor, &session, &work).await, Seen::default());
    let answer = resume(&mut editor, &session, &work).await;
    assert!(answer["result"].is_object(), "{answer}");
    let words = "this session was not prompted yet, so there is nothing to take elsewhere; start one with session/new";
    let answer = fork(&mut editor, &session, &work).await;
    assert_eq!(refusal(&answer), (-32600, words));
    let (answer, _) = load(&mut editor, &session, &home.folder("elsewhere")).await;
    assert_eq!(refusal(&answer), (-32600, words));
    let answer = editor.turn(&session, "$ true").await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    editor.close(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_copy_has_the_same_past_and_goes_its_own_way() {
    let home = Home::new();
    let work = home.work_folder();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&work).await;
    editor.turn(&session, "$ echo shared").await;
    let elsewhere = home.folder("elsewhere");
    let answer = fork(&mut editor, &session, &elsewhere).await;
    let copy = answer["result"]["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(
        answer["result"],
        json!({"sessionId": copy, "_meta": {"placard": {"model": "offline"}}})
    );
    assert_ne!(copy, session);
    assert_eq!(editor.updates(&copy), [] as [Value; 0]);

    editor.turn(&copy, "$ pwd").await;
    editor.turn(&session, "$ echo mine").await;
    let printed = async |editor: &mut Editor, session: &str, cwd: &Path| {
        let seen = loaded(editor, session, cwd).await;
        let cards = seen.cards.iter();
        cards.map(|card| card.text.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        printed(&mut editor, &copy, &elsewhere).await,
        [
            "shared\r\n".to_owned(),
            format!("{}\r\n", elsewhere.display())
        ]
    );
    assert_eq!(
        printed(&mut editor, &session, &work).await,
        ["shared\r\n", "mine\r\n"]
    );
    editor.close(Duration::from_secs(10)).await;
}

/// A copy of a session at work is balanced, and the original does not notice.
#[tokio::test]
async fn a_copy_of_a_session_at_work_holds_what_was_stored_and_is_closed() {
    let home = Home::new();
    let work = home.work_folder();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&work).await;
    let turn = editor
        .prompt(
            &session,
            "$ echo begun; until [ -e go ]; do sleep 0.01; done; exit 3",
        )
        .await;
    editor
        .until(|message| !message["params"]["update"]["_meta"]["terminal_output"].is_null())
        .await;
    let answer = fork(&mut editor, &session, &work).await;
    let copy = answer["result"]["sessionId"].as_str().unwrap().to_owned();
    let seen = loaded(&mut editor, &copy, &work).await;
    let cards: Vec<_> = seen
        .cards
        .iter()
        .map(|card| (card.status, card.exit.clone()))
        .collect();
    let unknown = terminal_card::TerminalExit {
        exit_code: None,
        signal: None,
    };
    assert_eq!(cards, [(terminal_card::CardStatus::Failed, Some(unknown))]);
    let answer = editor.turn(&copy, "$ true").await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));

    std::fs::write(work.join("go"), "").unwrap();
    let answer = editor.response(turn).await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    let seen = loaded(&mut editor, &session, &work).await;
    assert_eq!(seen.cards[0].exit.as_ref().unwrap().exit_code, Some(3));
    editor.close(Duration::from_secs(10)).await;
}
