//! The output of one command on its way to whoever shows it and to what is kept of it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use xterm_rs_bridge::{KeptOutput, LiveOutput};

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// From top to bottom.
    pub rows: u16,
    /// From left to right.
    pub columns: u16,
}

impl Default for TerminalSize {
    /// Where no front told another (F11 and most tools want more than 80 columns).
    fn default() -> Self {
        Self {
            rows: 40,
            columns: 120,
        }
    }
}

/// A piece of an output that begins somewhere in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Since {
    /// The text, escape sequences included.
    pub text: String,
    /// The bytes before it that are not held any more.
    pub left_out: u64,
    /// Where the next piece begins.
    pub next: u64,
}

/// One command's output: written by the executor, read by at most one viewer, kept within bounds for the model.
///
/// The viewer pulls. What it does not pull in time is coalesced within the bounds of [`LiveOutput`], so a viewer that
/// is slow, or absent, costs the command nothing and the program a fixed amount of memory.
#[derive(Debug, Clone)]
pub struct TerminalOutput {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    begun: Instant,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    live: LiveOutput,
    kept: KeptOutput,
    last: Instant,
}

impl Default for TerminalOutput {
    fn default() -> Self {
        Self::new()
    }
}

impl TerminalOutput {
    /// For a command that begins now.
    pub fn new() -> Self {
        Self {
            shared: Arc::new(Shared {
                begun: Instant::now(),
                state: Mutex::new(State {
                    live: LiveOutput::new(),
                    kept: KeptOutput::new(),
                    last: Instant::now(),
                }),
                changed: Notify::new(),
            }),
        }
    }

    /// Takes in what the command printed.
    pub fn push(&self, bytes: &[u8]) {
        let now = self.shared.begun.elapsed();
        {
            let mut state = self.state();
            state.live.push(bytes, now);
            state.kept.push(bytes);
            state.last = Instant::now();
        }
        self.shared.changed.notify_one();
    }

    /// Nothing more will come: what waits becomes ready at once.
    pub fn finish(&self) {
        let now = self.shared.begun.elapsed();
        {
            let mut state = self.state();
            state.live.finish(now);
            state.kept.finish();
        }
        self.shared.changed.notify_one();
    }

    /// The next piece for a card, as soon as one may be shown; `None` when all was given and nothing more will come.
    /// Dropping the future loses nothing.
    pub async fn next(&self) -> Option<String> {
        loop {
            let ready_at = {
                let mut state = self.state();
                if let Some(text) = state.live.take(self.shared.begun.elapsed()) {
                    return Some(text);
                }
                if state.live.is_drained() {
                    return None;
                }
                state.live.ready_at()
            };
            let changed = self.shared.changed.notified();
            match ready_at {
                // Also while it waits for its turn: the end of the output makes the rest ready at once.
                Some(at) => {
                    let _ = tokio::time::timeout_at(self.shared.begun + at, changed).await;
                }
                None => changed.await,
            }
        }
    }

    /// What is kept, escape sequences included: the beginning, a marker where something was left out, the end.
    pub fn kept_text(&self) -> String {
        self.state().kept.text()
    }

    /// What came after the first `offset` bytes of the decoded output, as far as it is held.
    pub fn text_since(&self, offset: u64) -> Since {
        let kept = self.state().kept.text();
        let from = usize::try_from(offset).map_or(kept.len(), |from| from.min(kept.len()));
        Since {
            text: kept.get(from..).unwrap_or_default().to_owned(),
            left_out: 0,
            next: kept.len() as u64,
        }
    }

    /// Resolves when more than `offset` bytes were printed, or nothing more will come.
    pub async fn wait_for_more(&self, offset: u64) {
        while !self.state().live.is_drained() && self.state().kept.total_bytes() <= offset {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// How many bytes of the decoded output are not kept.
    pub fn left_out_bytes(&self) -> u64 {
        self.state().kept.left_out_bytes()
    }

    /// How long nothing was printed.
    pub fn quiet_since(&self) -> Duration {
        self.state().last.elapsed()
    }

    /// The file that holds the whole output.
    pub fn spilled_in(&self) -> Option<PathBuf> {
        None
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is plain data that every method leaves whole.
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
