//! A client of few words, whose agent may die at any moment.

use std::path::Path;
use std::process::Stdio;

use placard_tests::{Home, SOON, binary};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// The agent and what it has said.
#[derive(Debug)]
pub struct Client {
    agent: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    said: Vec<u8>,
    last_id: u64,
}

/// The agent is gone.
#[derive(Debug)]
pub struct Gone;

impl Client {
    /// Starts an agent in a home, with these variables of the library.
    pub fn start(home: &Home, library: Vec<(String, String)>) -> Self {
        let mut agent = Command::new(binary("placard"))
            .arg("acp")
            .env_clear()
            .envs(home.environment())
            .envs(library)
            .current_dir(home.work_folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self {
            stdin: agent.stdin.take(),
            lines: BufReader::new(agent.stdout.take().unwrap()).lines(),
            agent,
            said: Vec::new(),
            last_id: 0,
        }
    }

    /// Kills it.
    pub fn kill(&mut self) {
        // It may have come to its end already.
        let _ = self.agent.start_kill();
    }

    /// Introduces a client that draws cards.
    pub async fn greet(&mut self) -> Result<Value, Gone> {
        let capabilities = json!({"_meta": {"terminal_output": true}});
        let hello = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        self.call("initialize", hello).await
    }

    /// Opens a session in a folder, and gives its name.
    pub async fn open(&mut self, work: &Path) -> Result<Value, Gone> {
        let here = json!({"cwd": work, "mcpServers": []});
        let answer = self.call("session/new", here).await?;
        Ok(answer["result"]["sessionId"].clone())
    }

    /// A turn.
    pub async fn prompt(&mut self, session: &Value, text: &str) -> Result<Value, Gone> {
        let prompt = json!([{"type": "text", "text": text}]);
        let params = json!({"sessionId": session, "prompt": prompt});
        self.call("session/prompt", params).await
    }

    /// Sends a request, whose id tells its method, and reads on until its answer.
    pub async fn call(&mut self, method: &str, params: Value) -> Result<Value, Gone> {
        self.last_id += 1;
        let id = format!("{method} {}", self.last_id);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await?;
        self.until(|message| message["id"] == *id && message.get("method").is_none())
            .await
    }

    async fn send(&mut self, message: &Value) -> Result<(), Gone> {
        let line = format!("{message}\n");
        let stdin = self.stdin.as_mut().expect("it is closed at the end");
        let written = stdin.write_all(line.as_bytes()).await;
        written.map_err(|_| Gone)
    }

    /// Reads on until a message is as wanted, and allows whatever is asked for.
    pub async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<Value, Gone> {
        loop {
            let message = self.next().await.ok_or(Gone)?;
            if message["method"] == "session/request_permission" {
                let outcome = json!({"outcome": {"outcome": "selected", "optionId": "allow-once"}});
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": outcome}))
                    .await?;
            }
            if wanted(&message) {
                return Ok(message);
            }
        }
    }

    /// The next whole line; what was torn is left out.
    async fn next(&mut self) -> Option<Value> {
        let line = tokio::time::timeout(SOON, self.lines.next_line())
            .await
            .expect("the program says something or ends")
            .unwrap()?;
        let message = serde_json::from_str(&line).ok()?;
        self.said.extend_from_slice(line.as_bytes());
        self.said.push(b'\n');
        Some(message)
    }

    /// Closes the agent's input, waits for its end and that of all that it has started, and gives all that it said.
    pub async fn finish(mut self, home: &Home) -> Vec<u8> {
        self.stdin = None;
        while self.next().await.is_some() {}
        tokio::time::timeout(SOON, self.agent.wait())
            .await
            .expect("the program ends")
            .unwrap();
        home.quiet(SOON).await;
        self.said
    }
}
