//! A command inside of `bwrap`, whose end is told as if nothing stood between.
//!
//! `bwrap` keeps a process of its own outside, which turns a signal into a code and dies of Ctrl-C before the command does. So
//! the launcher starts `bwrap` with a stage of ours as its program. The stage kills that process and stops itself; the launcher, which
//! adopts what is orphaned below it, then finds the stage as its own child, lets it go on to become the command, waits for it, and
//! ends as it ended.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process};
use signal_hook::consts as signals;

use super::{NOT_RUN, die_by};
use crate::platform::{adopt_orphans, die_with_parent};
use crate::shell::sandbox::{
    Level, Sandbox, SandboxError, bubblewrap_arguments, keep_to_own_processes,
};
use crate::shell::supervisor::{LAUNCH, PROCESS_NAME};

/// The part of the launcher inside of `bwrap`, as its first argument tells it: `inside:PID:LEVEL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stage {
    /// The launcher outside.
    outer: Pid,
    /// The command shall not reach other processes, which no mount keeps it from.
    reading: bool,
}

/// Signals that reach the whole group of the command. The launcher is in it, and must be there to tell how the command took them.
const SURVIVED: [i32; 14] = [
    signals::SIGHUP,
    signals::SIGINT,
    signals::SIGQUIT,
    signals::SIGTERM,
    signals::SIGUSR1,
    signals::SIGUSR2,
    signals::SIGALRM,
    signals::SIGVTALRM,
    signals::SIGPROF,
    signals::SIGIO,
    signals::SIGXCPU,
    signals::SIGTSTP,
    signals::SIGTTIN,
    signals::SIGTTOU,
];

/// The launcher's part: starts `bwrap`, and ends as the command ended.
pub(super) fn outer(sandbox: &Sandbox, argv: &[OsString]) -> Result<ExitCode, SandboxError> {
    let program = sandbox
        .bubblewrap
        .as_deref()
        .ok_or(SandboxError::NoBubblewrap)?;
    let failed = |what: &str| SandboxError::Bubblewrap {
        program: program.to_owned(),
        reason: what.to_owned(),
    };
    let wrong = |error: io::Error| failed(&error.to_string());
    // Handlers, unlike ignoring, are undone in the command.
    let noticed = Arc::new(AtomicBool::new(false));
    for signal in SURVIVED {
        signal_hook::flag::register(signal, Arc::clone(&noticed)).map_err(wrong)?;
    }
    let own = rustix::process::getpid();
    adopt_orphans().map_err(wrong)?;
    let stage = own_program().map_err(wrong)?;
    let inside = Stage {
        outer: own,
        reading: sandbox.level == Level::ReadOnly,
    };
    let root = rustix::process::geteuid().is_root();
    let mut monitor = Command::new(program);
    monitor
        .args(bubblewrap_arguments(
            &sandbox.without_moved(),
            &folder(),
            root,
        ))
        .arg(stage)
        .arg(LAUNCH)
        .arg(inside.argument())
        .args(argv);
    let monitor = monitor.arg0(PROCESS_NAME).spawn().map_err(wrong)?;
    let monitor = i32::try_from(monitor.id()).ok().and_then(Pid::from_raw);

    let mut command = None;
    loop {
        let (pid, status) = match rustix::process::wait(WaitOptions::UNTRACED) {
            Ok(Some(found)) => found,
            Ok(None) | Err(rustix::io::Errno::INTR) => continue,
            // No child is left and none was the command.
            Err(_) => {
                return Err(failed(
                    "it ended before the command began; its own words are above",
                ));
            }
        };
        match command {
            // The stage is the only one that can be orphaned before it goes on.
            None if Some(pid) != monitor && status.stopped() => {
                command = Some(pid);
                let _ = kill_process(pid, Signal::CONT);
            }
            Some(command) if command == pid && !status.stopped() => return Ok(end_as(status)),
            // The monitor, killed by the stage; or an orphan of the command's, which the supervisor would have reaped.
            _ => {}
        }
    }
}

fn end_as(status: WaitStatus) -> ExitCode {
    if let Some(signal) = status.terminating_signal() {
        die_by(signal);
    }
    let code = status
        .exit_status()
        .and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(NOT_RUN))
}

impl Stage {
    fn argument(self) -> String {
        let level = if self.reading { "reading" } else { "writing" };
        format!("inside:{}:{level}", self.outer)
    }

    /// Reads the first argument of a stage; that of a launcher is JSON.
    pub(super) fn read(first: &OsStr) -> Option<Self> {
        let (pid, level) = first.to_str()?.strip_prefix("inside:")?.split_once(':')?;
        Some(Self {
            outer: Pid::from_raw(pid.parse().ok()?)?,
            reading: level == "reading",
        })
    }

    /// Becomes a child of the launcher's.
    pub(super) fn go_inside(self) -> Result<(), SandboxError> {
        let lost = |what: &str| SandboxError::Bubblewrap {
            program: PROCESS_NAME.into(),
            reason: what.to_owned(),
        };
        match rustix::process::getppid() {
            Some(monitor) if monitor != self.outer => {
                kill_process(monitor, Signal::KILL).map_err(|error| {
                    lost(&format!("bwrap's own process cannot be ended: {error}"))
                })?;
            }
            _ => return Err(lost("it is not where it was started")),
        }
        kill_process(rustix::process::getpid(), Signal::STOP)
            .map_err(|error| lost(&error.to_string()))?;
        die_with_parent();
        if rustix::process::getppid() != Some(self.outer) {
            return Err(lost("the launcher is gone"));
        }
        if self.reading {
            keep_to_own_processes()?;
        }
        Ok(())
    }
}

/// The folder under the name that the command was given it by.
fn folder() -> PathBuf {
    let named = std::env::var_os("PWD").map(PathBuf::from);
    named
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::current_dir().ok())
        .unwrap_or_else(|| PathBuf::from("/"))
}

/// This program's file by its own name: what stands for it in `/proc` is another's inside.
fn own_program() -> io::Result<PathBuf> {
    let named = std::env::current_exe()?;
    let running = std::fs::metadata("/proc/self/exe")?;
    let same = std::fs::metadata(&named)
        .is_ok_and(|found| (found.dev(), found.ino()) == (running.dev(), running.ino()));
    if same {
        Ok(named)
    } else {
        Err(io::Error::other(format!(
            "{} was replaced since this program started; start it again",
            named.display()
        )))
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_stage_is_told_by_its_first_argument() {
        for reading in [true, false] {
            let stage = Stage {
                outer: rustix::process::getpid(),
                reading,
            };
            assert_eq!(Stage::read(stage.argument().as_ref()), Some(stage));
        }
        for other in ["null", r#"{"level":"off"}"#, "inside:", "inside:x:reading"] {
            assert_eq!(Stage::read(other.as_ref()), None, "{other}");
        }
    }
}
