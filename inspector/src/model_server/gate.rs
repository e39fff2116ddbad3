//! A gate in the middle of an answer: instead of a pause of some length, which tests would have to guess.

use std::sync::Arc;

use tokio::sync::watch;

/// Holds an answer until it is opened. Clones are the same gate.
#[derive(Debug, Clone)]
pub struct Gate {
    state: Arc<watch::Sender<State>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    open: bool,
    reached: bool,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self {
            state: Arc::new(watch::Sender::new(State::default())),
        }
    }

    /// Lets the answer go on, now or when it comes to the gate.
    pub fn open(&self) {
        self.state.send_modify(|state| state.open = true);
    }

    /// Waits until an answer has come to the gate: everything before it is sent.
    pub async fn reached(&self) {
        self.wait_for(|state| state.reached).await;
    }

    /// The answer's side: waits until the gate is open.
    pub(super) async fn pass(&self) {
        self.state.send_modify(|state| state.reached = true);
        self.wait_for(|state| state.open).await;
    }

    async fn wait_for(&self, condition: impl FnMut(&State) -> bool) {
        // It fails only when the sender is gone, and the sender is ours.
        let _ = self.state.subscribe().wait_for(condition).await;
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}
