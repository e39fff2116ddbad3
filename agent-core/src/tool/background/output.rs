//! `bash_output`: what a command in the background has printed since the last look.

use std::time::Duration;

use async_trait::async_trait;
use regex::RegexBuilder;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{answer, call, named, read, settle, unread};
use crate::model::ToolSchema;
use crate::tool::presentation::CallPresentation;
use crate::tool::{Place, Tool, ToolContext, ToolOutcome};

const NAME: &str = "bash_output";

/// The longest that a call waits for output.
const LONGEST_WAIT: f64 = 60.0;

/// A filter whose machine would be larger than this is refused.
const FILTER_SIZE: usize = 1 << 20;

/// The tool.
#[derive(Debug)]
pub struct BashOutput;

#[derive(Debug, Deserialize)]
struct Arguments {
    id: String,
    #[serde(default)]
    filter: Option<String>,
    #[serde(default)]
    wait: Option<f64>,
}

impl Arguments {
    fn wait(&self) -> Result<Duration, String> {
        let seconds = self.wait.unwrap_or(0.0);
        Duration::try_from_secs_f64(seconds)
            .ok()
            .filter(|_| seconds <= LONGEST_WAIT)
            .ok_or_else(|| {
                format!("the `wait` of {NAME} is {seconds}; it is in seconds, from 0 to 60")
            })
    }

    /// The lines that fit the filter.
    fn filtered(&self, text: String) -> Result<String, String> {
        let Some(filter) = &self.filter else {
            return Ok(text);
        };
        let filter = RegexBuilder::new(filter)
            .size_limit(FILTER_SIZE)
            .build()
            .map_err(|error| format!("the `filter` of {NAME} is no regular expression: {error}"))?;
        Ok(text
            .split_inclusive('\n')
            .filter(|line| filter.is_match(line.trim_end_matches('\n')))
            .collect())
    }
}

#[async_trait]
impl Tool for BashOutput {
    fn schema(&self) -> ToolSchema {
        ToolSchema {
            name: NAME.to_owned(),
            description: "Returns what a command in the background has printed since the last look, as plain text; the last line says \
                where it stands: [running], [running; waiting for input], or how it ended. Lines that do not fit the filter are \
                gone with this look, too."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "id": {"type": "string", "description": "The id that starting it returned."},
                    "filter": {"type": "string", "description": "A regular expression; only lines that it fits are returned."},
                    "wait": {"type": "number", "description": "Seconds to wait for output when there is none yet. 0 when left out, 60 at most."}
                },
                "required": ["id"]
            }),
        }
    }

    fn present(&self, args: &Value, _place: &Place) -> CallPresentation {
        match read::<Arguments>(NAME, args) {
            Ok(arguments) => call(format!("Output of {}", arguments.id), args),
            Err(_) => CallPresentation::plain(NAME, args.clone()),
        }
    }

    fn needs_permission(&self, _args: &Value, _place: &Place) -> bool {
        false
    }

    async fn run(&self, args: &Value, context: ToolContext<'_>) -> ToolOutcome {
        let read = read::<Arguments>(NAME, args).and_then(|arguments| {
            let wait = arguments.wait()?;
            // A filter that cannot be used must not cost what it would have filtered.
            arguments.filtered(String::new())?;
            let command = named(context.commands, &arguments.id)?;
            Ok((arguments, wait, command))
        });
        let (arguments, wait, command) = match read {
            Ok(read) => read,
            Err(message) => return ToolOutcome::failed(message),
        };
        settle(&command, wait, context.cancel).await;
        match arguments.filtered(unread(&command)) {
            Ok(text) => answer(&command, &text),
            Err(message) => ToolOutcome::failed(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn arguments(args: Value) -> Arguments {
        serde_json::from_value(args).unwrap()
    }

    #[test]
    fn a_filter_keeps_whole_lines() {
        let filtered = |filter: &str| {
            arguments(json!({"id": "call-1", "filter": filter}))
                .filtered("ok 1\nbad 2\nok 3".to_owned())
        };
        assert_eq!(filtered("^ok"), Ok("ok 1\nok 3".to_owned()));
        assert_eq!(filtered("2$"), Ok("bad 2\n".to_owned()));
        assert!(
            filtered("(")
                .unwrap_err()
                .starts_with("the `filter` of bash_output is no regular expression")
        );
    }

    #[test]
    fn a_wait_has_a_limit() {
        assert_eq!(arguments(json!({"id": "a"})).wait(), Ok(Duration::ZERO));
        for wait in [-1.0, 61.0] {
            assert_eq!(
                arguments(json!({"id": "a", "wait": wait})).wait(),
                Err(format!(
                    "the `wait` of bash_output is {wait}; it is in seconds, from 0 to 60"
                ))
            );
        }
    }
}
