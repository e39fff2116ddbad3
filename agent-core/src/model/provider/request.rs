//! A [`ModelRequest`] in the words of the client crate, as each provider's rules want it.

use genai::ModelIden;
use genai::adapter::AdapterKind;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatRole, ContentPart, MessageContent, ReasoningEffort,
    Tool, ToolCall, ToolResponse,
};
use serde_json::{Value, json};

use super::endpoint::Endpoint;
use crate::model::name::Wire;
use crate::model::{
    AssistantBlock, Message, ModelRequest, ToolArgs, ToolResultMessage, ToolSchema,
};

/// The key under which malformed arguments go back to the model: every provider wants an object.
const MALFORMED: &str = "malformed_arguments";

/// The request's transcript, system prompt and tools.
pub(super) fn chat_request(request: ModelRequest, endpoint: &Endpoint) -> ChatRequest {
    let mut transcript = Transcript {
        endpoint,
        messages: Vec::new(),
    };
    for message in request.messages {
        match message {
            Message::User { text } | Message::Note { text } => transcript.user(text),
            Message::Assistant { blocks } => transcript.assistant(blocks),
            Message::ToolResults { results } => transcript.results(results),
        }
    }
    let mut chat = ChatRequest::new(transcript.messages);
    if !request.system.is_empty() {
        chat = chat.with_system(request.system);
    }
    if !request.tools.is_empty() {
        chat = chat.with_tools(request.tools.into_iter().map(tool));
    }
    chat
}

/// What is asked of the client crate besides the transcript.
pub(super) fn chat_options(endpoint: &Endpoint) -> ChatOptions {
    let mut options = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_content(true)
        .with_capture_reasoning_content(true)
        .with_capture_tool_calls(true);
    // The crate takes a last word such as `-max` or `-high` off a model's name and reads it as a wish for effort,
    // but names like `qwen-max` end so. An effort that it has no words for leaves the name alone.
    if ReasoningEffort::from_model_name(&endpoint.model)
        .0
        .is_some()
    {
        options.reasoning_effort = match endpoint.wire {
            Wire::OpenAi => Some(ReasoningEffort::Budget(0)),
            Wire::Anthropic => Some(ReasoningEffort::Zero),
            Wire::Gemini => None,
        };
    }
    options
}

/// The model in the crate's terms. The crate's own guesses from the name are bypassed by naming the adapter, and by a
/// namespace of ours where the name holds what the crate would take for one.
pub(super) fn model_iden(endpoint: &Endpoint) -> ModelIden {
    let adapter = match endpoint.wire {
        Wire::OpenAi => AdapterKind::OpenAI,
        Wire::Anthropic => AdapterKind::Anthropic,
        Wire::Gemini => AdapterKind::Gemini,
    };
    if endpoint.model.contains("::") {
        ModelIden::new(adapter, format!("placard::{}", endpoint.model))
    } else {
        ModelIden::new(adapter, endpoint.model.clone())
    }
}

fn tool(schema: ToolSchema) -> Tool {
    let ToolSchema {
        name,
        description,
        parameters,
    } = schema;
    Tool::new(name)
        .with_description(description)
        .with_schema(parameters)
}

struct Transcript<'a> {
    endpoint: &'a Endpoint,
    messages: Vec<ChatMessage>,
}

