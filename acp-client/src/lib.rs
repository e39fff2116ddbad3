//! The client side of ACP, for every page of ours and any agent.
//!
//! A [`Hub`] keeps one agent: an [`AgentSource`] says whether it is inside this program or a command. It starts the
//! agent, says `initialize`, and hands every frame of both directions to its [`Page`]s: a webview, a browser tab, or
//! `placard run`. A page is an ACP client and talks in envelopes, JSON texts whose contract is `docs/hub.md`; it
//! may go and come back, and misses nothing.
//!
//! From the agent to a page:
//! 1. `process` or an embedded task runs the agent (`source`); `life` starts it, and reads it until it ends. What a
//!    process leaves behind is ended too (`stray`).
//! 2. `wire` cuts its output into lines: anything may come, nothing but the end of the stream ends the connection.
//! 3. `reading` lets pass what everybody can read; `frame` takes no more of it apart than routing needs, so that what
//!    either side wrote arrives unchanged.
//! 4. `exchange` decides what happens to it: which request it answers (`ids`), who else is told, what is refused.
//! 5. `spool` keeps it, numbered: memory for the newest, a file for all.
//! 6. `delivery` is a page's cursor over the spool: batches, credit, pace. A slow page only lags.
//!
//! No types of a protocol library here: an agent that is a little wrong must still be usable.

mod delivery;
mod envelope;
mod error;
mod exchange;
mod frame;
mod greeting;
mod hub;
mod ids;
mod life;
mod page;
mod process;
mod reading;
mod source;
mod spool;
mod stray;
mod typed;
mod wire;

pub use envelope::{AgentPhase, AgentState};
pub use error::ClientError;
pub use greeting::PageAbilities;
pub use hub::{Hub, HubSettings};
pub use page::Page;
pub use source::{AgentCommand, AgentSource, EmbeddedAgent, ServeResult};
pub use wire::{LINE_LIMIT, WireSide, WireTap};
