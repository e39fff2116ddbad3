//! The supervisor: the small process that stands between the agent and a command (decision 1).

use std::process::ExitCode;

/// The hidden subcommand under which a program of ours becomes a supervisor.
pub const SUBCOMMAND: &str = "__supervise";

/// Becomes the supervisor when this process was started as one. A program of ours calls this first in `main`, before
/// it starts threads or a runtime, and returns the code when there is one.
pub fn run_if_asked() -> Option<ExitCode> {
    None
}
