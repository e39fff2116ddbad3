//! `bash`: a command in the session's folder.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use xterm_rs_bridge::{model_text, plain_text};

use super::exit_marker::{self, ExitMarker, MarkedCause};
use super::presentation::{
    CallPresentation, Circumstances, ResultBody, ResultPresentation, TerminalPresentation,
    ToolCallKind,
};
use super::{Place, Tool, ToolContext, ToolOutcome};
use crate::model::ToolSchema;
use crate::shell::command::{Cause, Command, Ended};
use crate::shell::exit::Exit;
use crate::shell::terminal::TerminalOutput;
use crate::surroundings::Environment;

/// The name that models call it by.
pub const NAME: &str = "bash";

/// How long a command may run when the model names no limit, and at most (decision 7).
const DEFAULT_LIMIT: Duration = Duration::from_mins(2);
const LONGEST_LIMIT: Duration = Duration::from_hours(1);

/// The longest single argument that Linux passes to a program, without the NUL behind it.
const LONGEST_COMMAND: usize = 128 * 1024 - 1;

/// How much of the output a model reads.
const MODEL_TEXT: usize = 32 * 1024;

/// Runs commands under a supervisor.
#[derive(Debug)]
pub struct Bash {
    supervisor: PathBuf,
    environment: Environment,
}

impl Bash {
    /// The tool, with the program that becomes the supervisor and the person's environment.
    pub fn new(supervisor: PathBuf, environment: Environment) -> Self {
        Self {
            supervisor,
            environment,
        }
    }
}

#[derive(Debug, Deserialize)]
struct Arguments {
    command: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    timeout: Option<f64>,
    #[serde(default)]
    workdir: Option<String>,
}

impl Arguments {
    fn read(args: &Value) -> Result<Self, String> {
        let arguments: Self = serde_json::from_value(args.clone()).map_err(|error| {
            format!(
                "the arguments of {NAME} are wrong: {error}; `command` is required and a string"
            )
        })?;
        if arguments.command.trim().is_empty() {
            return Err(format!("the `command` of {NAME} is empty; give one"));
        }
        if arguments.command.len() > LONGEST_COMMAND {
            return Err(format!(
                "the `command` of {NAME} has {} bytes and the system takes {LONGEST_COMMAND}; write a script in parts and run it",
                arguments.command.len()
            ));
        }
        if arguments.command.contains('\0') {
            return Err(format!(
                "the `command` of {NAME} holds a NUL character, which no shell can read; leave it out"
            ));
        }
        Ok(arguments)
    }

    fn limit(&self) -> Result<Duration, String> {
        match self.timeout {
            None => Ok(DEFAULT_LIMIT),
            Some(seconds) => Duration::try_from_secs_f64(seconds)
                .ok()
                .filter(|limit| !limit.is_zero() && *limit <= LONGEST_LIMIT)
                .ok_or_else(|| format!("the `timeout` of {NAME} is {seconds}; it is in seconds, above 0 and at most 3600")),
        }
    }

    fn folder(&self, place: &Place) -> PathBuf {
        self.workdir
            .as_deref()
            .map_or_else(|| place.cwd.clone(), |workdir| place.resolve(workdir))
    }
}

#[async_trait]
impl Tool for Bash {
    fn schema(&self) -> ToolSchema {
        ToolSchema {
            name: NAME.to_owned(),
            description: "Runs a command with bash in a terminal, in the session's folder, and returns what it printed as plain text; \
                the last line says how it ended, such as [exit 0] or [killed by SIGTERM]. Nobody can type into it: \
                what it reads is empty; it must not open an editor or a pager. Each call is a shell of its own."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string", "description": "The command line, as bash reads it."},
                    "description": {"type": "string", "description": "What it is for, in a few words for the person who watches."},
                    "timeout": {"type": "number", "description": "Seconds after which it is ended. 120 when left out, 3600 at most."},
                    "workdir": {"type": "string", "description": "Another folder to run in, absolute or relative to the session's."}
                },
                "required": ["command"]
            }),
        }
    }

    fn present(&self, args: &Value, place: &Place) -> CallPresentation {
        let Ok(arguments) = Arguments::read(args) else {
            return CallPresentation::plain(NAME, args.clone());
        };
        CallPresentation {
            kind: ToolCallKind::Execute,
            title: arguments.command.clone(),
            description: arguments
                .description
                .clone()
                .filter(|text| !text.trim().is_empty()),
            locations: Vec::new(),
            label: None,
            terminal: Some(TerminalPresentation {
                cwd: arguments.folder(place),
                output: TerminalOutput::new(),
                notice: None,
            }),
            arguments: args.clone(),
        }
    }

    fn needs_permission(&self, args: &Value, _place: &Place) -> bool {
        // What cannot run need not be asked for.
        Arguments::read(args).is_ok_and(|arguments| arguments.limit().is_ok())
    }

    async fn run(&self, args: &Value, context: ToolContext<'_>) -> ToolOutcome {
        let (arguments, limit) =
            match Arguments::read(args).and_then(|read| read.limit().map(|limit| (read, limit))) {
                Ok(read) => read,
                Err(message) => return not_started(&message, &context),
            };
        let command = Command {
            supervisor: self.supervisor.clone(),
            line: arguments.command.clone(),
            cwd: arguments.folder(context.place),
            environment: self.environment.clone(),
            time_limit: Some(limit),
        };
        match command.run(&context.terminal, context.cancel).await {
            Ok(ended) => finished(ended, limit, &context),
            Err(error) => not_started(&error.to_string(), &context),
        }
    }
}

