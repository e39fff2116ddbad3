//! An answer while it arrives, and the whole of it at the end.

use std::collections::HashSet;

use genai::chat::{
    ChatStreamEvent, ContentPart, StopReason as ProviderStop, StreamEnd, ToolCall,
    Usage as ProviderUsage,
};
use serde_json::Value;

use crate::model::name::Wire;
use crate::model::{AssistantBlock, ModelAnswer, ModelEvent, StopReason, ToolArgs, Usage};

/// What an event of the client crate means.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Nothing to tell yet.
    Nothing,
    /// Something to pass on.
    Event(ModelEvent),
    /// The provider gave up in the middle, and why.
    BrokenOff(String),
}

/// An answer while it arrives.
#[derive(Debug, Default)]
pub(super) struct AnswerSoFar {
    text: String,
    reasoning: String,
}

impl AnswerSoFar {
    /// Takes the next event.
    pub(super) fn take(&mut self, event: ChatStreamEvent, wire: Wire) -> Step {
        match event {
            ChatStreamEvent::Chunk(chunk) if !chunk.content.is_empty() => {
                self.text.push_str(&chunk.content);
                Step::Event(ModelEvent::Text(chunk.content))
            }
            ChatStreamEvent::ReasoningChunk(chunk) if !chunk.content.is_empty() => {
                self.reasoning.push_str(&chunk.content);
                Step::Event(ModelEvent::Reasoning(chunk.content))
            }
            ChatStreamEvent::End(end) => self.end(end, wire),
            _ => Step::Nothing,
        }
    }

    fn end(&mut self, end: StreamEnd, wire: Wire) -> Step {
        let stop = match end.captured_stop_reason {
            // The crate makes up an end for a Gemini stream that has none.
            None if wire == Wire::Gemini => {
                return Step::BrokenOff("the connection closed".to_owned());
            }
            Some(ProviderStop::Other(reason)) if reason == "insufficient_system_resource" => {
                return Step::BrokenOff("the provider ran out of resources".to_owned());
            }
            Some(ProviderStop::MaxTokens(_)) => StopReason::MaxTokens,
            Some(ProviderStop::ContentFilter(_)) => StopReason::Refusal,
            Some(
                ProviderStop::Completed(_)
                | ProviderStop::ToolCall(_)
                | ProviderStop::StopSequence(_)
                | ProviderStop::Other(_),
            )
            | None => StopReason::End,
        };
        let parts = end
            .captured_content
            .map(genai::chat::MessageContent::into_parts)
            .unwrap_or_default();
        let usage = end.captured_usage.as_ref().and_then(usage);
        let blocks = self.blocks(parts, wire);
        Step::Event(ModelEvent::Done(ModelAnswer {
            blocks,
            stop,
            usage,
        }))
    }

    fn blocks(&mut self, parts: Vec<ContentPart>, wire: Wire) -> Vec<AssistantBlock> {
        let reasoning = std::mem::take(&mut self.reasoning);
        let text = std::mem::take(&mut self.text);
        let mut calls = Vec::new();
        let mut leading = Vec::new();
        for part in parts {
            match part {
                ContentPart::ToolCall(call) => calls.push(call),
                other => leading.push(other),
            }
        }

        let mut blocks = match wire {
            Wire::Anthropic => signed_reasoning(leading),
            Wire::OpenAi | Wire::Gemini => Vec::new(),
        };
        if blocks.is_empty() && !reasoning.is_empty() {
            blocks.push(AssistantBlock::Reasoning {
                text: reasoning,
                signatures: Vec::new(),
            });
        }
        if !text.is_empty() {
            blocks.push(AssistantBlock::Text { text });
        }
        blocks.extend(call_blocks(calls, wire));
        blocks
    }
}

/// The reasoning blocks that Anthropic wants back as they are: each with its signature, or redacted as a whole.
fn signed_reasoning(parts: Vec<ContentPart>) -> Vec<AssistantBlock> {
    let mut blocks = Vec::new();
    for part in parts {
        match part {
            ContentPart::ThoughtSignature(signature) => {
                blocks.push(AssistantBlock::Reasoning {
                    text: String::new(),
                    signatures: vec![signature],
                });
            }
            ContentPart::ReasoningContent(content) => {
                if let Some(AssistantBlock::Reasoning { text, .. }) = blocks.last_mut() {
                    *text = content;
                }
            }
            ContentPart::Custom(custom) => blocks.push(AssistantBlock::Reasoning {
                text: String::new(),
                signatures: vec![custom.data.to_string()],
            }),
            _ => {}
        }
    }
    blocks
}

/// The calls, each under an id that no other call of the answer has.
fn call_blocks(calls: Vec<ToolCall>, wire: Wire) -> Vec<AssistantBlock> {
    let mut blocks: Vec<AssistantBlock> = Vec::new();
    let mut ids: HashSet<String> = HashSet::new();
    let ids_of_calls: Vec<String> = calls.iter().map(|call| call.call_id.clone()).collect();
    for (index, call) in calls.into_iter().enumerate() {
        let args = arguments(call.fn_arguments);
        // A provider that counts its calls from one leaves a gap at zero, which the crate fills with a copy of the
        // first piece of the call that follows.
        let repeated = ids_of_calls
            .iter()
            .skip(index + 1)
            .any(|id| *id == call.call_id);
        if repeated && matches!(args, ToolArgs::Malformed(_)) {
            continue;
        }
        let mut provider_id = call.call_id;
        if provider_id.is_empty() {
            provider_id = format!("call-{}", index + 1);
        }
        while ids.contains(&provider_id) {
            provider_id = format!("{provider_id}-{}", index + 1);
        }
        ids.insert(provider_id.clone());
        let signatures = call.thought_signatures.unwrap_or_default();
        if wire == Wire::Gemini && !signatures.is_empty() {
            blocks.push(AssistantBlock::Reasoning {
                text: String::new(),
                signatures,
            });
        }
        blocks.push(AssistantBlock::ToolCall {
            provider_id,
            name: call.fn_name,
            args,
        });
    }
    blocks
}

