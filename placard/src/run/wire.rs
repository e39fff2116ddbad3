//! `--json`: the wire, line by line, for programs and for records.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use acp_client::{WireSide, WireTap};
use tokio::sync::mpsc;

/// Prints every line of the wire with its time and direction.
#[derive(Debug)]
pub(crate) struct WirePrinter<W> {
    start: Instant,
    output: Mutex<W>,
    failed: mpsc::UnboundedSender<io::Error>,
}

impl<W: Write + Send + 'static> WirePrinter<W> {
    /// Prints to `output`; its clock starts now. What comes from the receiver is why printing failed.
    pub(crate) fn new(output: W) -> (Self, mpsc::UnboundedReceiver<io::Error>) {
        let (failed, failure) = mpsc::unbounded_channel();
        let printer = Self {
            start: Instant::now(),
            output: Mutex::new(output),
            failed,
        };
        (printer, failure)
    }

    /// A tap that prints. A reader that is slow holds up the wire rather than fill the memory.
    pub(crate) fn tap(self) -> WireTap {
        let printer = Arc::new(self);
        WireTap::new(move |side, raw| {
            let line = line(printer.start.elapsed(), side, raw);
            let mut output = printer
                .output
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = output
                .write_all(line.as_bytes())
                .and_then(|()| output.flush())
            {
                // Nobody hears of it once the turn is over.
                let _ = printer.failed.send(error);
            }
        })
    }
}

fn line(since_start: Duration, side: WireSide, raw: &str) -> String {
    let dir = match side {
        WireSide::ToAgent => "c2a",
        WireSide::FromAgent => "a2c",
        WireSide::Stderr => "stderr",
        WireSide::Note => "note",
    };
    let raw = serde_json::Value::from(raw);
    format!(
        "{{\"t\": {:.4}, \"dir\": \"{dir}\", \"raw\": {raw}}}\n",
        since_start.as_secs_f64()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_line_has_time_direction_and_the_exact_text() {
        assert_eq!(
            line(
                Duration::from_micros(1_234_567),
                WireSide::FromAgent,
                "{\"a\": \"é\\n\"}"
            ),
            "{\"t\": 1.2346, \"dir\": \"a2c\", \"raw\": \"{\\\"a\\\": \\\"é\\\\n\\\"}\"}\n"
        );
        assert_eq!(
            line(Duration::ZERO, WireSide::Note, "x"),
            "{\"t\": 0.0000, \"dir\": \"note\", \"raw\": \"x\"}\n"
        );
    }
}
