//! Requests that are accepted, and the same with one thing wrong.

#![allow(
    clippy::unwrap_used,
    reason = "the helpers of a test fail it as its body does"
)]

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{anthropic, openai};

/// A change to a request and the reason that it is refused for.
type Case = (&'static str, Value, &'static str);

fn openai_request() -> Value {
    json!({
        "model": "m",
        "stream": true,
        "stream_options": { "include_usage": true },
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Look." },
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    { "id": "a", "type": "function", "function": { "name": "bash", "arguments": "{}" } },
                    { "id": "b", "type": "function", "function": { "name": "bash", "arguments": "{}" } },
                ],
            },
            { "role": "tool", "tool_call_id": "b", "content": "" },
            { "role": "tool", "tool_call_id": "a", "content": "x" },
            { "role": "user", "content": [{ "type": "text", "text": "Go on." }] },
        ],
        "tools": [{
            "type": "function",
            "function": {
                "name": "bash",
                "description": "Runs a command.",
                "parameters": { "type": "object" },
                "strict": false,
            },
        }],
    })
}

fn anthropic_request() -> Value {
    json!({
        "model": "m",
        "max_tokens": 1,
        "stream": true,
        "system": "Be brief.",
        "messages": [
            { "role": "user", "content": "Look." },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "", "signature": "c2ln" },
                { "type": "redacted_thinking", "data": "c2Vj" },
                { "type": "text", "text": "I look." },
                { "type": "tool_use", "id": "a", "name": "bash", "input": {} },
                { "type": "tool_use", "id": "b", "name": "bash", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "b", "content": "", "is_error": true },
                { "type": "tool_result", "tool_use_id": "a", "content": "x" },
                { "type": "text", "text": "Go on." },
            ] },
        ],
        "tools": [{ "name": "bash", "description": "Runs a command.", "input_schema": { "type": "object" } }],
    })
}

fn check(request: &Value, accepts: impl Fn(&Value) -> Result<(), String>, cases: &[Case]) {
    assert_eq!(accepts(request), Ok(()));
    for (place, value, reason) in cases {
        let mut request = request.clone();
        let (parent, field) = place.rsplit_once('/').unwrap();
        match request.pointer_mut(parent).unwrap() {
            Value::Array(list) if value.is_null() => drop(list.remove(field.parse().unwrap())),
            Value::Array(list) => list[field.parse::<usize>().unwrap()] = value.clone(),
            object => object[field] = value.clone(),
        }
        assert_eq!(
            accepts(&request),
            Err((*reason).to_owned()),
            "{place} = {value}"
        );
    }
}

#[test]
fn openai_requests() {
    let user = || json!({ "role": "user", "content": "So?" });
    let cases: [Case; 20] = [
        ("/n", json!(1), "body: unknown field `n`"),
        (
            "/model",
            json!(""),
            "model: a text that is not empty is expected",
        ),
        (
            "/messages",
            json!([]),
            "messages: a list that is not empty is expected",
        ),
        (
            "/messages/1/content",
            json!(" "),
            "messages[1].content: a text that is not empty is expected",
        ),
        (
            "/messages/1/role",
            json!("human"),
            "messages[1].role: `human` is unknown",
        ),
        (
            "/messages/1/role",
            json!("system"),
            "messages[1]: `system` stands only at the beginning",
        ),
        (
            "/messages/0",
            user(),
            "messages[1]: two messages of `user` in a row; roles take turns",
        ),
        (
            "/messages/3",
            Value::Null,
            "messages[2]: tool call `b` is not followed by its result",
        ),
        (
            "/messages/4",
            user(),
            "messages[2]: tool call `a` is not followed by its result",
        ),
        (
            "/messages/3/tool_call_id",
            json!("a"),
            "the result of tool call `a` is there twice",
        ),
        (
            "/messages/4/is_error",
            json!(true),
            "messages[4]: unknown field `is_error`",
        ),
        (
            "/messages/2",
            Value::Null,
            "messages[2]: a result stands only after the message with its call",
        ),
        (
            "/messages/2/tool_calls/1/id",
            json!("a"),
            "tool call `a` is there twice",
        ),
        (
            "/messages/2/tool_calls/0/function/arguments",
            json!("{\"comm"),
            "messages[2].tool_calls[0].function.arguments: a JSON object is expected",
        ),
        (
            "/messages/2/tool_calls/0/function/title",
            json!("x"),
            "messages[2].tool_calls[0].function: unknown field `title`",
        ),
        (
            "/messages/5",
            json!({ "role": "assistant", "content": "So." }),
            "messages: the last one is a user's or a tool's",
        ),
        (
            "/tools/0/function/presenter",
            json!("x"),
            "tools[0].function: unknown field `presenter`",
        ),
        (
            "/tools/0/function/parameters",
            json!({}),
            "tools[0].function.parameters: a JSON schema of type `object` is expected",
        ),
        (
            "/tools/0/function/name",
            json!("run it"),
            "tools[0].function.name: only letters, digits, `_` and `-`, and at most 64 of them",
        ),
        (
            "/tools",
            json!([]),
            "tools: a list that is not empty is expected",
        ),
    ];
    check(&openai_request(), openai, &cases);
}

