//! The launcher: from the fork to the command.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// How long the supervisor may take to hand over the terminal. It does so at once; the limit only keeps a launcher whose
/// supervisor was killed from spinning.
const HANDOVER: Duration = Duration::from_secs(5);

/// Waits for the terminal and becomes the command. Returns only when that failed, with the codes that shells use.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let argv: Vec<OsString> = arguments.collect();
    let Some((program, rest)) = argv.split_first() else {
        return ExitCode::from(2);
    };
    // Should the supervisor be killed, by the command itself perhaps, the command is not to go on unwatched. The
    // supervisor has one thread, so the signal means its end and nothing else.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    wait_for_terminal();
    let error = Command::new(program).args(rest).exec();
    complain(&program.to_string_lossy(), &error);
    ExitCode::from(if error.kind() == io::ErrorKind::NotFound {
        127
    } else {
        126
    })
}

/// A process that reads the terminal before its group is the foreground one would be stopped by the kernel.
fn wait_for_terminal() {
    let own = rustix::process::getpgrp();
    let begun = Instant::now();
    while rustix::termios::tcgetpgrp(rustix::stdio::stdout()).is_ok_and(|group| group != own)
        && begun.elapsed() < HANDOVER
    {
        std::thread::sleep(Duration::from_micros(100));
    }
}

fn complain(program: &str, error: &io::Error) {
    use std::io::Write as _;
    // Nothing else can be told when the terminal is gone.
    let _ = writeln!(io::stderr(), "{program}: {error}");
}
