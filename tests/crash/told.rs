//! What a client was told, and what a log must hold for it.

use std::collections::{BTreeMap, BTreeSet};

use agent_core::session::event::{Event, EventKind};
use serde_json::Value;

use crate::balance::balance;

/// What a client was told, as far as whole lines of it have come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// The session's id.
    pub session: Option<String>,
    /// A list had the session in it.
    pub listed: bool,
    /// The session was loaded to its end.
    pub loaded: bool,
    /// How many prompts were answered.
    pub answered: usize,
    /// Calls whose status is final.
    pub ended: BTreeSet<String>,
    /// Calls whose command's exit is known.
    pub exits: BTreeSet<String>,
    /// What commands printed, by call: they have begun.
    pub printed: BTreeMap<String, String>,
}

impl Told {
    /// Reads what a program has said.
    pub fn of(said: &[u8]) -> Self {
        let mut told = Self::default();
        let whole = said.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        let lines = said[..whole].split(|byte| *byte == b'\n');
        for message in lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok()) {
            told.note(&message);
        }
        told
    }

    fn note(&mut self, message: &Value) {
        // Ids tell what was asked.
        let asked = message["id"].as_str().unwrap_or_default();
        if let Some(result) = message.get("result") {
            let asked = asked.split(' ').next().unwrap_or_default();
            match asked {
                "session/new" => {
                    self.session = result["sessionId"].as_str().map(str::to_owned);
                }
                "session/list" => {
                    let sessions = result["sessions"].as_array();
                    self.listed = sessions.is_some_and(|sessions| !sessions.is_empty());
                }
                "session/load" => self.loaded = true,
                "session/prompt" => self.answered += 1,
                _ => {}
            }
        }
        let update = &message["params"]["update"];
        let Some(call) = update["toolCallId"].as_str() else {
            return;
        };
        if matches!(update["status"].as_str(), Some("completed" | "failed")) {
            self.ended.insert(call.to_owned());
        }
        if !update["_meta"]["terminal_exit"].is_null() {
            self.exits.insert(call.to_owned());
        }
        if let Some(data) = update["_meta"]["terminal_output"]["data"].as_str() {
            self.printed
                .entry(call.to_owned())
                .or_default()
                .push_str(data);
        }
    }

    /// What of it a log lacks, in words; `ran` are further calls that are known to have run.
    pub fn missing_in(&self, log: &[Event], ran: &BTreeSet<String>) -> Vec<String> {
        let mut calls = BTreeSet::new();
        let mut results = BTreeSet::new();
        let mut exits = BTreeSet::new();
        let mut turns = 0;
        for kind in log.iter().filter_map(|event| event.what.known()) {
            match kind {
                EventKind::ToolCall { call_id, .. } => {
                    calls.insert(call_id.clone());
                }
                EventKind::ToolResult { call_id, .. } => {
                    results.insert(call_id.clone());
                }
                EventKind::TerminalExit { call_id, .. } => {
                    exits.insert(call_id.clone());
                }
                EventKind::TurnEnd { .. } => turns += 1,
                _ => {}
            }
        }
        let lacks = |what: &str, told: &BTreeSet<String>, stored: &BTreeSet<String>| {
            told.difference(stored)
                .map(|call| format!("{what} of {call} is not in the log"))
                .collect::<Vec<_>>()
        };
        let begun = self.printed.keys().chain(ran).cloned().collect();
        let mut missing = lacks("the call", &begun, &calls);
        missing.extend(lacks("the result", &self.ended, &results));
        missing.extend(lacks("the exit", &self.exits, &exits));
        if self.listed && log.is_empty() {
            missing.push("the session was listed".to_owned());
        }
        if self.loaded
            && let Err(open) = balance(log)
        {
            missing.push(format!("the session was loaded: {open}"));
        }
        if turns < self.answered {
            let answered = self.answered;
            missing.push(format!(
                "{answered} prompts were answered, {turns} turns have ended"
            ));
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_core::session::event::{Entry, Trigger, TurnEndReason};
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn said() -> Told {
        let update =
            |update: Value| json!({"method": "session/update", "params": {"update": update}});
        let lines = [
            json!({"id": "session/new 2", "result": {"sessionId": "s"}}),
            json!({"id": "session/list 3", "result": {"sessions": [{"sessionId": "s"}]}}),
            update(
                json!({"sessionUpdate": "tool_call", "toolCallId": "call-1", "status": "pending"}),
            ),
            update(json!({"toolCallId": "call-1", "_meta": {"terminal_output": {"data": "on"}}})),
            update(json!({"toolCallId": "call-1", "_meta": {"terminal_output": {"data": "e"}}})),
            update(
                json!({"toolCallId": "call-1", "status": "completed", "_meta": {"terminal_exit": {"exit_code": 0}}}),
            ),
            json!({"id": "session/prompt 4", "result": {"stopReason": "end_turn"}}),
        ];
        let lines = lines.map(|line| line.to_string()).join("\n");
        // It died while it said the last of it.
        let torn = r#"{"id": "session/prompt 5", "result": {"stopReason": "end_turn"}}"#;
        Told::of(format!("{lines}\n{torn}").as_bytes())
    }

    #[test]
    fn only_whole_lines_count() {
        let calls = BTreeSet::from(["call-1".to_owned()]);
        let expected = Told {
            session: Some("s".to_owned()),
            listed: true,
            loaded: false,
            answered: 1,
            ended: calls.clone(),
            exits: calls,
            printed: BTreeMap::from([("call-1".to_owned(), "one".to_owned())]),
        };
        assert_eq!(said(), expected);
        assert_eq!(Told::of(b""), Told::default());
    }

    #[test]
    fn each_thing_that_was_told_is_looked_for() {
        let start = EventKind::TurnStart {
            trigger: Trigger::Prompt,
        };
        let call: EventKind = serde_json::from_value(json!({
            "type": "tool/call", "call_id": "call-1", "provider_id": "p", "name": "bash", "args": {"state": "json", "value": {}},
        }))
        .unwrap();
        let exit: EventKind = serde_json::from_value(
            json!({"type": "terminal/exit", "call_id": "call-1", "exit": {"code": 0}}),
        )
        .unwrap();
        let result: EventKind = serde_json::from_value(json!({
            "type": "tool/result", "call_id": "call-1", "content": "", "is_error": false,
        }))
        .unwrap();
        let end = EventKind::TurnEnd {
            reason: TurnEndReason::Completed,
        };
        let whole: Vec<Event> = [
            start,
            EventKind::StepStart,
            call,
            exit,
            result,
            EventKind::StepEnd,
            end,
        ]
        .into_iter()
        .enumerate()
        .map(|(seq, kind)| Event {
            seq: seq as u64,
            at: 0,
            what: Entry::Known(kind),
        })
        .collect();
        let lacking = |events: usize| said().missing_in(&whole[..events], &BTreeSet::new()).len();
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6, 7].map(lacking),
            [5, 4, 4, 3, 2, 1, 1, 0]
        );
        let loaded = Told {
            loaded: true,
            ..Told::default()
        };
        let lacking = |events: usize| loaded.missing_in(&whole[..events], &BTreeSet::new()).len();
        assert_eq!([0, 1, 4, 6, 7].map(lacking), [0, 1, 1, 1, 0]);
        let ran = BTreeSet::from(["call-2".to_owned()]);
        assert_eq!(
            said().missing_in(&whole, &ran),
            ["the call of call-2 is not in the log"]
        );
    }
}
