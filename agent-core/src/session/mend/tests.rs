use std::collections::BTreeMap;

use super::*;
use crate::model::Message;
use crate::session::SessionId;
use crate::session::event::Decision;
use crate::session::repair::repair;
use crate::session::standing::unknown_exit;
use crate::turn::transcript::Transcript;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

fn header() -> SessionHeader {
    SessionHeader {
        id: SessionId::from("s".to_owned()),
        cwd: "/work".into(),
        additional_directories: Vec::new(),
        created_at: 0,
        program_version: "0".into(),
        model: "offline".into(),
        schema_version: 1,
        forked_from: None,
    }
}

fn numbered(kinds: Vec<EventKind>) -> Vec<Event> {
    (0..)
        .zip(kinds)
        .map(|(seq, kind)| Event {
            seq,
            at: 10 * seq,
            what: Entry::Known(kind),
        })
        .collect()
}

fn mended(kinds: Vec<EventKind>) -> Vec<EventKind> {
    kinds_of(mend(&header(), numbered(kinds)).events)
}

fn kinds_of(events: Vec<Event>) -> Vec<EventKind> {
    events
        .into_iter()
        .filter_map(|event| match event.what {
            Entry::Known(kind) => Some(kind),
            Entry::Unknown(_) => None,
        })
        .collect()
}

fn turn() -> EventKind {
    EventKind::TurnStart {
        trigger: Trigger::Prompt,
    }
}

fn asked(text: &str) -> EventKind {
    EventKind::UserMessage { text: text.into() }
}

/// An answer with these calls, each under the provider's id `p-NAME`.
fn answer(calls: &[&str]) -> EventKind {
    let text = AssistantBlock::Text { text: "so".into() };
    let calls = calls.iter().map(|name| block(&offered(name)));
    EventKind::AssistantMessage {
        blocks: std::iter::once(text).chain(calls).collect(),
    }
}

fn bare_answer(calls: &[&str]) -> EventKind {
    EventKind::AssistantMessage {
        blocks: calls.iter().map(|name| block(&offered(name))).collect(),
    }
}

fn offered(name: &str) -> Offered {
    Offered {
        provider_id: format!("p-{name}"),
        name: "bash".into(),
        args: ToolArgs::Json(json!({"command": name})),
    }
}

fn call(number: u64, name: &str) -> EventKind {
    offered(name).called(format!("call-{number}"))
}

fn exit(number: u64) -> EventKind {
    unknown_exit(&format!("call-{number}"), None)
}

fn result(number: u64, content: &str) -> EventKind {
    EventKind::ToolResult {
        call_id: format!("call-{number}"),
        content: content.into(),
        is_error: content == LOST_RESULT,
        output_ref: None,
        shown: None,
    }
}

fn end(reason: TurnEndReason) -> EventKind {
    EventKind::TurnEnd { reason }
}

fn broken() -> EventKind {
    end(TurnEndReason::Interrupted)
}

fn lost_prompt() -> EventKind {
    EventKind::Injected {
        text: LOST_PROMPT.into(),
    }
}

const STEP: EventKind = EventKind::StepStart;
const STEP_END: EventKind = EventKind::StepEnd;

/// Two turns: one with two calls at once and a command in the background, one that was only said.
fn whole() -> Vec<EventKind> {
    vec![
        turn(),
        asked("one"),
        STEP,
        answer(&["a", "b"]),
        call(1, "a"),
        call(2, "b"),
        EventKind::PermissionDecision {
            call_id: "call-2".into(),
            decision: Decision::AllowOnce,
        },
        exit(2),
        result(2, "two"),
        result(1, "One runs.\n[running]"),
        STEP_END,
        STEP,
        answer(&["c"]),
        call(3, "c"),
        exit(3),
        result(3, "three"),
        STEP_END,
        STEP,
        answer(&[]),
        STEP_END,
        end(TurnEndReason::Completed),
        exit(1),
        turn(),
        asked("two"),
        STEP,
        answer(&[]),
        STEP_END,
        end(TurnEndReason::Completed),
    ]
}

