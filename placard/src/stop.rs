//! The wishes of whoever ends the program.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::ProgramError;

/// Signals that ask the program to end.
#[derive(Debug)]
pub(crate) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

/// A signal that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// The terminal is gone.
    HangUp,
}

impl StopSignals {
    /// Listens from now on.
    pub(crate) fn listen() -> Result<Self, ProgramError> {
        let listen = |kind| signal(kind).map_err(ProgramError::Signals);
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// The next one. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Stop {
        tokio::select! {
            _ = self.interrupt.recv() => Stop::Interrupt,
            _ = self.terminate.recv() => Stop::Terminate,
            _ = self.hang_up.recv() => Stop::HangUp,
        }
    }
}

impl Stop {
    /// The exit status of a program that a signal ended, as shells count.
    pub(crate) fn exit_status(self) -> u8 {
        match self {
            Self::HangUp => 129,
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}
