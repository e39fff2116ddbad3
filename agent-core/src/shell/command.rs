//! Running one command: pseudo-terminal, supervisor, output, exit, end.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use pty_process::Size;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

use super::control::Order;
use super::environment::{self, VariableRules};
use super::exit::Exit;
use super::handle::{CommandHandle, CommandState};
use super::left::{LeftRunning, Supervisor, send};
use super::running::{Ends, Running};
use super::sandbox::Sandbox;
use super::stray;
use super::supervisor::{PROCESS_NAME, SUPERVISE};
use super::terminal::{TerminalOutput, TerminalSize};
use crate::surroundings::Environment;

/// A command to run.
#[derive(Debug, Clone)]
pub struct Command {
    /// A program that understands the hidden subcommands of the supervisor.
    pub supervisor: PathBuf,
    /// The line for the shell.
    pub line: String,
    /// The folder to run in.
    pub cwd: PathBuf,
    /// The person's environment; the allow-list is applied here.
    pub environment: Environment,
    /// What of that environment passes beside the allow-list, or does not.
    pub variables: VariableRules,
    /// What the command is kept to; without one it may do what the person may.
    pub sandbox: Option<Sandbox>,
    /// How long it may run.
    pub time_limit: Option<Duration>,
    /// The size of its terminal.
    pub size: TerminalSize,
    /// What it prints to.
    pub prints_to: PrintsTo,
}

/// What a command's standard output and error are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrintsTo {
    /// The terminal: programs print as they do for a person, and at once.
    #[default]
    Terminal,
    /// One pipe: programs print as they do for another program. What they write to `/dev/tty` is taken in too.
    Pipe,
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    /// The command's true exit.
    pub exit: Exit,
    /// What made it end.
    pub cause: Cause,
    /// It waited for input when it was ended.
    pub waited_for_input: bool,
    /// Processes that the command left running, with the means to end them.
    pub left: Option<LeftRunning>,
}

/// What made a command end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// It ended by itself.
    Itself,
    /// It was cancelled, with its turn or its session.
    Cancelled,
    /// It alone was stopped, by its handle.
    Stopped,
    /// Its time was up.
    TimedOut,
}

/// Why a command did not run.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The folder is not there or is no folder.
    #[error(
        "the folder {folder} to run the command in cannot be used: {reason}; name one that exists"
    )]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// No terminal, no process, no shell.
    #[error("the command could not be started: {0}")]
    Start(String),
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        Self::Start(error.to_string())
    }
}

impl Command {
    /// Runs the command to its end. What it prints goes to `output`, which is finished when this returns, but for an error:
    /// whoever tells of that on the card finishes it then. `cancel` ends the command with all its descendants; so do the
    /// handle's stop and dropping the future.
    pub async fn run(
        &self,
        output: &TerminalOutput,
        handle: &CommandHandle,
        cancel: &CancellationToken,
    ) -> Result<Ended, CommandError> {
        match self.start(handle).await {
            Ok(running) => running.finish(output, cancel).await,
            Err(error) => {
                handle.set_state(CommandState::Over);
                Err(error)
            }
        }
    }

    /// Starts the command. It runs once [`Running::finish`] is called, and ends when what this returns is dropped.
    pub async fn start(&self, handle: &CommandHandle) -> Result<Running, CommandError> {
        self.check_folder().await?;
        let environment = environment::for_command(&self.environment, &self.variables);
        let shell = find_shell(&self.environment);
        let (terminal, inner) =
            pty_process::open().map_err(|error| CommandError::Start(error.to_string()))?;
        terminal
            .resize(Size::new(self.size.rows, self.size.columns))
            .map_err(|error| CommandError::Start(error.to_string()))?;
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let mark = uuid::Uuid::new_v4().to_string();
        let (pipe, pipe_end) = match self.prints_to {
            PrintsTo::Terminal => (None, None),
            PrintsTo::Pipe => {
                let (sender, receiver) = pipe::pipe()?;
                (Some(receiver), Some(sender.into_blocking_fd()?))
            }
        };
        let mut process = pty_process::Command::new(&self.supervisor)
            .arg0(PROCESS_NAME)
            .arg(SUPERVISE)
            .env_clear()
            .envs(environment)
            // The folder under the name it was asked for by, also where that is a symbolic link.
            .env("PWD", &self.cwd)
            .env(stray::MARK, &mark)
            .current_dir(&self.cwd)
            .stdin(Stdio::from(OwnedFd::from(theirs)));
        if let Some(end) = pipe_end {
            process = process.stdout(Stdio::from(end));
        }
        let process = process.spawn(inner).map_err(|error| {
            CommandError::Start(format!(
                "the supervisor {} did not start: {error}",
                self.supervisor.display()
            ))
        })?;
        let (reports, mut control) = UnixStream::from_std(ours)?.into_split();
        send(
            &mut control,
            &Order::Run {
                argv: vec![shell, "-c".to_owned(), self.line.clone()],
                sandbox: self.sandbox.clone(),
                keyboard: handle.has_keyboard() && self.prints_to == PrintsTo::Terminal,
            },
        )
        .await?;
        let (terminal, input) = terminal.into_split();
        let ends = Ends {
            terminal,
            input,
            pipe,
            reports: BufReader::new(reports).lines(),
            control,
            supervisor: Supervisor { process, mark },
        };
        Ok(Running::new(ends, handle.clone(), self.time_limit))
    }

    async fn check_folder(&self) -> Result<(), CommandError> {
        let problem = match tokio::fs::metadata(&self.cwd).await {
            Ok(metadata) if metadata.is_dir() => return Ok(()),
            Ok(_) => "it is not a folder".to_owned(),
            Err(error) => error.to_string(),
        };
        Err(CommandError::Folder {
            folder: self.cwd.clone(),
            reason: problem,
        })
    }
}

/// bash where it is; else the shell that every Unix has.
fn find_shell(environment: &Environment) -> String {
    let path = environment
        .get("PATH")
        .unwrap_or("/usr/local/bin:/usr/bin:/bin");
    std::env::split_paths(path)
        .map(|folder| folder.join("bash"))
        .chain([PathBuf::from("/bin/bash")])
        .find(|candidate| candidate.is_absolute() && candidate.is_file())
        .map_or_else(
            || "/bin/sh".to_owned(),
            |found| found.to_string_lossy().into_owned(),
        )
}
