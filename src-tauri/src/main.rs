//! `placard-desktop`: opens the chat window.

use std::io::Write;
use std::process::ExitCode;

use placard_desktop::DesktopError;

const HELP: &str = "\
Opens the chat window, with the agent inside.

Usage: placard-desktop [--help | --version]

The first session is in the folder that it is started from. `placard serve` shows the same chat in a browser.
";

fn main() -> ExitCode {
    // A command's supervisor is this same program: before the window system and before any thread.
    if let Some(code) = agent_core::shell::supervisor::run_if_asked() {
        return code;
    }
    // Before the window system too, which may not be there.
    match std::env::args_os()
        .nth(1)
        .as_deref()
        .and_then(|it| it.to_str())
    {
        Some("--help" | "-h") => return say(HELP),
        Some("--version" | "-V") => {
            return say(concat!("placard-desktop ", env!("CARGO_PKG_VERSION"), "\n"));
        }
        _ => {}
    }
    match placard_desktop::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // Nobody is left to tell when stderr is closed.
            let _ = writeln!(std::io::stderr(), "placard-desktop: {fault}");
            match fault {
                DesktopError::NoDisplay(_) => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

fn say(words: &str) -> ExitCode {
    match std::io::stdout().write_all(words.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
