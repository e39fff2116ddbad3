//! The HTTP side: takes requests, asks the script, and sends what it says.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::Response;
use axum::routing::post;
use futures::stream::{self, Stream};
use serde_json::Value;
use tokio::sync::watch;

use super::request::{self, RecordedRequest};
use super::script::{Answer, Emission, Failure, FailureBody, Script, Step, TITLE_REQUEST};
use super::{anthropic, openai, strict};

/// A model that says what its script tells it to, on a loopback port of its own. It ends when it is dropped: answers
/// under way are cut.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    script: Mutex<Script>,
    requests: watch::Sender<Vec<RecordedRequest>>,
    over: watch::Sender<bool>,
}

impl ModelServer {
    /// Starts the server. It must be called within a tokio runtime, which then serves it.
    pub fn start(script: Script) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script: Mutex::new(script),
            requests: watch::Sender::new(Vec::new()),
            over: watch::Sender::new(false),
        });
        let routes = Router::new()
            .route("/v1/chat/completions", post(Wire::openai))
            .route("/v1/messages", post(Wire::anthropic))
            .fallback(unknown_path)
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&shared));
        let over = Arc::clone(&shared);
        tokio::spawn(async move {
            let ended = async move { over.ended().await };
            if let Err(error) = axum::serve(listener, routes)
                .with_graceful_shutdown(ended)
                .await
            {
                tracing::error!(%error, "the model server ended");
            }
        });
        Ok(Self { address, shared })
    }

    /// What `OPENAI_BASE_URL` should be.
    pub fn openai_base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What `ANTHROPIC_BASE_URL` should be.
    pub fn anthropic_base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far, the refused ones included.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.requests.borrow().clone()
    }

    /// Waits until so many requests have come.
    pub async fn wait_for_requests(&self, count: usize) -> Vec<RecordedRequest> {
        // It fails only when the sender is gone, and the sender is ours.
        let _ = self
            .shared
            .requests
            .subscribe()
            .wait_for(|requests| requests.len() >= count)
            .await;
        self.requests()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.over.send_replace(true);
    }
}

impl Shared {
    async fn ended(&self) {
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }

