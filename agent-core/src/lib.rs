//! The agent: sessions and their event log, stores, turns, models, tools, shell, permissions.

pub mod agent;
pub mod config;
pub mod model;
pub mod shell;
pub mod surroundings;

pub use agent::Agent;
pub use surroundings::{Environment, Surroundings};
