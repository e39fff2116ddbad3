//! Commands in a pseudo-terminal, each under a supervisor of its own.
//!
//! [`Command`](command::Command) runs one; its bytes go to a [`TerminalOutput`](terminal::TerminalOutput), which paces
//! what a card shows live and keeps what the model reads; [`Exit`](exit::Exit) is how it truly ended.

pub mod classify;
pub mod command;
pub mod control;
pub mod environment;
pub mod exit;
pub mod handle;
pub mod left;
pub mod running;
pub mod sandbox;
mod stray;
pub mod supervisor;
pub mod syntax;
pub mod terminal;

pub(crate) use stray::MARK;
