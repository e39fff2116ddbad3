//! Anthropic's messages: an answer as its events, or whole.

use serde_json::{Value, json};

use super::script::{Answer, Emission, Finish, Piece};

const ID: &str = "msg_1";

/// The error object.
pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

/// The answer to `request`, streamed.
pub(super) fn stream(answer: &Answer, request: &Value) -> Vec<Emission> {
    let mut events = Events {
        out: Vec::new(),
        open: None,
        blocks: 0,
    };
    let mut message = head(request);
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    message["usage"] = json!({ "input_tokens": input(answer), "output_tokens": 1 });
    events.send(&json!({ "type": "message_start", "message": message }));
    events.send(&json!({ "type": "ping" }));

    for piece in &answer.pieces {
        match piece {
            Piece::Text(text) => {
                events.block(Block::Text, || json!({ "type": "text", "text": "" }));
                events.delta(&json!({ "type": "text_delta", "text": text }));
            }
            Piece::Reasoning(text) => {
                events.block(
                    Block::Thinking,
                    || json!({ "type": "thinking", "thinking": "", "signature": "" }),
                );
                events.delta(&json!({ "type": "thinking_delta", "thinking": text }));
            }
            Piece::Signature(signature) => {
                events.block(
                    Block::Thinking,
                    || json!({ "type": "thinking", "thinking": "", "signature": "" }),
                );
                events.delta(&json!({ "type": "signature_delta", "signature": signature }));
                // What is signed is complete.
                events.close();
            }
            Piece::Redacted(data) => {
                events.close();
                events.block(
                    Block::Redacted,
                    || json!({ "type": "redacted_thinking", "data": data }),
                );
                events.close();
            }
            Piece::Call { id, name } => {
                events.close();
                events.block(
                    Block::Call,
                    || json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
                );
            }
            Piece::Arguments(text) => {
                events.delta(&json!({ "type": "input_json_delta", "partial_json": text }));
            }
            Piece::Hold(gate) => events.out.push(Emission::Hold(gate.clone())),
            Piece::Garbage => {
                events.out.push(Emission::Send(
                    "event: content_block_delta\ndata: {\"delta\": \n\n".to_owned(),
                ));
            }
            Piece::StopShort => return events.out,
            Piece::Cut => {
                events.out.push(Emission::Cut);
                return events.out;
            }
        }
    }
    events.close();
    let output = answer.usage.map_or(0, |tokens| tokens.output);
    events.send(&json!({
        "type": "message_delta",
        "delta": { "stop_reason": finish(answer.finish_reason()), "stop_sequence": null },
        "usage": { "output_tokens": output },
    }));
    events.send(&json!({ "type": "message_stop" }));
    events.out
}

/// The answer to `request`, whole.
pub(super) fn whole(answer: &Answer, request: &Value) -> Value {
    let mut content: Vec<Value> = Vec::new();
    let mut arguments = String::new();
    for piece in &answer.pieces {
        match piece {
            Piece::Text(text) => append(&mut content, "text", "text", text),
            Piece::Reasoning(text) => append(&mut content, "thinking", "thinking", text),
            Piece::Signature(signature) => append(&mut content, "thinking", "signature", signature),
            Piece::Redacted(data) => {
                content.push(json!({ "type": "redacted_thinking", "data": data }));
            }
            Piece::Call { id, name } => {
                arguments.clear();
                content.push(json!({ "type": "tool_use", "id": id, "name": name, "input": {} }));
            }
            Piece::Arguments(text) => {
                arguments.push_str(text);
                if let (Some(call), Ok(input)) = (
                    content.last_mut(),
                    serde_json::from_str::<Value>(&arguments),
                ) {
                    call["input"] = input;
                }
            }
            Piece::Hold(_) | Piece::Garbage | Piece::StopShort | Piece::Cut => {}
        }
    }
    let mut message = head(request);
    message["content"] = json!(content);
    message["stop_reason"] = json!(finish(answer.finish_reason()));
    let output = answer.usage.map_or(0, |tokens| tokens.output);
    message["usage"] = json!({ "input_tokens": input(answer), "output_tokens": output });
    message
}

fn append(content: &mut Vec<Value>, kind: &str, field: &str, more: &str) {
    match content.last_mut().filter(|block| block["type"] == kind) {
        Some(block) => {
            let so_far = block[field].as_str().unwrap_or_default();
            block[field] = json!(format!("{so_far}{more}"));
        }
        None => content.push(json!({ "type": kind, field: more })),
    }
}

fn head(request: &Value) -> Value {
    json!({ "id": ID, "type": "message", "role": "assistant", "model": request["model"], "stop_sequence": null })
}

