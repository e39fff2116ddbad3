//! The supervisor's life: start the command, tell its exit, end what remains.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};

use super::{LAUNCH, PROCESS_NAME, descendants};
use crate::platform::{self, Look};
use crate::shell::control::{Order, Report, line};
use crate::shell::sandbox::Sandbox;

/// From the interrupt (what Ctrl-C sends) to SIGTERM for everything.
const TERMINATE_AFTER: Duration = Duration::from_millis(150);
/// From the interrupt to SIGKILL for whatever is still there.
const KILL_AFTER: Duration = Duration::from_millis(450);
/// From the agent's death to SIGKILL: nobody waits for a gentle end any more.
const ORPHAN_KILL_AFTER: Duration = Duration::from_millis(200);
/// How often what is still there is counted and signalled while it ends.
const ROUND: Duration = Duration::from_millis(10);

/// The supervisor's whole life.
pub fn run() -> ExitCode {
    match Supervisor::start() {
        Ok(Some(supervisor)) => {
            if supervisor.watch().is_ok() {
                return ExitCode::SUCCESS;
            }
            // Its own fault or the control socket's: nothing may survive it all the same.
            while descendants::signal_all(Signal::KILL) > 0 {
                reap(&mut |_, _, _| {});
                std::thread::sleep(ROUND);
            }
            ExitCode::FAILURE
        }
        Ok(None) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// How far the end of the subtree has come.
#[derive(Debug, Clone, Copy)]
struct Ending {
    begun: Instant,
    terminate_after: Duration,
    kill_after: Duration,
    terminated: bool,
}

struct Supervisor {
    control: UnixStream,
    /// Becomes readable when a child changed its state.
    children: UnixStream,
    command: Pid,
    command_ended: bool,
    ending: Option<Ending>,
    /// Bytes of a line of orders that is not complete.
    partial: Vec<u8>,
}

impl Supervisor {
    /// Reads the order, starts the command. `None`: it could not be started, which has been told.
    fn start() -> io::Result<Option<Self>> {
        // Terminal signals are for the command's group; one that reaches the supervisor (or a hang-up) must not
        // end it. Handlers, unlike ignoring, are undone when the command is executed.
        let noticed = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP] {
            signal_hook::flag::register(signal, Arc::clone(&noticed))?;
        }
        platform::adopt_orphans()?;
        let (children, wake) = UnixStream::pair()?;
        children.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(SIGCHLD, wake)?;

        let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        let mut reader = BufReader::new(control.try_clone()?);
        let mut first = String::new();
        reader.read_line(&mut first)?;
        let partial = reader.buffer().to_vec();
        let Order::Run {
            argv,
            keyboard,
            sandbox,
        } = serde_json::from_str(&first)?
        else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let mut supervisor = Self {
            control,
            children,
            command: rustix::process::getpid(),
            command_ended: false,
            ending: None,
            partial,
        };
        match spawn(&argv, keyboard, sandbox.as_ref()) {
            Ok(pid) => supervisor.command = pid,
            Err(error) => {
                supervisor.tell(&Report::NotStarted {
                    message: error.to_string(),
                })?;
                return Ok(None);
            }
        }
        supervisor.control.set_nonblocking(true)?;
        Ok(Some(supervisor))
    }

    /// Until nothing of the command is left.
    fn watch(mut self) -> io::Result<()> {
        // An order may have come in one read with the first line; nothing would wake this process for it.
        self.obey()?;
        loop {
            self.reap()?;
            if self.command_ended && descendants::living().is_empty() {
                return Ok(());
            }
            self.go_on_ending();
            self.wait()?;
            self.hear()?;
        }
    }

    /// Sleeps until an order, a child's change, or the next round of ending.
    fn wait(&self) -> io::Result<()> {
        let round = Timespec::try_from(ROUND).map_err(|_| io::ErrorKind::InvalidInput)?;
        let timeout = self.ending.map(|_| round);
        let mut sources = [
            PollFd::new(&self.children, PollFlags::IN),
            PollFd::new(&self.control, PollFlags::IN),
        ];
        // While it ends everything there is no order left to hear, and a closed socket would not let it sleep.
        let heard = if self.ending.is_some() { 1 } else { 2 };
        match poll(&mut sources[..heard], timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the orders that have come. The end of the socket: the agent is gone.
    fn hear(&mut self) -> io::Result<()> {
        let mut buffer = [0_u8; 512];
        // Only wakes; what it says is learned by `reap`.
        while matches!(self.children.read(&mut buffer), Ok(count) if count > 0) {}
        if self.ending.is_some() {
            return Ok(());
        }
        loop {
            match self.control.read(&mut buffer) {
                Ok(0) => {
                    self.begin_ending(Duration::ZERO, ORPHAN_KILL_AFTER);
                    return Ok(());
                }
                Ok(count) => self.partial.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.begin_ending(Duration::ZERO, ORPHAN_KILL_AFTER);
                    return Ok(());
                }
            }
        }
        self.obey()
    }

    /// Does what the orders say that have been read to the end of their lines.
    fn obey(&mut self) -> io::Result<()> {
        while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
            let order: Vec<u8> = self.partial.drain(..=end).collect();
            match serde_json::from_slice(&order) {
                Ok(Order::End) if self.ending.is_none() => {
                    interrupt_foreground();
                    self.begin_ending(TERMINATE_AFTER, KILL_AFTER);
                }
                Ok(Order::Look) if !self.command_ended => {
                    let Look { reading, by_line } = platform::look(rustix::stdio::stderr());
                    self.tell(&Report::Looked { reading, by_line })?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn begin_ending(&mut self, terminate_after: Duration, kill_after: Duration) {
        self.ending = Some(Ending {
            begun: Instant::now(),
            terminate_after,
            kill_after,
            terminated: false,
        });
    }

    /// The next step of the end, when its time has come. SIGKILL is repeated until nothing is left: a process may
    /// fork between the look and the signal.
    fn go_on_ending(&mut self) {
        let Some(ending) = &mut self.ending else {
            return;
        };
        let passed = ending.begun.elapsed();
        if passed >= ending.kill_after {
            descendants::signal_all(Signal::KILL);
        } else if passed >= ending.terminate_after && !ending.terminated {
            ending.terminated = true;
            descendants::signal_all(Signal::TERM);
            // A stopped process hears nothing else.
            descendants::signal_all(Signal::CONT);
        }
    }

    /// Collects the children that ended; tells the command's exit.
    fn reap(&mut self) -> io::Result<()> {
        let command = self.command;
        let mut exit = None;
        let childless = reap(&mut |pid, code, signal| {
            if pid == command {
                exit = Some((code, signal));
            }
        });
        if exit.is_none() && childless && !self.command_ended {
            // Cannot happen while this process alone collects its children; waiting for ever would be worse.
            exit = Some((None, None));
        }
        let Some((code, signal)) = exit else {
            return Ok(());
        };
        self.command_ended = true;
        let left = descendants::living().len();
        self.tell(&Report::Exited { code, signal, left })
    }

    fn tell(&mut self, report: &Report) -> io::Result<()> {
        match self.control.write_all(&line(report)?) {
            // The agent is gone; `hear` finds that too.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}

/// What Ctrl-C does: the foreground group of the terminal gets SIGINT.
fn interrupt_foreground() {
    if let Ok(group) = rustix::termios::tcgetpgrp(rustix::stdio::stderr())
        && group != rustix::process::getpgrp()
    {
        // The group may have ended meanwhile.
        let _ = rustix::process::kill_process_group(group, Signal::INT);
    }
}

/// Starts the command through the launcher, in a group of its own, and gives it the terminal. Standard error is the
/// terminal; standard output is it too, unless the output was asked for through a pipe.
fn spawn(argv: &[String], keyboard: bool, sandbox: Option<&Sandbox>) -> io::Result<Pid> {
    let terminal = io::stderr().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let child = Command::new(platform::own_program()?)
        .arg0(PROCESS_NAME)
        .arg(LAUNCH)
        .arg(serde_json::to_string(&sandbox)?)
        .args(argv)
        .stdin(if keyboard {
            Stdio::from(terminal.try_clone()?)
        } else {
            // Nobody can type: what reads is to find the end at once, not to wait for ever.
            Stdio::null()
        })
        .stdout(Stdio::from(output.try_clone()?))
        .stderr(Stdio::from(output))
        .process_group(0)
        .spawn()?;
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or(io::ErrorKind::InvalidData)?;
    // A launcher that has ended already has no group any more.
    let _ = rustix::termios::tcsetpgrp(&terminal, pid);
    Ok(pid)
}

/// Collects every child that has ended: its id, its code, its signal. True when there are no children any more.
fn reap(found: &mut dyn FnMut(Pid, Option<i32>, Option<i32>)) -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => {
                if status.exited() || status.signaled() {
                    found(pid, status.exit_status(), status.terminating_signal());
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}
