//! Terminal bytes on their way from a pseudo-terminal to a reader.
//!
//! A command's output starts as raw bytes and ends in front of very different readers. It is decoded once, into one [`KeptOutput`]: the
//! beginning, the end, and exact counts. The raw bytes may go to a [`SpillFile`] beside it. From there
//!
//! - a person who watches a card gets what a [`LiveCursor`] takes: paced, bounded, lossless where it can be;
//! - whoever looks later (a replay, a search, the model) reads the kept text, or what is new in it;
//! - a model reads plain words, so [`plain_text`] plays the output on a sheet and [`model_text`] cuts the result to a bound;
//! - a window that comes late gets a [`Screen`]'s snapshot, which brings a fresh terminal to the same state.
//!
//! Below them lie [`Utf8Decoder`] (no character is ever torn between two reads) and [`EscapeScanner`] (no escape sequence is ever
//! torn by a cut). [`PersonFilter`] guards a person's own terminal against output that would do more than print.
//!
//! The crate reads no clock: where time matters, the caller passes the time since the command's start. Only [`SpillFile`] does I/O.
//!
//! ```
//! use std::time::Duration;
//! use xterm_rs_bridge::{KeptOutput, LiveCursor, plain_text};
//!
//! let mut output = KeptOutput::new();
//! let mut live = LiveCursor::new();
//! output.push(b"10%\r100%\r\n");
//! live.pushed(&output, Duration::ZERO);
//! let sent = live.take(&output, Duration::ZERO).unwrap_or_default();
//! assert_eq!(plain_text(&sent), "100%\n");
//! ```

mod escape;
mod gap;
mod head;
mod kept;
mod live;
mod model;
mod person;
mod plain;
mod screen;
mod sheet;
mod spill;
mod tail;
mod utf8;

pub use escape::EscapeScanner;
pub use gap::gap_line;
pub use kept::{KeptOutput, Since};
pub use live::LiveCursor;
pub use model::{cut_text, model_text};
pub use person::PersonFilter;
pub use plain::plain_text;
pub use screen::Screen;
pub use spill::{SpillError, SpillFile};
pub use utf8::Utf8Decoder;

/// How much of an output is shown and kept from its beginning, in UTF-8 bytes.
pub const HEAD_BYTES: usize = 512 * 1024;

/// How much of an output is shown and kept from its end, in UTF-8 bytes.
pub const TAIL_BYTES: usize = 448 * 1024;
