//! Terminal cards: how an ACP agent shows a command that it runs itself.
//!
//! ACP v1 has no words for that, so agents describe a display-only terminal in the `_meta` of their tool calls, and clients that know the
//! convention draw a card: the command, what it printed, how it ended. This crate is both ends of the convention, and does no I/O.
//!
//! - An agent asks [`Capability::of_client`] what the client can draw, and writes with [`encode`].
//! - A client folds every `session/update` into a [`Board`] and draws the [`Card`]s on it. Reading is tolerant: agents disagree about
//!   order, about which fields they send and when, and each disagreement that was met on a real wire has an answer here.
//!
//! ```
//! use serde_json::json;
//! use terminal_card::{Board, Capability, TerminalExit, encode};
//!
//! let mut board = Board::new();
//! board.apply("s1", &json!({
//!     "sessionUpdate": "tool_call", "toolCallId": "c1", "title": "echo hi", "kind": "execute",
//!     "content": [encode::content("t1")], "_meta": encode::info("t1", "/home/ada"),
//! }));
//! let output = encode::output(Capability::Output, "t1", "hi\r\n");
//! board.apply("s1", &json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "_meta": output}));
//! let exit = TerminalExit { exit_code: Some(0), signal: None };
//! board.apply("s1", &json!({
//!     "sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed", "_meta": encode::exit("t1", &exit),
//! }));
//!
//! let card = board.card("s1", "t1").unwrap();
//! assert_eq!((card.text.as_str(), &card.exit), ("hi\r\n", &Some(exit)));
//! ```

mod board;
mod call;
mod capability;
mod card;
mod console;
pub mod encode;
mod exit;
mod reading;
mod session;

pub use board::Board;
pub use capability::Capability;
pub use card::{CARD_TEXT_BYTES, Card, CardStatus, Change, ChangeKind, Note};
pub use console::{console_block, console_text};
pub use exit::TerminalExit;
