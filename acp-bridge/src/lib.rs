//! agent-core spoken as an ACP agent, protocol version 1, on the official SDK.
//!
//! [`serve`] answers one client over a pair of byte streams. A line comes in through [`wire`] (bounded, tolerant of what is
//! no JSON), the SDK types it, [`connection`] hands it to one of the [`requests`], which act on the connection's
//! [`sessions`]; what a session tells goes out through its own [`show`] task, which turns neutral updates into messages
//! ([`message`]) and pulls a command's output only when the client has taken what was sent before. So a client that reads
//! slowly gets larger pieces, and costs no memory. The past of a session goes the same way, through a viewer of its own.
//! [`extension`] is what our own window can do beyond reading: type into a command, and stop it alone.

mod connection;
mod extension;
mod failure;
mod greeting;
mod message;
mod moment;
mod prompt;
mod requests;
mod sessions;
mod show;
mod stop;
mod wire;

use std::time::Duration;

use agent_core::Agent;
use tokio::io::{AsyncRead, AsyncWrite};

/// How long a client that has closed its side is given to take what was still under way.
const DRAIN: Duration = Duration::from_millis(200);

/// Why a connection ended otherwise than by the client closing it.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// The connection broke.
    #[error("the connection to the client broke: {0}")]
    Connection(String),
}

/// Serves one client over a stream of both directions, as an agent inside the client's own program does.
pub async fn serve_stream<S>(agent: Agent, stream: S) -> Result<(), BridgeError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (input, output) = tokio::io::split(stream);
    serve(agent, input, output).await
}

/// Serves one client over a pair of byte streams (one JSON message a line) until the client closes its side; then
/// every session of the connection is ended, its processes too.
pub async fn serve<I, O>(agent: Agent, input: I, output: O) -> Result<(), BridgeError>
where
    I: AsyncRead + Send + Unpin + 'static,
    O: AsyncWrite + Send + Unpin + 'static,
{
    let (outbox, writer) = wire::outbox(output);
    let lines = wire::read_lines(input, outbox.clone());
    let sessions = sessions::Sessions::new(agent, outbox.under_way());
    let writing = tokio::spawn(writer);
    let result = connection::run(sessions.clone(), outbox, lines).await;
    sessions.close_all().await;
    // Nothing more is sent; a client that does not read any more must not keep the agent.
    if tokio::time::timeout(DRAIN, writing).await.is_err() {
        tracing::debug!("the client did not take the last messages");
    }
    result.map_err(|error| BridgeError::Connection(error.message.clone()))
}
