//! A command that runs: its output is taken in, what is typed goes to it, its exit is heard, and it is ended in time.

use std::pin::Pin;
use std::time::Duration;

use futures::FutureExt as _;
use pty_process::{OwnedReadPty, OwnedWritePty};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::unix::pipe;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{Instant, Sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::command::{Cause, CommandError, Ended};
use super::control::{Order, Report};
use super::exit::Exit;
use super::handle::{CommandHandle, CommandState};
use super::left::{END_LIMIT, LeftRunning, Supervisor, send};
use super::terminal::TerminalOutput;

/// How long the terminal must be quiet after the exit before what a left-running process might still print is given up.
const QUIET: Duration = Duration::from_millis(40);
/// How long a left-running process that keeps printing is listened to at most.
const DRAIN: Duration = Duration::from_millis(250);

/// How long a command prints nothing before somebody looks whether it waits for input.
const LOOK_AFTER: Duration = Duration::from_millis(300);
/// The longest pause between two looks at a command that stays quiet. They grow from the first to this, since a look costs
/// a walk through the processes and most quiet commands just work.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A command that waits for keys where nobody can press any is stopped when it was found so this often in a row.
const VAIN_LOOKS: u32 = 2;

/// What the terminal driver reads as the end of the input.
const END_OF_INPUT: u8 = 4;

/// How much is read before it is passed on.
const BUFFER: usize = 64 * 1024;

/// A command that was started.
pub struct Running {
    sources: Sources,
    input: OwnedWritePty,
    /// Typed and not yet taken by the terminal.
    pending: Vec<u8>,
    reports: Lines<BufReader<OwnedReadHalf>>,
    control: OwnedWriteHalf,
    supervisor: Supervisor,
    handle: CommandHandle,
    attention: Attention,
    buffer: Vec<u8>,
    /// The exit, once told, and how many processes were left.
    reported: Option<(Exit, usize)>,
    time_limit: Option<Duration>,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Running")
            .field("supervisor", &self.supervisor)
            .field("reported", &self.reported)
            .finish_non_exhaustive()
    }
}

/// What a command's processes are reached by.
pub(super) struct Ends {
    pub(super) terminal: OwnedReadPty,
    pub(super) input: OwnedWritePty,
    /// The output, where it was asked for through a pipe.
    pub(super) pipe: Option<pipe::Receiver>,
    pub(super) reports: Lines<BufReader<OwnedReadHalf>>,
    pub(super) control: OwnedWriteHalf,
    pub(super) supervisor: Supervisor,
}

/// Where output comes from: the terminal, and a pipe where one was asked for. What has ended is gone.
struct Sources {
    terminal: Option<OwnedReadPty>,
    pipe: Option<pipe::Receiver>,
}

/// When somebody looks next whether the command waits for input.
struct Attention {
    last_output: Instant,
    pause: Duration,
    next: Pin<Box<Sleep>>,
    /// When the look was asked for that is not answered yet.
    asked_at: Option<Instant>,
    /// It was found reading at some time since it last printed.
    found_reading: bool,
    /// How often it was found waiting for keys that nobody can press since it last printed.
    vain_looks: u32,
}

impl Attention {
    fn new() -> Self {
        Self {
            last_output: Instant::now(),
            pause: LOOK_AFTER,
            next: Box::pin(tokio::time::sleep(LOOK_AFTER)),
            asked_at: None,
            found_reading: false,
            vain_looks: 0,
        }
    }

    /// The command did something: whatever was known of its waiting is over.
    fn stirred(&mut self) {
        self.last_output = Instant::now();
        self.found_reading = false;
        self.vain_looks = 0;
        if self.pause > LOOK_AFTER {
            self.pause = LOOK_AFTER;
            self.next.as_mut().reset(self.last_output + LOOK_AFTER);
        }
    }

    /// The time of a look has come; false when the command has stirred meanwhile.
    fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let quiet_until = self.last_output + LOOK_AFTER;
        if quiet_until > now {
            self.next.as_mut().reset(quiet_until);
            return false;
        }
        self.next.as_mut().reset(now + self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        self.asked_at = Some(now);
        true
    }

    /// Whether what a look found is still true: nothing was printed or typed since it was asked for.
    fn is_current(&mut self) -> bool {
        self.asked_at
            .take()
            .is_some_and(|asked_at| self.last_output < asked_at)
    }
}

