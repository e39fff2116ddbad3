//! `OpenAI`'s chat completions: an answer as its chunks, or whole.

use serde_json::{Map, Value, json};

use super::script::{Answer, Emission, Finish, Piece};

const ID: &str = "chatcmpl-1";

/// The error object.
pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    json!({ "error": { "message": message, "type": kind, "param": null, "code": null } })
}

/// The answer to `request`, streamed.
pub(super) fn stream(answer: &Answer, request: &Value) -> Vec<Emission> {
    let chunk = |choices: Value| {
        let mut chunk = head(request, "chat.completion.chunk");
        chunk.insert("choices".to_owned(), choices);
        Value::Object(chunk)
    };
    let delta = |delta: Value, finish: Value| {
        send(&chunk(
            json!([{ "index": 0, "delta": delta, "finish_reason": finish }]),
        ))
    };

    let mut out = vec![delta(
        json!({ "role": "assistant", "content": "" }),
        Value::Null,
    )];
    let mut calls = 0;
    for piece in &answer.pieces {
        let content = match piece {
            Piece::Text(text) => json!({ "content": text }),
            Piece::Reasoning(text) => json!({ "reasoning_content": text }),
            Piece::Signature(_) | Piece::Redacted(_) => continue,
            Piece::Call { id, name } => {
                calls += 1;
                let function = json!({ "name": name, "arguments": "" });
                json!({ "tool_calls": [{ "index": calls - 1, "id": id, "type": "function", "function": function }] })
            }
            Piece::Arguments(text) => {
                json!({ "tool_calls": [{ "index": calls - 1, "function": { "arguments": text } }] })
            }
            Piece::Hold(gate) => {
                out.push(Emission::Hold(gate.clone()));
                continue;
            }
            Piece::Garbage => {
                out.push(Emission::Send("data: {\"choices\": [\n\n".to_owned()));
                continue;
            }
            Piece::StopShort => return out,
            Piece::Cut => {
                out.push(Emission::Cut);
                return out;
            }
        };
        out.push(delta(content, Value::Null));
    }
    out.push(delta(json!({}), json!(finish(answer.finish_reason()))));
    let wants_usage = request.pointer("/stream_options/include_usage") == Some(&Value::Bool(true));
    if let Some(usage) = usage(answer).filter(|_| wants_usage) {
        let mut last = chunk(json!([]));
        last["usage"] = usage;
        out.push(send(&last));
    }
    out.push(Emission::Send("data: [DONE]\n\n".to_owned()));
    out
}

/// The answer to `request`, whole.
pub(super) fn whole(answer: &Answer, request: &Value) -> Value {
    let mut text = String::new();
    let mut reasoning = String::new();
    let mut calls: Vec<(&str, &str, String)> = Vec::new();
    for piece in &answer.pieces {
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Reasoning(piece) => reasoning.push_str(piece),
            Piece::Call { id, name } => calls.push((id, name, String::new())),
            Piece::Arguments(piece) => {
                if let Some((_, _, arguments)) = calls.last_mut() {
                    arguments.push_str(piece);
                }
            }
            _ => {}
        }
    }
    let mut message = json!({ "role": "assistant", "content": text });
    if !reasoning.is_empty() {
        message["reasoning_content"] = json!(reasoning);
    }
    if !calls.is_empty() {
        let call = |(id, name, arguments)| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
        message["tool_calls"] = calls.into_iter().map(call).collect();
    }
    let mut body = head(request, "chat.completion");
    let finish = finish(answer.finish_reason());
    body.insert(
        "choices".to_owned(),
        json!([{ "index": 0, "message": message, "finish_reason": finish }]),
    );
    if let Some(usage) = usage(answer) {
        body.insert("usage".to_owned(), usage);
    }
    Value::Object(body)
}

fn head(request: &Value, object: &str) -> Map<String, Value> {
    let mut head = Map::new();
    head.insert("id".to_owned(), json!(ID));
    head.insert("object".to_owned(), json!(object));
    head.insert("created".to_owned(), json!(0));
    head.insert("model".to_owned(), request["model"].clone());
    head
}

fn send(event: &Value) -> Emission {
    Emission::Send(format!("data: {event}\n\n"))
}

fn finish(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::ToolCalls => "tool_calls",
        Finish::Length => "length",
        Finish::Refusal => "content_filter",
    }
}

fn usage(answer: &Answer) -> Option<Value> {
    answer.usage.map(|tokens| {
        json!({
            "prompt_tokens": tokens.input,
            "completion_tokens": tokens.output,
            "total_tokens": tokens.input + tokens.output,
        })
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::script::text_of;
    use super::*;

    fn answer() -> Answer {
        Answer::new()
            .reasoning(["Hm."])
            .text(["I ", "look."])
            .call("a", "bash", [r#"{"command""#, r#":"ls"}"#])
            .call("b", "bash", ["{}"])
            .usage(3, 4)
    }

    #[test]
    fn chunks() {
        let request = json!({ "model": "m", "stream_options": { "include_usage": true } });
        let chunk = |choices: Value| json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": choices });
        let delta =
            |delta: Value| chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]));
        let call = |call: Value| delta(json!({ "tool_calls": [call] }));
        let begin = |index: usize, id: &str| {
            let function = json!({ "name": "bash", "arguments": "" });
            call(json!({ "index": index, "id": id, "type": "function", "function": function }))
        };
        let more = |index: usize, text: &str| {
            call(json!({ "index": index, "function": { "arguments": text } }))
        };
        let mut usage = chunk(json!([]));
        usage["usage"] = json!({ "prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7 });
        let events = [
            delta(json!({ "role": "assistant", "content": "" })),
            delta(json!({ "reasoning_content": "Hm." })),
            delta(json!({ "content": "I " })),
            delta(json!({ "content": "look." })),
            begin(0, "a"),
            more(0, r#"{"command""#),
            more(0, r#":"ls"}"#),
            begin(1, "b"),
            more(1, "{}"),
            chunk(json!([{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }])),
            usage,
        ];
        let sent = events.iter().map(|event| format!("data: {event}\n\n"));
        let mut expected = sent.collect::<Vec<_>>().concat();
        expected.push_str("data: [DONE]\n\n");
        assert_eq!(text_of(&stream(&answer(), &request)), expected);
    }

    #[test]
    fn one_piece() {
        let call = |id: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": "bash", "arguments": arguments } });
        let expected = json!({
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [{
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "I look.",
                    "reasoning_content": "Hm.",
                    "tool_calls": [call("a", r#"{"command":"ls"}"#), call("b", "{}")],
                },
                "finish_reason": "tool_calls",
            }],
            "usage": { "prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7 },
        });
        assert_eq!(whole(&answer(), &json!({ "model": "m" })), expected);
    }
}
