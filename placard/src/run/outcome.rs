//! What became of the turn.

use serde_json::Value;

use crate::stop::Stop;

/// The end of `placard run`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The agent ended its turn: whatever its commands' exit codes, the turn did not fail.
    Ended,
    /// The turn ended otherwise.
    Failed(String),
    /// The person cancelled it.
    Cancelled,
    /// There was no turn.
    NotStarted(String),
    /// A signal other than Ctrl-C asked for the end: its exit status.
    Stopped(u8),
}

impl Outcome {
    /// What a signal that ends the program makes of it.
    pub(crate) fn of_signal(signal: Stop) -> Self {
        match signal {
            Stop::Interrupt => Self::Cancelled,
            Stop::Terminate | Stop::HangUp => Self::Stopped(signal.exit_status()),
        }
    }

    /// What the answer to `session/prompt` means, given whether we cancelled.
    pub(crate) fn of_answer(answer: &Result<Value, Value>, cancelled: bool) -> Self {
        match answer {
            // Some agents answer a cancelled turn with an error.
            _ if cancelled => Self::Cancelled,
            Ok(result) => match result["stopReason"].as_str() {
                Some("end_turn") => Self::Ended,
                Some("cancelled") => Self::Cancelled,
                Some("refusal") => Self::Failed("the turn ended: the model refused".to_owned()),
                Some("max_tokens") => {
                    Self::Failed("the turn ended: the model's token limit was reached".to_owned())
                }
                Some("max_turn_requests") => Self::Failed(
                    "the turn ended: the limit of steps in a turn was reached".to_owned(),
                ),
                Some(other) => {
                    Self::Failed(format!("the turn ended for an unknown reason: {other}"))
                }
                None => Self::Failed("the turn ended without a reason".to_owned()),
            },
            Err(error) => Self::Failed(format!("the turn failed: {}", error_words(error))),
        }
    }

    /// What to tell on stderr.
    pub(crate) fn words(&self) -> Option<&str> {
        match self {
            Self::Ended | Self::Stopped(_) => None,
            Self::Cancelled => Some("cancelled"),
            Self::Failed(words) | Self::NotStarted(words) => Some(words),
        }
    }

    /// The exit status.
    pub(crate) fn exit_status(&self) -> u8 {
        match self {
            Self::Ended => 0,
            Self::Failed(_) => 1,
            Self::NotStarted(_) => 2,
            Self::Cancelled => 130,
            Self::Stopped(status) => *status,
        }
    }
}

/// A JSON-RPC error for a person: its message, and its details where the message does not have them already.
pub(crate) fn error_words(error: &Value) -> String {
    let message = error["message"]
        .as_str()
        .filter(|message| !message.trim().is_empty());
    let data = &error["data"];
    let details = data
        .as_str()
        .or_else(|| data["details"].as_str())
        .or_else(|| data["message"].as_str());
    match (message, details) {
        (Some(message), Some(details)) if !message.contains(details) => {
            format!("{message}: {details}")
        }
        (Some(message), _) => message.to_owned(),
        (None, Some(details)) => details.to_owned(),
        (None, None) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn answers_and_their_exit_status() {
        let ended = |reason: &str| Ok(json!({ "stopReason": reason }));
        let table = [
            (ended("end_turn"), false, 0, None),
            (ended("end_turn"), true, 130, Some("cancelled")),
            (ended("cancelled"), false, 130, Some("cancelled")),
            (
                ended("refusal"),
                false,
                1,
                Some("the turn ended: the model refused"),
            ),
            (
                ended("moon"),
                false,
                1,
                Some("the turn ended for an unknown reason: moon"),
            ),
            (
                Ok(json!(null)),
                false,
                1,
                Some("the turn ended without a reason"),
            ),
            (
                Err(json!({"code": 1, "message": "no key"})),
                false,
                1,
                Some("the turn failed: no key"),
            ),
            (
                Err(json!({"message": "Internal error"})),
                true,
                130,
                Some("cancelled"),
            ),
        ];
        for (answer, cancelled, status, words) in table {
            let outcome = Outcome::of_answer(&answer, cancelled);
            assert_eq!(
                (outcome.exit_status(), outcome.words()),
                (status, words),
                "{answer:?}"
            );
        }
    }

    #[test]
    fn an_errors_details_are_told_once() {
        let table = [
            (
                json!({"message": "Internal error", "data": {"details": "disk full"}}),
                "Internal error: disk full",
            ),
            (json!({"message": "no key: x", "data": "x"}), "no key: x"),
            (json!({"message": "", "data": "x"}), "x"),
            (json!({"code": 5}), r#"{"code":5}"#),
        ];
        for (error, words) in table {
            assert_eq!(error_words(&error), words);
        }
    }
}
