//! Answers for programs.

use std::fmt::Write as _;

use agent_core::store::{Damage, DamagedAt, SessionSummary};
use serde::Serialize;
use serde_json::{Value, json};

/// One line of JSON. It may be read on a terminal too, which takes some characters for orders that JSON lets stand.
pub(crate) fn line(value: &impl Serialize) -> String {
    let mut text = in_line(value);
    text.push('\n');
    text
}

/// The same without the end of the line.
pub(crate) fn in_line(value: &impl Serialize) -> String {
    // What is serialized here are our own values: their keys are texts, and nothing in them refuses.
    let json = serde_json::to_string(value).unwrap_or_default();
    if !json.contains(is_order) {
        return json;
    }
    let mut text = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_order(character) {
            // Only strings hold such characters. Writing to a string does not fail.
            let _ = write!(text, "\\u{:04x}", u32::from(character));
        } else {
            text.push(character);
        }
    }
    text
}

fn is_order(character: char) -> bool {
    matches!(character, '\u{7f}'..='\u{9f}')
}

/// A session in an answer.
pub(crate) fn session(summary: &SessionSummary) -> Value {
    let header = &summary.header;
    json!({
        "id": header.id,
        "title": summary.title,
        "cwd": header.cwd.to_string_lossy(),
        "created_at": header.created_at,
        "updated_at": summary.updated_at,
        "events": summary.events,
        "archived": summary.archived,
        "model": header.model,
        "program_version": header.program_version,
        "forked_from": header.forked_from,
    })
}

/// Damage in an answer.
pub(crate) fn damage(damage: &Damage) -> Value {
    let (line, event) = match damage.at {
        Some(DamagedAt::Line(line)) => (Some(line), None),
        Some(DamagedAt::Event(event)) => (None, Some(event)),
        None => (None, None),
    };
    json!({"place": damage.place, "line": line, "event": event, "reason": damage.reason})
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_terminal_takes_no_orders_from_json() {
        let value = json!({"a\u{9b}b": "\u{1b}[2J\u{7f}\u{85}é\n"});
        let text = line(&value);
        assert_eq!(text, "{\"a\\u009bb\":\"\\u001b[2J\\u007f\\u0085é\\n\"}\n");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn damage_names_a_line_or_an_event() {
        let wrong = |at| Damage {
            place: "a.jsonl".to_owned(),
            at,
            reason: "torn".to_owned(),
        };
        assert_eq!(
            damage(&wrong(Some(DamagedAt::Line(3)))),
            json!({"place": "a.jsonl", "line": 3, "event": null, "reason": "torn"})
        );
        assert_eq!(
            damage(&wrong(Some(DamagedAt::Event(2)))),
            json!({"place": "a.jsonl", "line": null, "event": 2, "reason": "torn"})
        );
    }
}
