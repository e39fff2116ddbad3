//! `bash_kill`: ends a command with everything that it started.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{END_LIMIT, answer, call, named, read, unread};
use crate::model::ToolSchema;
use crate::tool::presentation::CallPresentation;
use crate::tool::{Place, Tool, ToolContext, ToolOutcome};

const NAME: &str = "bash_kill";

/// The tool.
#[derive(Debug)]
pub struct BashKill;

#[derive(Debug, Deserialize)]
struct Arguments {
    id: String,
}

#[async_trait]
impl Tool for BashKill {
    fn schema(&self) -> ToolSchema {
        ToolSchema {
            name: NAME.to_owned(),
            description: "Ends a command in the background, or what a command left running, with everything that it started; \
                returns the rest of what it printed and how it ended."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {"id": {"type": "string", "description": "The id that starting it returned."}},
                "required": ["id"]
            }),
        }
    }

    fn present(&self, args: &Value, _place: &Place) -> CallPresentation {
        match read::<Arguments>(NAME, args) {
            Ok(arguments) => call(format!("End {}", arguments.id), args),
            Err(_) => CallPresentation::plain(NAME, args.clone()),
        }
    }

    fn needs_permission(&self, _args: &Value, _place: &Place) -> bool {
        // It only takes back what was allowed.
        false
    }

    async fn run(&self, args: &Value, context: ToolContext<'_>) -> ToolOutcome {
        let command = match read::<Arguments>(NAME, args)
            .and_then(|arguments| named(context.commands, &arguments.id))
        {
            Ok(command) => command,
            Err(message) => return ToolOutcome::failed(message),
        };
        // It may have ended by itself already, which the answer tells.
        let _ = command.handle.stop();
        let ended = timeout(END_LIMIT, command.ended());
        tokio::select! {
            ended = ended => if ended.is_err() {
                return ToolOutcome::failed(format!(
                    "{} does not end; look at it with bash_output",
                    command.call_id
                ));
            },
            () = context.cancel.cancelled() => {
                return ToolOutcome::failed(format!("{} is being ended", command.call_id));
            }
        }
        command.end_left().await;
        let text = unread(&command);
        answer(&command, &text)
    }
}
