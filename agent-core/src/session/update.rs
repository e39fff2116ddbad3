//! What a session tells whoever shows it, in order, in neutral words.
//!
//! The queue holds no terminal bytes (a card pulls those from its [`TerminalOutput`]) and joins streamed text that
//! nobody has fetched, so a viewer that is slow or gone costs no more memory than the log itself.
//!
//! [`TerminalOutput`]: crate::shell::terminal::TerminalOutput

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, oneshot};

use crate::session::event::Decision;
use crate::tool::presentation::{CallPresentation, ResultPresentation};

/// Where a running command stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalState {
    /// It works.
    Running,
    /// It reads the terminal, prints nothing, and will not go on before somebody types.
    Waiting,
}

/// One thing to show.
#[derive(Debug)]
pub enum Update {
    /// The person's words: told of the past alone, since live they come from whoever shows them.
    User(String),
    /// The session is called something else.
    Title(String),
    /// More of the model's text.
    Text(String),
    /// More of the model's reasoning.
    Reasoning(String),
    /// A call that the model asked for; it has not begun.
    Call {
        /// The call.
        call_id: String,
        /// How to show it.
        presentation: Box<CallPresentation>,
    },
    /// A call needs the person's word.
    Permission(PermissionRequest),
    /// A call begins.
    CallStarted {
        /// The call.
        call_id: String,
    },
    /// A running command began to wait for input, or went on.
    TerminalState {
        /// The call.
        call_id: String,
        /// Where it stands.
        state: TerminalState,
    },
    /// A command that went on after its call has ended. All its output has been written by now.
    TerminalEnded {
        /// The call.
        call_id: String,
        /// How to show the end. It changes no status.
        presentation: Box<ResultPresentation>,
    },
    /// A call is over. All output of its terminal has been written by now, unless its command goes on.
    CallEnded {
        /// The call.
        call_id: String,
        /// How to show the result.
        presentation: Box<ResultPresentation>,
    },
    /// Everything before this was told: the sender is fired when a viewer has shown it.
    Shown(oneshot::Sender<()>),
}

/// A question to the person. Dropping it without an answer withdraws it.
#[derive(Debug)]
pub struct PermissionRequest {
    /// The call in question. It was announced before.
    pub call_id: String,
    /// How the call is shown.
    pub presentation: Box<CallPresentation>,
    /// Where the answer goes.
    pub answer: oneshot::Sender<Decision>,
}

/// The sending end of a session's updates.
#[derive(Debug, Clone, Default)]
pub struct UpdateSender(Arc<Queue>);

/// The receiving end. There is one viewer of a session at a time.
#[derive(Debug)]
pub struct Updates(Arc<Queue>);

#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    updates: VecDeque<Update>,
    viewer_gone: bool,
}

/// Both ends of a queue of updates.
pub fn channel() -> (UpdateSender, Updates) {
    let queue = Arc::new(Queue::default());
    (UpdateSender(Arc::clone(&queue)), Updates(queue))
}

impl UpdateSender {
    /// Appends an update; text joins text that still waits.
    pub fn send(&self, update: Update) {
        {
            let mut waiting = self
                .0
                .waiting
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if waiting.viewer_gone {
                return;
            }
            match (waiting.updates.back_mut(), update) {
                (Some(Update::Text(text)), Update::Text(more))
                | (Some(Update::Reasoning(text)), Update::Reasoning(more)) => {
                    text.push_str(&more);
                }
                (_, update) => waiting.updates.push_back(update),
            }
        }
        self.0.changed.notify_one();
    }
}

impl Updates {
    /// The next update. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Update {
        loop {
            let next = self
                .0
                .waiting
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .updates
                .pop_front();
            match next {
                Some(update) => return update,
                None => self.0.changed.notified().await,
            }
        }
    }
}

impl Drop for Updates {
    /// Questions that nobody will answer are withdrawn, and who waits to be shown something waits no longer.
    fn drop(&mut self) {
        let mut waiting = self
            .0
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        waiting.viewer_gone = true;
        waiting.updates.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn text_that_waits_is_joined_and_order_is_kept() {
        let (sender, mut updates) = channel();
        sender.send(Update::Text("a".into()));
        sender.send(Update::Text("b".into()));
        sender.send(Update::Reasoning("r".into()));
        sender.send(Update::Text("c".into()));
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.push(format!("{:?}", updates.next().await));
        }
        assert_eq!(seen, [r#"Text("ab")"#, r#"Reasoning("r")"#, r#"Text("c")"#]);
    }
}
