//! The HTTP client under the providers.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, NoProxy, Proxy};

use crate::surroundings::Environment;

/// Long enough for a slow network, short enough to be told while one still looks.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Hosts that no proxy is ever asked for: a model on this machine must work behind any proxy.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

/// Builds a client.
///
/// The client reads no variables of the process by itself: the usual proxy variables are taken from `environment`.
/// It follows no redirections, because it would carry Anthropic's and Gemini's key headers along to wherever they lead.
pub(super) fn client(environment: &Environment) -> Result<Client, reqwest::Error> {
    let variable = |name: &str| {
        environment
            .get(name)
            .or_else(|| environment.get(&name.to_uppercase()))
    };
    let exempt = variable("no_proxy").map_or_else(
        || LOOPBACK.to_owned(),
        |hosts| format!("{LOOPBACK},{hosts}"),
    );
    let exempt = NoProxy::from_string(&exempt);

    let mut builder = Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true);
    if let Some(address) = variable("http_proxy") {
        builder = builder.proxy(Proxy::http(address)?.no_proxy(exempt.clone()));
    }
    if let Some(address) = variable("https_proxy") {
        builder = builder.proxy(Proxy::https(address)?.no_proxy(exempt.clone()));
    }
    if let Some(address) = variable("all_proxy") {
        builder = builder.proxy(Proxy::all(address)?.no_proxy(exempt));
    }
    builder.build()
}