#[test]
fn what_is_in_order_stays_as_it_is() {
    let mut events = numbered(whole());
    events.push(Event {
        seq: events.len() as u64,
        at: 1000,
        what: Entry::Unknown(json!({"type": "hologram"})),
    });
    let mended = mend(&header(), events.clone());
    assert_eq!(
        (mended.events, mended.added, mended.left_out),
        (events, 0, 0)
    );
}

/// What is missing, what is left, and what comes of it.
type Case = (&'static str, Vec<EventKind>, Vec<EventKind>);

fn turns_and_steps() -> Vec<Case> {
    vec![
        (
            "the end of a turn and the beginning of the next",
            vec![turn(), asked("one"), STEP, answer(&[]), asked("two")],
            vec![
                turn(),
                asked("one"),
                STEP,
                answer(&[]),
                STEP_END,
                broken(),
                turn(),
                asked("two"),
            ],
        ),
        (
            "a prompt",
            vec![STEP, answer(&[]), STEP_END, end(TurnEndReason::Completed)],
            vec![
                turn(),
                lost_prompt(),
                STEP,
                answer(&[]),
                STEP_END,
                end(TurnEndReason::Completed),
            ],
        ),
    ]
}

fn calls() -> Vec<Case> {
    vec![
        (
            "a call between its answer and its result",
            vec![turn(), asked("one"), STEP, answer(&["a"]), result(1, "one")],
            vec![
                turn(),
                asked("one"),
                STEP,
                answer(&["a"]),
                call(1, "a"),
                result(1, "one"),
            ],
        ),
        (
            "the answer of two calls, and the step",
            vec![
                turn(),
                asked("one"),
                call(1, "a"),
                call(2, "b"),
                result(2, "two"),
                result(1, "one"),
            ],
            vec![
                turn(),
                asked("one"),
                STEP,
                bare_answer(&["a", "b"]),
                call(1, "a"),
                call(2, "b"),
                result(2, "two"),
                result(1, "one"),
            ],
        ),
        (
            "a result, and the call of another",
            vec![
                turn(),
                asked("one"),
                STEP,
                answer(&["a", "b"]),
                call(1, "a"),
                STEP_END,
            ],
            vec![
                turn(),
                asked("one"),
                STEP,
                answer(&["a", "b"]),
                call(1, "a"),
                call(2, "b"),
                exit(1),
                result(1, LOST_RESULT),
                exit(2),
                result(2, LOST_RESULT),
                STEP_END,
            ],
        ),
        (
            "the answer of a later call: the calls behind get new ids",
            vec![
                turn(),
                asked("one"),
                STEP,
                answer(&["a"]),
                call(1, "a"),
                result(1, "one"),
                call(4, "d"),
                exit(4),
                result(4, "four"),
                STEP_END,
            ],
            vec![
                turn(),
                asked("one"),
                STEP,
                answer(&["a"]),
                call(1, "a"),
                result(1, "one"),
                STEP_END,
                STEP,
                bare_answer(&["d"]),
                call(2, "d"),
                exit(2),
                result(2, "four"),
                STEP_END,
            ],
        ),
    ]
}

#[test]
fn what_must_have_been_is_added() {
    for (what, log, expected) in turns_and_steps().into_iter().chain(calls()) {
        assert_eq!(mended(log), expected, "{what}");
    }
}

#[test]
fn what_says_nothing_alone_is_left_out() {
    let log = vec![
        result(1, "one"),
        exit(2),
        STEP_END,
        end(TurnEndReason::Completed),
        turn(),
        asked("one"),
        STEP,
        answer(&["a"]),
        // Of a later call, of which nothing else is left: not of the one in this answer.
        result(7, "seven"),
    ];
    let mended = mend(&header(), numbered(log));
    // The call in the answer gets its event.
    assert_eq!((mended.left_out, mended.added), (5, 1));
    assert_eq!(
        kinds_of(mended.events),
        vec![turn(), asked("one"), STEP, answer(&["a"]), call(1, "a")]
    );
}

#[test]
fn spilled_output_is_found_under_the_former_id() {
    let mended = mend(&header(), numbered(vec![turn(), asked("x"), call(9, "i")]));
    assert_eq!(
        mended.former_ids,
        HashMap::from([("call-1".to_owned(), "call-9".to_owned())])
    );
}

/// Panics where a log is not balanced.
fn check_balance(events: &[Event]) {
    let (mut turn, mut step) = (false, false);
    let mut open: Vec<&str> = Vec::new();
    for (seq, event) in (0..).zip(events) {
        assert_eq!(event.seq, seq);
        match event.what.known() {
            Some(EventKind::TurnStart { .. }) => assert!(!std::mem::replace(&mut turn, true)),
            Some(EventKind::TurnEnd { .. }) => {
                assert!(std::mem::replace(&mut turn, false) && !step && open.is_empty());
            }
            Some(EventKind::StepStart) => {
                assert!(turn && !std::mem::replace(&mut step, true));
            }
            Some(EventKind::StepEnd) => {
                assert!(std::mem::replace(&mut step, false) && open.is_empty());
            }
            Some(EventKind::ToolCall { call_id, .. }) => {
                assert!(step && !open.contains(&call_id.as_str()));
                open.push(call_id);
            }
            Some(EventKind::ToolResult { call_id, .. }) => {
                let at = open.iter().position(|id| id == call_id);
                open.remove(at.expect("the result of an open call"));
            }
            _ => {}
        }
    }
    assert!(!turn && !step && open.is_empty());
}

/// Panics where a strict provider would refuse.
fn check_transcript(events: &[Event]) {
    let mut transcript = Transcript::new("offline");
    for event in events {
        transcript.note(event);
    }
    let messages = transcript.messages();
    assert!(!matches!(
        messages.first(),
        Some(Message::Assistant { .. } | Message::ToolResults { .. })
    ));
    let calls = |blocks: &[AssistantBlock]| {
        let ids = blocks.iter().filter_map(|block| match block {
            AssistantBlock::ToolCall { provider_id, .. } => Some(provider_id.clone()),
            _ => None,
        });
        let mut ids: Vec<String> = ids.collect();
        ids.sort();
        ids
    };
    for pair in messages.windows(2) {
        match pair {
            [
                Message::Assistant { blocks },
                Message::ToolResults { results },
            ] => {
                let mut answered: Vec<String> =
                    results.iter().map(|it| it.provider_id.clone()).collect();
                answered.sort();
                assert_eq!(calls(blocks), answered);
            }
            [
                Message::Assistant { blocks },
                Message::User { .. } | Message::Note { .. },
            ] => {
                assert_eq!(calls(blocks), Vec::<String>::new());
            }
            // Providers are told a note as the person's words.
            [
                Message::User { .. } | Message::Note { .. },
                Message::Assistant { .. },
            ]
            | [
                Message::ToolResults { .. },
                Message::Assistant { .. } | Message::Note { .. },
            ]
            | [Message::Note { .. }, Message::User { .. }] => {}
            other => panic!("{other:?}"),
        }
    }
}

fn closed(mut mended: Mended) -> Vec<Event> {
    for kind in repair(&mended.standing, &BTreeMap::new()).events {
        let what = Entry::Known(kind);
        mended.standing.note(what.known());
        mended.events.push(Event {
            seq: mended.standing.events - 1,
            at: 0,
            what,
        });
    }
    mended.events
}

proptest! {
    #[test]
    fn whatever_is_missing_the_rest_is_a_log(kept in prop::collection::vec(any::<bool>(), 28)) {
        let left: Vec<Event> = numbered(whole())
            .into_iter()
            .zip(&kept)
            .filter_map(|(event, kept)| kept.then_some(event))
            .collect();
        let read = left.len() as u64;
        let mended = mend(&header(), left);
        prop_assert_eq!(
            mended.events.len() as u64,
            read + mended.added - mended.left_out
        );
        let log = closed(mended);
        check_balance(&log);
        check_transcript(&log);
        // What was mended is in order.
        let again = mend(&header(), log.clone());
        prop_assert_eq!((again.events, again.added, again.left_out), (log, 0, 0));
    }
}

#[test]
fn any_one_piece_may_be_missing() {
    for from in 0..28 {
        for to in from..28 {
            let mut left = numbered(whole());
            left.drain(from..=to);
            let log = closed(mend(&header(), left));
            check_balance(&log);
            check_transcript(&log);
        }
    }
}
