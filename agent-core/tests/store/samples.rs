//! Sessions, events and short ways to store and read them.

use std::path::PathBuf;

use agent_core::model::{AssistantBlock, ToolArgs};
use agent_core::session::event::{Entry, Event, EventKind};
use agent_core::session::{SCHEMA_VERSION, SessionHeader, SessionId};
use agent_core::shell::exit::Exit;
use agent_core::store::{Blob, SessionStore, SessionSummary, SessionWriter};
use serde_json::{Value, json};

/// When the sessions of these tests begin: milliseconds of Unix time.
pub const BEGUN: u64 = 1_700_000_000_000;

pub fn id(name: &str) -> SessionId {
    SessionId::from(name.to_owned())
}

/// A session in `/work`.
pub fn header(name: &str) -> SessionHeader {
    header_in(name, "/work")
}

pub fn header_in(name: &str, cwd: &str) -> SessionHeader {
    SessionHeader {
        id: id(name),
        cwd: PathBuf::from(cwd),
        additional_directories: vec![PathBuf::from("/more roots/ü")],
        created_at: BEGUN,
        program_version: "0.1.0".to_owned(),
        model: "offline".to_owned(),
        schema_version: SCHEMA_VERSION,
        forked_from: None,
    }
}

/// An event a millisecond after the one before it.
pub fn event(seq: u64, kind: EventKind) -> Event {
    Event {
        seq,
        at: BEGUN + seq,
        what: Entry::Known(kind),
    }
}

pub fn prompt(seq: u64, text: &str) -> Event {
    event(
        seq,
        EventKind::UserMessage {
            text: text.to_owned(),
        },
    )
}

pub fn reply(seq: u64, text: &str) -> Event {
    event(
        seq,
        EventKind::AssistantMessage {
            blocks: vec![AssistantBlock::Text {
                text: text.to_owned(),
            }],
        },
    )
}

pub fn title(seq: u64, title: &str) -> Event {
    event(
        seq,
        EventKind::Title {
            title: title.to_owned(),
        },
    )
}

pub fn command(seq: u64, call_id: &str, line: &str) -> Event {
    event(
        seq,
        EventKind::ToolCall {
            call_id: call_id.to_owned(),
            provider_id: format!("provider-{call_id}"),
            name: "bash".to_owned(),
            args: ToolArgs::Json(json!({ "command": line })),
            shown: None,
        },
    )
}

/// The end of a command that printed what the blob holds.
pub fn printed(seq: u64, call_id: &str, output: &Blob) -> Event {
    event(
        seq,
        EventKind::TerminalExit {
            call_id: call_id.to_owned(),
            exit: Exit::Code(0),
            circumstances: agent_core::tool::presentation::Circumstances::default(),
            output_ref: Some(output.id().to_string()),
        },
    )
}

/// An event of a newer build.
pub fn news(seq: u64, what: Value) -> Event {
    Event {
        seq,
        at: BEGUN + seq,
        what: Entry::Unknown(what),
    }
}

/// `count` prompts from number `from` on.
pub fn prompts(from: u64, count: u64) -> Vec<Event> {
    (from..from + count)
        .map(|seq| prompt(seq, &format!("prompt {seq}")))
        .collect()
}

/// Appends as a program does that has nothing else to do with the session.
pub async fn store(store: &dyn SessionStore, header: &SessionHeader, events: &[Event]) {
    store_with(store, header, events, &[]).await;
}

pub async fn store_with(
    store: &dyn SessionStore,
    header: &SessionHeader,
    events: &[Event],
    blobs: &[Blob],
) {
    let mut writer = writer(store, &header.id).await;
    writer.append(header, events, blobs).await.unwrap();
    writer.release().await;
}

pub async fn writer(store: &dyn SessionStore, id: &SessionId) -> Box<dyn SessionWriter> {
    store.writer(id).await.unwrap()
}

/// The whole log.
pub async fn whole(store: &dyn SessionStore, id: &SessionId) -> Vec<Event> {
    store.read(id, 0, usize::MAX).await.unwrap()
}

pub async fn summary(store: &dyn SessionStore, id: &SessionId) -> SessionSummary {
    store.summary(id).await.unwrap().expect("a session")
}
