//! What the outside can do with a command that runs: type, stop, and see whether it waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// How much typed input may wait for a command that does not read it, in bytes. A terminal itself takes 4 KiB.
const LONGEST_QUEUE: usize = 64 * 1024;

/// What is typed into a running command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalInput {
    /// Characters, as a keyboard would send them: Enter is a carriage return.
    Text(String),
    /// Nothing more will be typed.
    End,
}

/// Why a running command could not be reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TerminalError {
    /// It has ended, or never was.
    #[error("no command runs in this terminal any more")]
    NotRunning,
    /// It reads nothing that is typed.
    #[error("this command reads nothing that is typed: it was started without a keyboard")]
    NoKeyboard,
    /// More at once than a terminal is given.
    #[error("{0} bytes are more than can be typed at once; type at most {LONGEST_QUEUE}")]
    TooLong(usize),
    /// More was typed than it has read.
    #[error("this command has not read what was typed before; wait, or stop it")]
    Full,
}

/// Where a command stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandState {
    /// It works.
    Running,
    /// It reads the terminal, prints nothing, and will not go on before somebody types.
    Waiting,
    /// It has ended.
    Over,
}

/// The far end of a running command. Cheap to clone; every clone is the same command's.
#[derive(Debug, Clone)]
pub struct CommandHandle {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// None for a command that nobody can type into.
    typed: Option<Mutex<Typed>>,
    more_typed: Notify,
    stop: CancellationToken,
    state: watch::Sender<CommandState>,
}

/// What is typed and not yet taken, and whether the line that is typed has begun.
#[derive(Debug, Default)]
struct Typed {
    bytes: Vec<u8>,
    line_open: bool,
    /// The end was typed, and nothing since.
    ended: bool,
}

/// The control character that a terminal in its ordinary mode reads as the end of the input.
const END_OF_INPUT: u8 = 4;

impl CommandHandle {
    /// For a command that is about to start; `keyboard` tells whether it reads what is typed.
    pub fn new(keyboard: bool) -> Self {
        Self {
            shared: Arc::new(Shared {
                typed: keyboard.then(Mutex::default),
                more_typed: Notify::new(),
                stop: CancellationToken::new(),
                state: watch::Sender::new(CommandState::Running),
            }),
        }
    }

    /// Whether somebody can type into the command.
    pub fn has_keyboard(&self) -> bool {
        self.shared.typed.is_some()
    }

    /// Types. What a command does not read waits, within a bound.
    pub fn type_in(&self, input: &TerminalInput) -> Result<(), TerminalError> {
        let mut typed = self.reachable()?;
        match input {
            TerminalInput::Text(text) => {
                if text.len() > LONGEST_QUEUE {
                    return Err(TerminalError::TooLong(text.len()));
                }
                if typed.bytes.len() + text.len() > LONGEST_QUEUE {
                    return Err(TerminalError::Full);
                }
                typed.ended = false;
                typed.bytes.extend_from_slice(text.as_bytes());
                if let Some(last) = text.bytes().last() {
                    typed.line_open = !matches!(last, b'\r' | b'\n' | END_OF_INPUT);
                }
            }
            TerminalInput::End => {
                // On a line that has begun the first one only hands it over.
                if std::mem::take(&mut typed.line_open) {
                    typed.bytes.push(END_OF_INPUT);
                }
                typed.bytes.push(END_OF_INPUT);
                typed.ended = true;
            }
        }
        drop(typed);
        self.shared.more_typed.notify_one();
        Ok(())
    }

    fn reachable(&self) -> Result<MutexGuard<'_, Typed>, TerminalError> {
        if self.state() == CommandState::Over {
            return Err(TerminalError::NotRunning);
        }
        let typed = self
            .shared
            .typed
            .as_ref()
            .ok_or(TerminalError::NoKeyboard)?;
        Ok(typed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends the command with everything that it started.
    pub fn stop(&self) -> Result<(), TerminalError> {
        if self.state() == CommandState::Over {
            return Err(TerminalError::NotRunning);
        }
        self.shared.stop.cancel();
        Ok(())
    }

    /// Where it stands.
    pub fn state(&self) -> CommandState {
        *self.shared.state.borrow()
    }

    /// Tells every change of its state.
    pub fn states(&self) -> watch::Receiver<CommandState> {
        self.shared.state.subscribe()
    }

    /// Fired when somebody stopped it.
    pub(super) fn stopped(&self) -> &CancellationToken {
        &self.shared.stop
    }

    pub(super) fn set_state(&self, state: CommandState) {
        self.shared.state.send_if_modified(|known| {
            // What has ended does not come back.
            let changes = *known != state && *known != CommandState::Over;
            if changes {
                *known = state;
            }
            changes
        });
    }

    /// Whether the end of the input was typed, and nothing since: whoever reads on finds it again.
    pub(super) fn input_ended(&self) -> bool {
        self.shared
            .typed
            .as_ref()
            .is_some_and(|typed| typed.lock().unwrap_or_else(PoisonError::into_inner).ended)
    }

    /// What was typed since the last call; waits for it. Dropping the future loses nothing.
    pub(super) async fn typed(&self) -> Vec<u8> {
        let Some(typed) = &self.shared.typed else {
            return std::future::pending().await;
        };
        loop {
            let more = self.shared.more_typed.notified();
            let taken =
                std::mem::take(&mut typed.lock().unwrap_or_else(PoisonError::into_inner).bytes);
            if !taken.is_empty() {
                return taken;
            }
            more.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[tokio::test]
    async fn what_is_typed_waits_within_a_bound_and_is_taken_in_order() {
        let handle = CommandHandle::new(true);
        let text = |text: &str| TerminalInput::Text(text.to_owned());
        handle.type_in(&text("a\r")).unwrap();
        handle.type_in(&TerminalInput::End).unwrap();
        let too_much = "x".repeat(LONGEST_QUEUE);
        assert_eq!(handle.type_in(&text(&too_much)), Err(TerminalError::Full));
        let far_too_much = "x".repeat(LONGEST_QUEUE + 1);
        assert_eq!(
            handle.type_in(&text(&far_too_much)),
            Err(TerminalError::TooLong(LONGEST_QUEUE + 1))
        );
        assert_eq!(handle.typed().await, b"a\r\x04");
        // A line that has begun takes one more.
        handle.type_in(&text("b")).unwrap();
        handle.type_in(&TerminalInput::End).unwrap();
        handle.type_in(&TerminalInput::End).unwrap();
        assert_eq!(handle.typed().await, b"b\x04\x04\x04");
    }

    #[test]
    fn a_command_that_is_over_or_reads_nothing_says_so() {
        let deaf = CommandHandle::new(false);
        assert_eq!(
            deaf.type_in(&TerminalInput::End),
            Err(TerminalError::NoKeyboard)
        );
        assert_eq!(deaf.stop(), Ok(()));
        let over = CommandHandle::new(true);
        over.set_state(CommandState::Over);
        over.set_state(CommandState::Running);
        assert_eq!(over.stop(), Err(TerminalError::NotRunning));
        assert_eq!(
            over.type_in(&TerminalInput::End),
            Err(TerminalError::NotRunning)
        );
    }
}
