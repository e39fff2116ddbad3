//! The desktop program: the chat window, with the agent inside.
//!
//! The window's page is an ACP client. It reaches the agent through a hub of `acp-client`, which keeps what outlives a
//! page, and whose agent is `agent-core` spoken by `acp-bridge` over a stream in memory: the same bytes that an editor
//! would get from `placard acp`.
//!
//! - `surroundings` reads the process's own state, once.
//! - `program` puts agent, hub and window together, and takes them apart: no command outlives the window.
//! - `window` opens the window; `theme` gives its paper the colour of the page's theme; `link` sends web links to the system's browser.
//! - `page` carries the hub's envelopes between the window's page and the hub (`docs/hub.md`).

mod error;
mod link;
mod page;
mod program;
mod surroundings;
mod theme;
mod window;

pub use error::DesktopError;
pub use program::run;
