//! Running one command: pseudo-terminal, supervisor, output, exit, end.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use pty_process::{OwnedReadPty, Size};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::Child;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::control::{Order, Report, line};
use super::environment;
use super::exit::Exit;
use super::stray;
use super::supervisor::{PROCESS_NAME, SUPERVISE};
use super::terminal::TerminalOutput;
use crate::surroundings::Environment;

/// The terminal's size where no client told one.
const ROWS: u16 = 40;
const COLUMNS: u16 = 120;

/// How long the terminal must be quiet after the exit before what a left-running process might still print is given up.
const QUIET: Duration = Duration::from_millis(40);
/// How long a left-running process that keeps printing is listened to at most.
const DRAIN: Duration = Duration::from_millis(250);
/// How long a supervisor may take to end everything. It needs half a second; the rest is for a machine under load. After
/// it the supervisor itself is taken for stopped or lost, and everything is killed from here.
const END_LIMIT: Duration = Duration::from_secs(2);

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
    /// How long it may run.
    pub time_limit: Option<Duration>,
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    /// The command's true exit.
    pub exit: Exit,
    /// What made it end.
    pub cause: Cause,
    /// Processes that the command left running, with the means to end them.
    pub left: Option<LeftRunning>,
}

/// What made a command end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// It ended by itself.
    Itself,
    /// It was cancelled.
    Cancelled,
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

/// Processes that outlived their command. They are ended by [`LeftRunning::end`], or when this is dropped.
#[derive(Debug)]
pub struct LeftRunning {
    count: usize,
    control: OwnedWriteHalf,
    supervisor: Supervisor,
    /// Ends with the last of them.
    drain: JoinHandle<()>,
}

impl LeftRunning {
    /// How many there were when the command ended.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether they have all ended by themselves.
    pub fn is_over(&self) -> bool {
        self.drain.is_finished()
    }

    /// Ends them and waits until they are gone.
    pub async fn end(mut self) {
        // A supervisor that is gone cannot be asked; what it left is found by its mark.
        let asked = send(&mut self.control, &Order::End).await;
        let in_order = asked.is_ok() && timeout(END_LIMIT, &mut self.drain).await.is_ok();
        if !in_order {
            self.supervisor.kill_all().await;
        }
    }
}

/// The supervisor's process, and the mark of everything below it.
#[derive(Debug)]
struct Supervisor {
    process: Child,
    mark: String,
}

impl Supervisor {
    /// Kills it and everything that bears its mark: for a supervisor that does not do its work any more.
    async fn kill_all(&mut self) {
        // It may be dead already; that is one reason to be here.
        let _ = self.process.start_kill();
        let mark = self.mark.clone();
        // Only a runtime that is going down does not run it, and then the control socket closes too.
        let _ = tokio::task::spawn_blocking(move || stray::kill_marked(&mark)).await;
    }
}

impl Command {
    /// Runs the command to its end. What it prints goes to `output`, which is finished when this returns.
    /// `cancel` ends the command with all its descendants; so does dropping the future.
    pub async fn run(
        &self,
        output: &TerminalOutput,
        cancel: &CancellationToken,
    ) -> Result<Ended, CommandError> {
        let result = self.run_inner(output, cancel).await;
        output.finish();
        result
    }

