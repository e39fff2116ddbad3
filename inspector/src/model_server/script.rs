//! What the model will say: one step for each request.

use std::collections::VecDeque;

use serde_json::Value;

use super::gate::Gate;

/// Words in the system prompt of a request for a session's title. Such requests come beside the conversation, so they are
/// answered apart from the script and not among the recorded requests.
pub const TITLE_REQUEST: &str = "Name this conversation";

/// The steps of a model, and the key that it wants.
#[derive(Debug, Clone, Default)]
pub struct Script {
    pub(super) steps: VecDeque<Step>,
    pub(super) otherwise: Option<Step>,
    pub(super) key: Option<String>,
    pub(super) title: Option<String>,
}

impl Script {
    /// A script without steps.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the next request gets.
    #[must_use]
    pub fn then(mut self, step: impl Into<Step>) -> Self {
        self.steps.push_back(step.into());
        self
    }

    /// What every request gets once the steps are used up. Without it such requests are answered with an error.
    #[must_use]
    pub fn otherwise(mut self, step: impl Into<Step>) -> Self {
        self.otherwise = Some(step.into());
        self
    }

    /// Refuses requests that bear another API key, or none.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// What is answered to a request for a title, which takes no step: see [`TITLE_REQUEST`]. Without it such requests are
    /// refused.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Takes the step for the next request.
    pub(super) fn next(&mut self) -> Option<Step> {
        self.steps.pop_front().or_else(|| self.otherwise.clone())
    }
}

/// What one request gets.
#[derive(Debug, Clone)]
pub enum Step {
    /// An answer of the model.
    Answer(Answer),
    /// A refusal.
    Failure(Failure),
    /// Nothing at all, until the client gives up or the server ends.
    Hang,
}

impl From<Answer> for Step {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

impl From<Failure> for Step {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// An answer, piece by piece as it is streamed.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub(super) pieces: Vec<Piece>,
    pub(super) usage: Option<Tokens>,
    pub(super) finish: Option<Finish>,
}

/// A piece of an answer.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    Text(String),
    Reasoning(String),
    /// The signature of the reasoning before it. Only Anthropic has these.
    Signature(String),
    /// Reasoning that is hidden from the client. Only Anthropic has this.
    Redacted(String),
    /// The beginning of a tool call.
    Call {
        id: String,
        name: String,
    },
    /// Some of the arguments of the call before it.
    Arguments(String),
    /// Waits for a gate.
    Hold(Gate),
    /// Something that is no event of the format.
    Garbage,
    /// The end of the stream, though the answer is not complete.
    StopShort,
    /// The end of the connection.
    Cut,
}

/// Tokens of a request and its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tokens {
    pub(super) input: u64,
    pub(super) output: u64,
}

/// Why the model stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// It has said what it wanted.
    Stop,
    /// It wants tools.
    ToolCalls,
    /// The limit of tokens is reached.
    Length,
    /// A filter stopped it.
    Refusal,
}

impl Answer {
    /// An answer that says nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Text for the person, in these pieces.
    #[must_use]
    pub fn text<S: Into<String>>(self, pieces: impl IntoIterator<Item = S>) -> Self {
        self.with(pieces.into_iter().map(|piece| Piece::Text(piece.into())))
    }

    /// Reasoning, in these pieces.
    #[must_use]
    pub fn reasoning<S: Into<String>>(self, pieces: impl IntoIterator<Item = S>) -> Self {
        self.with(
            pieces
                .into_iter()
                .map(|piece| Piece::Reasoning(piece.into())),
        )
    }

    /// The signature of the reasoning before it (Anthropic only).
    #[must_use]
    pub fn signature(self, signature: impl Into<String>) -> Self {
        self.with([Piece::Signature(signature.into())])
    }

    /// Reasoning that the client may keep but not read (Anthropic only).
    #[must_use]
    pub fn redacted_reasoning(self, data: impl Into<String>) -> Self {
        self.with([Piece::Redacted(data.into())])
    }

    /// A tool call whose arguments come in these pieces. They are sent as they are, valid JSON or not.
    #[must_use]
    pub fn call<S: Into<String>>(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = S>,
    ) -> Self {
        self.with([Piece::Call {
            id: id.into(),
            name: name.into(),
        }])
        .with(
            arguments
                .into_iter()
                .map(|piece| Piece::Arguments(piece.into())),
        )
    }

    /// Holds the answer here until the gate is opened.
    #[must_use]
    pub fn hold(self, gate: &Gate) -> Self {
        self.with([Piece::Hold(gate.clone())])
    }

    /// Sends an event here that is no JSON.
    #[must_use]
    pub fn garbage(self) -> Self {
        self.with([Piece::Garbage])
    }

    /// Ends the stream here, in good order but without the events that complete an answer.
    #[must_use]
    pub fn stop_short(self) -> Self {
        self.with([Piece::StopShort])
    }

    /// Cuts the connection here.
    #[must_use]
    pub fn cut(self) -> Self {
        self.with([Piece::Cut])
    }

    /// Tells these numbers of tokens.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some(Tokens { input, output });
        self
    }

    /// Stops for this reason instead of the one that follows from the answer.
    #[must_use]
    pub fn finish(mut self, finish: Finish) -> Self {
        self.finish = Some(finish);
        self
    }

    /// Why this answer stops.
    pub(super) fn finish_reason(&self) -> Finish {
        let calls = self
            .pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Call { .. }));
        self.finish.unwrap_or(if calls {
            Finish::ToolCalls
        } else {
            Finish::Stop
        })
    }

    fn with(mut self, pieces: impl IntoIterator<Item = Piece>) -> Self {
        self.pieces.extend(pieces);
        self
    }
}

/// A refusal.
#[derive(Debug, Clone)]
pub struct Failure {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: FailureBody,
}

/// What a refusal says.
#[derive(Debug, Clone)]
pub(super) enum FailureBody {
    /// A sentence, in the format's own error object.
    Message(String),
    /// This JSON.
    Json(Value),
    /// This text, as a proxy in between would send it.
    Text(String),
}

impl Failure {
    /// A refusal with this status and sentence, in the format's own error object.
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: FailureBody::Message(message.into()),
        }
    }

    /// A refusal with this status and JSON.
    pub fn json(status: u16, body: Value) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: FailureBody::Json(body),
        }
    }

    /// A refusal with this status and text that is no JSON.
    pub fn text(status: u16, body: impl Into<String>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: FailureBody::Text(body.into()),
        }
    }

    /// Adds a header, such as `retry-after`.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

/// What goes onto the wire, in order. Each wire format turns an [`Answer`] into these.
#[derive(Debug, Clone)]
pub(super) enum Emission {
    /// These bytes, in a piece of their own.
    Send(String),
    /// Nothing until the gate is open.
    Hold(Gate),
    /// The end of the connection.
    Cut,
}

/// What is sent, without the gates.
#[cfg(test)]
pub(super) fn text_of(emissions: &[Emission]) -> String {
    let text = |emission: &Emission| match emission {
        Emission::Send(text) => text.clone(),
        Emission::Hold(_) | Emission::Cut => String::new(),
    };
    emissions.iter().map(text).collect()
}
