//! `OpenAI`'s chat completions.

use serde_json::{Map, Value};

use super::{Refusal, answered, array, distinct, known_fields, object, text, tool_parts};

const FIELDS: [&str; 20] = [
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "max_tokens",
    "max_completion_tokens",
    "reasoning_effort",
    "response_format",
    "seed",
    "stop",
    "user",
    "store",
    "metadata",
    "prompt_cache_key",
    "service_tier",
];

/// Checks the body of a request.
pub(in crate::model_server) fn check(body: &Value) -> Result<(), Refusal> {
    let body = object(body, "body")?;
    known_fields(body, &FIELDS, "body")?;
    text(body.get("model"), "model")?;
    messages(array(body.get("messages"), "messages")?)?;
    if let Some(tools) = body.get("tools") {
        let tools = array(Some(tools), "tools")?;
        let names = tools
            .iter()
            .enumerate()
            .map(|(index, tool)| self::tool(tool, index));
        distinct(&names.collect::<Result<Vec<_>, _>>()?, "the tool")?;
    }
    Ok(())
}

fn tool(tool: &Value, index: usize) -> Result<String, Refusal> {
    let place = format!("tools[{index}]");
    let tool = object(tool, &place)?;
    known_fields(tool, &["type", "function"], &place)?;
    if tool.get("type") != Some(&Value::from("function")) {
        return Err(format!("{place}.type: `function` is expected"));
    }
    let place = format!("{place}.function");
    let function = object(tool.get("function").unwrap_or(&Value::Null), &place)?;
    // `strict` says how the arguments are to be kept to the schema; it is documented and tells nothing of the tool.
    known_fields(
        function,
        &["name", "description", "parameters", "strict"],
        &place,
    )?;
    tool_parts(function, "parameters", &place)
}

fn messages(messages: &[Value]) -> Result<(), Refusal> {
    let mut open: Option<Expected> = None;
    let mut previous = "";
    for (index, message) in messages.iter().enumerate() {
        let place = format!("messages[{index}]");
        let message = object(message, &place)?;
        let role = text(message.get("role"), &format!("{place}.role"))?;
        if role != "tool"
            && let Some(calls) = open.take()
        {
            calls.check()?;
        }
        match role {
            "system" | "developer" if index > 0 => {
                return Err(format!("{place}: `{role}` stands only at the beginning"));
            }
            "system" | "developer" => {
                known_fields(message, &["role", "content"], &place)?;
                text(message.get("content"), &format!("{place}.content"))?;
            }
            "user" | "assistant" if role == previous => {
                return Err(format!(
                    "{place}: two messages of `{role}` in a row; roles take turns"
                ));
            }
            "user" => {
                known_fields(message, &["role", "content", "name"], &place)?;
                user(message, &place)?;
            }
            "assistant" => open = assistant(message, &place)?,
            "tool" => {
                known_fields(message, &["role", "content", "tool_call_id"], &place)?;
                let calls = open.as_mut().ok_or_else(|| {
                    format!("{place}: a result stands only after the message with its call")
                })?;
                calls.results.push(
                    text(
                        message.get("tool_call_id"),
                        &format!("{place}.tool_call_id"),
                    )?
                    .to_owned(),
                );
                if !message.get("content").is_some_and(Value::is_string) {
                    return Err(format!("{place}.content: a text is expected"));
                }
            }
            other => return Err(format!("{place}.role: `{other}` is unknown")),
        }
        previous = role;
    }
    if let Some(calls) = open {
        calls.check()?;
    }
    match previous {
        "user" | "tool" => Ok(()),
        _ => Err("messages: the last one is a user's or a tool's".to_owned()),
    }
}

/// The calls of a message and the results that have come for them.
struct Expected {
    place: String,
    calls: Vec<String>,
    results: Vec<String>,
}

impl Expected {
    fn check(&self) -> Result<(), Refusal> {
        answered(&self.calls, &self.results, &self.place)
    }
}

fn user(message: &Map<String, Value>, place: &str) -> Result<(), Refusal> {
    let place = format!("{place}.content");
    match message.get("content") {
        Some(Value::Array(_)) => {
            for (index, part) in array(message.get("content"), &place)?.iter().enumerate() {
                let place = format!("{place}[{index}]");
                let part = object(part, &place)?;
                if part.get("type") == Some(&Value::from("text")) {
                    text(part.get("text"), &format!("{place}.text"))?;
                }
            }
            Ok(())
        }
        content => text(content, &place).map(drop),
    }
}

fn assistant(message: &Map<String, Value>, place: &str) -> Result<Option<Expected>, Refusal> {
    known_fields(
        message,
        &[
            "role",
            "content",
            "tool_calls",
            "reasoning_content",
            "refusal",
            "name",
        ],
        place,
    )?;
    let Some(tool_calls) = message.get("tool_calls") else {
        // DeepSeek answers may be nothing but reasoning.
        if message.contains_key("reasoning_content") {
            return Ok(None);
        }
        return text(message.get("content"), &format!("{place}.content")).map(|_| None);
    };
    let mut calls = Vec::new();
    for (index, call) in array(Some(tool_calls), &format!("{place}.tool_calls"))?
        .iter()
        .enumerate()
    {
        let place = format!("{place}.tool_calls[{index}]");
        let call = object(call, &place)?;
        known_fields(call, &["id", "type", "function"], &place)?;
        calls.push(text(call.get("id"), &format!("{place}.id"))?.to_owned());
        let place = format!("{place}.function");
        let function = object(call.get("function").unwrap_or(&Value::Null), &place)?;
        known_fields(function, &["name", "arguments"], &place)?;
        text(function.get("name"), &format!("{place}.name"))?;
        let arguments = text(function.get("arguments"), &format!("{place}.arguments"))?;
        if !serde_json::from_str::<Value>(arguments).is_ok_and(|arguments| arguments.is_object()) {
            return Err(format!("{place}.arguments: a JSON object is expected"));
        }
    }
    distinct(&calls, "tool call")?;
    Ok(Some(Expected {
        place: place.to_owned(),
        calls,
        results: Vec::new(),
    }))
}
