//! The launcher: from the fork to the command.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::shell::sandbox::{self, Sandbox};

/// How long the supervisor may take to hand over the terminal. It does so at once; the limit only keeps a launcher whose
/// supervisor was killed from spinning.
const HANDOVER: Duration = Duration::from_secs(5);

/// Waits for the terminal, goes into the sandbox and becomes the command. Returns only when that failed, with the codes
/// that shells use: a command whose sandbox cannot be put up does not run.
///
/// The first argument is the sandbox, or `null`, in JSON; the rest is the command.
pub fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(Ok(sandbox)) = arguments.next().map(|json| read_sandbox(&json)) else {
        return ExitCode::from(2);
    };
    let argv: Vec<OsString> = arguments.collect();
    let Some((program, rest)) = argv.split_first() else {
        return ExitCode::from(2);
    };
    // Should the supervisor be killed, by the command itself perhaps, the command is not to go on unwatched. The
    // supervisor has one thread, so the signal means its end and nothing else.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    wait_for_terminal();
    if let Some(sandbox) = sandbox
        && let Err(error) = sandbox::apply(&sandbox)
    {
        complain(
            "placard: the command did not run, because its sandbox cannot be put up",
            &error,
        );
        return ExitCode::from(126);
    }
    let error = Command::new(program).args(rest).exec();
    complain(&program.to_string_lossy(), &error);
    ExitCode::from(if error.kind() == io::ErrorKind::NotFound {
        127
    } else {
        126
    })
}

fn read_sandbox(json: &OsStr) -> serde_json::Result<Option<Sandbox>> {
    serde_json::from_slice(json.as_encoded_bytes())
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

fn complain(about: &str, error: &dyn Display) {
    use std::io::Write as _;
    // Nothing else can be told when the terminal is gone.
    let _ = writeln!(io::stderr(), "{about}: {error}");
}
