//! What goes beyond the card convention (docs/terminal-extensions.md): typing into a running command, stopping it alone,
//! and being told that it waits. A client that does not ask for it sees nothing of it but the advertisement.

use agent_client_protocol::v1::schema::SessionId;
use agent_client_protocol::{Error, ErrorCode, JsonRpcMessage, JsonRpcRequest, UntypedMessage};
use agent_core::agent::FrontAbilities;
use agent_core::session::live::{TerminalError, TerminalInput};
use agent_core::session::update::TerminalState;
use agent_core::shell::terminal::TerminalSize;
use serde_json::{Map, Value, json};

use crate::message;

const INPUT: &str = "_placard/terminal_input";
const STOP: &str = "_placard/terminal_stop";
const STATE: &str = "_placard/terminal_state";

/// Terminals that a client may ask for, in columns and rows. Outside of it a command gets the usual size.
const COLUMNS: std::ops::RangeInclusive<u64> = 20..=500;
const ROWS: std::ops::RangeInclusive<u64> = 5..=200;

/// What is advertised in `agentCapabilities._meta`.
pub(crate) fn offered() -> Map<String, Value> {
    let offered = json!({"terminal_input": true, "terminal_stop": true, "terminal_state": true});
    Map::from_iter([("placard".to_owned(), offered)])
}

/// What a client with these `clientCapabilities` can do beyond showing. Only the literal `true` counts, and only whole numbers
/// within bounds.
pub(crate) fn abilities(client_capabilities: &Value) -> FrontAbilities {
    let wishes = client_capabilities
        .pointer("/_meta/placard")
        .unwrap_or(&Value::Null);
    FrontAbilities {
        can_type: wishes.get("terminal_input") == Some(&Value::Bool(true)),
        terminal_size: wishes.get("terminal_size").and_then(size),
    }
}

fn size(wish: &Value) -> Option<TerminalSize> {
    let within = |key: &str, bounds: std::ops::RangeInclusive<u64>| {
        let number = wish.get(key)?.as_u64()?;
        u16::try_from(number)
            .ok()
            .filter(|_| bounds.contains(&number))
    };
    Some(TerminalSize {
        columns: within("columns", COLUMNS)?,
        rows: within("rows", ROWS)?,
    })
}

/// The notification that a command waits for input, or does no longer.
pub(crate) fn state(
    session: &SessionId,
    call_id: &str,
    state: TerminalState,
) -> Result<UntypedMessage, Error> {
    let word = match state {
        TerminalState::Running => "running",
        TerminalState::Waiting => "waiting",
    };
    let params = json!({
        "sessionId": session,
        "terminalId": message::terminal_id(call_id),
        "state": word,
    });
    UntypedMessage::new(STATE, params)
}

/// A request about one terminal, as it came: what is wrong with it is told in our own words rather than the SDK's.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TerminalRequest {
    method: &'static str,
    params: Value,
}

/// What such a request wants.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Type into the command.
    Type(TerminalInput),
    /// End it, and nothing else.
    Stop,
}

impl TerminalRequest {
    /// Session, call and act; an error says what is missing or wrong.
    pub(crate) fn read(&self) -> Result<(SessionId, String, Act), Error> {
        let session = self.text("sessionId", "the id that session/new answered")?;
        let terminal = self.text("terminalId", "the id of the card's terminal")?;
        let act = if self.method == STOP {
            Act::Stop
        } else {
            Act::Type(self.input()?)
        };
        let call_id = message::call_id(terminal).ok_or_else(no_such_terminal)?;
        Ok((SessionId::new(session), call_id.to_owned(), act))
    }

    fn input(&self) -> Result<TerminalInput, Error> {
        let nothing = |value: &&Value| !value.is_null();
        let data = self.params.get("data").filter(nothing);
        let end = match self.params.get("eof").filter(nothing) {
            None => false,
            Some(Value::Bool(end)) => *end,
            Some(_) => return Err(self.wrong("`eof` is true or is left out")),
        };
        match (data, end) {
            (Some(Value::String(text)), false) => Ok(TerminalInput::Text(text.clone())),
            (None, true) => Ok(TerminalInput::End),
            (Some(Value::String(_)), true) => Err(self.wrong(
                "`data` and `eof` are two requests: send what is typed first, then the end",
            )),
            (Some(_), _) => Err(self
                .wrong("`data` has to be a string of the characters that are typed; Enter is \\r")),
            (None, false) => {
                Err(self.wrong("it needs `data`, a string of what is typed, or `eof`: true"))
            }
        }
    }

    fn text(&self, key: &str, what: &str) -> Result<&str, Error> {
        self.params
            .get(key)
            .and_then(Value::as_str)
            .ok_or_else(|| self.wrong(&format!("`{key}` has to be a string, {what}")))
    }

    fn wrong(&self, what: &str) -> Error {
        Error::new(
            ErrorCode::INVALID_PARAMS,
            format!("{} was not understood: {what}", self.method),
        )
    }
}

/// No card of ours has a terminal of this name.
fn no_such_terminal() -> Error {
    let message = "there is no such terminal; take the terminalId of a card in this session";
    Error::new(ErrorCode::RESOURCE_NOT_FOUND, message)
}

