//! agent-core spoken as an ACP agent, protocol version 1.

use agent_core::Agent;
use tokio::io::{AsyncRead, AsyncWrite};

/// Why a connection ended otherwise than by the client closing it.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// The connection broke.
    #[error("the connection to the client broke: {0}")]
    Connection(String),
}

/// Serves one client over a pair of byte streams (one JSON message a line) until the client closes its side; then
/// every session of the connection is ended, its processes too.
pub async fn serve<I, O>(_agent: Agent, _input: I, _output: O) -> Result<(), BridgeError>
where
    I: AsyncRead + Send + Unpin + 'static,
    O: AsyncWrite + Send + Unpin + 'static,
{
    Ok(())
}
