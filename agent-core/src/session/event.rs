//! The vocabulary of the log.
//!
//! It only grows: an event of a kind that this build does not know is kept word for word and skipped by everything
//! that derives from the log.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::model::{AssistantBlock, ToolArgs, Usage};
use crate::session::shown::{ShownCall, ShownResult};
use crate::shell::exit::Exit;
use crate::tool::presentation::Circumstances;

/// One entry of a session's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its place in the log, from 0 without gaps.
    pub seq: u64,
    /// When it happened: milliseconds of Unix time.
    pub at: u64,
    /// What happened.
    pub what: Entry,
}

/// What happened: a kind that this build knows, or one that it only keeps.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// Known.
    Known(EventKind),
    /// Of a newer build, word for word.
    Unknown(Value),
}

impl Entry {
    /// Reads an entry as it is stored. The same as deserializing it, in half the time: logs are long.
    pub fn from_json(text: &str) -> serde_json::Result<Self> {
        // A kind that is not known, or damage: whichever it is takes the careful way.
        serde_json::from_str(text)
            .map_or_else(|_| serde_json::from_str(text), |kind| Ok(Self::Known(kind)))
    }

    /// The kind, where this build knows it.
    pub fn known(&self) -> Option<&EventKind> {
        match self {
            Self::Known(kind) => Some(kind),
            Self::Unknown(_) => None,
        }
    }
}

/// Everything that a log can tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum EventKind {
    /// A turn begins.
    #[serde(rename = "turn/start")]
    TurnStart {
        /// What set it off.
        trigger: Trigger,
    },
    /// A step begins: one answer of the model with the calls that it asks for.
    #[serde(rename = "step/start")]
    StepStart,
    /// The person's words.
    #[serde(rename = "user/message")]
    UserMessage {
        /// Their text.
        text: String,
    },
    /// The model's words; complete, or as far as they came before a cancel or an error.
    #[serde(rename = "assistant/message")]
    AssistantMessage {
        /// Text, reasoning and calls, in order.
        blocks: Vec<AssistantBlock>,
    },
    /// A piece of streamed text of an answer that is not complete.
    #[serde(rename = "assistant/chunk")]
    AssistantChunk {
        /// The text.
        text: String,
    },
    /// A tool is about to run.
    #[serde(rename = "tool/call")]
    ToolCall {
        /// Ours, unique in the session.
        call_id: String,
        /// The id under which the model expects the result.
        provider_id: String,
        /// The tool's name.
        name: String,
        /// Its arguments.
        args: ToolArgs,
        /// How it was shown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Box<ShownCall>>,
    },
    /// A tool has answered.
    #[serde(rename = "tool/result")]
    ToolResult {
        /// The call.
        call_id: String,
        /// What the model reads.
        content: String,
        /// True when it failed or was refused.
        is_error: bool,
        /// Where the whole output is, when it lies outside the log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_ref: Option<String>,
        /// How it was shown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Box<ShownResult>>,
    },
    /// The command of a call has ended; also outside turns.
    #[serde(rename = "terminal/exit")]
    TerminalExit {
        /// The call.
        call_id: String,
        /// How it ended.
        exit: Exit,
        /// What the exit does not tell.
        #[serde(default, skip_serializing_if = "Circumstances::is_ordinary")]
        circumstances: Circumstances,
        /// What it printed, as kept for its card: the name of a [blob](crate::store::Blob). Nothing where it printed nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_ref: Option<String>,
    },
    /// The person decided on a call.
    #[serde(rename = "permission/decision")]
    PermissionDecision {
        /// The call.
        call_id: String,
        /// The decision.
        decision: Decision,
    },
    /// The plan changed.
    #[serde(rename = "plan")]
    Plan {
        /// The whole plan.
        entries: Value,
    },
    /// The title changed.
    #[serde(rename = "title")]
    Title {
        /// The new one.
        title: String,
    },
    /// An option of the session changed.
    #[serde(rename = "config")]
    Config {
        /// Which.
        option: String,
        /// To what.
        value: Value,
    },
    /// Tokens of a step.
    #[serde(rename = "usage")]
    Usage {
        /// As the provider counted.
        #[serde(flatten)]
        usage: Usage,
    },
    /// Something that the person was told and the model was not.
    #[serde(rename = "notice")]
    Notice {
        /// The words.
        text: String,
    },
    /// Something put into the session from outside the conversation.
    #[serde(rename = "injected")]
    Injected {
        /// What the model reads.
        text: String,
    },
    /// The transcript before this event was replaced by a summary.
    #[serde(rename = "compaction")]
    Compaction {
        /// The summary.
        summary: String,
    },
    /// What made a turn fail.
    #[serde(rename = "error")]
    Error {
        /// One line that says what to do.
        message: String,
    },
    /// The step is over.
    #[serde(rename = "step/end")]
    StepEnd,
    /// The turn is over.
    #[serde(rename = "turn/end")]
    TurnEnd {
        /// Why.
        reason: TurnEndReason,
    },
}