    async fn run_inner(
        &self,
        output: &TerminalOutput,
        cancel: &CancellationToken,
    ) -> Result<Ended, CommandError> {
        let mut running = self.start().await?;
        let time_up = async {
            match self.time_limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(time_up);
        let cause = tokio::select! {
            biased;
            () = cancel.cancelled() => Cause::Cancelled,
            result = running.listen(output) => {
                let (exit, left) = result?;
                let left = running.settle(output, left).await;
                return Ok(Ended { exit, cause: Cause::Itself, left });
            }
            () = &mut time_up => Cause::TimedOut,
        };
        let exit = running.end(output).await;
        Ok(Ended {
            exit,
            cause,
            left: None,
        })
    }

    async fn start(&self) -> Result<Running, CommandError> {
        self.check_folder().await?;
        let environment = environment::for_command(&self.environment);
        let shell = find_shell(&self.environment);
        let (terminal, inner) =
            pty_process::open().map_err(|error| CommandError::Start(error.to_string()))?;
        terminal
            .resize(Size::new(ROWS, COLUMNS))
            .map_err(|error| CommandError::Start(error.to_string()))?;
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let mark = uuid::Uuid::new_v4().to_string();
        let process = pty_process::Command::new(&self.supervisor)
            .arg0(PROCESS_NAME)
            .arg(SUPERVISE)
            .env_clear()
            .envs(environment)
            // The folder under the name it was asked for by, also where that is a symbolic link.
            .env("PWD", &self.cwd)
            .env(stray::MARK, &mark)
            .current_dir(&self.cwd)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn(inner)
            .map_err(|error| {
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
                keyboard: false,
            },
        )
        .await?;
        let (terminal, input) = terminal.into_split();
        // Kept open with the reading half: closing it would hang the terminal up.
        drop(input);
        Ok(Running {
            terminal,
            reports: BufReader::new(reports).lines(),
            control,
            supervisor: Supervisor { process, mark },
            buffer: vec![0; 64 * 1024],
            reported: None,
        })
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

struct Running {
    terminal: OwnedReadPty,
    reports: Lines<BufReader<OwnedReadHalf>>,
    control: OwnedWriteHalf,
    supervisor: Supervisor,
    buffer: Vec<u8>,
    /// The exit, once told, and how many processes were left.
    reported: Option<(Exit, usize)>,
}

impl Running {
    /// Takes in output until the supervisor tells the exit. Cancel-safe: nothing read is lost.
    async fn listen(&mut self, output: &TerminalOutput) -> Result<(Exit, usize), CommandError> {
        if let Some(reported) = &self.reported {
            return Ok(reported.clone());
        }
        let mut terminal_open = true;
        loop {
            tokio::select! {
                count = self.terminal.read(&mut self.buffer), if terminal_open => match count {
                    // Linux says EIO when the last holder of the other side is gone.
                    Ok(0) | Err(_) => terminal_open = false,
                    Ok(count) => output.push(&self.buffer[..count]),
                },
                line = self.reports.next_line() => {
                    let Ok(Some(line)) = line else {
                        // The supervisor was killed: nobody knows how the command ended, and nobody else ends the rest.
                        self.supervisor.kill_all().await;
                        return Ok((Exit::Unknown, 0));
                    };
                    let reported = read_report(&line)?;
                    self.reported = Some(reported.clone());
                    return Ok(reported);
                }
            }
        }
    }

    /// Ends the command with everything that it started, taking in what is still printed.
    async fn end(mut self, output: &TerminalOutput) -> Exit {
        // A supervisor that is gone cannot be asked; `listen` finds that.
        let _ = send(&mut self.control, &Order::End).await;
        let in_order = async {
            let told = self.listen(output).await;
            // Whatever was left when the command itself ended is being ended too: the terminal closes when all is gone.
            self.read_to_end(output).await;
            told
        };
        match timeout(END_LIMIT, in_order).await {
            Ok(Ok((exit, _))) => exit,
            Ok(Err(_)) => Exit::Unknown,
            Err(_) => {
                self.supervisor.kill_all().await;
                let _ = timeout(DRAIN, self.read_to_end(output)).await;
                self.reported.map_or(Exit::Unknown, |(exit, _)| exit)
            }
        }
    }

    /// After the exit: the rest of the output, and what was left running.
    async fn settle(mut self, output: &TerminalOutput, left: usize) -> Option<LeftRunning> {
        if left == 0 {
            // Nobody holds the terminal any more, so its end is exact and comes at once.
            let _ = timeout(END_LIMIT, self.read_to_end(output)).await;
            return None;
        }
        let quiet = async {
            while let Ok(Ok(count)) = timeout(QUIET, self.terminal.read(&mut self.buffer)).await {
                if count == 0 {
                    break;
                }
                output.push(&self.buffer[..count]);
            }
        };
        let _ = timeout(DRAIN, quiet).await;
        let Self {
            mut terminal,
            reports,
            control,
            supervisor,
            mut buffer,
            ..
        } = self;
        let drain = tokio::spawn(async move {
            // Read and thrown away: a full terminal would stop what was left running on purpose.
            while matches!(terminal.read(&mut buffer).await, Ok(count) if count > 0) {}
            drop(reports);
        });
        Some(LeftRunning {
            count: left,
            control,
            supervisor,
            drain,
        })
    }

    async fn read_to_end(&mut self, output: &TerminalOutput) {
        while let Ok(count) = self.terminal.read(&mut self.buffer).await {
            if count == 0 {
                break;
            }
            output.push(&self.buffer[..count]);
        }
    }
}

/// The exit and the number of processes left, from a supervisor's line.
fn read_report(line: &str) -> Result<(Exit, usize), CommandError> {
    match serde_json::from_str(line) {
        Ok(Report::Exited { code, signal, left }) => Ok((Exit::from_numbers(code, signal), left)),
        Ok(Report::Looked { .. }) => Err(CommandError::Start("not asked".to_owned())),
        Ok(Report::NotStarted { message }) => Err(CommandError::Start(message)),
        Err(error) => Err(CommandError::Start(format!(
            "the supervisor spoke out of turn: {error}"
        ))),
    }
}

async fn send(control: &mut OwnedWriteHalf, order: &Order) -> io::Result<()> {
    control.write_all(&line(order)?).await
}
