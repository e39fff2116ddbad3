//! From the log to what a model is asked to continue.

use std::collections::{HashMap, HashSet};

use crate::model::{AssistantBlock, Message, ToolArgs, ToolResultMessage};
use crate::session::event::{Event, EventKind, Trigger, TurnEndReason};
use crate::session::standing::MODEL;
use crate::shell::exit::Exit;
use crate::tool::presentation::Circumstances;

/// The messages that a log stands for, event by event: roles alternate as providers demand, each call is followed by its
/// result, and reasoning goes back to the model that wrote it alone.
#[derive(Debug, Clone)]
pub struct Transcript {
    messages: Vec<Message>,
    provider_ids: HashMap<String, String>,
    /// Calls without a result.
    open: HashSet<String>,
    background: Background,
    /// The model that answers.
    model: String,
    /// The turn wraps what was injected: the model was not asked.
    injected: bool,
}

impl Transcript {
    /// Of a session that began with this model.
    pub fn new(model: &str) -> Self {
        Self {
            messages: Vec::new(),
            provider_ids: HashMap::new(),
            open: HashSet::new(),
            background: Background::default(),
            model: model.to_owned(),
            injected: false,
        }
    }

    /// What a model is asked to continue.
    pub fn messages(&self) -> Vec<Message> {
        let mut messages = self.messages.clone();
        self.background.clone().tell(&mut messages);
        messages
    }

