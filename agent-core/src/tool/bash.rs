//! `bash`: a command in the session's folder.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt as _;
use serde::Deserialize;
use serde_json::{Value, json};
use xterm_rs_bridge::cut_text;

use super::exit_marker::{self, ExitMarker, MarkedCause, MarkedEnd};
use super::image;
use super::presentation::{
    CallPresentation, Circumstances, ResultBody, ResultPresentation, TerminalPresentation,
    ToolCallKind,
};
use super::{BackgroundEnd, GoesOn, Place, Tool, ToolContext, ToolOutcome};
use crate::config::Classified;
use crate::model::ToolSchema;
use crate::session::commands::{CommandEnd, SessionCommand};
use crate::shell::classify::{Classification, classify};
use crate::shell::command::{Cause, Command, CommandError, Ended, PrintsTo};
use crate::shell::environment::VariableRules;
use crate::shell::exit::Exit;
use crate::shell::handle::CommandHandle;
use crate::shell::left::LeftRunning;
use crate::shell::sandbox::{self, Sandbox, SandboxConfig, Support};
use crate::shell::terminal::TerminalOutput;
use crate::surroundings::{Environment, LoginPath};

/// The name that models call it by.
pub const NAME: &str = "bash";

/// How long a command may run when the model names no limit, and at most (decision 7).
const DEFAULT_LIMIT: Duration = Duration::from_mins(2);
const LONGEST_LIMIT: Duration = Duration::from_hours(1);

/// The longest single argument that Linux passes to a program, without the NUL behind it.
const LONGEST_COMMAND: usize = 128 * 1024 - 1;

/// How much of the output a model reads.
pub(crate) const MODEL_TEXT: usize = 32 * 1024;

/// Runs commands under a supervisor.
#[derive(Debug)]
pub struct Bash {
    /// The program that becomes the supervisor.
    pub supervisor: PathBuf,
    /// The person's environment.
    pub environment: Environment,
    /// Where the login shell's `PATH` is to replace that of the environment.
    pub login_path: Option<LoginPath>,
    /// What the person set up of the sandbox.
    pub sandbox: SandboxConfig,
    /// What the person set up of the variables that commands get.
    pub variables: VariableRules,
    /// How commands are shown whose meaning is certain.
    pub classified: Classified,
    /// What the system can enforce, found out when first needed.
    pub support: Arc<OnceLock<Support>>,
}

impl Bash {
    /// What commands are started with.
    async fn environment(&self) -> Environment {
        let path = match &self.login_path {
            Some(login) => login.get().await,
            None => None,
        };
        let own = self.environment.clone();
        match path {
            Some(path) => own.with_path(path),
            None => own,
        }
    }

    fn support(&self) -> &Support {
        self.support
            .get_or_init(|| Support::probe(&self.environment))
    }

    /// The sandbox of a command of a session. Worked out anew each time: a cache may have come into being since.
    fn sandbox(&self, place: &Place) -> Sandbox {
        sandbox::policy(
            &self.sandbox,
            &place.real_roots,
            &self.environment,
            self.support(),
        )
    }

    /// What the person should know of a command before it runs.
    fn notice(&self, arguments: &Arguments, place: &Place) -> Option<String> {
        let sandbox = self.sandbox(place);
        if arguments.without_sandbox && sandbox.restricts() {
            return Some(WITHOUT_SANDBOX.to_owned());
        }
        sandbox::notice(&sandbox, self.support())
    }
}

/// What the person is told of a command that asks to leave its sandbox.
const WITHOUT_SANDBOX: &str =
    "Runs without the sandbox: it can write wherever you can, and use the network.";

#[derive(Debug, Deserialize)]
struct Arguments {
    command: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    timeout: Option<f64>,
    #[serde(default)]
    workdir: Option<String>,
    #[serde(default)]
    run_in_background: bool,
    #[serde(default)]
    without_sandbox: bool,
    #[serde(default = "yes")]
    tty: bool,
}

