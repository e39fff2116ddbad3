//! The release build, spoken to as an editor that draws cards does.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use inspector::model_server::{Answer, ModelServer, Script};
use placard_tests::binary;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A line of the agent, and when it was there.
struct Frame {
    at: Instant,
    /// The same moment by the clock that commands can read.
    wall: SystemTime,
    line: String,
}

/// One command from prompt to exit.
pub struct Run {
    /// From the prompt to the card's exit.
    pub took: Duration,
    /// All that the card printed.
    pub data: String,
    /// Bytes of all lines about the card, their ends included.
    pub wire: usize,
    /// Each piece of output, and when it came.
    pieces: Vec<(SystemTime, String)>,
}

impl Run {
    /// For a command that prints seconds since the epoch: how long each line took to come.
    pub fn delays(&self) -> Vec<Duration> {
        let since = |came: SystemTime, line: &str| {
            let printed = SystemTime::UNIX_EPOCH
                + Duration::from_micros(line.trim().replace('.', "").parse().expect("a time"));
            came.duration_since(printed).unwrap_or_default()
        };
        self.pieces
            .iter()
            .flat_map(|(came, text)| text.lines().map(|line| since(*came, line)))
            .collect()
    }
}

/// A running agent. It ends with this.
pub struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    frames: Receiver<Frame>,
    last_id: i64,
    home: TempDir,
    /// What it takes for a model, where that is not its own, and the runtime that serves it.
    _model: Option<(ModelServer, Runtime)>,
}

impl Agent {
    pub fn start() -> Self {
        Self::start_with(None)
    }

    /// One whose model runs these commands, one a prompt, with an hour for each: the embedded model gives them two minutes.
    pub fn unhurried(commands: &[&str]) -> Self {
        let script = commands.iter().fold(Script::new(), |script, command| {
            let args = json!({"command": command, "timeout": 3600}).to_string();
            script
                .then(Answer::new().call("c", "bash", [args]))
                .then(Answer::new().text(["Done."]))
        });
        let runtime = Runtime::new().unwrap();
        let server = {
            let _inside = runtime.enter();
            ModelServer::start(script).unwrap()
        };
        Self::start_with(Some((server, runtime)))
    }

    fn start_with(model: Option<(ModelServer, Runtime)>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let model_variables = match &model {
            None => vec![("PLACARD_MODEL", "offline".to_owned())],
            Some((server, _)) => vec![
                ("PLACARD_MODEL", "openai/gpt-bench".to_owned()),
                ("OPENAI_API_KEY", "k".to_owned()),
                ("OPENAI_BASE_URL", server.openai_base_url()),
            ],
        };
        let mut child = Command::new(binary("placard"))
            .arg("acp")
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .envs(model_variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (send, frames) = mpsc::channel();
        let mut stdout = BufReader::with_capacity(256 * 1024, child.stdout.take().unwrap());
        thread::spawn(move || {
            loop {
                let mut line = String::new();
                if !matches!(stdout.read_line(&mut line), Ok(count) if count > 0) {
                    return;
                }
                let frame = Frame {
                    at: Instant::now(),
                    wall: SystemTime::now(),
                    line,
                };
                if send.send(frame).is_err() {
                    return;
                }
            }
        });
        let mut agent = Self {
            stdin: child.stdin.take(),
            child,
            frames,
            last_id: 0,
            home,
            _model: model,
        };
        agent.call(
            "initialize",
            &json!({"protocolVersion": 1, "clientCapabilities": {"_meta": {"terminal_output": true}}}),
        );
        agent
    }

    /// A session that has run a command: its store is open, its code in memory.
    pub fn warm_session(&mut self) -> String {
        let cwd = self.home.path().to_owned();
        let answer = self.call("session/new", &json!({"cwd": cwd, "mcpServers": []}));
        let session = answer["result"]["sessionId"].as_str().unwrap().to_owned();
        self.run(&session, "true");
        session
    }

    /// Sends a prompt and does not wait.
    pub fn prompt(&mut self, session: &str, text: &str) -> i64 {
        self.send(
            "session/prompt",
            &json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]}),
        )
    }

    /// Runs a command to the end of its turn.
    pub fn run(&mut self, session: &str, command: &str) -> Run {
        let sent = Instant::now();
        let id = self.prompt(session, &format!("$ {command}"));
        let mut run = Run {
            took: Duration::ZERO,
            data: String::new(),
            wire: 0,
            pieces: Vec::new(),
        };
        for (frame, message) in self.until_answer(id) {
            let update = &message["params"]["update"];
            let of_a_call = update["sessionUpdate"]
                .as_str()
                .is_some_and(|kind| kind.starts_with("tool_call"));
            if !of_a_call || message["params"]["sessionId"] != session {
                continue;
            }
            run.wire += frame.line.len();
            if let Some(data) = update["_meta"]["terminal_output"]["data"].as_str() {
                run.data.push_str(data);
                run.pieces.push((frame.wall, data.to_owned()));
            }
            let exit = &update["_meta"]["terminal_exit"];
            if !exit.is_null() {
                // One that was ended before its end would seem quick.
                assert_eq!(exit["exit_code"], 0, "{command}: {exit}");
                run.took = frame.at - sent;
            }
        }
        assert!(!run.took.is_zero(), "{command} had no exit");
        run
    }

    /// KiB that it holds now. The peak is counted from here on.
    pub fn idle_memory(&self) -> u64 {
        let idle = self.memory("VmRSS:");
        // Where a system does not allow it, the peak is that since the start: no less.
        let _ = std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5");
        idle
    }

    /// The most KiB that it has held.
    pub fn peak_memory(&self) -> u64 {
        self.memory("VmHWM:")
    }

    fn memory(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let kib = line
            .expect("the field is there")
            .trim()
            .trim_end_matches(" kB");
        kib.parse().unwrap()
    }

    fn send(&mut self, method: &str, params: &Value) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").unwrap();
        id
    }

    fn allow(&mut self, question: &Value) {
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": "allow-once"}});
        let message = json!({"jsonrpc": "2.0", "id": question, "result": outcome});
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").unwrap();
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        let (_, answer) = self.until_answer(id).pop_back().unwrap();
        answer
    }

    /// All lines up to the answer to a request, which is the last.
    fn until_answer(&mut self, id: i64) -> VecDeque<(Frame, Value)> {
        let mut frames = VecDeque::new();
        loop {
            let frame = self.frames.recv().expect("the agent goes on");
            let message: Value = serde_json::from_str(&frame.line).expect("a line of JSON");
            if message["method"] == "session/request_permission" {
                self.allow(&message["id"]);
            }
            let is_answer = message["id"] == id && message.get("method").is_none();
            assert!(!is_answer || message.get("error").is_none(), "{message}");
            frames.push_back((frame, message));
            if is_answer {
                return frames;
            }
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It ends its commands when its client is gone.
        self.stdin = None;
        let _ = self.child.wait();
    }
}
