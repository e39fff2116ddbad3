//! One command from prompt to answer, and what its card told.

use std::time::Duration;

use placard_tests::Home;
use serde_json::{Value, json};

use crate::editor::Editor;

/// What one prompt gave.
pub struct Told {
    /// The session's folder.
    pub cwd: String,
    /// The updates about its calls, in order.
    pub calls: Vec<Value>,
    /// The answer to the prompt.
    pub answer: Value,
}

/// One prompt in a fresh session of an agent that ends with it.
pub async fn told(home: &Home, capabilities: Value, prompt: &str) -> Told {
    let folder = home.work_folder();
    let mut editor = Editor::connect(home, capabilities).await;
    let session = editor.session(&folder).await;
    let answer = editor.turn(&session, prompt).await;
    let calls = editor.calls(&session);
    editor.close(Duration::from_secs(5)).await;
    Told {
        cwd: folder.display().to_string(),
        calls,
        answer,
    }
}

impl Told {
    /// All that its cards printed.
    pub fn printed(&self) -> String {
        self.calls.iter().filter_map(output).collect()
    }

    /// The updates that closed a card.
    pub fn exits(&self) -> Vec<Value> {
        exits(&self.calls)
    }
}

/// What an update prints on its card, under the plain key.
pub fn output(call: &Value) -> Option<&str> {
    call["_meta"]["terminal_output"]["data"].as_str()
}

/// Those of these updates that closed a card.
pub fn exits(calls: &[Value]) -> Vec<Value> {
    calls
        .iter()
        .filter(|call| !call["_meta"]["terminal_exit"].is_null())
        .cloned()
        .collect()
}

/// The update that closes a card.
pub fn closed(call: &str, status: &str, exit_code: Option<i32>, signal: Option<&str>) -> Value {
    json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": call,
        "status": status,
        "_meta": {"terminal_exit": {"terminal_id": format!("terminal-{call}"), "exit_code": exit_code, "signal": signal}},
    })
}

/// Output updates put together: how many pieces come depends on timing, what they say does not.
pub fn joined(calls: Vec<Value>) -> Vec<Value> {
    const DATA: &str = "/_meta/terminal_output/data";
    let mut joined: Vec<Value> = Vec::new();
    for call in calls {
        let piece = call
            .pointer(DATA)
            .and_then(Value::as_str)
            .map(str::to_owned);
        let before = joined.last_mut().and_then(|last| last.pointer_mut(DATA));
        match (before, piece) {
            (Some(Value::String(before)), Some(piece)) => before.push_str(&piece),
            _ => joined.push(call),
        }
    }
    joined
}
