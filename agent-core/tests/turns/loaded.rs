//! Sessions that are opened again: after their end, after a crash, as copies.

use agent_core::session::SessionHeader;
use agent_core::session::event::{Entry, EventKind};
use agent_core::tool::presentation::ResultBody;

use super::*;
use pretty_assertions::assert_eq;

/// What a session has to tell, as words that can be compared: cards with their output.
async fn told(loading: &mut agent_core::agent::Loading) -> Vec<String> {
    let mut outputs = Vec::new();
    let mut told = Vec::new();
    while let Some(update) = loading.next().await.unwrap() {
        told.push(in_words(update, &mut outputs).await);
    }
    told
}

async fn in_words(
    update: Update,
    outputs: &mut Vec<(String, agent_core::shell::terminal::TerminalOutput)>,
) -> String {
    match update {
        Update::Call {
            call_id,
            presentation,
        } => {
            let cwd = presentation.terminal.map(|terminal| {
                outputs.push((call_id.clone(), terminal.output));
                terminal.cwd
            });
            format!("{call_id}: {} in {cwd:?}", presentation.title)
        }
        Update::CallEnded {
            call_id,
            presentation,
        }
        | Update::TerminalEnded {
            call_id,
            presentation,
        } => {
            let mut printed = String::new();
            if let Some((_, output)) = outputs.iter().find(|(id, _)| *id == call_id)
                && !presentation.goes_on
            {
                while let Some(piece) = output.next().await {
                    printed.push_str(&piece);
                }
            }
            let body = match presentation.body {
                ResultBody::Empty => String::new(),
                ResultBody::Text(text) | ResultBody::Console(text) => text,
            };
            format!(
                "{call_id}: {printed:?} {:?} {} {body:?}",
                presentation.exit, presentation.succeeded
            )
        }
        other => format!("{other:?}"),
    }
}

impl Stage {
    async fn load(&self, id: &SessionId) -> agent_core::agent::Loading {
        let work = self.folder.path().join("work");
        self.agent
            .begin_load(id, &work, &[], FrontAbilities::default())
            .await
            .unwrap()
    }
}

