//! The embedded model: no key, no network, always the same answers.
//!
//! It runs what the prompt itself spells out (`$ command` lines and fenced shell blocks) and reports what came of it.
//! For everything else it says honestly that no language model is set up, and how to set one up.

mod commands;
mod outcome;

use std::path::PathBuf;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::json;

use super::name::{OFFLINE, key_variables};
use super::{
    AssistantBlock, Message, Model, ModelAnswer, ModelError, ModelEvent, ModelRequest, StopReason,
    ToolArgs, ToolResultMessage,
};
use crate::config::Config;

/// The tool that runs commands.
const BASH: &str = "bash";

/// The embedded model.
#[derive(Debug)]
pub struct Offline {
    config_file: PathBuf,
}

impl Offline {
    /// The embedded model; the configuration only tells it which file to point people to.
    pub fn new(config: &Config) -> Self {
        Self {
            config_file: config.file.clone(),
        }
    }

    fn answer(&self, request: &ModelRequest) -> ModelAnswer {
        let prompt = request
            .messages
            .iter()
            .rposition(|message| matches!(message, Message::User { .. }));
        let (prompt, since) = match prompt.and_then(|at| request.messages.get(at..)) {
            Some([Message::User { text }, since @ ..]) => (text.as_str(), since),
            _ => ("", &[][..]),
        };
        let commands = commands::in_prompt(prompt);
        let blocks = match since.last() {
            Some(Message::ToolResults { results }) => vec![text_block(report(&commands, results))],
            _ if commands.is_empty() => vec![text_block(self.explanation())],
            _ => calls(commands),
        };
        ModelAnswer {
            blocks,
            stop: StopReason::End,
            usage: None,
        }
    }

    fn explanation(&self) -> String {
        let variables = key_variables().collect::<Vec<_>>().join(", ");
        format!(
            "No language model is set up, so I cannot answer this.\n\n\
             What I can do is run commands: write `$ command` on a line of its own, such as `$ ls`, or a block \
             fenced with ```` ```sh ````.\n\n\
             To talk to a language model, start Placard with the variable `PLACARD_MODEL` set to one, such as \
             `deepseek/deepseek-chat`, `anthropic/claude-sonnet-4-5` or `ollama/qwen3`, and with the provider's key \
             in its variable ({variables}). Both can be set for good in `{}`.",
            self.config_file.display()
        )
    }
}

impl Model for Offline {
    fn name(&self) -> &'static str {
        OFFLINE
    }

    fn asks_permission(&self) -> bool {
        false
    }

    fn respond(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let answer = self.answer(&request);
        let mut events: Vec<_> = answer
            .blocks
            .iter()
            .flat_map(pieces)
            .map(ModelEvent::Text)
            .collect();
        events.push(ModelEvent::Done(answer));
        stream::iter(events.into_iter().map(Ok)).boxed()
    }
}

fn text_block(text: String) -> AssistantBlock {
    AssistantBlock::Text { text }
}

/// A text in a few pieces, as other models stream theirs: line by line.
fn pieces(block: &AssistantBlock) -> Vec<String> {
    match block {
        AssistantBlock::Text { text } => text.split_inclusive('\n').map(str::to_owned).collect(),
        AssistantBlock::Reasoning { .. } | AssistantBlock::ToolCall { .. } => Vec::new(),
    }
}

fn calls(commands: Vec<String>) -> Vec<AssistantBlock> {
    let call = |(index, command): (usize, String)| AssistantBlock::ToolCall {
        provider_id: format!("call-{}", index + 1),
        name: BASH.to_owned(),
        args: ToolArgs::Json(json!({ "command": command })),
    };
    commands.into_iter().enumerate().map(call).collect()
}

/// What happened, one line per command.
fn report(commands: &[String], results: &[ToolResultMessage]) -> String {
    let line = |(index, result): (usize, &ToolResultMessage)| {
        let command = commands.get(index).map_or(BASH, String::as_str);
        format!("{}: {}", commands::title(command), outcome::outcome(result))
    };
    results
        .iter()
        .enumerate()
        .map(line)
        .collect::<Vec<_>>()
        .join("  \n")
}
