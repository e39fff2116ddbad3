//! Anthropic's messages.

use serde_json::{Map, Value};

use super::{Refusal, answered, array, distinct, known_fields, object, text, tool_parts};

const FIELDS: [&str; 16] = [
    "model",
    "messages",
    "max_tokens",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "thinking",
    "output_config",
    "metadata",
    "service_tier",
    "cache_control",
];

/// Checks the body of a request.
pub(in crate::model_server) fn check(body: &Value) -> Result<(), Refusal> {
    let body = object(body, "body")?;
    known_fields(body, &FIELDS, "body")?;
    text(body.get("model"), "model")?;
    if body
        .get("max_tokens")
        .and_then(Value::as_u64)
        .is_none_or(|tokens| tokens == 0)
    {
        return Err("max_tokens: a number above 0 is expected".to_owned());
    }
    messages(array(body.get("messages"), "messages")?)?;
    if let Some(tools) = body.get("tools") {
        let tools = array(Some(tools), "tools")?;
        let names = tools.iter().enumerate().map(|(index, tool)| {
            let place = format!("tools[{index}]");
            let tool = object(tool, &place)?;
            known_fields(tool, &["name", "description", "input_schema"], &place)?;
            tool_parts(tool, "input_schema", &place)
        });
        distinct(&names.collect::<Result<Vec<_>, _>>()?, "the tool")?;
    }
    Ok(())
}

fn messages(messages: &[Value]) -> Result<(), Refusal> {
    // The calls of the message before, and where it is.
    let mut open: (Vec<String>, String) = (Vec::new(), "messages".to_owned());
    for (index, message) in messages.iter().enumerate() {
        let place = format!("messages[{index}]");
        let message = object(message, &place)?;
        known_fields(message, &["role", "content"], &place)?;
        let role = text(message.get("role"), &format!("{place}.role"))?;
        let expected = if index.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        if role != expected {
            return Err(format!(
                "{place}.role: roles take turns; `{expected}` is expected, not `{role}`"
            ));
        }
        let content = Content::of(message, &place)?;
        answered(&open.0, &content.results, &open.1)?;
        let misplaced = match role {
            "user" => content.has_thinking || !content.calls.is_empty(),
            _ => !content.results.is_empty(),
        };
        if misplaced {
            return Err(format!(
                "{place}.content: a block that `{role}` may not send"
            ));
        }
        open = (content.calls, place);
    }
    if messages.len().is_multiple_of(2) {
        return Err("messages: the last one is a user's".to_owned());
    }
    Ok(())
}

/// What of a message's content the rules look at.
#[derive(Default)]
struct Content {
    calls: Vec<String>,
    results: Vec<String>,
    has_thinking: bool,
}

impl Content {
    fn of(message: &Map<String, Value>, place: &str) -> Result<Self, Refusal> {
        let place = format!("{place}.content");
        let mut content = Self::default();
        let blocks = match message.get("content") {
            Some(Value::String(_)) => {
                text(message.get("content"), &place)?;
                return Ok(content);
            }
            blocks => array(blocks, &place)?,
        };
        let mut others = false;
        for (index, block) in blocks.iter().enumerate() {
            let place = format!("{place}[{index}]");
            let block = object(block, &place)?;
            let kind = text(block.get("type"), &format!("{place}.type"))?;
            let late = match kind {
                "thinking" | "redacted_thinking" => others || !content.calls.is_empty(),
                "tool_result" => others,
                _ => false,
            };
            if late {
                return Err(format!("{place}: `{kind}` stands before other blocks"));
            }
            content.take(block, kind, &place)?;
            others |= kind == "text";
        }
        distinct(&content.calls, "tool call")?;
        Ok(content)
    }

    fn take(&mut self, block: &Map<String, Value>, kind: &str, place: &str) -> Result<(), Refusal> {
        match kind {
            "text" => {
                known_fields(block, &["type", "text", "cache_control"], place)?;
                text(block.get("text"), &format!("{place}.text"))?;
            }
            "thinking" => {
                self.has_thinking = true;
                known_fields(block, &["type", "thinking", "signature"], place)?;
                text(block.get("signature"), &format!("{place}.signature"))?;
            }
            "redacted_thinking" => {
                self.has_thinking = true;
                known_fields(block, &["type", "data"], place)?;
                text(block.get("data"), &format!("{place}.data"))?;
            }
            "tool_use" => {
                known_fields(
                    block,
                    &["type", "id", "name", "input", "cache_control"],
                    place,
                )?;
                self.calls
                    .push(text(block.get("id"), &format!("{place}.id"))?.to_owned());
                text(block.get("name"), &format!("{place}.name"))?;
                object(
                    block.get("input").unwrap_or(&Value::Null),
                    &format!("{place}.input"),
                )?;
            }
            "tool_result" => {
                known_fields(
                    block,
                    &[
                        "type",
                        "tool_use_id",
                        "content",
                        "is_error",
                        "cache_control",
                    ],
                    place,
                )?;
                self.results.push(
                    text(block.get("tool_use_id"), &format!("{place}.tool_use_id"))?.to_owned(),
                );
            }
            "image" | "document" => {}
            other => return Err(format!("{place}.type: `{other}` is unknown")),
        }
        Ok(())
    }
}
