//! How calls and results are shown, in neutral words. Only a front (such as the ACP bridge) turns them into messages.

use std::borrow::Cow;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::shell::exit::Exit;
use crate::shell::terminal::TerminalOutput;

/// What sort of thing a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolCallKind {
    /// Runs a command.
    Execute,
    /// Reads a file.
    Read,
    /// Looks for something in files, or for files.
    Search,
    /// Anything else.
    Other,
}

/// How a call is shown.
#[derive(Debug, Clone)]
pub struct CallPresentation {
    /// Its sort.
    pub kind: ToolCallKind,
    /// One line for a file, the exact command, whole, for a command.
    pub title: String,
    /// The model's words on why.
    pub description: Option<String>,
    /// Files that it touches.
    pub locations: Vec<Location>,
    /// What a command certainly is, in a few words such as `Read src/a.rs`: our own window draws such a card small.
    pub label: Option<String>,
    /// The terminal, when the call is a command.
    pub terminal: Option<TerminalPresentation>,
    /// The arguments as the model gave them.
    pub arguments: Value,
}

impl CallPresentation {
    /// The looks of last resort: the tool's name.
    pub fn plain(tool: &str, arguments: Value) -> Self {
        Self {
            kind: ToolCallKind::Other,
            title: tool.to_owned(),
            description: None,
            locations: Vec::new(),
            label: None,
            terminal: None,
            arguments,
        }
    }
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// Absolute.
    pub path: PathBuf,
    /// From 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// The terminal of a command.
#[derive(Debug, Clone)]
pub struct TerminalPresentation {
    /// The folder that it runs in.
    pub cwd: PathBuf,
    /// Its output, live.
    pub output: TerminalOutput,
    /// What the person should know before it runs, such as a sandbox that this system does not have.
    pub notice: Option<String>,
}

/// How a result is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultPresentation {
    /// Whether the call came to what it was meant to.
    pub succeeded: bool,
    /// How the command ended, where the call was one.
    pub exit: Option<Exit>,
    /// What a viewer may say beside the exit.
    pub circumstances: Circumstances,
    /// What there is to read.
    pub body: ResultBody,
    /// What was printed, where it was a picture.
    pub image: Option<Image>,
    /// What the person should know of the end, such as what a sandbox has denied.
    pub notice: Option<String>,
    /// The call is over and its command goes on in the background: output and exit follow, and change no status.
    pub goes_on: bool,
}

impl ResultPresentation {
    /// A failure in words.
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            succeeded: false,
            exit: None,
            circumstances: Circumstances::default(),
            body: ResultBody::Text(message.into()),
            image: None,
            notice: None,
            goes_on: false,
        }
    }
}

/// What an exit alone does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Circumstances {
    /// Its time was up.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// It alone was stopped, by the person or by the model.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// It left processes running.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub left_running: bool,
}

impl Circumstances {
    /// Nothing to tell.
    pub fn is_ordinary(&self) -> bool {
        *self == Self::default()
    }
}

/// What there is to read of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultBody {
    /// Nothing.
    Empty,
    /// Words.
    Text(String),
    /// What a command printed, as plain text: for viewers that draw no terminal.
    Console(String),
}

/// A picture that a command printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Such as `image/png`.
    pub mime_type: Cow<'static, str>,
    /// The file's own bytes.
    pub bytes: Vec<u8>,
}
