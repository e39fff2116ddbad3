//! Reads the wire of a connection with many sessions, and finds what has crossed from one into another.
//!
//! Each session bears a mark: it stands in its folder's name, in its prompts and in all that its commands print, and nowhere else.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A message, and who sent it.
#[derive(Debug, Clone)]
pub enum Wire {
    Ours(Value),
    Agents(Value),
}

/// A session as the checker follows it.
#[derive(Debug, Default)]
struct Followed {
    mark: String,
    /// The terminal of each call that was announced, and whether it was closed.
    calls: BTreeMap<String, bool>,
    /// The prompt, and whether it was cancelled or its session closed.
    prompt: Option<Prompt>,
    /// Its past is being told.
    loading: bool,
    /// It was closed, and that was answered.
    over: bool,
}

#[derive(Debug)]
struct Prompt {
    id: i64,
    stopped: bool,
}

#[derive(Debug, Default)]
struct Checker {
    sessions: BTreeMap<String, Followed>,
    /// What our requests asked of which session.
    asked: BTreeMap<i64, (String, String)>,
    found: Vec<String>,
}

/// Everything that has crossed, in words; `marks` are those of each session.
pub fn crossings(wire: &[Wire], marks: &BTreeMap<String, String>) -> Vec<String> {
    let mut checker = Checker::default();
    for (session, mark) in marks {
        let followed = Followed {
            mark: mark.clone(),
            ..Followed::default()
        };
        checker.sessions.insert(session.clone(), followed);
    }
    for message in wire {
        match message {
            Wire::Ours(message) => checker.ours(message),
            Wire::Agents(message) if message.get("method").is_some() => checker.told(message),
            Wire::Agents(message) => checker.answered(message),
        }
    }
    checker.rest();
    checker.found
}

fn session(message: &Value) -> &str {
    message["params"]["sessionId"].as_str().unwrap_or_default()
}

impl Checker {
    fn ours(&mut self, message: &Value) {
        let method = message["method"].as_str().unwrap_or_default();
        let id = message["id"].as_i64();
        if let Some(id) = id {
            let asked = (method.to_owned(), session(message).to_owned());
            self.asked.insert(id, asked);
        }
        let Some(followed) = self.sessions.get_mut(session(message)) else {
            return;
        };
        match (method, id) {
            ("session/prompt", Some(id)) => followed.prompt = Some(Prompt { id, stopped: false }),
            ("session/cancel" | "session/close", _) => {
                if let Some(prompt) = &mut followed.prompt {
                    prompt.stopped = true;
                }
            }
            ("session/load", _) => {
                followed.loading = true;
                followed.calls.clear();
            }
            _ => {}
        }
    }

    fn told(&mut self, message: &Value) {
        let session = session(message).to_owned();
        let text = message.to_string();
        for (other, followed) in &self.sessions {
            if *other != session && text.contains(&followed.mark) {
                let mark = &followed.mark;
                self.found.push(format!("{mark} in {session}: {text}"));
            }
        }
        let Some(followed) = self.sessions.get_mut(&session) else {
            self.found.push(format!("of no session: {text}"));
            return;
        };
        if followed.over {
            self.found
                .push(format!("after the end of {session}: {text}"));
        }
        let update = &message["params"]["update"];
        let Some(call) = update["toolCallId"].as_str() else {
            return;
        };
        if followed.prompt.is_none() && !followed.loading {
            self.found
                .push(format!("outside of a turn of {session}: {text}"));
        }
        if update["sessionUpdate"] == "tool_call" {
            let cwd = update["_meta"]["terminal_info"]["cwd"].as_str();
            if !cwd.is_some_and(|cwd| cwd.contains(&followed.mark)) {
                self.found
                    .push(format!("not in the folder of {session}: {text}"));
            }
            if followed.calls.insert(call.to_owned(), false).is_some() {
                self.found
                    .push(format!("announced twice in {session}: {text}"));
            }
            return;
        }
        let Some(closed) = followed.calls.get_mut(call) else {
            self.found
                .push(format!("never announced in {session}: {text}"));
            return;
        };
        let meta = update["_meta"].as_object();
        for part in meta.into_iter().flat_map(|meta| meta.values()) {
            let terminal = part["terminal_id"].as_str();
            if terminal.is_some_and(|id| id != format!("terminal-{call}")) {
                self.found.push(format!("of another call: {text}"));
            }
        }
        if !update["_meta"]["terminal_exit"].is_null() && std::mem::replace(closed, true) {
            self.found
                .push(format!("closed twice in {session}: {text}"));
        }
    }

    fn answered(&mut self, message: &Value) {
        let asked = message["id"].as_i64().and_then(|id| self.asked.remove(&id));
        let Some((method, session)) = asked else {
            self.found.push(format!("an answer to nothing: {message}"));
            return;
        };
        if let Some(error) = message.get("error") {
            self.found
                .push(format!("{method} of {session} has failed: {error}"));
        }
        let Some(followed) = self.sessions.get_mut(&session) else {
            return;
        };
        match method.as_str() {
            "session/prompt" => {
                let prompt = followed.prompt.take();
                let stopped = prompt
                    .filter(|prompt| Some(prompt.id) == message["id"].as_i64())
                    .is_some_and(|prompt| prompt.stopped);
                if (message["result"]["stopReason"] == "cancelled") != stopped {
                    let was = if stopped { "was" } else { "was not" };
                    self.found
                        .push(format!("{session} {was} cancelled: {message}"));
                }
            }
            "session/close" => followed.over = true,
            "session/load" => followed.loading = false,
            _ => {}
        }
    }

