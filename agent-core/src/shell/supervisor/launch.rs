//! The launcher: from the fork to the command.

mod bubblewrap;

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::platform;
use crate::shell::sandbox::{self, Engine, Sandbox, SandboxError};

/// How long the supervisor may take to hand over the terminal. It does so at once; the limit only keeps a launcher whose
/// supervisor was killed from spinning.
const HANDOVER: Duration = Duration::from_secs(5);

/// What shells return for a program that is not there, and for one that cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUN: u8 = 126;

/// Waits for the terminal, goes into the sandbox and becomes the command. Returns only when that failed, with the codes
/// that shells use: a command whose sandbox cannot be put up does not run.
///
/// The first argument is the sandbox, or `null`, in JSON; the rest is the command. (Or it is the process that waits outside of
/// a `bwrap`, see [`bubblewrap`].)
pub fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(first) = arguments.next() else {
        return ExitCode::from(2);
    };
    let argv: Vec<OsString> = arguments.collect();
    if let Some(stage) = bubblewrap::Stage::read(&first) {
        return match stage.go_inside() {
            Ok(()) => become_command(&argv),
            Err(error) => not_put_up(&error),
        };
    }
    let Ok(sandbox) = read_sandbox(&first) else {
        return ExitCode::from(2);
    };
    // Should the supervisor be killed, by the command itself perhaps, the command is not to go on unwatched. The
    // supervisor has one thread, so the signal means its end and nothing else.
    platform::die_with_parent();
    wait_for_terminal();
    match sandbox {
        None => {}
        Some(sandbox) if sandbox.restricts() && sandbox.engine == Engine::Bubblewrap => {
            return match bubblewrap::outer(&sandbox, &argv) {
                Ok(code) => code,
                Err(error) => not_put_up(&error),
            };
        }
        Some(sandbox) => {
            if let Err(error) = sandbox::apply(&sandbox) {
                return not_put_up(&error);
            }
        }
    }
    become_command(&argv)
}

fn read_sandbox(json: &OsStr) -> serde_json::Result<Option<Sandbox>> {
    serde_json::from_slice(json.as_encoded_bytes())
}

fn become_command(argv: &[OsString]) -> ExitCode {
    let Some((program, rest)) = argv.split_first() else {
        return ExitCode::from(2);
    };
    let error = Command::new(program).args(rest).exec();
    complain(&program.to_string_lossy(), &error);
    ExitCode::from(if error.kind() == io::ErrorKind::NotFound {
        NOT_FOUND
    } else {
        NOT_RUN
    })
}

/// A process that reads the terminal before its group is the foreground one would be stopped by the kernel.
fn wait_for_terminal() {
    // By its own name: the output may be a pipe.
    let Ok(terminal) = File::open("/dev/tty") else {
        return;
    };
    let own = rustix::process::getpgrp();
    let begun = Instant::now();
    while rustix::termios::tcgetpgrp(&terminal).is_ok_and(|group| group != own)
        && begun.elapsed() < HANDOVER
    {
        std::thread::sleep(Duration::from_micros(100));
    }
}

fn not_put_up(error: &SandboxError) -> ExitCode {
    complain(
        "placard: the command did not run, because its sandbox cannot be put up",
        error,
    );
    ExitCode::from(NOT_RUN)
}

fn complain(about: &str, error: &dyn Display) {
    use std::io::Write as _;
    // Nothing else can be told when the terminal is gone.
    let _ = writeln!(io::stderr(), "{about}: {error}");
}

/// Ends this process by the signal, as another ended. Returns only where the signal cannot end a process.
fn die_by(signal: i32) -> Option<Infallible> {
    // The end is the other's; one picture of its memory is enough.
    let _ = rustix::process::setrlimit(
        rustix::process::Resource::Core,
        rustix::process::Rlimit {
            current: Some(0),
            maximum: Some(0),
        },
    );
    // The first resets a handler, where it knows the signal; the second serves the others.
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    let _ = signal_hook::low_level::raise(signal);
    None
}
