//! What an agent is made of, before any protocol: a log that tells everything, the turns that write it, and the tools that act.
//!
//! A front (the ACP bridge) opens a [`Session`](session::live::Session) through the [`Agent`], hands it prompts, and shows the
//! [`Update`](session::update::Update)s that come back. A [`turn`] asks the [`model`] for answers and runs the [`tool`]s that they call;
//! everything that happens is an [`event`](session::event) in the session's log before anybody hears of it, and the
//! [`store`] has it on disk before it counts as done. Commands run in the [`shell`], each under a supervisor.
//!
//! Nothing here knows ACP or a window. A tool describes itself in neutral words ([`tool::presentation`]).

pub mod agent;
pub mod config;
pub mod logging;
pub mod model;
mod platform;
pub mod session;
pub mod shell;
pub mod store;
pub mod surroundings;
pub mod tool;
pub mod turn;

pub use agent::Agent;
pub use surroundings::{Environment, Surroundings};
