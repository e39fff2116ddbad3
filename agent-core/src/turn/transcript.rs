//! From the log to what a model is asked to continue.

use std::collections::HashMap;

use crate::model::{Message, ToolResultMessage};
use crate::session::event::{Event, EventKind};

/// The messages that a log stands for: roles alternate as providers demand, each call is followed by its result.
pub fn messages(events: &[Event]) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut provider_ids: HashMap<&str, &str> = HashMap::new();
    for kind in events.iter().filter_map(|event| event.what.known()) {
        match kind {
            EventKind::UserMessage { text } | EventKind::Injected { text } => {
                push_user(&mut messages, text);
            }
            EventKind::Compaction { summary } => {
                messages.clear();
                push_user(&mut messages, summary);
            }
            EventKind::AssistantMessage { blocks } if !blocks.is_empty() => {
                match messages.last_mut() {
                    Some(Message::Assistant { blocks: before }) => before.extend_from_slice(blocks),
                    _ => messages.push(Message::Assistant {
                        blocks: blocks.clone(),
                    }),
                }
            }
            EventKind::ToolCall {
                call_id,
                provider_id,
                ..
            } => {
                provider_ids.insert(call_id, provider_id);
            }
            EventKind::ToolResult {
                call_id,
                content,
                is_error,
                ..
            } => {
                let Some(provider_id) = provider_ids.get(call_id.as_str()) else {
                    continue;
                };
                let result = ToolResultMessage {
                    provider_id: (*provider_id).to_owned(),
                    content: content.clone(),
                    is_error: *is_error,
                };
                match messages.last_mut() {
                    Some(Message::ToolResults { results }) => results.push(result),
                    _ => messages.push(Message::ToolResults {
                        results: vec![result],
                    }),
                }
            }
            _ => {}
        }
    }
    messages
}

/// A prompt after a turn without an answer joins the prompt before it.
fn push_user(messages: &mut Vec<Message>, text: &str) {
    match messages.last_mut() {
        Some(Message::User { text: before }) => {
            before.push_str("\n\n");
            before.push_str(text);
        }
        _ => messages.push(Message::User {
            text: text.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AssistantBlock, ToolArgs};
    use crate::session::event::{Entry, Trigger, TurnEndReason};
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn derive(kinds: Vec<EventKind>) -> Vec<Message> {
        let events: Vec<Event> = kinds
            .into_iter()
            .enumerate()
            .map(|(seq, kind)| Event {
                seq: seq as u64,
                at: 0,
                what: Entry::Known(kind),
            })
            .collect();
        messages(&events)
    }

    fn user(text: &str) -> EventKind {
        EventKind::UserMessage { text: text.into() }
    }

    #[test]
    fn each_call_is_followed_by_its_result_under_the_providers_own_id() {
        let args = ToolArgs::Json(json!({"command": "ls"}));
        let blocks = vec![
            AssistantBlock::Text {
                text: "look".into(),
            },
            AssistantBlock::ToolCall {
                provider_id: "x".into(),
                name: "bash".into(),
                args: args.clone(),
            },
        ];
        let log = vec![
            EventKind::TurnStart {
                trigger: Trigger::Prompt,
            },
            user("go"),
            EventKind::StepStart,
            EventKind::AssistantMessage {
                blocks: blocks.clone(),
            },
            EventKind::ToolCall {
                call_id: "call-1".into(),
                provider_id: "x".into(),
                name: "bash".into(),
                args,
            },
            EventKind::ToolResult {
                call_id: "call-1".into(),
                content: "[exit 0]".into(),
                is_error: false,
                output_ref: None,
            },
            EventKind::StepEnd,
            EventKind::TurnEnd {
                reason: TurnEndReason::Completed,
            },
        ];
        assert_eq!(
            derive(log),
            vec![
                Message::User { text: "go".into() },
                Message::Assistant { blocks },
                Message::ToolResults {
                    results: vec![ToolResultMessage {
                        provider_id: "x".into(),
                        content: "[exit 0]".into(),
                        is_error: false
                    }]
                },
            ]
        );
    }

    #[test]
    fn a_prompt_without_an_answer_joins_the_next_one() {
        let log = vec![
            user("one"),
            EventKind::AssistantMessage { blocks: vec![] },
            user("two"),
        ];
        assert_eq!(
            derive(log),
            vec![Message::User {
                text: "one\n\ntwo".into()
            }]
        );
    }
}
