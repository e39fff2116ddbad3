//! Commands in a pseudo-terminal, each under a supervisor of its own.

pub mod supervisor;
