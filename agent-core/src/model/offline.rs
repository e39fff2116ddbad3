//! The embedded model: no key, no network, always the same answers.
//!
//! It runs what the prompt itself spells out (`$ command` lines and fenced shell blocks) and reports what came of it.
//! For everything else it says honestly that no language model is set up, and how to set one up.

mod commands;
mod outcome;

use std::path::PathBuf;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::{Value, json};

use super::name::{OFFLINE, key_variables};
use super::{
    AssistantBlock, Message, Model, ModelAnswer, ModelError, ModelEvent, ModelRequest, StopReason,
    ToolArgs, ToolResultMessage,
};
use crate::config::Config;
use crate::shell::sandbox;

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
        let mut rounds = since.iter().filter_map(|message| match message {
            Message::ToolResults { results } => Some(results.as_slice()),
            _ => None,
        });
        let blocks = match (rounds.next(), rounds.next()) {
            (None, _) if commands.is_empty() => vec![text_block(self.explanation())],
            (None, _) => calls(&commands),
            (Some(results), again) => {
                let denied = denied(results);
                match again {
                    None if !denied.is_empty() => calls_outside(&commands, &denied),
                    _ => {
                        let results = with_second_tries(results, &denied, again.unwrap_or(&[]));
                        vec![text_block(report(&commands, &results))]
                    }
                }
            }
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
             in its variable ({variables}). The model can be set for good with `model = \"…\"` in `{}`.",
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

fn calls(commands: &[String]) -> Vec<AssistantBlock> {
    let call = |(index, command)| call(index, json!({ "command": command }));
    commands.iter().enumerate().map(call).collect()
}

fn call(index: usize, args: Value) -> AssistantBlock {
    AssistantBlock::ToolCall {
        provider_id: format!("call-{}", index + 1),
        name: BASH.to_owned(),
        args: ToolArgs::Json(args),
    }
}

/// The places of the commands that their sandbox is known to have been in the way of.
fn denied(results: &[ToolResultMessage]) -> Vec<usize> {
    let tells = |content: &str| content.lines().any(sandbox::is_certain_denial);
    let failed = results
        .iter()
        .enumerate()
        .filter(|(_, result)| result.is_error && tells(&result.content));
    failed.map(|(index, _)| index).collect()
}

/// The same commands once more, outside of the sandbox. The person is asked for each.
fn calls_outside(commands: &[String], denied: &[usize]) -> Vec<AssistantBlock> {
    let again = denied.iter().filter_map(|index| commands.get(*index));
    let call = |(index, command)| {
        call(
            commands.len() + index,
            json!({"command": command, "without_sandbox": true}),
        )
    };
    again.enumerate().map(call).collect()
}

/// What came of each command in the end: of one that was refused to run again, what came of it in the sandbox.
fn with_second_tries(
    first: &[ToolResultMessage],
    denied: &[usize],
    second: &[ToolResultMessage],
) -> Vec<ToolResultMessage> {
    let mut results = first.to_vec();
    for (index, result) in denied.iter().zip(second) {
        if let Some(place) = results.get_mut(*index)
            && !outcome::is_not_run(result)
        {
            result.clone_into(place);
        }
    }
    results
}

/// What happened, one line per command.
fn report(commands: &[String], results: &[ToolResultMessage]) -> String {
    let mark = if results.len() > 1 { "- " } else { "" };
    let line = |(index, result): (usize, &ToolResultMessage)| {
        let command = commands.get(index).map_or(BASH, String::as_str);
        format!(
            "{mark}{}: {}",
            commands::title(command),
            outcome::outcome(result)
        )
    };
    results
        .iter()
        .enumerate()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;
    use pretty_assertions::assert_eq;

    use super::*;

    fn user(text: &str) -> Message {
        Message::User {
            text: text.to_owned(),
        }
    }

    fn call(number: usize, command: &str) -> AssistantBlock {
        AssistantBlock::ToolCall {
            provider_id: format!("call-{number}"),
            name: "bash".to_owned(),
            args: ToolArgs::Json(json!({ "command": command })),
        }
    }

    fn answer_to(messages: Vec<Message>) -> ModelAnswer {
        let model = Offline::new(&Config::unconfigured(PathBuf::from(
            "/home/ann/.config/placard/config.toml",
        )));
        let request = ModelRequest {
            messages,
            ..ModelRequest::default()
        };
        let events: Vec<_> = block_on(model.respond(request).collect());
        let mut streamed = String::new();
        let mut answer = None;
        for event in events {
            match event {
                Ok(ModelEvent::Text(text)) => streamed.push_str(&text),
                Ok(ModelEvent::Done(done)) => answer = Some(done),
                other => panic!("{other:?}"),
            }
        }
        let answer = answer.expect("an answer ends");
        let said = |block: &AssistantBlock| match block {
            AssistantBlock::Text { text } => text.clone(),
            _ => String::new(),
        };
        assert_eq!(streamed, answer.blocks.iter().map(said).collect::<String>());
        answer
    }

    fn end(blocks: Vec<AssistantBlock>) -> ModelAnswer {
        ModelAnswer {
            blocks,
            stop: StopReason::End,
            usage: None,
        }
    }

    #[test]
    fn commands_of_the_last_prompt_become_calls() {
        let messages = vec![
            user("$ old"),
            Message::Assistant {
                blocks: vec![text_block("Hm.".to_owned())],
            },
            user("Please:\n$ ls\n$ pwd\n```sh\necho a\necho b\n```"),
        ];
        assert_eq!(
            answer_to(messages),
            end(vec![
                call(1, "ls"),
                call(2, "pwd"),
                call(3, "echo a\necho b")
            ])
        );
    }

    #[test]
    fn what_the_sandbox_denied_is_tried_again_outside_of_it_once() {
        let result = |number: usize, content: &str| ToolResultMessage {
            provider_id: format!("call-{number}"),
            content: content.to_owned(),
            is_error: !content.ends_with("[exit 0]"),
        };
        let denial = "touch: cannot touch '/etc/x'\nThe sandbox (workspace-write) denied writing /etc/x: why.\n[exit 1]";
        let mut messages = vec![
            user("$ ls\n$ touch /etc/x"),
            Message::ToolResults {
                results: vec![result(1, "[exit 0]"), result(2, denial)],
            },
        ];
        let outside = AssistantBlock::ToolCall {
            provider_id: "call-3".to_owned(),
            name: "bash".to_owned(),
            args: ToolArgs::Json(json!({"command": "touch /etc/x", "without_sandbox": true})),
        };
        assert_eq!(answer_to(messages.clone()), end(vec![outside]));
        messages.push(Message::ToolResults {
            results: vec![result(3, "[exit 0]")],
        });
        let report = "- `ls`: ok\n- `touch /etc/x`: ok";
        assert_eq!(
            answer_to(messages),
            end(vec![text_block(report.to_owned())])
        );
    }

    #[test]
    fn results_are_reported_in_plain_words() {
        let cases: [(&str, bool, &str); 10] = [
            ("[exit 0]", false, "ok"),
            ("a.txt\n[exit 0]", false, "ok"),
            ("[exit 9]\n[exit 3]", true, "exit 3"),
            ("[killed by SIGKILL]", true, "killed by SIGKILL"),
            ("[cancelled; killed by SIGINT]", true, "cancelled"),
            (
                "[timed out after 120 s; killed by SIGTERM]",
                true,
                "stopped, because its 120 s were up",
            ),
            (
                "[exit 0; left running: 1]",
                false,
                "ok (it left 1 process running)",
            ),
            (
                "[exit 0; left running: 3]",
                false,
                "ok (it left 3 processes running)",
            ),
            ("The person refused.\n[not run]", true, "not run"),
            (
                "There is no bash here.\nInstall it.",
                true,
                "failed (There is no bash here.)",
            ),
        ];
        for (content, is_error, expected) in cases {
            let result = |number: usize| ToolResultMessage {
                provider_id: format!("call-{number}"),
                content: content.to_owned(),
                is_error,
            };
            let one = vec![
                user("$ ls"),
                Message::Assistant {
                    blocks: vec![call(1, "ls")],
                },
                Message::ToolResults {
                    results: vec![result(1)],
                },
            ];
            assert_eq!(
                answer_to(one),
                end(vec![text_block(format!("`ls`: {expected}"))])
            );
            let two = vec![
                user("$ ls\n$ pwd"),
                Message::Assistant {
                    blocks: vec![call(1, "ls"), call(2, "pwd")],
                },
                Message::ToolResults {
                    results: vec![result(1), result(2)],
                },
            ];
            let text = format!("- `ls`: {expected}\n- `pwd`: {expected}");
            assert_eq!(answer_to(two), end(vec![text_block(text)]));
        }
    }

    #[test]
    fn anything_else_gets_an_honest_explanation() {
        let expected = "No language model is set up, so I cannot answer this.\n\n\
            What I can do is run commands: write `$ command` on a line of its own, such as `$ ls`, or a block fenced \
            with ```` ```sh ````.\n\n\
            To talk to a language model, start Placard with the variable `PLACARD_MODEL` set to one, such as \
            `deepseek/deepseek-chat`, `anthropic/claude-sonnet-4-5` or `ollama/qwen3`, and with the provider's key in \
            its variable (ANTHROPIC_API_KEY, DEEPSEEK_API_KEY, GEMINI_API_KEY, OPENAI_API_KEY). The model can be set \
            for good with `model = \"…\"` in `/home/ann/.config/placard/config.toml`.";
        let after_a_command = vec![
            user("$ ls"),
            Message::Assistant {
                blocks: vec![call(1, "ls")],
            },
            Message::ToolResults {
                results: Vec::new(),
            },
            Message::Assistant { blocks: Vec::new() },
            user("Thanks"),
        ];
        for messages in [
            vec![user("Who are you?")],
            vec![user("")],
            after_a_command,
            Vec::new(),
        ] {
            assert_eq!(
                answer_to(messages),
                end(vec![text_block(expected.to_owned())])
            );
        }
    }

    #[test]
    fn it_asks_nobody() {
        let model = Offline::new(&Config::unconfigured(PathBuf::new()));
        assert_eq!((model.name(), model.asks_permission()), ("offline", false));
    }
}
