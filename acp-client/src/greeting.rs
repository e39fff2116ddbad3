//! How the hub introduces its pages to an agent.

use serde_json::{Value, json};

/// What the pages of a hub can do with a running command beyond drawing it (docs/terminal-extensions.md in the repository).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageAbilities {
    /// A person can type into it. An agent that knows this lets a command wait for them.
    pub can_type: bool,
    /// The terminal that a card is drawn in: columns and rows.
    pub terminal_size: Option<(u16, u16)>,
}

impl PageAbilities {
    /// What the chat's own page does: the cards of a window of ordinary width hold so many columns, and their emulator has so
    /// many rows.
    pub fn of_the_chat() -> Self {
        Self {
            can_type: true,
            terminal_size: Some((98, 24)),
        }
    }
}

/// The `params` of `initialize`: what the client side offers to every agent.
pub(crate) fn initialize_params(abilities: PageAbilities) -> Value {
    let mut meta = json!({"terminal_output": true, "terminal_output_delta": true});
    if abilities.can_type {
        meta["placard"]["terminal_input"] = Value::Bool(true);
    }
    if let Some((columns, rows)) = abilities.terminal_size {
        meta["placard"]["terminal_size"] = json!({"columns": columns, "rows": rows});
    }
    json!({
        "protocolVersion": 1,
        "clientInfo": {"name": "placard", "title": "Placard", "version": env!("CARGO_PKG_VERSION")},
        "clientCapabilities": {
            "fs": {"readTextFile": false, "writeTextFile": false},
            "terminal": false,
            "_meta": meta,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_what_the_pages_can_do_is_offered() {
        let meta = |abilities| initialize_params(abilities)["clientCapabilities"]["_meta"].clone();
        assert_eq!(
            meta(PageAbilities::default()),
            json!({"terminal_output": true, "terminal_output_delta": true})
        );
        assert_eq!(
            meta(PageAbilities::of_the_chat()),
            json!({
                "terminal_output": true,
                "terminal_output_delta": true,
                "placard": {"terminal_input": true, "terminal_size": {"columns": 98, "rows": 24}},
            })
        );
    }
}