    fn record(&self, request: RecordedRequest) {
        self.requests.send_modify(|requests| requests.push(request));
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        // A script is whole after every operation on it, whoever panicked.
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The two wire formats.
#[derive(Debug, Clone, Copy)]
enum Wire {
    OpenAi,
    Anthropic,
}

impl Wire {
    async fn openai(
        State(shared): State<Arc<Shared>>,
        uri: Uri,
        headers: HeaderMap,
        body: Bytes,
    ) -> Response {
        Self::OpenAi.answer(&shared, &uri, &headers, &body).await
    }

    async fn anthropic(
        State(shared): State<Arc<Shared>>,
        uri: Uri,
        headers: HeaderMap,
        body: Bytes,
    ) -> Response {
        Self::Anthropic.answer(&shared, &uri, &headers, &body).await
    }

    async fn answer(
        self,
        shared: &Arc<Shared>,
        uri: &Uri,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Response {
        let body: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
        if asks_for_title(&body) {
            return self.name_conversation(shared, &body);
        }
        shared.record(RecordedRequest::new(uri, headers, body.clone()));
        let wanted_key = shared.script().key.clone();
        if wanted_key.is_some() && request::key(headers) != wanted_key.as_deref() {
            return self.refuse(&Failure::new(401, "the API key is not valid"));
        }
        if let Err(reason) = self.check(headers, &body) {
            return self.refuse(&Failure::new(400, reason));
        }
        let step = shared.script().next();
        match step {
            Some(Step::Answer(answer)) if body["stream"] == true => {
                let emissions = match self {
                    Self::OpenAi => openai::stream(&answer, &body),
                    Self::Anthropic => anthropic::stream(&answer, &body),
                };
                let body = Body::from_stream(emit(emissions, Arc::clone(shared)));
                response(StatusCode::OK, "text/event-stream", body)
            }
            Some(Step::Answer(answer)) => self.whole(&answer, &body),
            Some(Step::Failure(failure)) => self.refuse(&failure),
            Some(Step::Hang) => {
                shared.ended().await;
                self.refuse(&Failure::new(503, "the server ends"))
            }
            None => self.refuse(&Failure::new(
                500,
                "the script has no step for this request",
            )),
        }
    }

    /// A title as the script has it. Checked as any request, and streamed in one go.
    fn name_conversation(self, shared: &Arc<Shared>, body: &Value) -> Response {
        let title = shared.script().title.clone();
        let Some(title) = title else {
            return self.refuse(&Failure::new(404, "the script has no title"));
        };
        let answer = Answer::new().text([title]);
        let emissions = match self {
            Self::OpenAi => openai::stream(&answer, body),
            Self::Anthropic => anthropic::stream(&answer, body),
        };
        let body = Body::from_stream(emit(emissions, Arc::clone(shared)));
        response(StatusCode::OK, "text/event-stream", body)
    }

    fn check(self, headers: &HeaderMap, body: &Value) -> Result<(), String> {
        match self {
            Self::OpenAi => strict::openai(body),
            Self::Anthropic if !headers.contains_key("anthropic-version") => {
                Err("anthropic-version: this header is required".to_owned())
            }
            Self::Anthropic => strict::anthropic(body),
        }
    }

    fn whole(self, answer: &Answer, request: &Value) -> Response {
        let body = match self {
            Self::OpenAi => openai::whole(answer, request),
            Self::Anthropic => anthropic::whole(answer, request),
        };
        response(
            StatusCode::OK,
            "application/json",
            Body::from(body.to_string()),
        )
    }

    fn refuse(self, failure: &Failure) -> Response {
        let status =
            StatusCode::from_u16(failure.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let (kind, body) = match &failure.body {
            FailureBody::Message(message) => {
                let body = match self {
                    Self::OpenAi => openai::error(failure.status, message),
                    Self::Anthropic => anthropic::error(failure.status, message),
                };
                ("application/json", body.to_string())
            }
            FailureBody::Json(body) => ("application/json", body.to_string()),
            FailureBody::Text(body) => ("text/html", body.clone()),
        };
        let mut response = response(status, kind, Body::from(body));
        for (name, value) in &failure.headers {
            if let (Ok(name), Ok(value)) =
                (HeaderName::try_from(name), HeaderValue::try_from(value))
            {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}

/// Whether a system prompt, wherever the format has it, asks for a title.
fn asks_for_title(body: &Value) -> bool {
    let system = body
        .get("system")
        .or_else(|| body.pointer("/messages/0/content"));
    system.is_some_and(|system| system.to_string().contains(TITLE_REQUEST))
}

async fn unknown_path(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    shared.record(RecordedRequest::new(&uri, &headers, body));
    Wire::OpenAi.refuse(&Failure::new(
        404,
        format!("nothing is served at {}", uri.path()),
    ))
}

fn response(status: StatusCode, kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// The body of a streamed answer. An error cuts the connection, which is what a cut is.
fn emit(emissions: Vec<Emission>, shared: Arc<Shared>) -> impl Stream<Item = io::Result<Bytes>> {
    let queue = VecDeque::from(emissions);
    stream::unfold((queue, shared), |(mut queue, shared)| async move {
        loop {
            match queue.pop_front()? {
                Emission::Send(text) => return Some((Ok(Bytes::from(text)), (queue, shared))),
                Emission::Hold(gate) => {
                    let over = tokio::select! {
                        () = gate.pass() => false,
                        () = shared.ended() => true,
                    };
                    if over {
                        queue.clear();
                        return Some((Err(io::Error::other("the server ends")), (queue, shared)));
                    }
                }
                Emission::Cut => {
                    // What came before the cut must have left: the connection is flushed when its body has nothing
                    // ready, and dropped unflushed when it fails.
                    tokio::task::yield_now().await;
                    queue.clear();
                    return Some((
                        Err(io::Error::other("the script cuts the connection")),
                        (queue, shared),
                    ));
                }
            }
        }
    })
}