#[tokio::test]
async fn the_past_of_a_session_is_told_as_it_was_seen_and_it_goes_on() {
    let mut stage = Stage::new(&[], Some(Arc::new(MemoryStore::default())));
    let id = stage.session().id().clone();
    let mut updates = stage.opened.take().unwrap();
    let session = updates.session.clone();
    let slot = session.begin_turn().unwrap();
    let ended = slot
        .run("$ printf '\\e[31mred\\e[0m\\n'; exit 3".into())
        .await;
    assert_eq!(ended.end.reason, TurnEndReason::Completed);
    drop(ended);
    let mut outputs = Vec::new();
    let mut live = vec!["User(\"$ printf '\\\\e[31mred\\\\e[0m\\\\n'; exit 3\")".to_owned()];
    let shown = session.shown();
    tokio::pin!(shown);
    loop {
        match updates.updates.next().await {
            Update::Shown(done) => {
                let _ = done.send(());
                break;
            }
            Update::CallStarted { .. } | Update::TerminalState { .. } => {}
            update => live.push(in_words(update, &mut outputs).await),
        }
        // Asked for once the queue is empty but for it.
        let _ = futures::poll!(&mut shown);
    }
    session.close().await;

    let mut loading = stage.load(&id).await;
    let past = told(&mut loading).await;
    // The title is told when it is given; here that is behind the prompt, and live before it was noticed.
    assert_eq!(past, live);
    let work = stage.folder.path().join("work");
    let card = format!(
        "call-1: printf '\\e[31mred\\e[0m\\n'; exit 3 in {:?}",
        Some(&work)
    );
    assert!(past.contains(&card), "{past:#?}");

    let again = loading.finish().await.unwrap().session;
    let end = again.begin_turn().unwrap().run("$ echo more".into()).await;
    assert_eq!(end.end.reason, TurnEndReason::Completed);
    drop(end);
    let events = again.events().await.unwrap();
    assert_balanced(&events);
    let calls: Vec<&str> = events
        .iter()
        .filter_map(|event| match event.what.known() {
            Some(EventKind::ToolCall { call_id, .. }) => Some(call_id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(calls, ["call-1", "call-2"]);
}

#[tokio::test]
async fn what_a_crash_left_open_is_closed_once_with_what_the_command_had_printed() {
    let store = Arc::new(MemoryStore::default());
    let stage = Stage::new(&[], Some(store.clone()));
    let id = stage.session().id().clone();
    let header = {
        assert_eq!(stage.turn("$ true").await.0, TurnEndReason::Completed);
        stage.session().close().await;
        store.summary(&id).await.unwrap().unwrap().header
    };
    // As a crash leaves it: a command runs, another one is in the background, a third has not begun.
    let args = |line: &str| agent_core::model::ToolArgs::Json(serde_json::json!({"command": line}));
    let call = |call_id: &str, line: &str| EventKind::ToolCall {
        call_id: call_id.into(),
        provider_id: call_id.into(),
        name: "bash".into(),
        args: args(line),
        shown: None,
    };
    let result = |call_id: &str| EventKind::ToolResult {
        call_id: call_id.into(),
        content: "Started.\n[running]".into(),
        is_error: false,
        output_ref: None,
        shown: None,
    };
    let before = stored(store.as_ref(), &id).await.len() as u64;
    let kinds = [
        EventKind::TurnStart {
            trigger: agent_core::session::event::Trigger::Prompt,
        },
        EventKind::StepStart,
        call("call-2", "serve"),
        result("call-2"),
        call("call-3", "make"),
        call("call-4", "make test"),
    ];
    let events: Vec<Event> = (before..)
        .zip(kinds)
        .map(|(seq, kind)| Event {
            seq,
            at: 9,
            what: Entry::Known(kind),
        })
        .collect();
    let mut writer = store.writer(&id).await.unwrap();
    writer.append(&header, &events, &[]).await.unwrap();
    drop(writer);
    let outputs = stage.folder.path().join("data/outputs").join(id.as_str());
    std::fs::create_dir_all(&outputs).unwrap();
    std::fs::write(outputs.join("call-2.txt"), "listening\r\n").unwrap();
    std::fs::write(outputs.join("call-3.txt"), "cc a.c\r\ncc b.").unwrap();

    let mut loading = stage.load(&id).await;
    let past = told(&mut loading).await;
    let repaired = stored(store.as_ref(), &id).await;
    assert_balanced(&repaired);
    let body = "cc a.c\ncc b.\n(The program ended while this command ran; it was ended with it.)\n[ended, exit unknown]";
    let contents: Vec<&str> = repaired
        .iter()
        .skip(events.len() + usize::try_from(before).unwrap())
        .filter_map(|event| match event.what.known() {
            Some(EventKind::ToolResult { content, .. }) => Some(content.as_str()),
            _ => None,
        })
        .collect();
    let not_begun = "The program ended before this call had a result; it may not have run.";
    assert_eq!(contents, [body, not_begun]);
    assert_eq!(
        past[past.len() - 3..],
        [
            r#"call-2: "" Some(Unknown) false "listening\n""#.to_owned(),
            r#"call-3: "" Some(Unknown) false "cc a.c\ncc b.""#.to_owned(),
            format!(r#"call-4: "" Some(Unknown) false {not_begun:?}"#),
        ]
    );
    // Nothing more is owed, and a second load changes nothing.
    loading.finish().await.unwrap().session.close().await;
    stage.load(&id).await.finish().await.unwrap();
    assert_eq!(stored(store.as_ref(), &id).await, repaired);
}

#[tokio::test]
async fn a_copy_goes_its_own_way_and_a_session_that_is_open_is_not_opened_again() {
    let stage = Stage::new(&[], Some(Arc::new(MemoryStore::default())));
    assert_eq!(stage.turn("$ echo one").await.0, TurnEndReason::Completed);
    let session = stage.session();
    let work = stage.folder.path().join("work");
    let error = stage
        .agent
        .load_session(session.id(), &work, &[], FrontAbilities::default())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("open for writing"), "{error}");

    let forked = stage
        .agent
        .fork_session(session.id(), &work, &[], FrontAbilities::default());
    let copy = forked.await.unwrap().session;
    assert_eq!(
        copy.events().await.unwrap(),
        session.events().await.unwrap()
    );
    drop(copy.begin_turn().unwrap().run("$ echo two".into()).await);
    assert_ne!(
        copy.events().await.unwrap(),
        session.events().await.unwrap()
    );
    copy.close().await;

    session.close().await;
    assert!(stage.agent.delete_session(session.id()).await.unwrap());
    assert!(!stage.agent.delete_session(session.id()).await.unwrap());
    let missing = stage
        .agent
        .load_session(session.id(), &work, &[], FrontAbilities::default())
        .await
        .unwrap_err();
    assert!(
        missing.to_string().contains("there is no session"),
        "{missing}"
    );
}

#[tokio::test]
async fn another_folder_and_another_model_are_written_down() {
    let store = Arc::new(MemoryStore::default());
    let stage = Stage::new(&[], Some(store.clone()));
    assert_eq!(stage.turn("$ true").await.0, TurnEndReason::Completed);
    let id = stage.session().id().clone();
    stage.session().close().await;
    let other = stage.folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let session = stage
        .agent
        .load_session(&id, &other, &[], FrontAbilities::default())
        .await
        .unwrap()
        .session;
    drop(session.begin_turn().unwrap().run("$ pwd".into()).await);
    let changes: Vec<serde_json::Value> = session
        .events()
        .await
        .unwrap()
        .iter()
        .filter_map(|event| match event.what.known() {
            Some(EventKind::Config { option, value }) => {
                Some(serde_json::json!({option.as_str(): value}))
            }
            _ => None,
        })
        .collect();
    assert_eq!(changes, [serde_json::json!({"cwd": other})]);
}

#[tokio::test]
async fn what_is_not_kept_any_more_is_said_in_its_card() {
    let store = Arc::new(MemoryStore::default());
    let stage = Stage::new(&[], Some(store.clone()));
    assert_eq!(stage.turn("$ echo there").await.0, TurnEndReason::Completed);
    let id = stage.session().id().clone();
    stage.session().close().await;
    let header = store.summary(&id).await.unwrap().unwrap().header;
    // As an import of the log alone leaves it.
    let events = stored(store.as_ref(), &id).await;
    let copy = SessionHeader {
        id: SessionId::fresh(),
        ..header
    };
    let mut writer = store.writer(&copy.id).await.unwrap();
    writer.append(&copy, &events, &[]).await.unwrap();
    drop(writer);
    let past = told(&mut stage.load(&copy.id).await).await;
    let lost = "[what this command printed is not kept any more]";
    let card = past
        .iter()
        .find(|line| line.contains("Some(Code(0))"))
        .unwrap();
    assert!(card.contains(lost), "{card}");
}