fn arguments(value: Value) -> ToolArgs {
    match value {
        Value::Object(_) => ToolArgs::Json(value),
        // The crate hands on as a text what it could not parse.
        Value::String(text) => ToolArgs::Malformed(text),
        other => ToolArgs::Malformed(other.to_string()),
    }
}

fn usage(usage: &ProviderUsage) -> Option<Usage> {
    let tokens = |count: Option<i32>| count.and_then(|count| u64::try_from(count).ok());
    let input = tokens(usage.prompt_tokens);
    let output = tokens(usage.completion_tokens);
    (input.is_some() || output.is_some()).then(|| Usage {
        input_tokens: input.unwrap_or(0),
        output_tokens: output.unwrap_or(0),
    })
}

/// Gemini's way with answers; the other two are tested over HTTP.
#[cfg(test)]
mod tests {
    use genai::chat::{MessageContent, StreamChunk};
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn call(id: &str, signature: Option<&str>) -> ContentPart {
        ContentPart::ToolCall(ToolCall {
            call_id: id.to_owned(),
            fn_name: "bash".to_owned(),
            fn_arguments: json!({"command": "ls"}),
            thought_signatures: signature.map(|signature| vec![signature.to_owned()]),
        })
    }

    fn called(id: &str) -> AssistantBlock {
        let args = ToolArgs::Json(json!({"command": "ls"}));
        AssistantBlock::ToolCall {
            provider_id: id.to_owned(),
            name: "bash".to_owned(),
            args,
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

    #[test]
    fn the_signature_of_a_call_stands_right_before_it() {
        let mut answer = AnswerSoFar::default();
        let chunk = StreamChunk {
            content: "Hm.".to_owned(),
        };
        let step = answer.take(ChatStreamEvent::ReasoningChunk(chunk), Wire::Gemini);
        assert_eq!(step, Step::Event(ModelEvent::Reasoning("Hm.".to_owned())));
        let parts = vec![
            ContentPart::ThoughtSignature("sig".to_owned()),
            call("a", Some("sig")),
            call("b", None),
        ];
        let end = StreamEnd {
            captured_stop_reason: Some(ProviderStop::Completed("STOP".to_owned())),
            captured_content: Some(MessageContent::from_parts(parts)),
            ..StreamEnd::default()
        };
        let blocks = vec![
            thought("Hm.", &[]),
            thought("", &["sig"]),
            called("a"),
            called("b"),
        ];
        let expected = ModelAnswer {
            blocks,
            stop: StopReason::End,
            usage: None,
        };
        assert_eq!(
            answer.take(ChatStreamEvent::End(end), Wire::Gemini),
            Step::Event(ModelEvent::Done(expected))
        );
    }

    #[test]
    fn a_stream_without_a_reason_to_stop_broke_off() {
        let end = || ChatStreamEvent::End(StreamEnd::default());
        assert_eq!(
            AnswerSoFar::default().take(end(), Wire::Gemini),
            Step::BrokenOff("the connection closed".to_owned())
        );
        let empty = ModelAnswer {
            blocks: Vec::new(),
            stop: StopReason::End,
            usage: None,
        };
        assert_eq!(
            AnswerSoFar::default().take(end(), Wire::OpenAi),
            Step::Event(ModelEvent::Done(empty))
        );
    }

    #[test]
    fn a_gap_in_the_numbers_of_calls_is_no_call() {
        let copy = ContentPart::ToolCall(ToolCall {
            call_id: "a".to_owned(),
            fn_name: "bash".to_owned(),
            fn_arguments: json!(r#"{"comm"#),
            thought_signatures: None,
        });
        let end = StreamEnd {
            captured_content: Some(MessageContent::from_parts(vec![copy, call("a", None)])),
            ..StreamEnd::default()
        };
        let expected = ModelAnswer {
            blocks: vec![called("a")],
            stop: StopReason::End,
            usage: None,
        };
        assert_eq!(
            AnswerSoFar::default().take(ChatStreamEvent::End(end), Wire::OpenAi),
            Step::Event(ModelEvent::Done(expected))
        );
    }

    #[test]
    fn calls_without_an_id_get_one() {
        let end = StreamEnd {
            captured_content: Some(MessageContent::from_parts(vec![
                call("", None),
                call("", None),
            ])),
            ..StreamEnd::default()
        };
        let blocks = vec![called("call-1"), called("call-2")];
        let expected = ModelAnswer {
            blocks,
            stop: StopReason::End,
            usage: None,
        };
        assert_eq!(
            AnswerSoFar::default().take(ChatStreamEvent::End(end), Wire::OpenAi),
            Step::Event(ModelEvent::Done(expected))
        );
    }
}
