//! The log in memory: append, number, and what balance still owes.

use crate::session::SessionHeader;
use crate::session::event::{Entry, Event, EventKind, TurnEndReason};
use crate::shell::exit::Exit;
use crate::store::{SessionStore, SessionWriter, StoreError};
use crate::tool::bash;
use crate::tool::presentation::Circumstances;

/// A session's events, those not yet stored included.
#[derive(Debug)]
pub struct SessionLog {
    header: SessionHeader,
    events: Vec<Event>,
    /// How many of `events` the store has acknowledged.
    saved: usize,
    /// The right to write, from the first save on.
    writer: Option<Box<dyn SessionWriter>>,
}

impl SessionLog {
    /// A log without events.
    pub fn new(header: SessionHeader) -> Self {
        Self {
            header,
            events: Vec::new(),
            saved: 0,
            writer: None,
        }
    }

    /// The header.
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// All events.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Appends to memory; [`SessionLog::save`] makes it durable.
    pub fn append(&mut self, kind: EventKind, at: u64) {
        let seq = self.events.len() as u64;
        self.events.push(Event {
            seq,
            at,
            what: Entry::Known(kind),
        });
    }

    /// Stores every event that is not stored yet. On an error they stay, and are tried again with the next call.
    pub async fn save(&mut self, store: &dyn SessionStore) -> Result<(), StoreError> {
        if self.saved < self.events.len() {
            let writer = match &mut self.writer {
                Some(writer) => writer,
                none => none.insert(store.writer(&self.header.id).await?),
            };
            writer
                .append(&self.header, &self.events[self.saved..], &[])
                .await?;
            self.saved = self.events.len();
        }
        Ok(())
    }

    /// How many events are not stored yet.
    pub fn unsaved(&self) -> usize {
        self.events.len() - self.saved
    }
}

/// What must still be appended, in order, so that every command has its exit, every call its result, every step and turn
/// its end.
/// Decided from the log alone. Empty when the log is balanced.
pub fn closing_events(events: &[Event], result: &str, reason: TurnEndReason) -> Vec<EventKind> {
    let mut open_calls: Vec<(&str, bool)> = Vec::new();
    let mut step_open = false;
    let mut turn_open = false;
    for kind in events.iter().filter_map(|event| event.what.known()) {
        match kind {
            EventKind::TurnStart { .. } => turn_open = true,
            EventKind::StepStart => step_open = true,
            EventKind::ToolCall { call_id, name, .. } => {
                open_calls.push((call_id, name == bash::NAME));
            }
            // Its exit is known, only its result is not.
            EventKind::TerminalExit { call_id, .. } => open_calls
                .iter_mut()
                .filter(|(open, _)| open == call_id)
                .for_each(|(_, owes_exit)| *owes_exit = false),
            EventKind::ToolResult { call_id, .. } => open_calls.retain(|(open, _)| open != call_id),
            EventKind::StepEnd => step_open = false,
            EventKind::TurnEnd { .. } => turn_open = false,
            _ => {}
        }
    }
    open_calls
        .into_iter()
        .flat_map(|(call_id, owes_exit)| {
            let exit = owes_exit.then(|| EventKind::TerminalExit {
                call_id: call_id.to_owned(),
                exit: Exit::Unknown,
                circumstances: Circumstances::default(),
                output_ref: None,
            });
            let result = EventKind::ToolResult {
                call_id: call_id.to_owned(),
                content: result.to_owned(),
                is_error: true,
                output_ref: None,
            };
            exit.into_iter().chain([result])
        })
        .chain(step_open.then_some(EventKind::StepEnd))
        .chain(turn_open.then_some(EventKind::TurnEnd { reason }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ToolArgs;
    use crate::session::event::Trigger;
    use pretty_assertions::assert_eq;

    fn events(kinds: Vec<EventKind>) -> Vec<Event> {
        kinds
            .into_iter()
            .enumerate()
            .map(|(seq, kind)| Event {
                seq: seq as u64,
                at: 0,
                what: Entry::Known(kind),
            })
            .collect()
    }

    fn call(id: &str) -> EventKind {
        EventKind::ToolCall {
            call_id: id.into(),
            provider_id: id.into(),
            name: "bash".into(),
            args: ToolArgs::Malformed(String::new()),
        }
    }

    fn result(id: &str, content: &str) -> EventKind {
        EventKind::ToolResult {
            call_id: id.into(),
            content: content.into(),
            is_error: true,
            output_ref: None,
        }
    }

    fn exit(id: &str) -> EventKind {
        EventKind::TerminalExit {
            call_id: id.into(),
            exit: Exit::Unknown,
            circumstances: Circumstances::default(),
            output_ref: None,
        }
    }

    #[test]
    fn what_is_owed_is_read_from_the_log() {
        let start = EventKind::TurnStart {
            trigger: Trigger::Prompt,
        };
        let end = EventKind::TurnEnd {
            reason: TurnEndReason::Interrupted,
        };
        let cases = [
            (vec![], vec![]),
            (vec![start.clone()], vec![end.clone()]),
            (
                vec![
                    start.clone(),
                    EventKind::StepStart,
                    call("a"),
                    call("b"),
                    result("a", "done"),
                ],
                vec![
                    exit("b"),
                    result("b", "lost"),
                    EventKind::StepEnd,
                    end.clone(),
                ],
            ),
            (
                vec![start.clone(), EventKind::StepStart, call("a"), exit("a")],
                vec![result("a", "lost"), EventKind::StepEnd, end.clone()],
            ),
            (
                vec![start, EventKind::StepStart, EventKind::StepEnd, end],
                vec![],
            ),
        ];
        for (log, owed) in cases {
            let mut log = events(log);
            assert_eq!(
                closing_events(&log, "lost", TurnEndReason::Interrupted),
                owed
            );
            log.extend(events(owed));
            assert_eq!(
                closing_events(&log, "lost", TurnEndReason::Interrupted),
                vec![]
            );
        }
    }
}
