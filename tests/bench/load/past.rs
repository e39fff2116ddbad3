//! A long session, as a day of work leaves it.

use std::fmt::Write as _;
use std::path::Path;

use agent_core::model::{AssistantBlock, ToolArgs};
use agent_core::session::event::{Entry, Event, EventKind, Trigger, TurnEndReason};
use agent_core::session::shown::{ShownBody, ShownCall, ShownResult, ShownTerminal};
use agent_core::session::{SessionHeader, SessionId};
use agent_core::shell::exit::Exit;
use agent_core::store::sqlite::SqliteStore;
use agent_core::store::{Blob, SessionStore as _};
use agent_core::tool::presentation::{Circumstances, ToolCallKind};
use serde_json::json;

/// How many events are appended at a time.
const AT_ONCE: usize = 2_000;

/// Makes a session of so many events in a store in this folder, and closes that.
pub async fn make(folder: &Path, events: u64) -> SessionId {
    let store = SqliteStore::open(&folder.join("sessions.sqlite"))
        .await
        .unwrap();
    let header = SessionHeader {
        id: SessionId::fresh(),
        cwd: folder.to_owned(),
        additional_directories: vec![],
        created_at: 1,
        program_version: "0".into(),
        model: "offline".into(),
        schema_version: 1,
        forked_from: None,
    };
    let mut writer = store.writer(&header.id).await.unwrap();
    let mut waiting: Vec<Event> = Vec::new();
    let mut blobs = Vec::new();
    let mut seq = 0;
    let mut turn = 0;
    while seq < events {
        let (kinds, blob) = one_turn(turn, folder);
        turn += 1;
        blobs.push(blob);
        for kind in kinds {
            waiting.push(Event {
                seq,
                at: 1_000 + seq,
                what: Entry::Known(kind),
            });
            seq += 1;
        }
        if waiting.len() >= AT_ONCE || seq >= events {
            writer.append(&header, &waiting, &blobs).await.unwrap();
            waiting.clear();
            blobs.clear();
        }
    }
    writer.release().await;
    store.close().await;
    header.id
}

/// Ten events: a prompt, an answer with a command, what it printed, and a last word.
fn one_turn(turn: u64, folder: &Path) -> (Vec<EventKind>, Blob) {
    let call_id = format!("call-{}", turn + 1);
    let args = ToolArgs::Json(json!({
        "command": format!("cargo test -p part{turn} 2>&1 | tail -40"),
        "description": "Run the tests",
    }));
    let mut printed = String::new();
    for test in 0..12 {
        write!(
            printed,
            "test part{turn}::case{test} ... \x1b[32mok\x1b[0m\r\n"
        )
        .unwrap();
    }
    let blob = Blob::new(printed.into_bytes());
    let said = |text: String| AssistantBlock::Text { text };
    let kinds = vec![
        EventKind::TurnStart {
            trigger: Trigger::Prompt,
        },
        EventKind::UserMessage {
            text: format!("Look at part {turn}, say what is wrong with it and run its tests."),
        },
        EventKind::StepStart,
        EventKind::AssistantMessage {
            blocks: vec![
                said(format!(
                    "I look at part {turn} first, then I run its tests."
                )),
                AssistantBlock::ToolCall {
                    provider_id: format!("toolu_{turn}"),
                    name: "bash".into(),
                    args: args.clone(),
                },
            ],
        },
        EventKind::ToolCall {
            call_id: call_id.clone(),
            provider_id: format!("toolu_{turn}"),
            name: "bash".into(),
            args,
            shown: Some(Box::new(ShownCall {
                kind: ToolCallKind::Execute,
                title: None,
                description: Some("Run the tests".into()),
                locations: vec![],
                label: None,
                terminal: Some(ShownTerminal {
                    cwd: folder.to_owned(),
                    notice: None,
                }),
            })),
        },
        EventKind::TerminalExit {
            call_id: call_id.clone(),
            exit: Exit::Code(0),
            circumstances: Circumstances::default(),
            output_ref: Some(blob.id().to_string()),
        },
        EventKind::ToolResult {
            call_id,
            content: format!("12 tests of part{turn}\n[exit 0]"),
            is_error: false,
            output_ref: None,
            shown: Some(Box::new(ShownResult {
                succeeded: true,
                body: ShownBody::Terminal,
                image: None,
                notice: None,
                goes_on: false,
            })),
        },
        EventKind::StepEnd,
        EventKind::AssistantMessage {
            blocks: vec![said(format!("All twelve tests of part {turn} pass."))],
        },
        EventKind::TurnEnd {
            reason: TurnEndReason::Completed,
        },
    ];
    (kinds, blob)
}
