//! How calls and results were shown, as a log keeps it: what a replay shows is what was seen, whatever has changed since in
//! the program, its settings or the folders.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use xterm_rs_bridge::plain_text;

use crate::shell::exit::Exit;
use crate::shell::terminal::TerminalOutput;
use crate::store::{Blob, BlobId};
use crate::tool::presentation::{
    CallPresentation, Circumstances, Image, Location, ResultBody, ResultPresentation,
    TerminalPresentation, ToolCallKind,
};

/// How a call was shown. The arguments stand beside it in the event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShownCall {
    /// Its sort.
    pub kind: ToolCallKind,
    /// The title; left out where it was the `command` of the arguments, whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The model's words on why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Files that it touches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// What the command certainly was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The terminal, when the call was drawn as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<ShownTerminal>,
}

/// The terminal of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShownTerminal {
    /// The folder that the command ran in.
    pub cwd: PathBuf,
    /// What the person was told before it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

impl ShownCall {
    /// What is kept of how a call is shown.
    pub fn of(shown: &CallPresentation) -> Self {
        Self {
            kind: shown.kind,
            title: (command(&shown.arguments) != Some(&shown.title)).then(|| shown.title.clone()),
            description: shown.description.clone(),
            locations: shown.locations.clone(),
            label: shown.label.clone(),
            terminal: shown.terminal.as_ref().map(|terminal| ShownTerminal {
                cwd: terminal.cwd.clone(),
                notice: terminal.notice.clone(),
            }),
        }
    }

    /// The same looks again, on this output.
    pub fn again(self, tool: &str, arguments: Value, output: TerminalOutput) -> CallPresentation {
        let title = self
            .title
            .or_else(|| command(&arguments).map(str::to_owned))
            .unwrap_or_else(|| tool.to_owned());
        CallPresentation {
            kind: self.kind,
            title,
            description: self.description,
            locations: self.locations,
            label: self.label,
            terminal: self.terminal.map(|terminal| TerminalPresentation {
                cwd: terminal.cwd,
                output,
                notice: terminal.notice,
            }),
            arguments,
        }
    }
}

fn command(arguments: &Value) -> Option<&str> {
    arguments.get("command")?.as_str()
}

/// How a result was shown. The exit stands in an event of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShownResult {
    /// Whether the call came to what it was meant to.
    pub succeeded: bool,
    /// What there was to read.
    #[serde(default, skip_serializing_if = "ShownBody::is_empty")]
    pub body: ShownBody,
    /// What was printed, where it was a picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ShownImage>,
    /// What the person was told of the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// The command went on in the background.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
}

/// What there was to read of a result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShownBody {
    /// Nothing.
    #[default]
    Empty,
    /// Words.
    Text(String),
    /// Plain text of a console.
    Console(String),
    /// The plain text of what the terminal of the call has printed.
    Terminal,
}

impl ShownBody {
    fn is_empty(&self) -> bool {
        *self == Self::Empty
    }
}

/// A picture outside the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownImage {
    /// Such as `image/png`.
    pub mime_type: String,
    /// The file's own bytes.
    pub blob: BlobId,
}

impl ShownResult {
    /// What is kept of how a result is shown, and the blob of its picture. `printed` is the plain text of the call's terminal.
    pub fn of(shown: &ResultPresentation, printed: Option<&str>) -> (Self, Option<Blob>) {
        let picture = shown.image.as_ref().map(|image| {
            let blob = Blob::new(image.bytes.as_slice());
            let shown = ShownImage {
                mime_type: image.mime_type.to_string(),
                blob: blob.id().clone(),
            };
            (shown, blob)
        });
        let (image, blob) = picture.unzip();
        let kept = Self {
            succeeded: shown.succeeded,
            body: match &shown.body {
                ResultBody::Empty => ShownBody::Empty,
                ResultBody::Text(text) => ShownBody::Text(text.clone()),
                ResultBody::Console(text) if printed == Some(text) => ShownBody::Terminal,
                ResultBody::Console(text) => ShownBody::Console(text.clone()),
            },
            image,
            notice: shown.notice.clone(),
            goes_on: shown.goes_on,
        };
        (kept, blob)
    }

    /// The same looks again: with the exit of the log, what the terminal has printed, and the bytes of the picture if they are
    /// still there.
    pub fn again(
        self,
        exit: Option<(Exit, Circumstances)>,
        printed: &str,
        picture: Option<Vec<u8>>,
    ) -> ResultPresentation {
        let (exit, circumstances) = exit.unzip();
        ResultPresentation {
            succeeded: self.succeeded,
            exit,
            circumstances: circumstances.unwrap_or_default(),
            body: match self.body {
                ShownBody::Empty => ResultBody::Empty,
                ShownBody::Text(text) => ResultBody::Text(text),
                ShownBody::Console(text) => ResultBody::Console(text),
                ShownBody::Terminal => ResultBody::Console(plain_text(printed)),
            },
            image: self.image.zip(picture).map(|(image, bytes)| Image {
                mime_type: image.mime_type.into(),
                bytes,
            }),
            notice: self.notice,
            goes_on: self.goes_on,
        }
    }
}
