//! `placard-desktop`: opens the chat window.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    // A command's supervisor is this same program: before the window system and before any thread.
    if let Some(code) = agent_core::shell::supervisor::run_if_asked() {
        return code;
    }
    match placard_desktop::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // Nobody is left to tell when stderr is closed.
            let _ = writeln!(std::io::stderr(), "placard-desktop: {fault}");
            ExitCode::FAILURE
        }
    }
}