impl Transcript<'_> {
    fn user(&mut self, text: String) {
        // Two messages of the same side in a row come from an answer that was empty or cancelled.
        match self.messages.last_mut() {
            Some(last) if last.role == ChatRole::User => last.content.push(ContentPart::Text(text)),
            // Anthropic's results are a user's message, which goes on with what the user says next.
            Some(last) if last.role == ChatRole::Tool && self.endpoint.wire == Wire::Anthropic => {
                last.content.push(ContentPart::from_custom(
                    json!({"type": "text", "text": text}),
                    None,
                ));
            }
            _ => self.messages.push(ChatMessage::user(text)),
        }
    }

    fn assistant(&mut self, blocks: Vec<AssistantBlock>) {
        let mut parts = Vec::new();
        // Gemini signs calls, not reasoning: what a reasoning block right before a call carries is that call's.
        let mut call_signatures = Vec::new();
        for block in blocks {
            match block {
                AssistantBlock::Text { text } if text.trim().is_empty() => {}
                AssistantBlock::Text { text } => parts.push(ContentPart::Text(text)),
                AssistantBlock::Reasoning { signatures, .. }
                    if self.endpoint.wire == Wire::Gemini =>
                {
                    call_signatures = signatures;
                }
                AssistantBlock::Reasoning { text, signatures } => {
                    self.reasoning(text, signatures, &mut parts);
                }
                AssistantBlock::ToolCall {
                    provider_id,
                    name,
                    args,
                } => {
                    let signatures = std::mem::take(&mut call_signatures);
                    parts.push(ContentPart::ToolCall(ToolCall {
                        call_id: provider_id,
                        fn_name: name,
                        fn_arguments: match args {
                            ToolArgs::Json(value) => value,
                            ToolArgs::Malformed(text) => json!({ MALFORMED: text }),
                        },
                        thought_signatures: (!signatures.is_empty()).then_some(signatures),
                    }));
                }
            }
        }
        if !parts.is_empty() {
            self.messages
                .push(ChatMessage::assistant(MessageContent::from_parts(parts)));
        }
    }

    fn reasoning(&self, text: String, signatures: Vec<String>, parts: &mut Vec<ContentPart>) {
        match self.endpoint.wire {
            Wire::Anthropic => {
                // Unsigned reasoning is refused; it is another model's, or was cut short.
                for (index, signature) in signatures.into_iter().enumerate() {
                    if let Some(block) = redacted_block(&signature) {
                        parts.push(ContentPart::from_custom(block, None));
                    } else {
                        parts.push(ContentPart::ThoughtSignature(signature));
                        let text = if index == 0 {
                            text.clone()
                        } else {
                            String::new()
                        };
                        parts.push(ContentPart::ReasoningContent(text));
                    }
                }
            }
            Wire::OpenAi if self.endpoint.takes_reasoning_back && !text.is_empty() => {
                parts.push(ContentPart::ReasoningContent(text));
            }
            Wire::OpenAi | Wire::Gemini => {}
        }
    }

    fn results(&mut self, results: Vec<ToolResultMessage>) {
        let parts: Vec<ContentPart> = results
            .into_iter()
            .map(|result| {
                if self.endpoint.wire == Wire::Anthropic && result.is_error {
                    // The crate's own tool response knows no errors.
                    let block = json!({
                        "type": "tool_result",
                        "tool_use_id": result.provider_id,
                        "content": result.content,
                        "is_error": true,
                    });
                    ContentPart::from_custom(block, None)
                } else {
                    ContentPart::ToolResponse(ToolResponse::new(result.provider_id, result.content))
                }
            })
            .collect();
        if !parts.is_empty() {
            self.messages
                .push(ChatMessage::tool(MessageContent::from_parts(parts)));
        }
    }
}

/// A `redacted_thinking` block of Anthropic's, which is kept whole in the place of a signature.
fn redacted_block(signature: &str) -> Option<Value> {
    serde_json::from_str::<Value>(signature)
        .ok()
        .filter(|block| block.get("type").and_then(Value::as_str) == Some("redacted_thinking"))
}

/// Gemini's way with requests; the other two are tested over HTTP.
#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_signature_of_a_call_goes_back_with_it() {
        let endpoint = Endpoint {
            wire: Wire::Gemini,
            base_url: "https://host/v1beta/".to_owned(),
            model: "gemini-2.5-flash".to_owned(),
            key: None,
            takes_reasoning_back: true,
            key_setting: "GEMINI_API_KEY".to_owned(),
            address_setting: "GEMINI_BASE_URL".to_owned(),
        };
        let thought = |signatures: &[&str]| AssistantBlock::Reasoning {
            text: "Hm.".to_owned(),
            signatures: signatures
                .iter()
                .map(|&signature| signature.to_owned())
                .collect(),
        };
        let call = |id: &str| AssistantBlock::ToolCall {
            provider_id: id.to_owned(),
            name: "bash".to_owned(),
            args: ToolArgs::Json(json!({"command": "ls"})),
        };
        let result = |id: &str| ToolResultMessage {
            provider_id: id.to_owned(),
            content: "[exit 0]".to_owned(),
            is_error: false,
        };
        let blocks = vec![thought(&[]), thought(&["sig"]), call("a"), call("b")];
        let request = ModelRequest {
            system: String::new(),
            messages: vec![
                Message::User {
                    text: "Look.".to_owned(),
                },
                Message::Assistant { blocks },
                Message::ToolResults {
                    results: vec![result("a"), result("b")],
                },
            ],
            tools: Vec::new(),
        };
        let call =
            |id: &str| json!({"call_id": id, "fn_name": "bash", "fn_arguments": {"command": "ls"}});
        let mut signed = call("a");
        signed["thought_signatures"] = json!(["sig"]);
        let result = |id: &str| json!({"ToolResponse": {"call_id": id, "content": "[exit 0]"}});
        let expected = json!({
            "messages": [
                {"role": "User", "content": [{"Text": "Look."}]},
                {"role": "Assistant", "content": [{"ToolCall": signed}, {"ToolCall": call("b")}]},
                {"role": "Tool", "content": [result("a"), result("b")]},
            ],
        });
        assert_eq!(
            serde_json::to_value(chat_request(request, &endpoint)).unwrap(),
            expected
        );
    }
}
