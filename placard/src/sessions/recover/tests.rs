use std::sync::Arc;

use super::*;
use crate::sessions::shelf::tests::{MINUTE, Shelf, events, header, id, said, surroundings};
use crate::sessions::viewer::tests::ada;
use agent_core::model::{AssistantBlock, ToolArgs};
use agent_core::session::event::{Trigger, TurnEndReason};
use agent_core::session::standing::unknown_exit;
use agent_core::store::memory::MemoryStore;
use agent_core::store::{DamagedAt, Hit, ListRequest, SearchRequest, SessionPage, SessionWriter};
use async_trait::async_trait;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A store in memory with one session in it that is damaged.
#[derive(Debug)]
struct Torn {
    whole: MemoryStore,
    salvage: Salvage,
}

impl Torn {
    fn new(whole: MemoryStore, header: Option<SessionHeader>, events: Vec<Event>) -> Arc<Self> {
        let damage = vec![Damage {
            place: "sessions/1.jsonl".into(),
            at: Some(DamagedAt::Line(3)),
            reason: "no JSON".into(),
        }];
        Arc::new(Self {
            whole,
            salvage: Salvage {
                header,
                events,
                damage,
            },
        })
    }

    fn is_torn(&self, session: &SessionId) -> bool {
        *session == id("1") && !self.salvage.damage.is_empty()
    }
}

#[async_trait]
impl SessionStore for Torn {
    async fn writer(&self, id: &SessionId) -> Result<Box<dyn SessionWriter>, StoreError> {
        self.whole.writer(id).await
    }
    async fn summary(&self, id: &SessionId) -> Result<Option<SessionSummary>, StoreError> {
        match self.salvage.damage.first() {
            Some(damage) if self.is_torn(id) => Err(StoreError::Damaged {
                id: id.clone(),
                damage: damage.clone(),
            }),
            _ => self.whole.summary(id).await,
        }
    }
    async fn read(
        &self,
        id: &SessionId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        self.whole.read(id, from, limit).await
    }
    async fn blob(&self, id: &SessionId, blob: &BlobId) -> Result<Option<Vec<u8>>, StoreError> {
        self.whole.blob(id, blob).await
    }
    async fn list(&self, request: &ListRequest) -> Result<SessionPage, StoreError> {
        self.whole.list(request).await
    }
    async fn update(&self, id: &SessionId, change: &Change) -> Result<(), StoreError> {
        self.whole.update(id, change).await
    }
    async fn fork(&self, id: &SessionId, header: &SessionHeader) -> Result<(), StoreError> {
        self.whole.fork(id, header).await
    }
    async fn delete(&self, id: &SessionId) -> Result<bool, StoreError> {
        self.whole.delete(id).await
    }
    async fn search(&self, request: &SearchRequest) -> Result<Vec<Hit>, StoreError> {
        self.whole.search(request).await
    }
    async fn salvage(&self, _id: &SessionId) -> Result<Salvage, StoreError> {
        Ok(self.salvage.clone())
    }
}

fn call(number: u64) -> EventKind {
    EventKind::ToolCall {
        call_id: format!("call-{number}"),
        provider_id: format!("p-{number}"),
        name: "bash".into(),
        args: ToolArgs::Json(json!({"command": "ls"})),
        shown: None,
    }
}

fn answer(number: u64) -> EventKind {
    EventKind::AssistantMessage {
        blocks: vec![AssistantBlock::ToolCall {
            provider_id: format!("p-{number}"),
            name: "bash".into(),
            args: ToolArgs::Json(json!({"command": "ls"})),
        }],
    }
}

fn exit(number: u64, output: &Blob) -> EventKind {
    unknown_exit(&format!("call-{number}"), Some(output.id().clone()))
}

fn result(number: u64) -> EventKind {
    EventKind::ToolResult {
        call_id: format!("call-{number}"),
        content: "file".into(),
        is_error: false,
        output_ref: None,
        shown: None,
    }
}

fn started() -> Vec<EventKind> {
    vec![
        EventKind::TurnStart {
            trigger: Trigger::Prompt,
        },
        EventKind::UserMessage {
            text: "look".into(),
        },
        EventKind::StepStart,
    ]
}

#[tokio::test]
async fn a_session_in_order_has_nothing_to_recover() {
    let home = tempfile::tempdir().unwrap();
    let store = Arc::new(Shelf::with(&[("1", said("one"))]).await.store);
    let agent = Agent::with_store(surroundings(home.path()), store.clone());
    let answer = recover(&agent, store.as_ref(), &id("1"), false, &ada()).await;
    assert_eq!(
        answer.unwrap(),
        Answer {
            notes: vec!["session 1 is in order: there is nothing to recover".into()],
            ..Answer::default()
        }
    );
    let answer = recover(&agent, store.as_ref(), &id("1"), true, &ada()).await;
    let told: Value = serde_json::from_str(&answer.unwrap().text).unwrap();
    assert_eq!(told["id"], Value::Null);
    assert_eq!(store.ids("", 9).await.unwrap(), [id("1")]);
}