#[test]
fn anthropic_requests() {
    let cases: [Case; 18] = [
        (
            "/stream_options",
            json!({}),
            "body: unknown field `stream_options`",
        ),
        (
            "/max_tokens",
            json!(0),
            "max_tokens: a number above 0 is expected",
        ),
        (
            "/messages/0/role",
            json!("system"),
            "messages[0].role: roles take turns; `user` is expected, not `system`",
        ),
        (
            "/messages/0",
            Value::Null,
            "messages[0].role: roles take turns; `user` is expected, not `assistant`",
        ),
        (
            "/messages/0/content",
            json!(""),
            "messages[0].content: a text that is not empty is expected",
        ),
        (
            "/messages/2",
            Value::Null,
            "messages: the last one is a user's",
        ),
        (
            "/messages/1/content",
            json!([]),
            "messages[1].content: a list that is not empty is expected",
        ),
        (
            "/messages/1/content/0/signature",
            json!(""),
            "messages[1].content[0].signature: a text that is not empty is expected",
        ),
        (
            "/messages/1/content/0",
            json!({ "type": "text", "text": "Hm." }),
            "messages[1].content[1]: `redacted_thinking` stands before other blocks",
        ),
        (
            "/messages/1/content/2/text",
            json!(" "),
            "messages[1].content[2].text: a text that is not empty is expected",
        ),
        (
            "/messages/1/content/3/input",
            json!("{}"),
            "messages[1].content[3].input: an object is expected",
        ),
        (
            "/messages/1/content/4/id",
            json!("a"),
            "tool call `a` is there twice",
        ),
        (
            "/messages/1/content/4",
            Value::Null,
            "messages[1]: there is no tool call `b` in the message before",
        ),
        (
            "/messages/2/content/0",
            Value::Null,
            "messages[1]: tool call `b` is not followed by its result",
        ),
        (
            "/messages/2/content/0/name",
            json!("x"),
            "messages[2].content[0]: unknown field `name`",
        ),
        (
            "/messages/2/content/0",
            json!({ "type": "text", "text": "Hm." }),
            "messages[2].content[1]: `tool_result` stands before other blocks",
        ),
        (
            "/tools/0/strict",
            json!(false),
            "tools[0]: unknown field `strict`",
        ),
        (
            "/tools/0/description",
            json!(""),
            "tools[0].description: a text that is not empty is expected",
        ),
    ];
    check(&anthropic_request(), anthropic, &cases);
}

#[test]
fn only_models_think() {
    let request = json!({
        "model": "m",
        "max_tokens": 1,
        "messages": [{ "role": "user", "content": [{ "type": "thinking", "thinking": "", "signature": "x" }] }],
    });
    assert_eq!(
        anthropic(&request),
        Err("messages[0].content: a block that `user` may not send".to_owned())
    );
}
