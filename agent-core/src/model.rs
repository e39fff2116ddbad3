//! Models behind one trait: what a turn asks of a language model, and what comes back.
//!
//! The types here belong to no provider. [`offline`] is the embedded default; [`provider`] speaks to real ones.

pub mod name;
pub mod offline;
pub mod provider;

use std::sync::Arc;

use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::name::ModelName;
use self::offline::Offline;
use self::provider::Provider;
pub use self::provider::endpoint::ModelSetupError;
use crate::config::Config;
use crate::surroundings::Environment;

/// The model of that name, ready for requests. Nothing is sent before the first one.
pub fn open(
    name: &ModelName,
    config: &Config,
    environment: &Environment,
) -> Result<Arc<dyn Model>, ModelSetupError> {
    Ok(match name {
        ModelName::Offline => Arc::new(Offline::new(config)),
        ModelName::Provided { provider, model } => {
            Arc::new(Provider::new(provider, model, config, environment)?)
        }
    })
}

/// One message of the transcript that a model is asked to continue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// What the person said.
    User {
        /// The text, with embedded resources already written out.
        text: String,
    },
    /// What happened beside the conversation, such as the end of a command in the background. It stands where a person's
    /// words could stand, and is none.
    Note {
        /// The words.
        text: String,
    },
    /// What the model said, block by block, in order.
    Assistant {
        /// The blocks, as the model gave them.
        blocks: Vec<AssistantBlock>,
    },
    /// The results of the tool calls of the assistant message before it, one for each, in the order of the calls.
    ToolResults {
        /// The results.
        results: Vec<ToolResultMessage>,
    },
}

/// A piece of an assistant's message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum AssistantBlock {
    /// Text for the person.
    Text {
        /// Markdown.
        text: String,
    },
    /// The model's reasoning, kept verbatim so that it can be returned to the model that wrote it.
    Reasoning {
        /// The text as far as the provider shows it.
        text: String,
        /// Opaque signatures of the provider, verbatim.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        signatures: Vec<String>,
    },
    /// A call of one of the offered tools.
    ToolCall {
        /// The id under which the provider expects the result. Not the id shown to clients.
        provider_id: String,
        /// The tool's name.
        name: String,
        /// The arguments.
        args: ToolArgs,
    },
}

/// Arguments of a tool call: parsed, or what could not be parsed (never replaced by `{}`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", content = "value", rename_all = "kebab-case")]
pub enum ToolArgs {
    /// A JSON object.
    Json(Value),
    /// Text that is no JSON object: cut short or garbled. The call is answered with an error and never run.
    Malformed(String),
}

/// What a tool gave back to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResultMessage {
    /// The `provider_id` of the call.
    pub provider_id: String,
    /// Plain text.
    pub content: String,
    /// True when the tool failed or was refused.
    pub is_error: bool,
}

/// A tool as a model sees it: only these three fields ever go into a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSchema {
    /// The name to call it by.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// JSON schema of the arguments.
    pub parameters: Value,
}

/// Everything that one step asks of a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelRequest {
    /// The system prompt.
    pub system: String,
    /// The transcript: never empty, roles alternating as providers demand.
    pub messages: Vec<Message>,
    /// The tools on offer.
    pub tools: Vec<ToolSchema>,
}

/// What arrives while a model answers, in order. The last one is [`ModelEvent::Done`].
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// More text for the person.
    Text(String),
    /// More of the model's reasoning.
    Reasoning(String),
    /// The answer is complete.
    Done(ModelAnswer),
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// All blocks, text included (the concatenation of what was streamed).
    pub blocks: Vec<AssistantBlock>,
    /// Why the model stopped.
    pub stop: StopReason,
    /// Tokens, where the provider tells.
    pub usage: Option<Usage>,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// It has said what it wanted, or asks for tools (see the blocks).
    End,
    /// The token limit was reached.
    MaxTokens,
    /// The provider or the model refused.
    Refusal,
}

/// Tokens of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
}

/// Why a model gave no answer. The messages are for people: one line that says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The provider refused the request or could not be reached.
    #[error("{model}: {message}")]
    Provider {
        /// The model's name as the person wrote it.
        model: String,
        /// What went wrong and what to do.
        message: String,
    },
    /// The stream ended before the answer was complete.
    #[error("{model}: the answer broke off ({message}); send the prompt again")]
    BrokenOff {
        /// The model's name as the person wrote it.
        model: String,
        /// What the transport said.
        message: String,
    },
}

/// A language model. Dropping the stream abandons the answer (a cancel).
pub trait Model: Send + Sync + std::fmt::Debug {
    /// The name as the person wrote it, such as `offline` or `deepseek/deepseek-chat`.
    fn name(&self) -> &str;

    /// Whether effects that this model asks for must be put to the person.
    /// False only for [`offline`], whose commands are lines of the person's own prompt.
    fn asks_permission(&self) -> bool;

    /// Starts one answer. Errors arrive as the last item of the stream.
    fn respond(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>>;
}
