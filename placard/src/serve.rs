//! `placard serve`: the chat in a browser on this machine.

mod assets;
mod door;
mod routes;
mod socket;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use acp_client::{PageAbilities, WireTap};
use agent_core::Surroundings;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::arguments::ServeArguments;
use crate::error::ProgramError;
use crate::host::Host;
use crate::stop::StopSignals;
use door::Door;

/// A browser that keeps its connection busy is not waited for any longer.
const CLOSE_LIMIT: Duration = Duration::from_millis(500);

/// Serves until a signal comes; then the agent and everything below it is ended.
pub(crate) async fn serve(
    arguments: ServeArguments,
    surroundings: Surroundings,
) -> Result<ExitCode, ProgramError> {
    let mut stop = StopSignals::listen()?;
    let port = arguments.port;
    let in_use = |source| ProgramError::Port { port, source };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .map_err(in_use)?;
    let port = listener.local_addr().map_err(in_use)?.port();
    let host = Host::start(
        &arguments.host,
        surroundings,
        PageAbilities::of_the_chat(),
        WireTap::default(),
    )?;
    let (door, token) = Door::new(port);
    let closing = CancellationToken::new();
    let server = axum::serve(listener, routes::router(host.hub.clone(), Arc::new(door)))
        .with_graceful_shutdown(closing.clone().cancelled_owned());
    let server = tokio::spawn(server.into_future());
    if !assets::are_there() {
        tracing::warn!(
            "this program was built without its page: {}",
            assets::HOW_TO_BUILD
        );
    }
    let address = format!("http://127.0.0.1:{port}/?token={token}");
    // Whoever reads stdout, or does not, must not keep the program from hearing a signal.
    let announced = tokio::task::spawn_blocking(move || {
        announce(&format!(
            "Placard is at {address}\nThis address opens once; after that only the browser that opened it gets in.\n"
        ))
    });
    let unheard = async {
        match announced.await {
            Ok(Err(error)) => error,
            _ => std::future::pending().await,
        }
    };
    let signal = tokio::select! {
        error = unheard => {
            host.shut_down().await;
            return Err(ProgramError::Stdout(error));
        }
        signal = stop.next() => signal,
    };
    host.shut_down().await;
    closing.cancel();
    if tokio::time::timeout(CLOSE_LIMIT, server).await.is_err() {
        tracing::debug!("a browser still held a connection");
    }
    tracing::debug!(?signal, "ended");
    Ok(ExitCode::SUCCESS)
}

fn announce(line: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(line.as_bytes())?;
    stdout.flush()
}