fn yes() -> bool {
    true
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

    /// How long it may run (decision 7): none in the background, where a limit makes no sense and is a mistake.
    fn limit(&self) -> Result<Option<Duration>, String> {
        match self.timeout {
            None if self.run_in_background => Ok(None),
            None => Ok(Some(DEFAULT_LIMIT)),
            Some(_) if self.run_in_background => Err(format!(
                "{NAME} has a `timeout` and `run_in_background`; a command in the background has no limit: leave one of them out, and end it with bash_kill"
            )),
            Some(seconds) => Duration::try_from_secs_f64(seconds)
                .ok()
                .filter(|limit| !limit.is_zero() && *limit <= LONGEST_LIMIT)
                .map(Some)
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
                the last line says how it ended, such as [exit 0] or [killed by SIGTERM]. It must not open an editor or a pager. \
                What it reads is empty, unless a person types; a command that needs answers goes into the background, where bash_input types. \
                Each call is a shell of its own. With run_in_background it returns at once, for servers and watchers: bash_output reads what \
                they print, bash_kill ends them, and their end is reported by itself."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string", "description": "The command line, as bash reads it."},
                    "description": {"type": "string", "description": "What it is for, in a few words for the person who watches."},
                    "timeout": {"type": "number", "description": "Seconds after which it is ended. 120 when left out, 3600 at most."},
                    "workdir": {"type": "string", "description": "Another folder to run in, absolute or relative to the session's."},
                    "run_in_background": {"type": "boolean", "description": "Return at once and let it run until it ends, is killed, or the session ends."},
                    "without_sandbox": {"type": "boolean", "description": "Run outside of the sandbox, after it has denied something that is needed. The person is always asked."},
                    "tty": {"type": "boolean", "description": "false: print through a pipe instead of a terminal. true when left out."}
                },
                "required": ["command"]
            }),
        }
    }

    fn present(&self, args: &Value, place: &Place) -> CallPresentation {
        let Ok(arguments) = Arguments::read(args) else {
            return CallPresentation::plain(NAME, args.clone());
        };
        let cwd = arguments.folder(place);
        let classification = classify(&arguments.command);
        let mut presentation = CallPresentation {
            kind: ToolCallKind::Execute,
            title: arguments.command.clone(),
            description: arguments
                .description
                .clone()
                .filter(|text| !text.trim().is_empty()),
            locations: classification.locations(&cwd),
            label: classification.title(),
            terminal: Some(TerminalPresentation {
                cwd,
                output: TerminalOutput::new(),
                notice: self.notice(&arguments, place),
            }),
            arguments: args.clone(),
        };
        // What goes on after its call, or asks for more than others, has a card whatever it is.
        if self.classified == Classified::Kind
            && !arguments.run_in_background
            && !arguments.without_sandbox
            && let Some(title) = presentation.label.take()
        {
            presentation.kind = match classification {
                Classification::Read { .. } => ToolCallKind::Read,
                _ => ToolCallKind::Search,
            };
            presentation.title = title;
            presentation.terminal = None;
        }
        presentation
    }

    fn needs_permission(&self, args: &Value, _place: &Place) -> bool {
        // What cannot run need not be asked for.
        Arguments::read(args).is_ok_and(|arguments| arguments.limit().is_ok())
    }

    fn asks_anyway(&self, args: &Value, place: &Place) -> bool {
        Arguments::read(args).is_ok_and(|arguments| arguments.without_sandbox)
            && self.sandbox(place).restricts()
    }

    async fn run(&self, args: &Value, context: ToolContext<'_>) -> ToolOutcome {
        let (arguments, limit) =
            match Arguments::read(args).and_then(|read| read.limit().map(|limit| (read, limit))) {
                Ok(read) => read,
                Err(message) => return not_started(&message, &context),
            };
        let environment = tokio::select! {
            environment = self.environment() => environment,
            // The call ends as one that was cancelled at its start.
            () = context.cancel.cancelled() => self.environment.clone(),
        };
        // In the background the model types, whoever watches.
        let keyboard = arguments.tty && (arguments.run_in_background || context.front.can_type);
        let handle = CommandHandle::new(keyboard);
        let command = Command {
            supervisor: self.supervisor.clone(),
            line: arguments.command.clone(),
            cwd: arguments.folder(context.place),
            environment,
            variables: self.variables.clone(),
            sandbox: (!arguments.without_sandbox).then(|| self.sandbox(context.place)),
            time_limit: limit,
            size: context.front.terminal_size.unwrap_or_default(),
            prints_to: if arguments.tty {
                PrintsTo::Terminal
            } else {
                PrintsTo::Pipe
            },
        };
        let known = match context.commands.begin(
            context.call_id,
            &arguments.command,
            arguments.run_in_background,
            context.terminal.clone(),
            handle.clone(),
        ) {
            Ok(known) => known,
            Err(error) => return not_started(&error.to_string(), &context),
        };
        let result = if arguments.run_in_background {
            start(&command, &handle, known.clone(), &context).await
        } else {
            let ended = command
                .run(&context.terminal, &handle, context.cancel)
                .await;
            match ended {
                Ok(ended) => {
                    let outcome = finished(ended, limit, &known, &command, &context);
                    Ok(image::with_picture(outcome, &context.terminal, arguments.tty).await)
                }
                Err(error) => Err(error),
            }
        };
        result.unwrap_or_else(|error| {
            context.commands.forget(&known);
            not_started(&error.to_string(), &context)
        })
    }
}