    /// What is missing at the end.
    fn rest(&mut self) {
        for (method, session) in self.asked.values() {
            self.found
                .push(format!("{method} of {session} was not answered"));
        }
        for (session, followed) in &self.sessions {
            let open: BTreeSet<&String> = followed
                .calls
                .iter()
                .filter(|(_, closed)| !**closed)
                .map(|(call, _)| call)
                .collect();
            if !open.is_empty() {
                self.found
                    .push(format!("never closed in {session}: {open:?}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn update(session: &str, update: &Value) -> Wire {
        let params = json!({"sessionId": session, "update": update});
        Wire::Agents(json!({"method": "session/update", "params": params}))
    }

    fn announced(session: &str, mark: &str) -> Wire {
        let info = json!({"terminal_id": "terminal-call-1", "cwd": format!("/{mark}")});
        update(
            session,
            &json!({"sessionUpdate": "tool_call", "toolCallId": "call-1", "_meta": {"terminal_info": info}}),
        )
    }

    fn printed(session: &str, data: &str) -> Wire {
        let output = json!({"terminal_id": "terminal-call-1", "data": data});
        update(
            session,
            &json!({"sessionUpdate": "tool_call_update", "toolCallId": "call-1", "_meta": {"terminal_output": output}}),
        )
    }

    fn exited(session: &str) -> Wire {
        let exit = json!({"terminal_id": "terminal-call-1", "exit_code": 0, "signal": null});
        update(
            session,
            &json!({"sessionUpdate": "tool_call_update", "toolCallId": "call-1", "_meta": {"terminal_exit": exit}}),
        )
    }

    fn asked(id: i64, method: &str, session: &str) -> Wire {
        Wire::Ours(json!({"id": id, "method": method, "params": {"sessionId": session}}))
    }

    fn answered(id: i64, reason: &str) -> Wire {
        Wire::Agents(json!({"id": id, "result": {"stopReason": reason}}))
    }

    /// Two sessions side by side: one ends by itself, the other is cancelled and closed.
    fn clean() -> Vec<Wire> {
        vec![
            asked(1, "session/prompt", "a"),
            asked(2, "session/prompt", "b"),
            announced("a", "mark-a"),
            announced("b", "mark-b"),
            printed("b", "mark-b"),
            printed("a", "mark-a"),
            Wire::Ours(json!({"method": "session/cancel", "params": {"sessionId": "b"}})),
            exited("a"),
            exited("b"),
            answered(2, "cancelled"),
            answered(1, "end_turn"),
            asked(3, "session/close", "b"),
            answered(3, ""),
        ]
    }

    fn found(wire: &[Wire]) -> Vec<String> {
        let marks = [("a", "mark-a"), ("b", "mark-b")];
        let marks = marks.map(|(session, mark)| (session.to_owned(), mark.to_owned()));
        crossings(wire, &marks.into())
    }

    /// How a clean wire is spoilt.
    type Spoil = fn(&mut Vec<Wire>);

    #[test]
    fn a_crossing_that_was_planted_is_found_and_a_clean_wire_is_clean() {
        assert_eq!(found(&clean()), [] as [String; 0]);
        let table: [(&str, Spoil); 14] = [
            ("mark-b in a:", |wire| wire[4] = printed("a", "mark-b")),
            ("of no session:", |wire| wire[4] = printed("c", "x")),
            ("never announced in b:", |wire| {
                wire.swap(3, 4);
            }),
            ("announced twice in a:", |wire| {
                wire[4] = announced("a", "mark-a");
            }),
            ("not in the folder of a:", |wire| {
                wire[2] = announced("a", "tmp");
            }),
            ("of another call:", |wire| {
                let Wire::Agents(message) = &mut wire[4] else {
                    panic!()
                };
                message["params"]["update"]["_meta"]["terminal_output"]["terminal_id"] =
                    "terminal-call-2".into();
            }),
            ("closed twice in a:", |wire| wire[8] = exited("a")),
            ("never closed in b:", |wire| wire[8] = printed("b", "x")),
            ("b was cancelled:", |wire| wire[9] = answered(2, "end_turn")),
            ("a was not cancelled:", |wire| {
                wire[10] = answered(1, "cancelled");
            }),
            ("session/prompt of a was not answered", |wire| {
                wire.remove(10);
            }),
            ("an answer to nothing:", |wire| wire.push(answered(7, ""))),
            ("after the end of b:", |wire| {
                wire.push(printed("b", "late"));
            }),
            ("outside of a turn of a:", |wire| {
                wire.push(printed("a", "late"));
            }),
        ];
        for (words, spoil) in table {
            let mut wire = clean();
            spoil(&mut wire);
            let found = found(&wire);
            assert!(
                found.iter().any(|found| found.starts_with(words)),
                "{words} {found:#?}"
            );
        }
    }
}
