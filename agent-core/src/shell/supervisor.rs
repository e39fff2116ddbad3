//! The small process between the agent and a command.
//!
//! Any program of ours can play two further parts, each behind a subcommand that no help mentions. As the *supervisor* it leads the session of
//! the command's pseudo-terminal, adopts whatever the command orphans, tells the true exit, and ends the whole subtree when
//! asked or when the agent is gone. As the *launcher* it is the command's own process before it becomes the command:
//! it waits until the terminal is its own, then replaces itself.
//!
//! Both are single-threaded and start no runtime.

pub(crate) mod descendants;
mod launch;
mod watch;

use std::ffi::OsStr;
use std::process::ExitCode;

/// The hidden subcommand under which a program of ours becomes a supervisor.
pub const SUPERVISE: &str = "__supervise";

/// The hidden subcommand under which it becomes a command: the rest of the arguments.
pub const LAUNCH: &str = "__launch";

/// The name that both bear in a process list.
pub const PROCESS_NAME: &str = "placard-supervisor";

/// Becomes the supervisor or the launcher when this process was started as one. A program of ours calls this first in
/// `main`, before it starts threads or a runtime, and returns the code when there is one.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let subcommand = arguments.next()?;
    if subcommand == OsStr::new(SUPERVISE) {
        Some(watch::run())
    } else if subcommand == OsStr::new(LAUNCH) {
        Some(launch::run(arguments))
    } else {
        None
    }
}
