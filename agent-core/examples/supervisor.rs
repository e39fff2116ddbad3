//! A program that is nothing but the supervisor: what this crate's own tests run commands under.

use std::process::ExitCode;

fn main() -> ExitCode {
    agent_core::shell::supervisor::run_if_asked().unwrap_or(ExitCode::from(2))
}
