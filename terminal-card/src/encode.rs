//! What an agent writes for a card: the inside of `_meta`, and the block that says where the card stands.
//!
//! Put [`info`] and [`content`] on the message that announces the call, [`output`] on as many updates as there are pieces, and
//! [`exit`] on the last one, beside the status. Each map here is a whole `_meta`, or part of one: several are put together with [`Map::extend`].

use serde_json::{Map, Value, json};

pub use crate::console::console_block;
use crate::{Capability, TerminalExit};

fn meta(key: &str, fields: Value) -> Map<String, Value> {
    Map::from_iter([(key.to_owned(), fields)])
}

/// Announces a terminal and the folder that its command runs in.
pub fn info(terminal_id: &str, cwd: &str) -> Map<String, Value> {
    meta(
        "terminal_info",
        json!({"terminal_id": terminal_id, "cwd": cwd}),
    )
}

/// The next piece of what a command printed, under the key that the client asked for; `None` for a client that draws no cards.
pub fn output(capability: Capability, terminal_id: &str, data: &str) -> Option<Map<String, Value>> {
    let key = capability.output_key()?;
    Some(meta(key, json!({"terminal_id": terminal_id, "data": data})))
}

/// How the command ended.
pub fn exit(terminal_id: &str, exit: &TerminalExit) -> Map<String, Value> {
    meta(
        "terminal_exit",
        json!({"terminal_id": terminal_id, "exit_code": exit.exit_code, "signal": exit.signal}),
    )
}

/// The content block that stands for the card in its tool call.
pub fn content(terminal_id: &str) -> Value {
    json!({"type": "terminal", "terminalId": terminal_id})
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn keys_and_fields_are_those_of_the_convention() {
        assert_eq!(
            Value::from(info("t", "/w")),
            json!({"terminal_info": {"terminal_id": "t", "cwd": "/w"}})
        );
        assert_eq!(
            output(Capability::Output, "t", "a\r\n").map(Value::from),
            Some(json!({"terminal_output": {"terminal_id": "t", "data": "a\r\n"}}))
        );
        assert_eq!(
            output(Capability::Delta, "t", "a").map(Value::from),
            Some(json!({"terminal_output_delta": {"terminal_id": "t", "data": "a"}}))
        );
        assert_eq!(output(Capability::None, "t", "a"), None);
        let killed = TerminalExit {
            exit_code: None,
            signal: Some("SIGKILL".to_owned()),
        };
        assert_eq!(
            Value::from(exit("t", &killed)),
            json!({"terminal_exit": {"terminal_id": "t", "exit_code": null, "signal": "SIGKILL"}})
        );
        assert_eq!(content("t"), json!({"type": "terminal", "terminalId": "t"}));
    }
}