/// A command that could not be started says why where its output would be, as a shell does.
fn not_started(reason: &str, context: &ToolContext<'_>) -> ToolOutcome {
    context
        .terminal
        .push(format!("placard: {reason}\r\n").as_bytes());
    not_run(reason)
}

/// The outcome of a command that never ran, for this reason.
pub fn not_run(reason: &str) -> ToolOutcome {
    ToolOutcome {
        content: exit_marker::append(reason, &ExitMarker::not_run()),
        is_error: true,
        exit: Some(Exit::Unknown),
        presentation: ResultPresentation {
            succeeded: false,
            exit: Some(Exit::Unknown),
            circumstances: Circumstances::default(),
            body: ResultBody::Text(reason.to_owned()),
            image: None,
            goes_on: false,
        },
    }
}

/// Rounded up: a limit of half a second is not one of none.
fn whole_seconds(limit: Duration) -> u64 {
    limit.as_secs() + u64::from(limit.subsec_nanos() > 0)
}

fn finished(ended: Ended, limit: Duration, context: &ToolContext<'_>) -> ToolOutcome {
    let Ended { exit, cause, left } = ended;
    let marker = ExitMarker {
        cause: match cause {
            Cause::Itself => MarkedCause::Itself,
            Cause::Cancelled => MarkedCause::Cancelled,
            Cause::TimedOut => MarkedCause::TimedOut(whole_seconds(limit)),
        },
        exit: exit.clone(),
        left_running: left
            .as_ref()
            .map_or(0, crate::shell::command::LeftRunning::count),
    };
    if let Some(left) = left {
        context.left_behind.keep(left);
    }
    let kept = context.terminal.kept_text();
    let read = model_text(&kept, MODEL_TEXT);
    let succeeded = cause == Cause::Itself && exit.is_success();
    ToolOutcome {
        content: exit_marker::append(read.strip_suffix('\n').unwrap_or(&read), &marker),
        is_error: !succeeded,
        exit: Some(exit.clone()),
        presentation: ResultPresentation {
            succeeded,
            exit: Some(exit),
            circumstances: Circumstances {
                timed_out: cause == Cause::TimedOut,
                left_running: marker.left_running > 0,
            },
            body: ResultBody::Console(plain_text(&kept)),
            image: None,
            goes_on: false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn arguments_are_checked_before_anything_runs() {
        let wrong = |args: Value| {
            Arguments::read(&args)
                .and_then(|read| read.limit().map(|_| ()))
                .unwrap_err()
        };
        assert_eq!(
            wrong(json!({})),
            "the arguments of bash are wrong: missing field `command`; `command` is required and a string"
        );
        assert_eq!(
            wrong(json!({"command": " "})),
            "the `command` of bash is empty; give one"
        );
        assert_eq!(
            wrong(json!({"command": "ls", "timeout": 7200})),
            "the `timeout` of bash is 7200; it is in seconds, above 0 and at most 3600"
        );
        assert_eq!(
            wrong(json!({"command": "x".repeat(200_000)})),
            "the `command` of bash has 200000 bytes and the system takes 131071; write a script in parts and run it"
        );
        assert_eq!(
            wrong(json!({"command": "a\0b"})),
            "the `command` of bash holds a NUL character, which no shell can read; leave it out"
        );
    }

    #[test]
    fn a_folder_is_resolved_against_the_sessions() {
        let place = Place {
            cwd: "/work/a".into(),
            roots: vec!["/work/a".into()],
        };
        let folder = |args: Value| Arguments::read(&args).unwrap().folder(&place);
        assert_eq!(folder(json!({"command": "ls"})), PathBuf::from("/work/a"));
        assert_eq!(
            folder(json!({"command": "ls", "workdir": "b"})),
            PathBuf::from("/work/a/b")
        );
        assert_eq!(
            folder(json!({"command": "ls", "workdir": "/etc"})),
            PathBuf::from("/etc")
        );
    }
}
