//! Terminal bytes on their way from a pseudo-terminal to a reader.
//!
//! A command's output starts as raw bytes and ends in front of three very different readers, so this crate has one part for each:
//!
//! - a person who watches a card while the command runs gets [`LiveOutput`]: paced, bounded, lossless where it can be;
//! - whoever looks later (a replay, a search, the model) gets [`KeptOutput`]: the beginning and the end, with exact counts;
//! - a model reads plain words, so [`plain_text`] plays the output on a small screen and [`model_text`] cuts the result to a bound.
//!
//! Below them lie [`Utf8Decoder`] (no character is ever torn between two reads) and [`EscapeScanner`] (no escape sequence is ever
//! torn by a cut). [`PersonFilter`] guards a person's own terminal against output that would do more than print.
//!
//! The crate reads no clock and does no I/O. Where time matters, the caller passes the time since the command's start.
//!
//! ```
//! use std::time::Duration;
//! use xterm_rs_bridge::{LiveOutput, plain_text};
//!
//! let mut live = LiveOutput::new();
//! live.push(b"10%\r100%\r\n", Duration::ZERO);
//! let sent = live.take(Duration::ZERO).unwrap_or_default();
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
mod tail;
mod utf8;

pub use escape::EscapeScanner;
pub use gap::gap_line;
pub use kept::KeptOutput;
pub use live::LiveOutput;
pub use model::model_text;
pub use person::PersonFilter;
pub use plain::plain_text;
pub use utf8::Utf8Decoder;

/// How much of an output is shown and kept from its beginning, in UTF-8 bytes.
pub const HEAD_BYTES: usize = 512 * 1024;

/// How much of an output is shown and kept from its end, in UTF-8 bytes.
pub const TAIL_BYTES: usize = 448 * 1024;
