//! An editor of few words: speaks ACP to the program and keeps every line of it.

use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use placard_tests::{Home, Program, SOON, binary};
use serde_json::{Value, json};

/// What the program said, and when.
#[derive(Debug, Clone)]
pub struct Frame {
    pub at: Instant,
    pub message: Value,
}

pub struct Editor {
    pub program: Program,
    /// Everything that the program has sent.
    pub frames: Vec<Frame>,
    last_id: i64,
}

/// The capabilities of a client that draws cards and takes the plain key.
pub fn draws_cards() -> Value {
    json!({"_meta": {"terminal_output": true}})
}

impl Editor {
    /// Starts the program; nothing is said yet.
    pub fn start(home: &Home) -> Self {
        Self {
            program: Program::start(home, &binary("placard"), &["acp"]),
            frames: Vec::new(),
            last_id: 0,
        }
    }

    /// Speaks to a program that was started otherwise.
    pub fn from(program: Program) -> Self {
        Self {
            program,
            frames: Vec::new(),
            last_id: 0,
        }
    }

    /// Starts the program and introduces a client with these capabilities.
    pub async fn connect(home: &Home, capabilities: Value) -> Self {
        let mut editor = Self::start(home);
        let answer = editor
            .call(
                "initialize",
                json!({"protocolVersion": 1, "clientCapabilities": capabilities}),
            )
            .await;
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
        editor
    }

    /// Opens a session in a folder.
    pub async fn session(&mut self, cwd: &Path) -> String {
        let answer = self
            .call("session/new", json!({"cwd": cwd, "mcpServers": []}))
            .await;
        answer["result"]["sessionId"]
            .as_str()
            .unwrap_or_else(|| panic!("no session: {answer}"))
            .to_owned()
    }

    /// Sends a request and does not wait.
    pub async fn send(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        self.program
            .send_line(
                &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
                    .to_string(),
            )
            .await;
        id
    }

    /// Sends a prompt of one text and does not wait.
    pub async fn prompt(&mut self, session: &str, text: &str) -> i64 {
        self.send(
            "session/prompt",
            json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]}),
        )
        .await
    }

    pub async fn notify(&mut self, method: &str, params: Value) {
        self.program
            .send_line(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string())
            .await;
    }

    pub async fn cancel(&mut self, session: &str) {
        self.notify("session/cancel", json!({"sessionId": session}))
            .await;
    }

    /// Answers a request of the agent.
    pub async fn answer(&mut self, id: &Value, result: Value) {
        self.program
            .send_line(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())
            .await;
    }

    /// The next message of the program.
    pub async fn next(&mut self) -> Value {
        let line = self
            .program
            .next_line(SOON)
            .await
            .expect("the program closed its output");
        let message: Value = serde_json::from_str(&line)
            .unwrap_or_else(|fault| panic!("not JSON on stdout ({fault}): {line:?}"));
        self.frames.push(Frame {
            at: Instant::now(),
            message: message.clone(),
        });
        message
    }

    /// Reads on until a message is as wanted, and gives it.
    pub async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next().await;
            if wanted(&message) {
                return message;
            }
        }
    }

    /// Reads on until the answer to a request.
    pub async fn response(&mut self, id: i64) -> Value {
        self.until(|message| message["id"] == id && message.get("method").is_none())
            .await
    }

    /// Sends a request and reads on until its answer.
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        self.response(id).await
    }

    /// One prompt from beginning to end: its answer.
    pub async fn turn(&mut self, session: &str, text: &str) -> Value {
        let id = self.prompt(session, text).await;
        self.response(id).await
    }

    /// The updates of a session so far, in order.
    pub fn updates(&self, session: &str) -> Vec<Value> {
        self.frames
            .iter()
            .map(|frame| &frame.message)
            .filter(|message| {
                message["method"] == "session/update" && message["params"]["sessionId"] == session
            })
            .map(|message| message["params"]["update"].clone())
            .collect()
    }

    /// The updates of a session that concern tool calls.
    pub fn calls(&self, session: &str) -> Vec<Value> {
        self.updates(session)
            .into_iter()
            .filter(|update| {
                update["sessionUpdate"]
                    .as_str()
                    .is_some_and(|kind| kind.starts_with("tool_call"))
            })
            .collect()
    }

    /// What the agent said in a session.
    pub fn said(&self, session: &str) -> String {
        self.updates(session)
            .iter()
            .filter(|update| update["sessionUpdate"] == "agent_message_chunk")
            .filter_map(|update| update["content"]["text"].as_str())
            .collect()
    }

    /// All that a session's cards printed.
    pub fn printed(&self, session: &str) -> String {
        self.calls(session)
            .iter()
            .filter_map(|update| update["_meta"]["terminal_output"]["data"].as_str())
            .collect()
    }

    /// Closes the program's input and reads what it still says.
    pub async fn rest(&mut self) {
        self.program.close_stdin();
        while let Some(line) = self.program.next_line(SOON).await {
            let message = serde_json::from_str(&line).expect("JSON on stdout");
            let at = Instant::now();
            self.frames.push(Frame { at, message });
        }
    }

    /// Closes the program's input and waits for its end.
    pub async fn close(&mut self, within: Duration) -> ExitStatus {
        self.program.close_stdin();
        self.program.ended(within).await
    }
}