/// What a command that could not be reached is answered with.
pub(crate) fn refusal(error: &TerminalError) -> Error {
    Error::new(ErrorCode::INVALID_REQUEST, error.to_string())
}

impl JsonRpcMessage for TerminalRequest {
    fn matches_method(method: &str) -> bool {
        method == INPUT || method == STOP
    }

    fn method(&self) -> &str {
        self.method
    }

    fn to_untyped_message(&self) -> Result<UntypedMessage, Error> {
        UntypedMessage::new(self.method, &self.params)
    }

    fn parse_message(method: &str, params: &Value) -> Result<Self, Error> {
        let method = [INPUT, STOP]
            .into_iter()
            .find(|known| *known == method)
            .ok_or_else(Error::method_not_found)?;
        Ok(Self {
            method,
            params: params.clone(),
        })
    }
}

impl JsonRpcRequest for TerminalRequest {
    type Response = Value;
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn abilities_are_the_literal_true_and_sizes_within_bounds() {
        let size = |columns, rows| Some(TerminalSize { rows, columns });
        let table = [
            (json!({"terminal_input": true}), true, None),
            (json!({"terminal_input": "true"}), false, None),
            (json!({"terminal_input": 1}), false, None),
            (json!(true), false, None),
            (json!(null), false, None),
            (
                json!({"terminal_size": {"columns": 98, "rows": 24}}),
                false,
                size(98, 24),
            ),
            (
                json!({"terminal_input": true, "terminal_size": {"columns": 20, "rows": 200}}),
                true,
                size(20, 200),
            ),
            (
                json!({"terminal_size": {"columns": 19, "rows": 24}}),
                false,
                None,
            ),
            (
                json!({"terminal_size": {"columns": 98, "rows": 201}}),
                false,
                None,
            ),
            (
                json!({"terminal_size": {"columns": 65_556, "rows": 24}}),
                false,
                None,
            ),
            (
                json!({"terminal_size": {"columns": 98.5, "rows": 24}}),
                false,
                None,
            ),
            (
                json!({"terminal_size": {"columns": "98", "rows": 24}}),
                false,
                None,
            ),
            (json!({"terminal_size": {"columns": 98}}), false, None),
        ];
        for (wishes, can_type, terminal_size) in table {
            let capabilities = json!({"_meta": {"placard": wishes}});
            let expected = FrontAbilities {
                can_type,
                terminal_size,
            };
            assert_eq!(abilities(&capabilities), expected, "{wishes}");
        }
        assert_eq!(
            abilities(&json!({"placard": {"terminal_input": true}})),
            FrontAbilities::default()
        );
    }

    #[test]
    fn a_request_is_read_or_told_what_it_lacks() {
        let read = |method: &'static str, rest: Value| {
            let mut params = json!({"sessionId": "s", "terminalId": "terminal-call-1"});
            params
                .as_object_mut()
                .unwrap()
                .extend(rest.as_object().unwrap().clone());
            TerminalRequest { method, params }
                .read()
                .map_err(|error| (i32::from(error.code), error.message))
        };
        let found = |act| Ok((SessionId::new("s"), "call-1".to_owned(), act));
        let wrong = |words: &str| Err((-32602, format!("{INPUT} was not understood: {words}")));
        let typed = |text: &str| found(Act::Type(TerminalInput::Text(text.to_owned())));
        let table = [
            (INPUT, json!({"data": "Ada\r"}), typed("Ada\r")),
            (
                INPUT,
                json!({"data": "x", "eof": false, "more": 1}),
                typed("x"),
            ),
            (
                INPUT,
                json!({"data": null, "eof": true}),
                found(Act::Type(TerminalInput::End)),
            ),
            (STOP, json!({}), found(Act::Stop)),
            (
                INPUT,
                json!({}),
                wrong("it needs `data`, a string of what is typed, or `eof`: true"),
            ),
            (
                INPUT,
                json!({"eof": false}),
                wrong("it needs `data`, a string of what is typed, or `eof`: true"),
            ),
            (
                INPUT,
                json!({"eof": "yes"}),
                wrong("`eof` is true or is left out"),
            ),
            (
                INPUT,
                json!({"data": 7}),
                wrong("`data` has to be a string of the characters that are typed; Enter is \\r"),
            ),
            (
                INPUT,
                json!({"data": "x", "eof": true}),
                wrong("`data` and `eof` are two requests: send what is typed first, then the end"),
            ),
            (
                INPUT,
                json!({"data": "x", "terminalId": 1}),
                wrong("`terminalId` has to be a string, the id of the card's terminal"),
            ),
            (
                INPUT,
                json!({"data": "x", "sessionId": null}),
                wrong("`sessionId` has to be a string, the id that session/new answered"),
            ),
            (
                STOP,
                json!({"terminalId": "elsewhere"}),
                Err((
                    -32002,
                    "there is no such terminal; take the terminalId of a card in this session"
                        .to_owned(),
                )),
            ),
        ];
        for (method, params, expected) in table {
            assert_eq!(read(method, params.clone()), expected, "{method} {params}");
        }
    }
}
