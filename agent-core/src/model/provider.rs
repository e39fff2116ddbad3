//! Models of providers, over HTTP: `DeepSeek`, Anthropic, `OpenAI`, Gemini, Ollama, and any endpoint that speaks
//! `OpenAI`'s or Anthropic's API.
//!
//! The wire formats are the client crate's work. What it leaves to us is here: [`endpoint`] finds address and key,
//! `request` puts a transcript into each provider's rules, `answer` gathers what arrives without ever mending a broken
//! tool call, `failure` says what to do when it goes wrong.

mod answer;
pub mod endpoint;
mod failure;
mod http;
mod request;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use genai::chat::ChatStream;
use genai::resolver::{AuthData, Endpoint as ServiceAddress};
use genai::{Client, Headers, ServiceTarget};

use self::answer::{AnswerSoFar, Step};
use self::endpoint::{Endpoint, ModelSetupError};
use super::name::Wire;
use super::{Model, ModelError, ModelEvent, ModelRequest};
use crate::config::Config;
use crate::surroundings::Environment;

/// A provider that thinks in silence may take minutes; one that says nothing for longer is gone.
const SILENCE: Duration = Duration::from_mins(10);

/// A model of a provider.
#[derive(Debug)]
pub struct Provider {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: String,
    endpoint: Endpoint,
    environment: Environment,
    /// Built at the first request, because it reads the system's certificates.
    client: OnceLock<Client>,
}

impl Provider {
    /// The model `provider/model`. Nothing is sent, and no client is built, before the first request.
    pub(crate) fn new(
        provider: &str,
        model: &str,
        config: &Config,
        environment: &Environment,
    ) -> Result<Self, ModelSetupError> {
        let endpoint = Endpoint::of(provider, model, config, environment)?;
        let inner = Inner {
            name: format!("{provider}/{model}"),
            endpoint,
            environment: environment.clone(),
            client: OnceLock::new(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }
}

impl Model for Provider {
    fn name(&self) -> &str {
        &self.inner.name
    }

    fn asks_permission(&self) -> bool {
        true
    }

    fn respond(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let phase = Phase::Asking(Arc::clone(&self.inner), request);
        stream::unfold(phase, Phase::next).boxed()
    }
}

/// Where an answer stands. It is driven only by whoever reads it, so that dropping it abandons the request.
enum Phase {
    Asking(Arc<Inner>, ModelRequest),
    Answering(Arc<Inner>, Box<Arriving>),
    Over,
}

/// An answer under way.
struct Arriving {
    stream: ChatStream,
    /// Set by the first piece of an event stream: some first events are not passed on by the crate.
    begun: Arc<AtomicBool>,
    so_far: AnswerSoFar,
}

impl Phase {
    async fn next(mut self) -> Option<(Result<ModelEvent, ModelError>, Self)> {
        loop {
            self = match self {
                Self::Asking(inner, request) => match inner.ask(request).await {
                    Ok(arriving) => Self::Answering(inner, Box::new(arriving)),
                    Err(error) => return Some((Err(error), Self::Over)),
                },
                Self::Answering(inner, mut arriving) => match arriving.step(&inner).await {
                    Ok(None) => Self::Answering(inner, arriving),
                    Ok(Some(event @ ModelEvent::Done(_))) => return Some((Ok(event), Self::Over)),
                    Ok(Some(event)) => return Some((Ok(event), Self::Answering(inner, arriving))),
                    Err(error) => return Some((Err(error), Self::Over)),
                },
                Self::Over => return None,
            }
        }
    }
}

impl Arriving {
    /// Waits for the next thing to happen.
    async fn step(&mut self, inner: &Inner) -> Result<Option<ModelEvent>, ModelError> {
        let next = self.stream.next().await;
        let begun = self.begun.load(Ordering::Relaxed);
        match next {
            Some(Ok(event)) => match self.so_far.take(event, inner.endpoint.wire) {
                Step::Nothing => Ok(None),
                Step::Event(event) => Ok(Some(event)),
                Step::BrokenOff(message) => Err(inner.broken_off(message)),
            },
            Some(Err(error)) => Err(failure::explain(
                &error,
                &inner.name,
                &inner.endpoint,
                begun,
            )),
            None if begun => Err(inner.broken_off("the connection closed".to_owned())),
            None => Err(inner.refused(failure::no_answer(&inner.endpoint))),
        }
    }
}

impl Inner {
    async fn ask(&self, request: ModelRequest) -> Result<Arriving, ModelError> {
        let client = self.client()?;
        let begun = Arc::new(AtomicBool::new(false));
        let first = Arc::clone(&begun);
        let options = request::chat_options(&self.endpoint)
            .with_stream_read_timeout(SILENCE)
            .with_raw_frame_fn(move |_, frame| {
                if !frame.data.is_empty() {
                    first.store(true, Ordering::Relaxed);
                }
            });
        let chat = request::chat_request(request, &self.endpoint);
        let response = client
            .exec_chat_stream(self.target(), chat, Some(&options))
            .await
            .map_err(|error| failure::explain(&error, &self.name, &self.endpoint, false))?;
        Ok(Arriving {
            stream: response.stream,
            begun,
            so_far: AnswerSoFar::default(),
        })
    }

    fn client(&self) -> Result<&Client, ModelError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let built = http::client(&self.environment)
            .map_err(|error| error.without_url().to_string())
            .and_then(|http| Client::builder().with_reqwest(http).build().map_err(|error| error.to_string()))
            .map_err(|reason| {
                self.refused(format!(
                    "the HTTP client cannot start ({reason}); check the proxy variables, and that the system's \
                     certificates are installed"
                ))
            })?;
        Ok(self.client.get_or_init(|| built))
    }

    fn target(&self) -> ServiceTarget {
        let Endpoint {
            wire,
            base_url,
            key,
            ..
        } = &self.endpoint;
        let auth = match (key, wire) {
            (Some(key), _) => AuthData::from_single(key.0.clone()),
            // Without a key the crate would refuse, so the request's head is written here.
            (None, Wire::OpenAi | Wire::Gemini) => AuthData::RequestOverride {
                url: format!("{base_url}chat/completions"),
                headers: Headers::default(),
            },
            (None, Wire::Anthropic) => AuthData::RequestOverride {
                url: format!("{base_url}messages"),
                headers: Headers::from(("anthropic-version", "2023-06-01")),
            },
        };
        ServiceTarget {
            endpoint: ServiceAddress::from_owned(base_url.as_str()),
            auth,
            model: request::model_iden(&self.endpoint),
        }
    }

    fn broken_off(&self, message: String) -> ModelError {
        ModelError::BrokenOff {
            model: self.name.clone(),
            message,
        }
    }

    fn refused(&self, message: String) -> ModelError {
        ModelError::Provider {
            model: self.name.clone(),
            message,
        }
    }
}