fn input(answer: &Answer) -> u64 {
    answer.usage.map_or(0, |tokens| tokens.input)
}

fn finish(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "end_turn",
        Finish::ToolCalls => "tool_use",
        Finish::Length => "max_tokens",
        Finish::Refusal => "refusal",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Text,
    Thinking,
    Redacted,
    Call,
}

/// The events so far, and the content block that is open.
struct Events {
    out: Vec<Emission>,
    open: Option<Block>,
    blocks: usize,
}

impl Events {
    /// Goes on in a block of this kind, or begins one.
    fn block(&mut self, kind: Block, begin: impl FnOnce() -> Value) {
        if self.open == Some(kind) {
            return;
        }
        self.close();
        self.open = Some(kind);
        let content_block = begin();
        self.send(&json!({ "type": "content_block_start", "index": self.blocks, "content_block": content_block }));
    }

    fn delta(&mut self, delta: &Value) {
        self.send(&json!({ "type": "content_block_delta", "index": self.blocks, "delta": delta }));
    }

    fn close(&mut self) {
        if self.open.take().is_some() {
            self.send(&json!({ "type": "content_block_stop", "index": self.blocks }));
            self.blocks += 1;
        }
    }

    fn send(&mut self, event: &Value) {
        let name = event["type"].as_str().unwrap_or_default();
        self.out
            .push(Emission::Send(format!("event: {name}\ndata: {event}\n\n")));
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::script::text_of;
    use super::*;

    fn answer() -> Answer {
        Answer::new()
            .reasoning(["H", "m."])
            .signature("c2ln")
            .redacted_reasoning("c2VjcmV0")
            .text(["I ", "look."])
            .call("a", "bash", [r#"{"command""#, r#":"ls"}"#])
            .call("b", "bash", [""; 0])
            .usage(3, 4)
    }

    #[test]
    fn events() {
        let message = json!({
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "stop_sequence": null,
            "content": [],
            "stop_reason": null,
            "usage": { "input_tokens": 3, "output_tokens": 1 },
        });
        let start = |index: usize, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
        let delta = |index: usize, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
        let stop = |index: usize| json!({ "type": "content_block_stop", "index": index });
        let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "bash", "input": {} });
        let events = [
            json!({ "type": "message_start", "message": message }),
            json!({ "type": "ping" }),
            start(
                0,
                json!({ "type": "thinking", "thinking": "", "signature": "" }),
            ),
            delta(0, json!({ "type": "thinking_delta", "thinking": "H" })),
            delta(0, json!({ "type": "thinking_delta", "thinking": "m." })),
            delta(0, json!({ "type": "signature_delta", "signature": "c2ln" })),
            stop(0),
            start(
                1,
                json!({ "type": "redacted_thinking", "data": "c2VjcmV0" }),
            ),
            stop(1),
            start(2, json!({ "type": "text", "text": "" })),
            delta(2, json!({ "type": "text_delta", "text": "I " })),
            delta(2, json!({ "type": "text_delta", "text": "look." })),
            stop(2),
            start(3, call("a")),
            delta(
                3,
                json!({ "type": "input_json_delta", "partial_json": r#"{"command""# }),
            ),
            delta(
                3,
                json!({ "type": "input_json_delta", "partial_json": r#":"ls"}"# }),
            ),
            stop(3),
            start(4, call("b")),
            stop(4),
            json!({
                "type": "message_delta",
                "delta": { "stop_reason": "tool_use", "stop_sequence": null },
                "usage": { "output_tokens": 4 },
            }),
            json!({ "type": "message_stop" }),
        ];
        let event = |event: &Value| {
            format!(
                "event: {}\ndata: {event}\n\n",
                event["type"].as_str().unwrap()
            )
        };
        let expected: String = events.iter().map(event).collect();
        assert_eq!(
            text_of(&stream(&answer(), &json!({ "model": "m" }))),
            expected
        );
    }

    #[test]
    fn one_piece() {
        let expected = json!({
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "stop_sequence": null,
            "content": [
                { "type": "thinking", "thinking": "Hm.", "signature": "c2ln" },
                { "type": "redacted_thinking", "data": "c2VjcmV0" },
                { "type": "text", "text": "I look." },
                { "type": "tool_use", "id": "a", "name": "bash", "input": { "command": "ls" } },
                { "type": "tool_use", "id": "b", "name": "bash", "input": {} },
            ],
            "stop_reason": "tool_use",
            "usage": { "input_tokens": 3, "output_tokens": 4 },
        });
        assert_eq!(whole(&answer(), &json!({ "model": "m" })), expected);
    }
}