/// What set a turn off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// A prompt of the person.
    Prompt,
    /// Something injected while the session was idle.
    Injection,
}

/// What the person decided on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// Run it, this time.
    AllowOnce,
    /// Do not run it; the model is told.
    RejectOnce,
    /// The question was withdrawn with the turn: no refusal.
    Cancelled,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TurnEndReason {
    /// The model had nothing more to do.
    Completed,
    /// A step ran into the token limit.
    MaxTokens,
    /// The limit of steps was reached.
    MaxSteps,
    /// The model or its provider refused.
    Refusal,
    /// The person cancelled it.
    Cancelled,
    /// Something failed; an `error` event before it says what.
    Error,
    /// The session was closed, or the program ended.
    Disposed,
    /// The program died; found at the next load.
    Interrupted,
}

/// The kinds that this build knows, by their tag. `every_kind_is_listed` keeps it complete.
const KNOWN: &[&str] = &[
    "turn/start",
    "step/start",
    "user/message",
    "assistant/message",
    "assistant/chunk",
    "tool/call",
    "tool/result",
    "terminal/exit",
    "permission/decision",
    "plan",
    "title",
    "config",
    "usage",
    "notice",
    "injected",
    "compaction",
    "error",
    "step/end",
    "turn/end",
];

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Known(kind) => kind.serialize(serializer),
            Self::Unknown(value) => value.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Entry {
    /// An unknown tag is kept; a known one with the wrong fields is an error: that is damage, not news.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let tag = value
            .get("type")
            .and_then(Value::as_str)
            .ok_or_else(|| D::Error::custom("an event without a `type`"))?;
        if KNOWN.contains(&tag) {
            serde_json::from_value(value)
                .map(Self::Known)
                .map_err(D::Error::custom)
        } else {
            Ok(Self::Unknown(value))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn one_of_each() -> Vec<EventKind> {
        vec![
            EventKind::TurnStart {
                trigger: Trigger::Prompt,
            },
            EventKind::StepStart,
            EventKind::UserMessage { text: "hi".into() },
            EventKind::AssistantMessage {
                blocks: vec![AssistantBlock::Text { text: "yes".into() }],
            },
            EventKind::AssistantChunk { text: "y".into() },
            EventKind::ToolCall {
                call_id: "call-1".into(),
                provider_id: "p".into(),
                name: "bash".into(),
                args: ToolArgs::Json(json!({"command": "ls"})),
                shown: None,
            },
            EventKind::ToolResult {
                call_id: "call-1".into(),
                content: "[exit 0]".into(),
                is_error: false,
                output_ref: None,
                shown: None,
            },
            EventKind::TerminalExit {
                call_id: "call-1".into(),
                exit: Exit::Signal("SIGKILL".into()),
                circumstances: Circumstances::default(),
                output_ref: None,
            },
            EventKind::PermissionDecision {
                call_id: "call-1".into(),
                decision: Decision::AllowOnce,
            },
            EventKind::Plan { entries: json!([]) },
            EventKind::Title { title: "t".into() },
            EventKind::Config {
                option: "model".into(),
                value: json!("offline"),
            },
            EventKind::Usage {
                usage: Usage {
                    input_tokens: 1,
                    output_tokens: 2,
                },
            },
            EventKind::Notice { text: "n".into() },
            EventKind::Injected { text: "i".into() },
            EventKind::Compaction {
                summary: "s".into(),
            },
            EventKind::Error {
                message: "e".into(),
            },
            EventKind::StepEnd,
            EventKind::TurnEnd {
                reason: TurnEndReason::MaxSteps,
            },
        ]
    }

    #[test]
    fn every_kind_is_listed_and_survives_being_stored() {
        let kinds = one_of_each();
        let mut tags = Vec::new();
        for kind in kinds {
            let entry = Entry::Known(kind);
            let stored = serde_json::to_value(&entry).unwrap();
            tags.push(stored["type"].as_str().unwrap().to_owned());
            assert_eq!(Entry::from_json(&stored.to_string()).unwrap(), entry);
            assert_eq!(serde_json::from_value::<Entry>(stored).unwrap(), entry);
        }
        assert_eq!(tags, KNOWN);
    }

    #[test]
    fn news_is_kept_and_damage_is_an_error() {
        let news = json!({"type": "hologram", "of": [1, 2]});
        let entry: Entry = serde_json::from_value(news.clone()).unwrap();
        assert_eq!(entry, Entry::Unknown(news.clone()));
        assert_eq!(serde_json::to_value(&entry).unwrap(), news);
        assert_eq!(Entry::from_json(&news.to_string()).unwrap(), entry);
        assert!(serde_json::from_value::<Entry>(json!({"type": "tool/call"})).is_err());
        assert!(Entry::from_json(r#"{"type": "tool/call"}"#).is_err());
        assert!(serde_json::from_value::<Entry>(json!({"no": "type"})).is_err());
    }
}
