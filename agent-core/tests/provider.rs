//! The providers' models against the scripted model server, over real HTTP and in both wire formats.

#![allow(
    clippy::unwrap_used,
    reason = "the helpers of a test fail it as its body does"
)]
#![allow(
    clippy::unnecessary_wraps,
    reason = "more_text and its like build the items of a stream of results"
)]

#[path = "provider/answers.rs"]
mod answers;
#[path = "provider/failures.rs"]
mod failures;
#[path = "provider/requests.rs"]
mod requests;

use std::path::PathBuf;
use std::sync::Arc;

use agent_core::Environment;
use agent_core::config::Config;
use agent_core::model::{
    self, AssistantBlock, Message, Model, ModelAnswer, ModelError, ModelEvent, ModelRequest,
};
use agent_core::model::{ModelSetupError, ToolArgs};
use futures::StreamExt;
use inspector::{ModelServer, Script, Step};
use serde_json::Value;

/// The key that tests send.
const KEY: &str = "sk-test-4711";

/// The two wire formats, each through a provider that speaks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wire {
    OpenAi,
    Anthropic,
}

const WIRES: [Wire; 2] = [Wire::OpenAi, Wire::Anthropic];

impl Wire {
    fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai/gpt-test",
            Self::Anthropic => "anthropic/claude-test",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::OpenAi => "/v1/chat/completions",
            Self::Anthropic => "/v1/messages",
        }
    }

    fn key_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
        }
    }

    fn address_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_BASE_URL",
            Self::Anthropic => "ANTHROPIC_BASE_URL",
        }
    }

    /// A model of a provider at this address.
    fn at(self, address: &str) -> Arc<dyn Model> {
        open(
            self.name(),
            &[
                (self.address_variable(), address),
                (self.key_variable(), KEY),
            ],
        )
        .unwrap()
    }

    /// A model of the provider that `server` plays.
    fn of(self, server: &ModelServer) -> Arc<dyn Model> {
        match self {
            Self::OpenAi => self.at(&server.openai_base_url()),
            Self::Anthropic => self.at(&server.anthropic_base_url()),
        }
    }

    /// What a model says to "Hello" when its server does this.
    async fn says(self, step: impl Into<Step>) -> Vec<Result<ModelEvent, ModelError>> {
        let server = ModelServer::start(Script::new().then(step)).unwrap();
        everything(&*self.of(&server), hello()).await
    }

    fn broken_off(self, message: &str) -> ModelError {
        ModelError::BrokenOff {
            model: self.name().to_owned(),
            message: message.to_owned(),
        }
    }
}

fn config() -> Config {
    Config::unconfigured(PathBuf::from("/home/ann/.config/placard/config.toml"))
}

fn open(name: &str, variables: &[(&str, &str)]) -> Result<Arc<dyn Model>, ModelSetupError> {
    let config = config();
    let environment: Environment = variables.iter().copied().collect();
    model::open(&config.model_name(name)?, &config, &environment)
}

async fn everything(
    model: &dyn Model,
    request: ModelRequest,
) -> Vec<Result<ModelEvent, ModelError>> {
    model.respond(request).collect().await
}

fn hello() -> ModelRequest {
    ModelRequest {
        system: "Be brief.".to_owned(),
        messages: vec![user("Hello")],
        tools: Vec::new(),
    }
}

fn user(text: &str) -> Message {
    Message::User {
        text: text.to_owned(),
    }
}

fn said(text: &str) -> AssistantBlock {
    AssistantBlock::Text {
        text: text.to_owned(),
    }
}

fn thought(text: &str, signatures: &[&str]) -> AssistantBlock {
    let signatures = signatures
        .iter()
        .map(|&signature| signature.to_owned())
        .collect();
    AssistantBlock::Reasoning {
        text: text.to_owned(),
        signatures,
    }
}

fn called(id: &str, name: &str, args: Value) -> AssistantBlock {
    AssistantBlock::ToolCall {
        provider_id: id.to_owned(),
        name: name.to_owned(),
        args: ToolArgs::Json(args),
    }
}

fn miscalled(id: &str, name: &str, args: &str) -> AssistantBlock {
    let args = ToolArgs::Malformed(args.to_owned());
    AssistantBlock::ToolCall {
        provider_id: id.to_owned(),
        name: name.to_owned(),
        args,
    }
}

fn more_text(text: &str) -> Result<ModelEvent, ModelError> {
    Ok(ModelEvent::Text(text.to_owned()))
}

fn more_reasoning(text: &str) -> Result<ModelEvent, ModelError> {
    Ok(ModelEvent::Reasoning(text.to_owned()))
}

fn done(answer: ModelAnswer) -> Result<ModelEvent, ModelError> {
    Ok(ModelEvent::Done(answer))
}
