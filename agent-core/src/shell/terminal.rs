//! The output of one command on its way to whoever shows it and to what is kept of it.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
pub use xterm_rs_bridge::Since;
use xterm_rs_bridge::{KeptOutput, LiveCursor, SpillFile, plain_text};

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

/// One command's output: written by the executor, followed by at most one viewer, looked at by anyone, held once and within bounds
/// (under 2.5 MiB whatever is printed).
///
/// The viewer pulls. What it does not pull in time is coalesced within the bounds of [`LiveCursor`], so a viewer that
/// is slow, or absent, costs the command nothing and the program a fixed amount of memory. With a
/// [spill file](Self::with_spill) the output is on disk as well.
///
/// Counts and places are UTF-8 bytes of the decoded text, escape sequences included.
#[derive(Debug, Clone)]
pub struct TerminalOutput {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    begun: Instant,
    state: Mutex<State>,
    /// Apart from the state, so that nobody who reads waits for the disk.
    spill: Option<Mutex<SpillFile>>,
    /// For the viewer.
    changed: Notify,
    /// For all who wait for more.
    grown: Notify,
}

#[derive(Debug)]
struct State {
    kept: KeptOutput,
    live: LiveCursor,
    last_push: Instant,
    /// Set for an output of the past: this is all of it.
    past: Option<Past>,
}

/// What was kept of an output when it was over, and how much of it a viewer was given.
#[derive(Debug)]
struct Past {
    text: String,
    given: usize,
}

impl Past {
    fn take(&mut self) -> Option<String> {
        let rest = self
            .text
            .get(self.given..)
            .filter(|rest| !rest.is_empty())?;
        let end = rest.floor_char_boundary(PAST_PIECE);
        let piece = rest.get(..end)?.to_owned();
        self.given += end;
        Some(piece)
    }
}

/// How much of an output of the past a viewer is given at once.
const PAST_PIECE: usize = 64 * 1024;

impl Default for TerminalOutput {
    fn default() -> Self {
        Self::new()
    }
}

impl TerminalOutput {
    /// For a command that begins now, without a spill file.
    pub fn new() -> Self {
        Self::with(KeptOutput::new(), None)
    }

    /// For a command that begins now, whose output also goes to a file at `path` as it comes: at most `limit` raw bytes of it, and past
    /// that, once finished, a marker line and the end. The file (mode 0600) and its folder (0700) are made at the first byte, so a
    /// command that prints nothing makes none. A file that exists is left alone, which [`spill_error`](Self::spill_error) tells.
    pub fn with_spill(path: PathBuf, limit: u64) -> Self {
        let mut kept = KeptOutput::new();
        kept.set_spill_limit(limit);
        Self::with(kept, Some(Mutex::new(SpillFile::new(path))))
    }

    /// Makes this the output of a command of the past, of which `kept` is what was kept: a viewer gets this text and the end.
    /// Only for an output that nothing was pushed to.
    pub fn recall(&self, kept: String) {
        let mut state = self.state();
        state.kept.finish();
        state.past = Some(Past {
            text: kept,
            given: 0,
        });
        drop(state);
        self.tell();
    }

    /// Begins anew for a viewer that has seen nothing: of what was printed so far it gets what is kept, and then what comes.
    pub fn rewind(&self) {
        let now = self.shared.begun.elapsed();
        let mut state = self.state();
        let State {
            kept, live, past, ..
        } = &mut *state;
        *live = LiveCursor::new();
        live.pushed(kept, now);
        if kept.is_finished() {
            live.finished(now);
        }
        if let Some(past) = past {
            past.given = 0;
        }
        drop(state);
        self.tell();
    }

    fn with(kept: KeptOutput, spill: Option<Mutex<SpillFile>>) -> Self {
        let begun = Instant::now();
        Self {
            shared: Arc::new(Shared {
                begun,
                state: Mutex::new(State {
                    kept,
                    live: LiveCursor::new(),
                    last_push: begun,
                    past: None,
                }),
                spill,
                changed: Notify::new(),
                grown: Notify::new(),
            }),
        }
    }

    /// Takes in what the command printed; after [`finish`](Self::finish) nothing is taken. One pusher at a time.
    pub fn push(&self, bytes: &[u8]) {
        let until = {
            let mut state = self.state();
            let State {
                kept,
                live,
                last_push,
                past: _,
            } = &mut *state;
            if kept.is_finished() {
                return;
            }
            *last_push = Instant::now();
            kept.push(bytes);
            live.pushed(kept, *last_push - self.shared.begun);
            kept.spill_cut()
        };
        self.tell();
        // Readers first: the disk never delays what a card shows.
        self.spill(|file| file.write(bytes, until));
    }

