//! `placard`: the command-line program, with no window and no library of one.
//!
//! - `placard acp` is the agent for an editor: JSON-RPC on stdin and stdout (`acp`).
//! - `placard run "prompt"` is one prompt in a plain terminal (`run`).
//! - `placard serve` is the chat in a browser (`serve`).
//! - `placard sessions` lists, shows and keeps what is stored (`sessions`).
//! - `placard doctor` tells what works here (`doctor`).
//!
//! `run` and `serve` are clients of the agent through the same hub as the desktop window (`host`); `--agent` puts any
//! other ACP agent behind it.

mod acp;
mod arguments;
mod doctor;
mod error;
mod host;
mod ink;
mod last_words;
mod run;
mod serve;
mod sessions;
mod stop;
mod times;

use std::process::ExitCode;

use agent_core::Surroundings;
use clap::Parser;

use crate::arguments::{Arguments, Command};
use crate::error::ProgramError;

fn main() -> ExitCode {
    // Before anything else: as a supervisor of a command this process must have no threads.
    if let Some(code) = agent_core::shell::supervisor::run_if_asked() {
        return code;
    }
    let arguments = Arguments::parse();
    match start(arguments.command) {
        Ok(code) => code,
        // Whoever read our output has enough of it (`| head`): not worth a word, and the status that shells know.
        Err(ProgramError::Stdout(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::from(141)
        }
        Err(error) => {
            last_words::tell(&error);
            ExitCode::from(error.exit_status())
        }
    }
}

fn start(command: Command) -> Result<ExitCode, ProgramError> {
    let surroundings = Surroundings::of_this_process()?;
    agent_core::logging::start(surroundings.environment.get("PLACARD_LOG"));
    // Two workers: a command's output and the protocol may keep one busy each; more would only cost memory.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(ProgramError::Runtime)?;
    let ended = runtime.block_on(async {
        match command {
            Command::Acp => acp::serve(surroundings).await,
            Command::Run(arguments) => run::prompt(arguments, surroundings).await,
            Command::Sessions(arguments) => sessions::answer(arguments, surroundings).await,
            Command::Serve(arguments) => serve::serve(arguments, surroundings).await,
            Command::Doctor(arguments) => doctor::examine(arguments, surroundings).await,
        }
    });
    // A thread that waits for stdin cannot be told to stop; the process ends without it.
    runtime.shutdown_background();
    ended
}
