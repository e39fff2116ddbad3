//! Stdout for a turn: whoever prints never waits, however slowly it is read, so that the agent, its pages and Ctrl-C
//! do not wait either.
//!
//! One thread writes. What it has still to write is in memory up to a limit and beyond that in a file that nobody sees.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// So much waits in memory.
const MEMORY: usize = 256 * 1024;
/// So much is taken from the file at a time.
const PART: usize = 64 * 1024;

/// Tells that all is written, after [`Printer::close`], or of a fault.
pub(crate) type Written = oneshot::Receiver<io::Result<()>>;

/// Prints in order. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Printer(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    backlog: Mutex<Backlog>,
    changed: Condvar,
}

/// What is not written yet. What is in memory is older than what is in the file.
#[derive(Debug)]
struct Backlog {
    memory: Vec<u8>,
    folder: PathBuf,
    file: Option<File>,
    /// What is in the file from here...
    read: u64,
    /// ...to here is still to be written.
    end: u64,
    under_way: bool,
    closed: bool,
    /// To be told of the end; none when it has been.
    ended: Option<oneshot::Sender<io::Result<()>>>,
}

impl Printer {
    /// Prints to `output`. What does not find room in memory waits in a file in `folder`, which is made when needed
    /// and has no name.
    pub(crate) fn start(
        output: impl Write + Send + 'static,
        folder: impl Into<PathBuf>,
    ) -> (Self, Written) {
        let (ended, written) = oneshot::channel();
        let shared = Arc::new(Shared {
            backlog: Mutex::new(Backlog {
                memory: Vec::new(),
                folder: folder.into(),
                file: None,
                read: 0,
                end: 0,
                under_way: false,
                closed: false,
                ended: Some(ended),
            }),
            changed: Condvar::new(),
        });
        let writer = Arc::clone(&shared);
        std::thread::spawn(move || writer.write_to(output));
        (Self(shared), written)
    }

    /// Prints this after all that was printed before. After a fault nothing is printed any more.
    pub(crate) fn print(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut backlog = self.0.backlog();
        if backlog.ended.is_some()
            && let Err(error) = backlog.push(text.as_bytes())
        {
            let words = format!(
                "it is not read, and what waits for that finds no room in {}: {error}",
                backlog.folder.display()
            );
            backlog.end_with(Err(io::Error::other(words)));
        }
        self.0.changed.notify_all();
    }

    /// Blocks until all that was printed is written, or can never be.
    pub(crate) fn wait_until_written(&self) {
        let backlog = self.0.backlog();
        let _written = self
            .0
            .changed
            .wait_while(backlog, |backlog| {
                backlog.ended.is_some() && (backlog.under_way || !backlog.is_empty())
            })
            .unwrap_or_else(PoisonError::into_inner);
    }

    /// Nothing more is printed: once all is written, that is told.
    pub(crate) fn close(&self) {
        self.0.backlog().closed = true;
        self.0.changed.notify_all();
    }
}

impl Shared {
    fn backlog(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_to(&self, mut output: impl Write) {
        let outcome = loop {
            let written = match self.next_part() {
                Ok(Some(part)) => output.write_all(&part).and_then(|()| output.flush()),
                Ok(None) => break Ok(()),
                Err(error) => Err(error),
            };
            if written.is_err() {
                break written;
            }
        };
        self.backlog().end_with(outcome);
        self.changed.notify_all();
    }

    /// Waits for something to write; `None` when there will be nothing any more.
    fn next_part(&self) -> io::Result<Option<Vec<u8>>> {
        let mut backlog = self.backlog();
        backlog.under_way = false;
        self.changed.notify_all();
        let mut backlog = self
            .changed
            .wait_while(backlog, |backlog| {
                backlog.is_empty() && !backlog.closed && backlog.ended.is_some()
            })
            .unwrap_or_else(PoisonError::into_inner);
        backlog.take_part()
    }
}

impl Backlog {
    fn is_empty(&self) -> bool {
        self.memory.is_empty() && self.read == self.end
    }

    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.read == self.end && self.memory.len() + bytes.len() <= MEMORY {
            self.memory.extend_from_slice(bytes);
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(&self.folder)?),
        };
        file.write_all_at(bytes, self.end)?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    fn take_part(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut part = std::mem::take(&mut self.memory);
        if part.is_empty()
            && let Some(file) = &self.file
            && self.read < self.end
        {
            let waiting = usize::try_from(self.end - self.read).unwrap_or(usize::MAX);
            part = vec![0; waiting.min(PART)];
            file.read_exact_at(&mut part, self.read)?;
            self.read += part.len() as u64;
            if self.read == self.end {
                (self.read, self.end) = (0, 0);
                file.set_len(0)?;
            }
        }
        self.under_way = !part.is_empty();
        Ok(self.under_way.then_some(part))
    }

    fn end_with(&mut self, outcome: io::Result<()>) {
        if let Some(ended) = self.ended.take() {
            // Nobody hears of it once the turn is over.
            let _ = ended.send(outcome);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::sync::mpsc;

    /// A reader that takes nothing before its gate is opened.
    struct Gated {
        gate: Option<mpsc::Receiver<()>>,
        taken: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Gated {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if let Some(gate) = self.gate.take() {
                gate.recv().map_err(io::Error::other)?;
            }
            self.taken.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_reader_that_stalls_holds_up_nobody_and_gets_everything_in_order() {
        let (open, gate) = mpsc::channel();
        let taken = Arc::new(Mutex::new(Vec::new()));
        let output = Gated {
            gate: Some(gate),
            taken: Arc::clone(&taken),
        };
        let (printer, written) = Printer::start(output, std::env::temp_dir());
        let mut expected = String::new();
        for number in 0..50_000 {
            let line = format!("line {number} of many\n");
            printer.print(&line);
            expected.push_str(&line);
        }
        assert!(printer.0.backlog().memory.len() <= MEMORY);
        open.send(()).unwrap();
        printer.wait_until_written();
        assert_eq!(taken.lock().unwrap().len(), expected.len());
        // The file is used again from its start.
        for _ in 0..2 {
            printer.print(&expected);
            printer.wait_until_written();
        }
        printer.close();
        written.await.unwrap().unwrap();
        // Megabytes: the whole is not worth showing.
        let same = *taken.lock().unwrap() == expected.repeat(3).into_bytes();
        assert!(same, "something was lost or changed");
    }

    #[tokio::test]
    async fn a_reader_that_is_gone_is_told_of_and_nothing_waits_for_it() {
        let (open, gate) = mpsc::channel();
        drop(open);
        let output = Gated {
            gate: Some(gate),
            taken: Arc::default(),
        };
        let (printer, written) = Printer::start(output, std::env::temp_dir());
        printer.print("lost");
        printer.wait_until_written();
        printer.print("too");
        let kind = written.await.unwrap().map_err(|error| error.kind());
        assert_eq!(kind, Err(io::ErrorKind::Other));
    }

    #[tokio::test]
    async fn a_backlog_that_finds_no_room_is_told_of_while_the_reader_still_stalls() {
        let (open, gate) = mpsc::channel();
        let output = Gated {
            gate: Some(gate),
            taken: Arc::default(),
        };
        let (printer, written) = Printer::start(output, "/no/such/folder");
        printer.print(&"x".repeat(MEMORY + 1));
        let words = written.await.unwrap().map_err(|error| error.to_string());
        assert_eq!(
            words,
            Err(
                "it is not read, and what waits for that finds no room in /no/such/folder: \
                 No such file or directory (os error 2)"
                    .to_owned()
            )
        );
        drop(open);
    }
}