enum Heard {
    Exit(Exit, usize),
    /// Of the command's waiting for input.
    Look {
        reading: bool,
        by_line: bool,
    },
}

impl Running {
    pub(super) fn new(ends: Ends, handle: CommandHandle, time_limit: Option<Duration>) -> Self {
        let Ends {
            terminal,
            input,
            pipe,
            reports,
            control,
            supervisor,
        } = ends;
        Self {
            sources: Sources {
                terminal: Some(terminal),
                pipe,
            },
            input,
            pending: Vec::new(),
            reports,
            control,
            supervisor,
            handle,
            attention: Attention::new(),
            buffer: vec![0; BUFFER],
            reported: None,
            time_limit,
        }
    }

    /// To the command's end. What it prints goes to `output`, which is finished when this returns, but for an error, of which
    /// its card is still to tell. `cancel` ends the command with all its descendants, as its handle's stop does; so does
    /// dropping the future.
    pub async fn finish(
        self,
        output: &TerminalOutput,
        cancel: &CancellationToken,
    ) -> Result<Ended, CommandError> {
        let handle = self.handle.clone();
        let result = self.finish_inner(output, cancel).await;
        handle.set_state(CommandState::Over);
        if result.is_ok() {
            output.finish();
        }
        result
    }

    async fn finish_inner(
        mut self,
        output: &TerminalOutput,
        cancel: &CancellationToken,
    ) -> Result<Ended, CommandError> {
        let limit = self.time_limit;
        let time_up = async {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(time_up);
        let stopped = self.handle.stopped().clone();
        let cause = tokio::select! {
            biased;
            () = cancel.cancelled() => Cause::Cancelled,
            () = stopped.cancelled() => Cause::Stopped,
            // Before the output: one that never ends would use up what this task may do at a time, and the clock would not be read.
            () = &mut time_up => Cause::TimedOut,
            result = self.listen(output) => {
                let (exit, left) = result?;
                let left = self.settle(output, left).await;
                return Ok(Ended { exit, cause: Cause::Itself, waited_for_input: false, left });
            }
        };
        let waited_for_input = self.attention.found_reading;
        let exit = self.end(output).await;
        Ok(Ended {
            exit,
            cause,
            waited_for_input,
            left: None,
        })
    }

    /// Takes in output until the supervisor tells the exit. Cancel-safe: nothing read is lost.
    async fn listen(&mut self, output: &TerminalOutput) -> Result<(Exit, usize), CommandError> {
        if let Some(reported) = &self.reported {
            return Ok(reported.clone());
        }
        loop {
            tokio::select! {
                count = self.sources.read(&mut self.buffer), if self.sources.are_open() => {
                    if let Some(count) = count {
                        output.push(&self.buffer[..count]);
                        self.attention.stirred();
                        self.handle.set_state(CommandState::Running);
                    }
                }
                line = self.reports.next_line() => {
                    let Ok(Some(line)) = line else {
                        // The supervisor was killed: nobody knows how the command ended, and nobody else ends the rest.
                        self.supervisor.kill_all().await;
                        return Ok((Exit::Unknown, 0));
                    };
                    match read_report(&line)? {
                        Heard::Exit(exit, left) => {
                            self.reported = Some((exit.clone(), left));
                            return Ok((exit, left));
                        }
                        Heard::Look { reading, by_line } => self.looked(reading, by_line),
                    }
                }
                typed = self.handle.typed(), if self.pending.is_empty() => {
                    self.pending = typed;
                    self.attention.stirred();
                    self.handle.set_state(CommandState::Running);
                }
                written = self.input.write(&self.pending), if !self.pending.is_empty() => {
                    match written {
                        Ok(count) => drop(self.pending.drain(..count)),
                        // A terminal that nobody holds any more takes nothing; the exit follows.
                        Err(_) => self.pending.clear(),
                    }
                }
                () = self.attention.next.as_mut() => {
                    if self.attention.is_due() {
                        // A supervisor that is gone is found by the end of its reports.
                        let _ = send(&mut self.control, &Order::Look).await;
                    }
                }
            }
        }
    }

    /// What to do with a command that waits for input: tell, or end the input where nobody can type.
    fn looked(&mut self, reading: bool, by_line: bool) {
        if !self.attention.is_current() {
            return;
        }
        self.attention.found_reading |= reading;
        let ended = !self.handle.has_keyboard() || self.handle.input_ended();
        if reading && by_line && ended && self.pending.is_empty() {
            // Where nobody can type it opened the terminal itself, as programs that ask for a password do. Where somebody can, the
            // end was typed, and a terminal tells it only once.
            self.pending.push(END_OF_INPUT);
        } else if self.handle.has_keyboard() {
            self.handle.set_state(if reading {
                CommandState::Waiting
            } else {
                CommandState::Running
            });
        } else if reading && !by_line {
            // It waits for keys, as pagers and editors do, and there is no key that would end them all.
            self.attention.vain_looks += 1;
            if self.attention.vain_looks >= VAIN_LOOKS {
                self.handle.stopped().cancel();
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
            while let Ok(Some(count)) = timeout(QUIET, self.sources.read(&mut self.buffer)).await {
                output.push(&self.buffer[..count]);
            }
        };
        let _ = timeout(DRAIN, quiet).await;
        let Self {
            mut sources,
            input,
            reports,
            control,
            supervisor,
            mut buffer,
            ..
        } = self;
        let drain = tokio::spawn(async move {
            // Read and thrown away: a full terminal would stop what was left running on purpose.
            while sources.read(&mut buffer).await.is_some() {}
            drop((reports, input));
        });
        Some(LeftRunning::new(left, control, supervisor, drain))
    }

    async fn read_to_end(&mut self, output: &TerminalOutput) {
        while let Some(count) = self.sources.read(&mut self.buffer).await {
            output.push(&self.buffer[..count]);
        }
    }
}

impl Sources {
    fn are_open(&self) -> bool {
        self.terminal.is_some() || self.pipe.is_some()
    }

    /// What comes next from either, as much as is there; `None` when both have ended. Cancel-safe.
    async fn read(&mut self, buffer: &mut [u8]) -> Option<usize> {
        while self.are_open() {
            let (terminal, pipe) = (&mut self.terminal, &mut self.pipe);
            let (count, of_pipe) = match (terminal.as_mut(), pipe.as_mut()) {
                (Some(terminal), Some(pipe)) => {
                    // Each into a half of its own: the loser of the two has read nothing, but borrows its room.
                    let (first, second) = buffer.split_at_mut(buffer.len() / 2);
                    tokio::select! {
                        count = read_some(pipe, first) => (count, true),
                        count = read_some(terminal, second) => {
                            if let Some(count) = count {
                                first[..count].copy_from_slice(&second[..count]);
                            }
                            (count, false)
                        }
                    }
                }
                (Some(terminal), None) => (read_some(terminal, buffer).await, false),
                (None, Some(pipe)) => (read_some(pipe, buffer).await, true),
                (None, None) => (None, false),
            };
            match count {
                Some(count) => return Some(count),
                None if of_pipe => self.pipe = None,
                None => self.terminal = None,
            }
        }
        None
    }
}

/// Waits for output, then takes what else is there already: a terminal hands out 4 KiB at a time, and whoever is told of
/// output wants to be told once. `None` at the end; Linux says EIO when the last holder of a terminal's other side is gone.
async fn read_some(source: &mut (impl AsyncRead + Unpin), buffer: &mut [u8]) -> Option<usize> {
    let mut count = source.read(buffer).await.ok().filter(|count| *count > 0)?;
    while count < buffer.len() {
        match source.read(&mut buffer[count..]).now_or_never() {
            Some(Ok(more)) if more > 0 => count += more,
            // Nothing more now, or the end, which the next read finds again.
            _ => break,
        }
    }
    Some(count)
}

/// What a supervisor's line says.
fn read_report(line: &str) -> Result<Heard, CommandError> {
    match serde_json::from_str(line) {
        Ok(Report::Exited { code, signal, left }) => {
            Ok(Heard::Exit(Exit::from_numbers(code, signal), left))
        }
        Ok(Report::Looked { reading, by_line }) => Ok(Heard::Look { reading, by_line }),
        Ok(Report::NotStarted { message }) => Err(CommandError::Start(message)),
        Err(error) => Err(CommandError::Start(format!(
            "the supervisor spoke out of turn: {error}"
        ))),
    }
}
