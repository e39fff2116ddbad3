//! What a client says it can draw.

use serde_json::Value;

/// Which form of terminal cards a client asked for in `initialize`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Capability {
    /// The client did not ask for cards: nothing of one is sent to it.
    #[default]
    None,
    /// Output goes under the key `terminal_output`.
    Output,
    /// Output goes under the key `terminal_output_delta`.
    Delta,
}

impl Capability {
    /// Reads the `clientCapabilities` of an `initialize` request. Only the literal `true` counts; a client that asks for both forms gets
    /// the delta.
    pub fn of_client(client_capabilities: &Value) -> Self {
        let asks = |key: &str| {
            client_capabilities
                .pointer("/_meta")
                .and_then(|meta| meta.get(key))
                == Some(&Value::Bool(true))
        };
        if asks("terminal_output_delta") {
            Self::Delta
        } else if asks("terminal_output") {
            Self::Output
        } else {
            Self::None
        }
    }

    /// The `_meta` key that output goes under, if any is to be sent.
    pub fn output_key(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Output => Some("terminal_output"),
            Self::Delta => Some("terminal_output_delta"),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_literal_true_counts_and_the_delta_wins() {
        let table = [
            (
                json!({"_meta": {"terminal_output": true}}),
                Capability::Output,
            ),
            (
                json!({"_meta": {"terminal_output_delta": true}}),
                Capability::Delta,
            ),
            (
                json!({"_meta": {"terminal_output": true, "terminal_output_delta": true}}),
                Capability::Delta,
            ),
            (
                json!({"_meta": {"terminal_output": true, "terminal_output_delta": "true"}}),
                Capability::Output,
            ),
            (json!({"_meta": {"terminal_output": 1}}), Capability::None),
            (json!({"_meta": {"terminal_output": {}}}), Capability::None),
            (json!({"_meta": null}), Capability::None),
            (
                json!({"terminal": true, "terminal_output": true}),
                Capability::None,
            ),
            (json!(null), Capability::None),
        ];
        for (capabilities, expected) in table {
            assert_eq!(
                Capability::of_client(&capabilities),
                expected,
                "{capabilities}"
            );
        }
    }
}
