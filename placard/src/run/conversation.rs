//! A page in a terminal: requests to the agent, and what it says.

use std::collections::VecDeque;

use acp_client::Page;
use serde_json::{Value, json};

/// Something that was heard.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Heard {
    /// The agent's state: `starting`, `running` or `ended`, and why.
    Agent {
        /// The state.
        state: String,
        /// Its name.
        name: String,
        /// When ended.
        message: Option<String>,
    },
    /// A `session/update`.
    Update {
        /// Milliseconds of Unix time.
        t: u64,
        /// The session's id.
        session: String,
        /// The update.
        update: Value,
    },
    /// A request of the agent.
    Question {
        /// Milliseconds of Unix time.
        t: u64,
        /// Its id.
        id: Value,
        /// What it wants.
        method: String,
        /// Its parameters.
        params: Value,
    },
    /// The answer to a request of ours: the result, or the error.
    Answer {
        /// Milliseconds of Unix time.
        t: u64,
        /// The request's id.
        id: u64,
        /// What came of it.
        outcome: Result<Value, Value>,
    },
}

/// The page.
#[derive(Debug)]
pub(crate) struct Conversation {
    page: Page,
    heard: VecDeque<Heard>,
    last_id: u64,
}

impl Conversation {
    /// A conversation over an attached page.
    pub(crate) fn new(page: Page) -> Self {
        Self {
            page,
            heard: VecDeque::new(),
            last_id: 0,
        }
    }

    /// Sends a request and gives its id.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.frame(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &str, params: Value) {
        self.frame(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    /// Answers a question.
    pub(crate) async fn answer(&self, id: &Value, result: Value) {
        self.frame(json!({"jsonrpc": "2.0", "id": id, "result": result}))
            .await;
    }

    /// Answers a question that is not understood here.
    pub(crate) async fn refuse(&self, id: &Value, method: &str) {
        let message = format!("{method} is not known to this client");
        self.frame(
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": message}}),
        )
        .await;
    }

    /// What is heard next; `None` when the hub has ended. Cancel-safe: acknowledging never waits.
    pub(crate) async fn hear(&mut self) -> Option<Heard> {
        loop {
            if let Some(heard) = self.heard.pop_front() {
                return Some(heard);
            }
            let text = self.page.next().await?;
            match serde_json::from_str(&text) {
                Ok(envelope) => {
                    if let Some(last) = read_envelope(&envelope, &mut self.heard) {
                        self.send(&json!({"type": "ack", "n": last})).await;
                    }
                }
                // The hub lets nothing pass that cannot be read: going on without it would be to wait for ever.
                Err(error) => {
                    tracing::error!(%error, "the hub sent what is no envelope");
                    return None;
                }
            }
        }
    }

    async fn frame(&self, frame: Value) {
        self.send(&json!({"type": "frame", "frame": frame})).await;
    }

    async fn send(&self, envelope: &Value) {
        if let Err(error) = self.page.send(&envelope.to_string()).await {
            tracing::debug!(%error, "the hub took no message");
        }
    }
}

/// Puts what an envelope holds into `heard`; gives the number to acknowledge.
fn read_envelope(envelope: &Value, heard: &mut VecDeque<Heard>) -> Option<u64> {
    match envelope["type"].as_str() {
        Some("attached" | "agent") => {
            let agent = &envelope["agent"];
            let text = |field: &str| agent[field].as_str().map(str::to_owned);
            heard.push_back(Heard::Agent {
                state: text("state").unwrap_or_default(),
                name: text("name").unwrap_or_default(),
                message: text("message"),
            });
            None
        }
        Some("frames") => {
            let frames = envelope["frames"].as_array()?;
            heard.extend(
                frames
                    .iter()
                    .filter(|entry| entry["dir"] == "a2c")
                    .filter_map(read_frame),
            );
            frames
                .iter()
                .filter_map(|entry| entry["n"].as_u64())
                .max()
                .filter(|last| *last > 0)
        }
        _ => None,
    }
}

fn read_frame(entry: &Value) -> Option<Heard> {
    let frame = &entry["frame"];
    let t = entry["t"].as_u64().unwrap_or_default();
    let params = &frame["params"];
    match (
        frame["method"].as_str(),
        frame.get("id").filter(|id| !id.is_null()),
    ) {
        (Some(method), Some(id))
            if !method.starts_with("fs/") && !method.starts_with("terminal/") =>
        {
            Some(Heard::Question {
                t,
                id: id.clone(),
                method: method.to_owned(),
                params: params.clone(),
            })
        }
        (Some("session/update"), None) => Some(Heard::Update {
            t,
            session: params["sessionId"].as_str()?.to_owned(),
            update: params["update"].clone(),
        }),
        (None, Some(id)) if entry["own"] == true => {
            let outcome = match frame.get("error") {
                Some(error) => Err(error.clone()),
                None => Ok(frame["result"].clone()),
            };
            Some(Heard::Answer {
                t,
                id: id.as_u64()?,
                outcome,
            })
        }
        // Answers to others, and what the hub has answered already.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn envelopes_are_read_in_order() {
        let entry = |n: u64, frame: Value| json!({"n": n, "t": 7, "dir": "a2c", "frame": frame});
        let mut own = entry(5, json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 3}}));
        own["own"] = json!(true);
        let envelope = json!({"type": "frames", "frames": [
            {"n": 1, "t": 7, "dir": "c2a", "frame": {"id": 1, "method": "initialize"}},
            entry(2, json!({"id": 1, "result": {}})),
            entry(3, json!({"method": "session/update", "params": {"sessionId": "s", "update": {"a": 1}}})),
            entry(4, json!({"id": "q", "method": "session/request_permission", "params": {"p": 1}})),
            own,
            entry(6, json!({"id": 0, "method": "fs/read_text_file"})),
        ]});
        let mut heard = VecDeque::new();
        assert_eq!(read_envelope(&envelope, &mut heard), Some(6));
        assert_eq!(
            heard,
            [
                Heard::Update {
                    t: 7,
                    session: "s".into(),
                    update: json!({"a": 1})
                },
                Heard::Question {
                    t: 7,
                    id: json!("q"),
                    method: "session/request_permission".into(),
                    params: json!({"p": 1})
                },
                Heard::Answer {
                    t: 7,
                    id: 1,
                    outcome: Err(json!({"code": 3}))
                },
            ]
        );
        heard.clear();
        let ended =
            json!({"type": "agent", "agent": {"state": "ended", "name": "a", "message": "gone"}});
        assert_eq!(read_envelope(&ended, &mut heard), None);
        assert_eq!(
            heard,
            [Heard::Agent {
                state: "ended".into(),
                name: "a".into(),
                message: Some("gone".into())
            }]
        );
    }
}
