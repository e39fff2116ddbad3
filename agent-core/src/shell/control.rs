//! What the agent and a command's supervisor say to each other: one JSON object a line over a socket pair.
//!
//! The socket is the supervisor's standard input. Its end is a message too: an agent that is gone wants nothing to live on.

use serde::{Deserialize, Serialize};

use super::sandbox::Sandbox;

/// Agent to supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
pub enum Order {
    /// The first line: what to run, in the supervisor's own folder and environment, on its terminal.
    Run {
        /// Program and arguments.
        argv: Vec<String>,
        /// Its standard input is the terminal, where somebody can type. Otherwise it is empty.
        keyboard: bool,
        /// What the command is kept to.
        sandbox: Option<Sandbox>,
    },
    /// Tell whether the command waits for input.
    Look,
    /// End the command with everything that it started, gently first.
    End,
}

/// Supervisor to agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "kebab-case")]
pub enum Report {
    /// The command could not be started.
    NotStarted {
        /// The system's words.
        message: String,
    },
    /// What a look at the command's processes found.
    Looked {
        /// One of them waits for somebody to type.
        reading: bool,
        /// The terminal hands out lines, so a control character can end the input.
        by_line: bool,
    },
    /// The command itself ended.
    Exited {
        /// Its code, when it exited.
        code: Option<i32>,
        /// The number of the signal that killed it.
        signal: Option<i32>,
        /// How many processes it left running.
        left: usize,
    },
}

/// One message as its line.
pub fn line<T: Serialize>(message: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(b'\n');
    Ok(bytes)
}
