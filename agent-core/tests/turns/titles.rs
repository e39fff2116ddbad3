//! What sessions are called, and what is put into them from outside.

use agent_core::session::event::EventKind;
use pretty_assertions::assert_eq;

use super::*;

#[tokio::test]
async fn a_session_is_called_by_its_first_prompt_and_then_by_the_model() {
    let script = Script::new()
        .with_title("\"Parser repairs\"\n")
        .then(Answer::new().text(["Done."]))
        .then(Answer::new().text(["Again."]));
    let server = ModelServer::start(script).unwrap();
    let mut stage = Stage::with_model(&server, Some(Arc::new(MemoryStore::default())));
    let session = stage.session();
    assert_eq!(
        stage.turn("Fix the parser").await,
        (TurnEndReason::Completed, None)
    );
    let updates = &mut stage.opened.as_mut().unwrap().updates;
    let mut titles = Vec::new();
    while titles.len() < 2 {
        if let Update::Title(title) = updates.next().await {
            titles.push(title);
        }
    }
    assert_eq!(titles, ["Fix the parser", "Parser repairs"]);
    assert_eq!(session.title().await.as_deref(), Some("Parser repairs"));
    // Once: the second turn asks for none.
    assert_eq!(
        stage.turn("And again").await,
        (TurnEndReason::Completed, None)
    );
    session.close().await;
    let titles = session.events().await.unwrap();
    let titles = titles
        .iter()
        .filter(|event| matches!(event.what.known(), Some(EventKind::Title { .. })));
    assert_eq!(titles.count(), 2);
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn what_is_injected_waits_for_the_next_prompt_and_joins_a_turn_that_runs() {
    let gate = Gate::new();
    let script = Script::new()
        .then(Answer::new().text(["Wait"]).hold(&gate).text(["ed."]))
        .then(Answer::new().text(["Seen."]));
    let server = ModelServer::start(script).unwrap();
    let store = Arc::new(MemoryStore::default());
    let stage = Stage::with_model(&server, Some(store.clone()));
    let session = stage.session();
    session
        .inject("The person ran `make`.".into())
        .await
        .unwrap();
    assert_eq!(
        shape(&stored(store.as_ref(), session.id()).await),
        ["turn/start", "injected", "turn/end"]
    );
    assert!(server.requests().is_empty(), "the model was woken");

    let turn = tokio::spawn(session.begin_turn().unwrap().run("What now?".into()));
    server.wait_for_requests(1).await;
    session.inject("It failed.".into()).await.unwrap();
    gate.open();
    assert_eq!(turn.await.unwrap().end.reason, TurnEndReason::Completed);
    assert_eq!(stage.turn("Go on").await, (TurnEndReason::Completed, None));
    session.when_idle().await;
    let events = session.events().await.unwrap();
    assert_balanced(&events);
    assert_eq!(stored(store.as_ref(), session.id()).await, events);
    let asked: Vec<String> = server
        .requests()
        .iter()
        .map(|request| {
            let messages = request.body["messages"].as_array().unwrap();
            let said = messages.iter().skip(1);
            said.map(|message| format!("{}", message["content"]))
                .collect::<Vec<_>>()
                .join(" / ")
        })
        .collect();
    assert_eq!(
        asked,
        [
            r#""The person ran `make`.\n\nWhat now?""#,
            r#""The person ran `make`.\n\nWhat now?\n\nIt failed." / "Waited." / "Go on""#
        ]
    );
}

#[tokio::test]
async fn quiet_is_when_every_event_is_stored() {
    let store = Arc::new(Failing::appends(1));
    let stage = Stage::new(&[], Some(store.clone()));
    let session = stage.session();
    session.inject("one".into()).await.unwrap_err();
    let idle = session.when_idle();
    tokio::pin!(idle);
    assert!(futures::poll!(&mut idle).is_pending());
    session.inject("two".into()).await.unwrap();
    idle.await;
    let stored = store.read(session.id(), 0, 100).await.unwrap();
    assert_eq!(stored, session.events().await.unwrap());
    assert_eq!(stored.len(), 6);
}