#[tokio::test]
async fn what_can_be_read_is_a_session_of_its_own() {
    let home = tempfile::tempdir().unwrap();
    let shelf = Shelf::with(&[]).await;
    let (kept, gone) = (Blob::new(*b"file\n"), Blob::new(*b"gone\n"));
    let log = [
        started(),
        vec![
            answer(1),
            call(1),
            exit(1, &kept),
            result(1),
            EventKind::StepEnd,
            EventKind::StepStart,
            answer(2),
            call(2),
            exit(2, &gone),
            result(2),
            EventKind::StepEnd,
            EventKind::StepStart,
            answer(3),
            call(3),
        ],
    ]
    .concat();
    shelf
        .put("1", MINUTE, log.clone(), std::slice::from_ref(&kept))
        .await;
    // Its last command was at work when the program died.
    let outputs = home.path().join("data/outputs/1");
    std::fs::create_dir_all(&outputs).unwrap();
    std::fs::write(outputs.join("call-3.txt"), "half\n").unwrap();
    let mut left = events(MINUTE, log.clone());
    // The call of the second step and all of the first step but its call are gone.
    left.retain(|event| ![3, 5, 6, 7, 10].contains(&event.seq));
    let store = Torn::new(shelf.store, Some(header("1", MINUTE)), left);
    let agent = Agent::with_store(surroundings(home.path()), store.clone());

    let answered = recover(&agent, store.as_ref(), &id("1"), false, &ada()).await;
    let answered = answered.unwrap();
    let copy = id(answered.text.trim_end());
    let lost = [
        "damaged: sessions/1.jsonl, line 3: no JSON",
        "lost: event 3",
        "lost: events 5 to 7",
        "lost: event 10",
        "lost: 1 output",
    ];
    assert_eq!(
        answered.notes,
        [
            &["session 1 was left as it is; what could be read of it is in the new session"][..],
            &lost[..]
        ]
        .concat()
    );
    let summary = store.summary(&copy).await.unwrap().unwrap();
    assert_eq!(
        (summary.header.forked_from, summary.header.created_at),
        (Some(id("1")), ada().now)
    );
    let half = Blob::new(*b"half\n");
    let kinds: Vec<Value> = store
        .read(&copy, 0, 99)
        .await
        .unwrap()
        .iter()
        .map(|event| serde_json::to_value(&event.what).unwrap())
        .collect();
    let tags: Vec<&str> = kinds
        .iter()
        .map(|it| it["type"].as_str().unwrap())
        .collect();
    let step = "step/start assistant/message tool/call terminal/exit tool/result step/end";
    assert_eq!(
        tags.join(" "),
        format!("turn/start user/message {step} {step} {step} turn/end notice")
    );
    assert_eq!(kinds[17]["output_ref"], half.id().as_str());
    assert_eq!(kinds[20]["reason"], "interrupted");
    assert_eq!(
        kinds[21]["text"],
        format!(
            "This session is what could be read of session 1. {}.",
            lost.join("; ")
        )
    );
    let bytes = store.blob(&copy, half.id()).await.unwrap();
    assert_eq!(bytes.as_deref(), Some(&b"half\n"[..]));
    // The original is as it was.
    assert_eq!(
        store.read(&id("1"), 0, 99).await.unwrap(),
        events(MINUTE, log)
    );
}

#[tokio::test]
async fn a_session_without_a_header_is_told_by_its_events() {
    let home = tempfile::tempdir().unwrap();
    let moved = EventKind::Config {
        option: "cwd".into(),
        value: "/elsewhere".into(),
    };
    let log = [started(), vec![moved]].concat();
    let store = Torn::new(MemoryStore::default(), None, events(MINUTE, log));
    let agent = Agent::with_store(surroundings(home.path()), store.clone());
    let answered = recover(&agent, store.as_ref(), &id("1"), true, &ada()).await;
    let told: Value = serde_json::from_str(&answered.unwrap().text).unwrap();
    let copy = id(told["id"].as_str().unwrap());
    assert_eq!(
        told,
        json!({
            "id": copy,
            "recovered_from": "1",
            "damage": [{"place": "sessions/1.jsonl", "line": 3, "event": null, "reason": "no JSON"}],
            "missing": [],
            "left_out": 0,
            "lost_outputs": 0,
        })
    );
    let summary = store.summary(&copy).await.unwrap().unwrap();
    assert_eq!(
        (summary.header.cwd, summary.header.model.as_str()),
        ("/elsewhere".into(), UNKNOWN_MODEL)
    );
    let last = store.read(&copy, summary.events - 2, 1).await.unwrap();
    let interrupted = EventKind::TurnEnd {
        reason: TurnEndReason::Interrupted,
    };
    assert_eq!(last[0].what, Entry::Known(interrupted));
}

#[tokio::test]
async fn where_nothing_can_be_read_nothing_is_written() {
    let home = tempfile::tempdir().unwrap();
    let store = Torn::new(MemoryStore::default(), None, Vec::new());
    let agent = Agent::with_store(surroundings(home.path()), store.clone());
    let fault = recover(&agent, store.as_ref(), &id("1"), false, &ada()).await;
    let fault = fault.unwrap_err();
    assert_eq!(
        (fault.exit_status(), fault.to_string()),
        (
            1,
            "nothing of session 1 can be read: sessions/1.jsonl, line 3: no JSON; it was left as it is"
                .to_owned()
        )
    );
    assert_eq!(store.ids("", 9).await.unwrap(), []);
}

#[test]
fn many_places_are_told_shortly() {
    let damage = |line| Damage {
        place: "a".into(),
        at: Some(DamagedAt::Line(line)),
        reason: "torn".into(),
    };
    let lost = Lost {
        damage: (1..=7).map(damage).collect(),
        missing: vec![(2, 2)],
        left_out: 3,
        outputs: 2,
    };
    assert_eq!(
        lost_lines(&lost),
        [
            "damaged: a, line 1: torn",
            "damaged: a, line 2: torn",
            "damaged: a, line 3: torn",
            "damaged: a, line 4: torn",
            "damaged: a, line 5: torn",
            "and 2 more places are damaged",
            "lost: event 2",
            "left out: 3 events that say nothing without what is lost",
            "lost: 2 outputs",
        ]
    );
}
