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