/// Starts a command that goes on when its call is over.
async fn start(
    command: &Command,
    handle: &CommandHandle,
    known: Arc<SessionCommand>,
    context: &ToolContext<'_>,
) -> Result<ToolOutcome, CommandError> {
    let running = command.start(handle).await?;
    let commands = Arc::clone(context.commands);
    let cancel = commands.closed().clone();
    let call_id = context.call_id;
    let body = format!("Started in the background as {call_id}.");
    let end = async move {
        let ended = running.finish(&known.output, &cancel).await;
        let (result, left) = match ended {
            Ok(ended) => Closing::of(ended, None),
            // The supervisor could not start it; its card says so, and nobody knows an exit.
            Err(error) => {
                let line = format!("placard: {error}\r\n");
                known.output.push(line.as_bytes());
                known.output.finish();
                (Closing::unknown(), None)
            }
        };
        let end = CommandEnd {
            exit: result.exit.clone(),
            circumstances: result.circumstances(),
        };
        commands.end(&known, end, left);
        BackgroundEnd {
            exit: result.exit.clone(),
            presentation: result.presentation(&known.output),
        }
    };
    Ok(ToolOutcome {
        content: exit_marker::append(&body, &ExitMarker::Running { waiting: false }),
        is_error: false,
        exit: None,
        presentation: ResultPresentation {
            succeeded: true,
            exit: None,
            circumstances: Circumstances::default(),
            body: ResultBody::Text(body),
            image: None,
            notice: None,
            goes_on: true,
        },
        goes_on: Some(GoesOn { end: end.boxed() }),
    })
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
        content: exit_marker::append(reason, &ExitMarker::NotRun),
        is_error: true,
        exit: Some(Exit::Unknown),
        presentation: ResultPresentation {
            succeeded: false,
            exit: Some(Exit::Unknown),
            circumstances: Circumstances::default(),
            body: ResultBody::Text(reason.to_owned()),
            image: None,
            notice: None,
            goes_on: false,
        },
        goes_on: None,
    }
}

/// The end of a command as everybody is told of it.
struct Closing {
    exit: Exit,
    cause: MarkedCause,
    was_waiting: bool,
    left_running: usize,
}

impl Closing {
    fn of(ended: Ended, limit: Option<Duration>) -> (Self, Option<LeftRunning>) {
        let Ended {
            exit,
            cause,
            waited_for_input,
            left,
        } = ended;
        let closing = Self {
            exit,
            cause: match cause {
                Cause::Itself => MarkedCause::Itself,
                Cause::Cancelled => MarkedCause::Cancelled,
                Cause::Stopped => MarkedCause::Stopped,
                Cause::TimedOut => MarkedCause::TimedOut(limit.map_or(0, whole_seconds)),
            },
            was_waiting: waited_for_input,
            left_running: left.as_ref().map_or(0, LeftRunning::count),
        };
        (closing, left)
    }

    fn unknown() -> Self {
        Self {
            exit: Exit::Unknown,
            cause: MarkedCause::Itself,
            was_waiting: false,
            left_running: 0,
        }
    }

    fn succeeded(&self) -> bool {
        self.cause == MarkedCause::Itself && self.exit.is_success()
    }

    fn circumstances(&self) -> Circumstances {
        Circumstances {
            timed_out: matches!(self.cause, MarkedCause::TimedOut(_)),
            stopped: self.cause == MarkedCause::Stopped,
            left_running: self.left_running > 0,
        }
    }

    fn presentation(&self, output: &TerminalOutput) -> ResultPresentation {
        ResultPresentation {
            succeeded: self.succeeded(),
            exit: Some(self.exit.clone()),
            circumstances: self.circumstances(),
            body: ResultBody::Console(output.plain_text()),
            image: None,
            notice: None,
            goes_on: false,
        }
    }
}

/// Rounded up: a limit of half a second is not one of none.
fn whole_seconds(limit: Duration) -> u64 {
    limit.as_secs() + u64::from(limit.subsec_nanos() > 0)
}

fn finished(
    ended: Ended,
    limit: Option<Duration>,
    known: &SessionCommand,
    command: &Command,
    context: &ToolContext<'_>,
) -> ToolOutcome {
    let (closing, left) = Closing::of(ended, limit);
    let end = CommandEnd {
        exit: closing.exit.clone(),
        circumstances: closing.circumstances(),
    };
    context.commands.end(known, end, left);
    let mut presentation = closing.presentation(&context.terminal);
    let printed = match &presentation.body {
        ResultBody::Console(text) => text.as_str(),
        _ => "",
    };
    let mut read = cut_text(printed, MODEL_TEXT);
    let output_cut = context.terminal.left_out_bytes() > 0 || read.len() < printed.len();
    let denial = command
        .sandbox
        .as_ref()
        .and_then(|sandbox| sandbox::denial(sandbox, printed, closing.succeeded(), &command.cwd));
    if let Some(denial) = denial {
        if !read.is_empty() && !read.ends_with('\n') {
            read.push('\n');
        }
        read.push_str(&denial.to_string());
        presentation.notice = Some(denial.words());
    }
    let marker = MarkedEnd {
        cause: closing.cause,
        exit: closing.exit.clone(),
        was_waiting: closing.was_waiting,
        left_running: closing.left_running,
        output_cut,
    };
    ToolOutcome {
        content: exit_marker::append(
            read.strip_suffix('\n').unwrap_or(&read),
            &ExitMarker::Ended(marker),
        ),
        is_error: !closing.succeeded(),
        exit: Some(closing.exit.clone()),
        presentation,
        goes_on: None,
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
        let place = Place::new("/work/a".into(), vec!["/work/a".into()]);
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
