//! A command that its sandbox is in the way of: the model is told, and the person is asked before it runs outside.

use std::sync::Arc;

use agent_core::session::event::{Decision, EventKind};
use agent_core::session::update::Update;
use agent_core::store::memory::MemoryStore;
use pretty_assertions::assert_eq;

use super::{Stage, assert_balanced};

/// The results of a turn of the offline model in which every question is answered by `decision`, and how many there were.
async fn turn(
    stage: &mut Stage,
    prompt: String,
    decision: Decision,
) -> (Vec<(String, bool)>, usize) {
    let session = stage.session();
    let running = tokio::spawn(session.begin_turn().unwrap().run(prompt));
    let updates = &mut stage.opened.as_mut().unwrap().updates;
    let mut questions = 0;
    let mut ended = std::pin::pin!(running);
    loop {
        tokio::select! {
            update = updates.next() => if let Update::Permission(request) = update {
                questions += 1;
                let notice = request.presentation.terminal.unwrap().notice.unwrap();
                assert!(notice.starts_with("Runs without the sandbox"), "{notice}");
                request.answer.send(decision).unwrap();
            },
            end = &mut ended => {
                end.unwrap();
                break;
            }
        }
    }
    let events = session.events().await.unwrap();
    assert_balanced(&events);
    let results = events.iter().filter_map(|event| match event.what.known()? {
        EventKind::ToolResult {
            content, is_error, ..
        } => Some((content.clone(), *is_error)),
        _ => None,
    });
    (results.collect(), questions)
}

/// A folder that is neither the session's nor a temporary one.
fn outside() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
}

#[tokio::test]
async fn a_denied_write_is_told_and_asked_for_and_then_done() {
    let (mut stage, elsewhere) = (
        Stage::new(&[], Some(Arc::new(MemoryStore::default()))),
        outside(),
    );
    let file = elsewhere.path().join("made");
    let prompt = format!("$ touch {}", file.display());
    let (results, questions) = turn(&mut stage, prompt, Decision::AllowOnce).await;
    assert_eq!((results.len(), questions), (2, 1), "{results:?}");
    let denial = format!(
        "\nThe sandbox (workspace-write) denied writing {}: ",
        file.display()
    );
    assert!(
        results[0].0.contains(&denial) && results[0].1,
        "{results:?}"
    );
    assert_eq!(results[1], ("[exit 0]".to_owned(), false));
    assert!(file.exists());
}

#[tokio::test]
async fn a_person_who_refuses_has_it_stay_denied() {
    let (mut stage, elsewhere) = (
        Stage::new(&[], Some(Arc::new(MemoryStore::default()))),
        outside(),
    );
    let file = elsewhere.path().join("made");
    let prompt = format!("$ touch {}", file.display());
    let (results, questions) = turn(&mut stage, prompt, Decision::RejectOnce).await;
    assert_eq!((results.len(), questions), (2, 1), "{results:?}");
    assert!(results[1].0.ends_with("[not run]"), "{results:?}");
    assert!(!file.exists());
}

#[tokio::test]
async fn the_secrets_of_the_agent_are_out_of_reach() {
    let mut stage = Stage::new(&[], Some(Arc::new(MemoryStore::default())));
    // The test is the agent: its own environment is what a command would read.
    let prompt = format!("$ cat /proc/{}/environ", std::process::id());
    let (results, _) = turn(&mut stage, prompt, Decision::RejectOnce).await;
    assert!(
        results[0].0.contains("Permission denied") && results[0].0.ends_with("[exit 1]"),
        "{results:?}"
    );
}