    /// Nothing more will come: what waits becomes ready at once, and a spill file gets its end.
    pub fn finish(&self) {
        let ending = {
            let mut state = self.state();
            if state.kept.is_finished() {
                return;
            }
            state.kept.finish();
            state.live.finished(self.shared.begun.elapsed());
            state.kept.spill_ending()
        };
        self.tell();
        self.spill(|file| file.finish(ending.as_deref()));
    }

    /// The next piece for a card, as soon as one may be shown; `None` when all was given and nothing more will come.
    /// Dropping the future loses nothing.
    pub async fn next(&self) -> Option<String> {
        loop {
            let ready_at = {
                let mut state = self.state();
                let State {
                    kept, live, past, ..
                } = &mut *state;
                if let Some(past) = past {
                    return past.take();
                }
                if let Some(text) = live.take(kept, self.shared.begun.elapsed()) {
                    return Some(text);
                }
                if live.is_drained(kept) {
                    return None;
                }
                live.ready_at(kept)
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

    /// What is kept, as the text that a person finally reads.
    pub fn plain_text(&self) -> String {
        let state = self.state();
        match &state.past {
            Some(past) => plain_text(&past.text),
            None => state.kept.plain_text(),
        }
    }

    /// What is kept, escape sequences included: the beginning, a marker where something was left out, the end.
    pub fn kept_text(&self) -> String {
        let state = self.state();
        match &state.past {
            Some(past) => past.text.clone(),
            None => state.kept.text(),
        }
    }

    /// What came after the place `offset`, for whoever looks now and then: begin with 0 and go on with `next`. A marker line stands
    /// where something is no longer held. The beginning of an escape sequence waits for its end.
    pub fn text_since(&self, offset: u64) -> Since {
        self.state().kept.text_since(offset)
    }

    /// Waits until [`text_since`](Self::text_since) gives something after the place `offset`, or nothing more will come.
    pub async fn wait_for_more(&self, offset: u64) {
        loop {
            let mut grown = pin!(self.shared.grown.notified());
            // From here on no push goes unnoticed.
            grown.as_mut().enable();
            {
                let state = self.state();
                if state.kept.settled_bytes() > offset || state.kept.is_finished() {
                    return;
                }
            }
            grown.await;
        }
    }

    /// How much was printed in all.
    pub fn total_bytes(&self) -> u64 {
        self.state().kept.total_bytes()
    }

    /// How much of it [`kept_text`](Self::kept_text) leaves out.
    pub fn left_out_bytes(&self) -> u64 {
        self.state().kept.left_out_bytes()
    }

    /// The first raw bytes, at most 1024: enough to recognise a picture.
    pub fn first_bytes(&self) -> Vec<u8> {
        self.state().kept.first_bytes().to_owned()
    }

    /// How long nothing was printed; since the beginning, if nothing ever was.
    pub fn quiet_since(&self) -> Duration {
        self.state().last_push.elapsed()
    }

    /// Will nothing more come?
    pub fn is_finished(&self) -> bool {
        self.state().kept.is_finished()
    }

    /// The spill file, if one was made (also when an error ended it early).
    pub fn spilled_in(&self) -> Option<PathBuf> {
        let spill = lock(self.shared.spill.as_ref()?);
        spill.is_made().then(|| spill.path().to_owned())
    }

    /// Removes the spill file of an output that is over, once what it holds is kept elsewhere and nobody was told of it.
    pub fn forget_spill(&self) {
        if let Some(path) = self.spilled_in().filter(|_| self.is_finished()) {
            if let Err(error) = std::fs::remove_file(&path) {
                tracing::warn!(path = %path.display(), %error, "a spill file that is no longer needed stays");
            }
            // The folder of a session without other files goes as well.
            if let Some(folder) = path.parent() {
                let _ = std::fs::remove_dir(folder);
            }
        }
    }

    /// Why the spill file holds less than it should, in words for a person.
    pub fn spill_error(&self) -> Option<String> {
        let spill = lock(self.shared.spill.as_ref()?);
        spill.error().map(ToString::to_string)
    }

    fn tell(&self) {
        self.shared.changed.notify_one();
        self.shared.grown.notify_waiters();
    }

    /// Does `act` with the spill file, and has the markers name it exactly while it takes everything in.
    fn spill(&self, act: impl FnOnce(&mut SpillFile)) {
        let Some(spill) = &self.shared.spill else {
            return;
        };
        let mut spill = lock(spill);
        let named = |spill: &SpillFile| spill.is_made() && spill.error().is_none();
        let before = named(&spill);
        act(&mut spill);
        match (before, named(&spill)) {
            (false, true) => {
                let path = spill.path().display().to_string();
                self.state().kept.set_kept_in(path);
            }
            (true, false) => self.state().kept.clear_kept_in(),
            _ => {}
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.shared.state)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is locked here is plain data that every method leaves whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pretty_assertions::assert_eq;
    use tempfile::TempDir;

    use super::*;

    async fn shown(output: &TerminalOutput) -> String {
        let mut all = String::new();
        while let Some(piece) = output.next().await {
            all.push_str(&piece);
        }
        all
    }

    #[tokio::test]
    async fn a_card_a_look_and_a_file_get_the_same() {
        let home = TempDir::new().unwrap();
        let path = home.path().join("outputs/1.bin");
        let output = TerminalOutput::with_spill(path.clone(), 1 << 20);
        assert_eq!((output.spilled_in(), output.is_finished()), (None, false));
        for piece in [&b"caf\xc3"[..], b"\xa9\r\n\x1b[3", b"1mred"] {
            output.push(piece);
        }
        assert_eq!(output.spilled_in(), Some(path.clone()));
        output.finish();
        let text = "caf\u{e9}\r\n\x1b[31mred";
        assert_eq!(shown(&output).await, text);
        assert_eq!(output.kept_text(), text);
        assert_eq!(fs::read(&path).unwrap(), text.as_bytes());
        assert_eq!(output.first_bytes(), text.as_bytes());
        assert_eq!(
            output.text_since(7),
            Since {
                text: "\x1b[31mred".to_owned(),
                left_out: 0,
                next: 15
            }
        );
        assert_eq!((output.total_bytes(), output.left_out_bytes()), (15, 0));
        assert_eq!((output.is_finished(), output.spill_error()), (true, None));
    }

    #[tokio::test]
    async fn a_viewer_that_begins_anew_gets_all_of_it_once_more() {
        let output = TerminalOutput::new();
        output.push(b"one\r\n");
        assert_eq!(output.next().await.as_deref(), Some("one\r\n"));
        output.push(b"two\r\n");
        output.rewind();
        assert_eq!(output.next().await.as_deref(), Some("one\r\ntwo\r\n"));
        output.finish();
        assert_eq!(output.next().await, None);
        output.rewind();
        assert_eq!(shown(&output).await, "one\r\ntwo\r\n");

        let past = TerminalOutput::new();
        past.recall("past".to_owned());
        assert_eq!(shown(&past).await, "past");
        past.rewind();
        assert_eq!(shown(&past).await, "past");
    }

    #[tokio::test]
    async fn a_large_output_names_its_file_in_card_and_text() {
        let home = TempDir::new().unwrap();
        let path = home.path().join("1.bin");
        let output = TerminalOutput::with_spill(path.clone(), 64 << 20);
        let all = b"0123456789abcd\r\n".repeat(100_000);
        all.chunks(4096).for_each(|piece| output.push(piece));
        output.finish();
        let left_out = output.left_out_bytes();
        let marker = format!("[{left_out} bytes left out; see {}]", path.display());
        assert!(output.kept_text().contains(&marker));
        assert!(shown(&output).await.contains(&marker));
        // A difference is over a megabyte long: not for printing.
        let same = fs::read(&path).unwrap() == all;
        assert!(same);
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_made_is_told_and_named_nowhere() {
        let home = TempDir::new().unwrap();
        fs::write(home.path().join("1.bin"), "mine").unwrap();
        let output = TerminalOutput::with_spill(home.path().join("1.bin"), 64 << 20);
        output.push(&vec![b'x'; 2_000_000]);
        output.finish();
        assert!(output.kept_text().contains(" bytes left out]"));
        assert_eq!(output.spilled_in(), None);
        assert!(output.spill_error().unwrap().contains("1.bin"));
    }

    #[tokio::test]
    async fn all_who_wait_are_woken_by_more_and_by_the_end() {
        let output = TerminalOutput::new();
        let waiting: Vec<_> = [0, 0, 1]
            .map(|offset| {
                let output = output.clone();
                tokio::spawn(async move {
                    output.wait_for_more(offset).await;
                    (output.total_bytes(), output.is_finished())
                })
            })
            .into();
        tokio::task::yield_now().await;
        output.push(b"a");
        let mut woken = Vec::new();
        for (index, task) in waiting.into_iter().enumerate() {
            if index == 2 {
                output.push(b"\x1b[");
                tokio::task::yield_now().await;
                assert!(!task.is_finished());
                output.finish();
            }
            woken.push(task.await.unwrap());
        }
        assert_eq!(woken, [(1, false), (1, false), (3, true)]);
    }

    #[test]
    fn quiet_is_counted_from_the_last_push() {
        let before = Instant::now();
        let output = TerminalOutput::new();
        while output.quiet_since() < Duration::from_millis(3) {
            std::hint::spin_loop();
        }
        let pushed = Instant::now();
        output.push(b"x");
        let quiet = output.quiet_since();
        assert!(quiet <= pushed.elapsed() && quiet < before.elapsed());
    }
}