    /// Takes in the next event.
    pub fn note(&mut self, event: &Event) {
        let Some(kind) = event.what.known() else {
            return;
        };
        let messages = &mut self.messages;
        match kind {
            // Nothing may stand between calls and their results.
            EventKind::Injected { text } if !self.open.is_empty() => {
                self.background.untold.push(text.clone());
            }
            EventKind::UserMessage { text } | EventKind::Injected { text } => {
                self.background.tell(messages);
                push_user(messages, text);
            }
            EventKind::Compaction { summary } => {
                messages.clear();
                push_user(messages, summary);
            }
            EventKind::AssistantMessage { blocks } if !blocks.is_empty() => {
                self.background.tell(messages);
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
                args,
                ..
            } => {
                self.provider_ids
                    .insert(call_id.clone(), provider_id.clone());
                self.open.insert(call_id.clone());
                self.background.called(call_id, args);
            }
            EventKind::TerminalExit {
                call_id,
                exit,
                circumstances,
                ..
            } => self.background.ended(call_id, exit, *circumstances),
            EventKind::ToolResult {
                call_id,
                content,
                is_error,
                ..
            } => {
                let Some(provider_id) = self.provider_ids.get(call_id) else {
                    return;
                };
                self.open.remove(call_id);
                self.background.answered(call_id);
                let result = ToolResultMessage {
                    provider_id: provider_id.clone(),
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
            EventKind::TurnStart { trigger } => self.injected = *trigger == Trigger::Injection,
            EventKind::TurnEnd { reason } if !self.injected => close_turn(messages, *reason),
            EventKind::Config { option, value } if option == MODEL => {
                if let Some(model) = value.as_str()
                    && *model != self.model
                {
                    model.clone_into(&mut self.model);
                    forget_reasoning(messages);
                }
            }
            _ => {}
        }
    }
}

/// Another model answers from here on: what the one before thought is its own, and signed for it alone.
fn forget_reasoning(messages: &mut [Message]) {
    for message in messages {
        if let Message::Assistant { blocks } = message {
            blocks.retain(|block| !matches!(block, AssistantBlock::Reasoning { .. }));
            if blocks.is_empty() {
                // Roles have to alternate.
                blocks.push(AssistantBlock::Text {
                    text: "(No words.)".to_owned(),
                });
            }
        }
    }
}

/// Commands whose end comes after their call's result: the model learns of it at its next step.
#[derive(Debug, Clone, Default)]
struct Background {
    /// Lines of calls, of those that may still end.
    lines: HashMap<String, String>,
    answered: HashSet<String>,
    untold: Vec<String>,
}

impl Background {
    fn called(&mut self, call_id: &str, args: &ToolArgs) {
        if let ToolArgs::Json(args) = args
            && let Some(line) = args.get("command").and_then(serde_json::Value::as_str)
        {
            self.lines.insert(call_id.to_owned(), line.to_owned());
        }
    }

    fn answered(&mut self, call_id: &str) {
        // One that has ended already is told by its result.
        if self.lines.contains_key(call_id) {
            self.answered.insert(call_id.to_owned());
        }
    }

    fn ended(&mut self, call_id: &str, exit: &Exit, circumstances: Circumstances) {
        let line = self.lines.remove(call_id).unwrap_or_default();
        if !self.answered.remove(call_id) {
            return;
        }
        let stopped = if circumstances.stopped {
            "stopped, "
        } else {
            ""
        };
        let left = if circumstances.left_running {
            "; it left processes running"
        } else {
            ""
        };
        self.untold.push(format!(
            "(The command in the background {call_id} has ended: {stopped}{exit}{left}. bash_output returns what it printed last. It was: {line})"
        ));
    }

    /// Where it may stand: behind whole answers and results, before the model's next words.
    fn tell(&mut self, messages: &mut Vec<Message>) {
        if !self.untold.is_empty() {
            let text = std::mem::take(&mut self.untold).join("\n");
            messages.push(Message::Note { text });
        }
    }
}

/// Gives a turn that ended without the model's last word one: a request that was withdrawn must not look as if it
/// still stood, and the next prompt must not join it.
fn close_turn(messages: &mut Vec<Message>, reason: TurnEndReason) {
    drop_unanswered(messages);
    let word = match reason {
        TurnEndReason::Completed | TurnEndReason::MaxTokens | TurnEndReason::Refusal => None,
        TurnEndReason::MaxSteps => Some("(The limit of steps ended this turn.)"),
        TurnEndReason::Cancelled => {
            Some("(The person cancelled this turn; what they asked in it no longer stands.)")
        }
        TurnEndReason::Disposed | TurnEndReason::Interrupted => {
            Some("(This turn was broken off when the program ended.)")
        }
        TurnEndReason::Error => Some("(This turn failed before it was finished.)"),
    };
    let block = |word: &str| AssistantBlock::Text {
        text: word.to_owned(),
    };
    match (messages.last_mut(), word) {
        (Some(Message::Assistant { blocks }), Some(word)) => blocks.push(block(word)),
        (Some(Message::Assistant { .. }) | None, _) => {}
        (Some(_), word) => {
            let blocks = vec![block(
                word.unwrap_or("(This turn ended without an answer.)"),
            )];
            messages.push(Message::Assistant { blocks });
        }
    }
}

/// Takes calls out of the last answer that have no result. A crash can tear a log between an answer and the calls in it; they
/// never ran, and no provider takes a call without a result.
fn drop_unanswered(messages: &mut [Message]) {
    let is_answer = |message: &Message| matches!(message, Message::Assistant { .. });
    let Some(at) = messages.iter().rposition(is_answer) else {
        return;
    };
    let (before, behind) = messages.split_at_mut(at + 1);
    let Some(Message::Assistant { blocks: answers }) = before.last_mut() else {
        return;
    };
    let results = match behind.first() {
        Some(Message::ToolResults { results }) => results.as_slice(),
        _ => &[],
    };
    answers.retain(|block| match block {
        AssistantBlock::ToolCall { provider_id, .. } => results
            .iter()
            .any(|result| result.provider_id == *provider_id),
        _ => true,
    });
}

/// What is injected behind a prompt joins it.
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
    use crate::session::event::Entry;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn derive(kinds: Vec<EventKind>) -> Vec<Message> {
        let mut transcript = Transcript::new("offline");
        for kind in kinds {
            transcript.note(&Event {
                seq: 0,
                at: 0,
                what: Entry::Known(kind),
            });
        }
        transcript.messages()
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
                shown: None,
            },
            EventKind::ToolResult {
                call_id: "call-1".into(),
                content: "[exit 0]".into(),
                is_error: false,
                output_ref: None,
                shown: None,
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
    fn a_prompt_that_was_withdrawn_does_not_join_the_next_one() {
        let turn = |text: &str, reason| {
            vec![
                EventKind::TurnStart {
                    trigger: Trigger::Prompt,
                },
                user(text),
                EventKind::TurnEnd { reason },
            ]
        };
        let log = [
            turn("remove it", TurnEndReason::Cancelled),
            turn("look at it", TurnEndReason::Error),
            vec![user("list it")],
        ];
        let said = |text: &str| Message::Assistant {
            blocks: vec![AssistantBlock::Text { text: text.into() }],
        };
        let asked = |text: &str| Message::User { text: text.into() };
        assert_eq!(
            derive(log.concat()),
            vec![
                asked("remove it"),
                said("(The person cancelled this turn; what they asked in it no longer stands.)"),
                asked("look at it"),
                said("(This turn failed before it was finished.)"),
                asked("list it"),
            ]
        );
    }

    #[test]
    fn a_turn_cut_short_after_its_tools_ends_with_a_word_of_its_own() {
        let call = EventKind::ToolCall {
            call_id: "call-1".into(),
            provider_id: "x".into(),
            name: "bash".into(),
            args: ToolArgs::Json(json!({})),
            shown: None,
        };
        let blocks = vec![AssistantBlock::ToolCall {
            provider_id: "x".into(),
            name: "bash".into(),
            args: ToolArgs::Json(json!({})),
        }];
        let result = EventKind::ToolResult {
            call_id: "call-1".into(),
            content: "[exit 0]".into(),
            is_error: false,
            output_ref: None,
            shown: None,
        };
        let log = vec![
            user("go"),
            EventKind::AssistantMessage { blocks },
            call,
            result,
            EventKind::TurnEnd {
                reason: TurnEndReason::MaxSteps,
            },
            user("go on"),
        ];
        let roles: Vec<&str> = derive(log)
            .iter()
            .map(|message| match message {
                Message::User { .. } => "user",
                Message::Note { .. } => "note",
                Message::Assistant { .. } => "assistant",
                Message::ToolResults { .. } => "results",
            })
            .collect();
        assert_eq!(roles, ["user", "assistant", "results", "assistant", "user"]);
    }

    #[test]
    fn the_end_of_a_background_command_is_told_behind_whole_results() {
        let call = |id: &str| EventKind::ToolCall {
            call_id: id.into(),
            provider_id: id.into(),
            name: "bash".into(),
            args: ToolArgs::Json(json!({"command": "serve"})),
            shown: None,
        };
        let result = |id: &str| EventKind::ToolResult {
            call_id: id.into(),
            content: "[running]".into(),
            is_error: false,
            output_ref: None,
            shown: None,
        };
        let exit = |id: &str| EventKind::TerminalExit {
            call_id: id.into(),
            exit: Exit::Code(1),
            circumstances: Circumstances::default(),
            output_ref: None,
        };
        let said = |text: &str| EventKind::AssistantMessage {
            blocks: vec![AssistantBlock::Text { text: text.into() }],
        };
        let log = vec![
            user("go"),
            said("a"),
            call("call-1"),
            result("call-1"),
            said("b"),
            call("call-2"),
            exit("call-1"),
            // Of a command in the foreground the result tells.
            exit("call-2"),
            result("call-2"),
            said("c"),
        ];
        let told: Vec<String> = derive(log)
            .into_iter()
            .map(|message| match message {
                Message::Note { text } => text,
                Message::ToolResults { results } => results[0].provider_id.clone(),
                Message::User { .. } => "user".into(),
                Message::Assistant { .. } => "assistant".into(),
            })
            .collect();
        let note = "(The command in the background call-1 has ended: exit 1. bash_output returns what it printed last. It was: serve)";
        assert_eq!(
            told,
            [
                "user",
                "assistant",
                "call-1",
                "assistant",
                "call-2",
                note,
                "assistant"
            ]
        );
    }

    #[test]
    fn what_is_injected_into_an_idle_session_waits_for_the_next_prompt() {
        let log = vec![
            EventKind::TurnStart {
                trigger: Trigger::Injection,
            },
            EventKind::Injected { text: "one".into() },
            EventKind::TurnEnd {
                reason: TurnEndReason::Completed,
            },
            EventKind::TurnStart {
                trigger: Trigger::Prompt,
            },
            user("two"),
        ];
        let joined = Message::User {
            text: "one\n\ntwo".into(),
        };
        assert_eq!(derive(log), vec![joined]);
    }

    #[test]
    fn what_is_injected_while_a_call_runs_stands_behind_its_result() {
        let call = AssistantBlock::ToolCall {
            provider_id: "p".into(),
            name: "bash".into(),
            args: ToolArgs::Json(json!({})),
        };
        let log = vec![
            user("go"),
            EventKind::AssistantMessage { blocks: vec![call] },
            EventKind::ToolCall {
                call_id: "call-1".into(),
                provider_id: "p".into(),
                name: "bash".into(),
                args: ToolArgs::Json(json!({})),
                shown: None,
            },
            EventKind::Injected {
                text: "by the way".into(),
            },
            EventKind::ToolResult {
                call_id: "call-1".into(),
                content: "[exit 0]".into(),
                is_error: false,
                output_ref: None,
                shown: None,
            },
        ];
        let roles: Vec<String> = derive(log)
            .iter()
            .map(|message| match message {
                Message::User { text } | Message::Note { text } => text.clone(),
                Message::Assistant { .. } => "assistant".into(),
                Message::ToolResults { .. } => "results".into(),
            })
            .collect();
        assert_eq!(roles, ["go", "assistant", "results", "by the way"]);
    }

    #[test]
    fn a_call_that_a_crash_has_torn_off_is_not_asked_for_again() {
        let call = AssistantBlock::ToolCall {
            provider_id: "p".into(),
            name: "bash".into(),
            args: ToolArgs::Json(json!({})),
        };
        let end = EventKind::TurnEnd {
            reason: TurnEndReason::Interrupted,
        };
        let log = vec![
            user("go"),
            EventKind::AssistantMessage { blocks: vec![call] },
            end,
        ];
        let word = "(This turn was broken off when the program ended.)";
        let told = vec![
            Message::User { text: "go".into() },
            Message::Assistant {
                blocks: vec![AssistantBlock::Text { text: word.into() }],
            },
        ];
        assert_eq!(derive(log), told);
    }

    #[test]
    fn reasoning_goes_back_to_the_model_that_wrote_it_alone() {
        let thought = AssistantBlock::Reasoning {
            text: "hm".into(),
            signatures: vec!["s".into()],
        };
        let said = AssistantBlock::Text { text: "yes".into() };
        let mut log = vec![
            user("go"),
            EventKind::AssistantMessage {
                blocks: vec![thought.clone(), said.clone()],
            },
        ];
        let answered = |blocks: Vec<AssistantBlock>| {
            vec![
                Message::User { text: "go".into() },
                Message::Assistant { blocks },
            ]
        };
        let same = EventKind::Config {
            option: MODEL.into(),
            value: "offline".into(),
        };
        log.push(same);
        assert_eq!(derive(log.clone()), answered(vec![thought, said.clone()]));
        log.push(EventKind::Config {
            option: MODEL.into(),
            value: "openai/other".into(),
        });
        assert_eq!(derive(log), answered(vec![said]));
    }

    #[test]
    fn what_is_injected_joins_the_prompt_before_it() {
        let log = vec![
            user("one"),
            EventKind::AssistantMessage { blocks: vec![] },
            EventKind::Injected { text: "two".into() },
        ];
        let joined = Message::User {
            text: "one\n\ntwo".into(),
        };
        assert_eq!(derive(log), vec![joined]);
    }
}
