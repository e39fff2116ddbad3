//! `bash_input`: types into a command that runs.

use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{answer, named, read, settle, unread};
use crate::model::ToolSchema;
use crate::shell::handle::TerminalInput;
use crate::tool::presentation::{CallPresentation, ToolCallKind};
use crate::tool::{Place, Tool, ToolContext, ToolOutcome};

const NAME: &str = "bash_input";

/// How long a call waits for what the command says to it.
const PATIENCE: Duration = Duration::from_secs(1);

/// The keys that have names, and what a terminal of the kind that commands get sends for them.
const KEYS: &[(&str, &str)] = &[
    ("Enter", "\r"),
    ("Tab", "\t"),
    ("Escape", "\x1b"),
    ("Backspace", "\x7f"),
    ("Delete", "\x1b[3~"),
    ("Up", "\x1b[A"),
    ("Down", "\x1b[B"),
    ("Right", "\x1b[C"),
    ("Left", "\x1b[D"),
    ("Home", "\x1b[H"),
    ("End", "\x1b[F"),
    ("PageUp", "\x1b[5~"),
    ("PageDown", "\x1b[6~"),
    ("Space", " "),
];

/// The tool.
#[derive(Debug)]
pub struct BashInput;

#[derive(Debug, Deserialize)]
struct Arguments {
    id: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    keys: Vec<String>,
    #[serde(default)]
    eof: bool,
}

impl Arguments {
    fn read(args: &Value) -> Result<Self, String> {
        let arguments: Self = read(NAME, args)?;
        if arguments.text.is_empty() && arguments.keys.is_empty() && !arguments.eof {
            return Err(format!(
                "{NAME} has nothing to type: give `text`, `keys` or `eof`"
            ));
        }
        arguments.typed()?;
        Ok(arguments)
    }

    /// What the keyboard sends: the text with Enter at each line end, then the keys.
    fn typed(&self) -> Result<String, String> {
        let mut typed = self.text.replace("\r\n", "\r").replace('\n', "\r");
        for name in &self.keys {
            typed.push_str(&key(name)?);
        }
        Ok(typed)
    }

    /// What is typed, in one line for a person.
    fn title(&self) -> String {
        let text = (!self.text.is_empty()).then(|| format!("{:?}", self.text));
        let eof = self.eof.then(|| "end of input".to_owned());
        let parts: Vec<String> = text
            .into_iter()
            .chain(self.keys.iter().cloned())
            .chain(eof)
            .collect();
        format!("Type into {}: {}", self.id, parts.join(" "))
    }
}

/// What a named key sends: one of [`KEYS`], or a letter with Ctrl, as `C-c`.
fn key(name: &str) -> Result<String, String> {
    if let Some((_, sent)) = KEYS
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
    {
        return Ok((*sent).to_owned());
    }
    let control = name
        .strip_prefix("C-")
        .or_else(|| name.strip_prefix("Ctrl-"))
        .and_then(|letter| letter.parse::<char>().ok())
        .filter(|letter| matches!(letter.to_ascii_uppercase(), '@'..='_'));
    match control {
        Some(letter) => Ok(char::from(letter.to_ascii_uppercase() as u8 & 0x1f).to_string()),
        None => Err(format!(
            "{NAME} knows no key {name:?}; it knows C-a to C-z and {}",
            KEYS.iter()
                .map(|(name, _)| *name)
                .collect::<Vec<_>>()
                .join(", ")
        )),
    }
}

#[async_trait]
impl Tool for BashInput {
    fn schema(&self) -> ToolSchema {
        ToolSchema {
            name: NAME.to_owned(),
            description: "Types into the terminal of a command in the background, then returns what it printed to that. A line end \
                in the text is the Enter key."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "id": {"type": "string", "description": "The id that starting it returned."},
                    "text": {"type": "string", "description": "Characters to type."},
                    "keys": {"type": "array", "items": {"type": "string"}, "description": "Keys to press after the text: Enter, Tab, Escape, Up, Down, Left, Right, C-c and so on."},
                    "eof": {"type": "boolean", "description": "End the input after that."}
                },
                "required": ["id"]
            }),
        }
    }

    fn present(&self, args: &Value, _place: &Place) -> CallPresentation {
        match Arguments::read(args) {
            Ok(arguments) => CallPresentation {
                kind: ToolCallKind::Execute,
                title: arguments.title(),
                ..CallPresentation::plain(NAME, args.clone())
            },
            Err(_) => CallPresentation::plain(NAME, args.clone()),
        }
    }

    fn needs_permission(&self, args: &Value, _place: &Place) -> bool {
        // What is typed into a shell runs. What cannot be typed need not be asked for.
        Arguments::read(args).is_ok()
    }

    async fn run(&self, args: &Value, context: ToolContext<'_>) -> ToolOutcome {
        let typed = Arguments::read(args).and_then(|arguments| {
            let command = named(context.commands, &arguments.id)?;
            let text = arguments.typed()?;
            let refused = |error| format!("{}: {error}", command.call_id);
            if !text.is_empty() {
                let input = TerminalInput::Text(text);
                command.handle.type_in(&input).map_err(refused)?;
            }
            if arguments.eof {
                command
                    .handle
                    .type_in(&TerminalInput::End)
                    .map_err(refused)?;
            }
            Ok(command)
        });
        match typed {
            Ok(command) => {
                settle(&command, PATIENCE, context.cancel).await;
                let text = unread(&command);
                answer(&command, &text)
            }
            Err(message) => ToolOutcome::failed(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn text_and_keys_become_what_a_keyboard_sends() {
        let typed = |args: Value| Arguments::read(&args).and_then(|read| read.typed());
        assert_eq!(
            typed(json!({"id": "a", "text": "one\ntwo", "keys": ["Enter", "up", "C-c", "Ctrl-D"]})),
            Ok("one\rtwo\r\x1b[A\x03\x04".to_owned())
        );
        assert_eq!(
            typed(json!({"id": "a", "keys": ["F99"]})).unwrap_err(),
            "bash_input knows no key \"F99\"; it knows C-a to C-z and Enter, Tab, Escape, Backspace, Delete, Up, Down, Right, Left, Home, End, PageUp, PageDown, Space"
        );
        assert_eq!(
            typed(json!({"id": "a"})).unwrap_err(),
            "bash_input has nothing to type: give `text`, `keys` or `eof`"
        );
    }

    #[test]
    fn the_title_tells_all_that_is_typed() {
        let title =
            Arguments::read(&json!({"id": "call-2", "text": "y\n", "keys": ["C-c"], "eof": true}));
        assert_eq!(
            title.unwrap().title(),
            r#"Type into call-2: "y\n" C-c end of input"#
        );
    }
}
