//! Failures of providers, in one line that says what to do.

use std::error::Error as StdError;
use std::io;

use genai::Error;
use serde_json::Value;

use super::endpoint::Endpoint;
use crate::model::ModelError;

/// How much of a provider's own words is shown.
const WORDS: usize = 200;

/// Turns a failure of the client crate into a message.
pub(super) fn explain(error: &Error, name: &str, endpoint: &Endpoint, begun: bool) -> ModelError {
    let refused = |message: String| ModelError::Provider {
        model: name.to_owned(),
        message,
    };
    let broken_off = |message: String| ModelError::BrokenOff {
        model: name.to_owned(),
        message,
    };
    match error {
        Error::WebStream { error: inner, .. } => {
            if let Some(Error::HttpError {
                status,
                body,
                headers,
                ..
            }) = inner.downcast_ref::<Error>()
            {
                let wait = headers
                    .get("retry-after")
                    .and_then(|value| value.to_str().ok());
                return refused(
                    Refusal {
                        status: status.as_u16(),
                        body,
                        wait,
                        endpoint,
                    }
                    .message(),
                );
            }
            if begun {
                return broken_off(transport(inner.as_ref()));
            }
            refused(unreachable(inner.as_ref(), endpoint))
        }
        Error::ChatResponse { body, .. } => {
            let words = words_of(body, endpoint);
            broken_off(format!("the provider reported an error: {words}"))
        }
        Error::StreamParse { .. } if begun => {
            broken_off("the provider sent something garbled".to_owned())
        }
        Error::StreamParse { .. } => refused(no_answer(endpoint)),
        // The other errors may quote the request, so their words stay out.
        _ if begun => broken_off("the provider sent something unexpected".to_owned()),
        _ => refused(format!(
            "the request could not be made for {}; check {}",
            endpoint.base_url, endpoint.address_setting
        )),
    }
}

/// What is said when a server answers with something that is no stream of a model.
pub(super) fn no_answer(endpoint: &Endpoint) -> String {
    format!(
        "what answers at {} does not speak the expected API; check {}",
        endpoint.base_url, endpoint.address_setting
    )
}

/// A refusal with a status.
struct Refusal<'a> {
    status: u16,
    body: &'a str,
    wait: Option<&'a str>,
    endpoint: &'a Endpoint,
}

impl Refusal<'_> {
    fn message(&self) -> String {
        let Self {
            status, endpoint, ..
        } = self;
        let Endpoint {
            model,
            base_url,
            key_setting,
            address_setting,
            ..
        } = endpoint;
        match status {
            300..=399 => format!(
                "{base_url} redirects to another address ({status}); set {address_setting} to the final one"
            ),
            401 if endpoint.key.is_none() => {
                format!(
                    "{base_url} wants an API key ({status}); name the variable that holds it with {key_setting}"
                )
            }
            401 => format!("the API key was refused ({status}); check {key_setting}"),
            402 => format!("the account has no credit left ({status}); top it up at the provider"),
            403 => format!(
                "access was refused ({status}); check that the key in {key_setting} may use `{model}`"
            ),
            404 => format!(
                "there is no model `{model}` at {base_url} ({status}); check the name, and {address_setting}"
            ),
            429 if self.mentions(&["insufficient_quota", "quota", "credit"]) => {
                format!("the account's quota is used up ({status}); check its plan at the provider")
            }
            429 => format!(
                "too many requests ({status}); {} and send the prompt again",
                self.pause()
            ),
            400 | 413 | 422 if self.is_overflow() => format!(
                "the session no longer fits into the model's context ({status}); start a new session, or choose a \
                 model with a larger context"
            ),
            408 | 504 => format!("the provider took too long ({status}); send the prompt again"),
            500..=599 => format!(
                "the provider is overloaded or failing ({status}); {} and send the prompt again",
                self.pause()
            ),
            _ => format!(
                "the provider refused the request ({status}): {}",
                self.words()
            ),
        }
    }

    fn pause(&self) -> String {
        match self.wait.and_then(|wait| wait.trim().parse::<u64>().ok()) {
            Some(1) => "wait 1 second".to_owned(),
            Some(seconds) => format!("wait {seconds} seconds"),
            None => "wait a moment".to_owned(),
        }
    }

    fn is_overflow(&self) -> bool {
        self.status == 413
            || self.mentions(&[
                "context_length_exceeded",
                "context length",
                "context window",
                "prompt is too long",
                "input is too long",
                "maximum context",
                "exceeds the maximum number of tokens",
            ])
    }

    fn mentions(&self, phrases: &[&str]) -> bool {
        let body = self.body.to_lowercase();
        phrases.iter().any(|phrase| body.contains(phrase))
    }

    fn words(&self) -> String {
        match serde_json::from_str::<Value>(self.body) {
            Ok(body) => words_of(&body, self.endpoint),
            // A page of a proxy, most likely: nothing that helps in one line.
            Err(_) => "it gave no reason that can be shown".to_owned(),
        }
    }
}

/// The provider's own sentence out of an error's body: one line, short, without the key.
fn words_of(body: &Value, endpoint: &Endpoint) -> String {
    let sentence = [
        "/error/message",
        "/message",
        "/error",
        "/detail",
        "/0/error/message",
    ]
    .iter()
    .find_map(|pointer| body.pointer(pointer).and_then(Value::as_str))
    .unwrap_or("it gave no reason that can be shown");
    let mut line = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(key) = &endpoint.key {
        line = line.replace(&key.0, "(the key)");
    }
    match line.char_indices().nth(WORDS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

fn unreachable(error: &(dyn StdError + 'static), endpoint: &Endpoint) -> String {
    let Endpoint {
        base_url,
        address_setting,
        ..
    } = endpoint;
    let timed_out = error
        .downcast_ref::<reqwest::Error>()
        .is_some_and(reqwest::Error::is_timeout);
    match io_kind(error) {
        Some(io::ErrorKind::ConnectionRefused) => format!(
            "nothing listens at {base_url} (connection refused); start the server, or check {address_setting}"
        ),
        _ if timed_out => {
            format!("{base_url} does not answer; check the network, and {address_setting}")
        }
        _ => format!(
            "{base_url} cannot be reached ({}); check the network, and {address_setting}",
            root(error)
        ),
    }
}

fn transport(error: &(dyn StdError + 'static)) -> String {
    match io_kind(error) {
        Some(
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe,
        ) => "the connection closed".to_owned(),
        _ => root(error),
    }
}

fn io_kind(error: &(dyn StdError + 'static)) -> Option<io::ErrorKind> {
    chain(error).find_map(|cause| cause.downcast_ref::<io::Error>().map(io::Error::kind))
}

/// The innermost cause: the outer ones quote addresses, which may hold more than a person wants to see.
fn root(error: &(dyn StdError + 'static)) -> String {
    chain(error)
        .last()
        .map(ToString::to_string)
        .unwrap_or_default()
}

fn chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let this = next?;
        next = this.source();
        Some(this)
    })
}
