//! `bash_list`: the commands of this session that run, and those in the background that have ended.

use std::fmt::Write as _;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::call;
use crate::model::ToolSchema;
use crate::session::commands::SessionCommand;
use crate::shell::handle::CommandState;
use crate::tool::presentation::CallPresentation;
use crate::tool::{Place, Tool, ToolContext, ToolOutcome};

/// The tool.
#[derive(Debug)]
pub struct BashList;

#[async_trait]
impl Tool for BashList {
    fn schema(&self) -> ToolSchema {
        ToolSchema {
            name: "bash_list".to_owned(),
            description: "Lists the commands of this session that run in the background or left processes running, and those \
                in the background that have ended."
                .to_owned(),
            parameters: json!({"type": "object", "properties": {}}),
        }
    }

    fn present(&self, args: &Value, _place: &Place) -> CallPresentation {
        call("Commands in the background".to_owned(), args)
    }

    fn needs_permission(&self, _args: &Value, _place: &Place) -> bool {
        false
    }

    async fn run(&self, _args: &Value, context: ToolContext<'_>) -> ToolOutcome {
        let mut text = String::new();
        for command in context.commands.list() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", row(&command));
        }
        if text.is_empty() {
            text.push_str("Nothing runs in the background.\n");
        }
        ToolOutcome::answered(text.trim_end().to_owned(), text)
    }
}

/// One command: its id, where it stands, for how long, its first line.
fn row(command: &SessionCommand) -> String {
    let state = match (command.end(), command.left_running()) {
        (None, _) if command.handle.state() == CommandState::Waiting => {
            format!("waiting for input, {} s", command.seconds())
        }
        (None, _) => format!("running, {} s", command.seconds()),
        (Some(end), 0) => end.exit.to_string(),
        (Some(end), _) => format!("{}, left something running", end.exit),
    };
    let mut lines = command.line.lines();
    let first = lines.next().unwrap_or_default();
    let more = if lines.next().is_some() { " …" } else { "" };
    format!("{}  [{state}]  {first}{more}", command.call_id)
}
