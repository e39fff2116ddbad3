//! How a command ended.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::reading::member;

/// How a command ended: an exit code, a signal, or neither where it is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TerminalExit {
    /// The exit code. Agents also send negative ones and ones above 255.
    pub exit_code: Option<i64>,
    /// The name of the signal that ended it, such as `SIGKILL`.
    pub signal: Option<String>,
}

impl TerminalExit {
    /// Neither code nor signal: it ended, and that is all that is known. Never a success.
    pub fn is_unknown(&self) -> bool {
        self.exit_code.is_none() && self.signal.is_none()
    }

    /// Did it end well?
    pub fn is_success(&self) -> bool {
        self.exit_code == Some(0) && self.signal.is_none()
    }

    /// Reads the inside of a `terminal_exit`; fields of another type than expected count as null.
    pub(crate) fn read(fields: &Value) -> Self {
        Self {
            exit_code: member(fields, "exit_code", "exitCode").and_then(Value::as_i64),
            signal: fields
                .get("signal")
                .and_then(Value::as_str)
                .filter(|signal| !signal.is_empty())
                .map(str::to_owned),
        }
    }
}
