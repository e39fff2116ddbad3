//! A short conversation that does everything that a session writes down, with an agent that may die of it.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use inspector::model_server::{Answer, ModelServer, Script};
use placard_tests::{Home, SOON, binary};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::library::{Order, Watch};
use crate::store::Kept;

/// How many calls there are: `call-1` and so on.
pub const CALLS: u32 = 6;

/// The call whose command goes on in the background.
pub const BACKGROUND: &str = "call-4";

/// What happens to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sabotage {
    /// What the library in front of it was told.
    Order(Order),
    /// It is killed after this time, with no library in front of it.
    KillAfter(Duration),
}

impl std::fmt::Display for Sabotage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Order(Order::Kill(when, at)) => write!(formatter, "{when} {at}"),
            Self::Order(order) => write!(formatter, "{order:?}"),
            Self::KillAfter(time) => write!(formatter, "{} ms", time.as_millis()),
        }
    }
}

/// What is left of a conversation.
#[derive(Debug)]
pub struct Aftermath {
    pub home: Home,
    /// Everything that the program has said.
    pub said: Vec<u8>,
    pub watch: Watch,
    /// It came to its end.
    pub finished: bool,
}

impl Aftermath {
    /// The calls whose commands have begun to run.
    pub fn ran(&self) -> BTreeSet<String> {
        let mark = |number: &u32| {
            self.home
                .work_folder()
                .join(format!("mark-{number}"))
                .exists()
        };
        let ran = (1..=CALLS).filter(mark);
        ran.map(|number| format!("call-{number}")).collect()
    }
}

/// What the model says. Each command leaves a mark first: that it has run.
fn script() -> Script {
    let bash = |command: &str, background: bool| {
        json!({"command": command, "run_in_background": background}).to_string()
    };
    Script::new()
        .then(
            Answer::new()
                .reasoning(["First ", "I look."])
                .text(["I look ", "around."])
                .usage(100, 20)
                .call("m1", "bash", [bash("touch mark-1; echo one", false)])
                .call(
                    "m2",
                    "bash",
                    [bash("touch mark-2; echo no >&2; exit 3", false)],
                ),
        )
        .then(Answer::new().call("m3", "bash", [bash("touch mark-3; seq 20000", false)]))
        .then(
            Answer::new()
                .reasoning(["Something slow."])
                .call(
                    "m4",
                    "bash",
                    [bash(
                        "touch mark-4; echo begun; until [ -e go ]; do sleep 0.01; done; echo over",
                        true,
                    )],
                )
                .call("m5", "bash", [bash("touch mark-5; echo five", false)]),
        )
        .then(Answer::new().text(["It is ", "done."]).usage(200, 10))
        .then(Answer::new().call("m6", "bash", [bash("touch mark-6; echo six", false)]))
        .then(Answer::new().text(["And again."]))
}

struct Client {
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    said: Vec<u8>,
    last_id: i64,
}

/// The program is gone.
struct Gone;

/// Talks to a fresh agent, which keeps its sessions in that way, while this goes wrong.
pub async fn converse(kept: Kept, sabotage: &Sabotage) -> Aftermath {
    let mut home = Home::new();
    let server = ModelServer::start(script()).unwrap();
    home.set("PLACARD_MODEL", "openai/gpt-test");
    home.set("OPENAI_API_KEY", "key-for-tests");
    home.set("OPENAI_BASE_URL", &server.openai_base_url());
    std::fs::write(home.config_folder().join("config.toml"), kept.config()).unwrap();
    let watch = Watch::new(&home.path().join("data"), home.path());
    let mut child = match sabotage {
        Sabotage::Order(order) => {
            watch.order(order);
            start(&home, watch.environment())
        }
        Sabotage::KillAfter(_) => start(&home, Vec::new()),
    };
    let mut client = Client {
        stdin: child.stdin.take().unwrap(),
        lines: BufReader::new(child.stdout.take().unwrap()).lines(),
        said: Vec::new(),
        last_id: 0,
    };
    let finished = if let Sabotage::KillAfter(time) = sabotage {
        let talked = tokio::time::timeout(*time, client.talk(&home)).await;
        // It may have come to its end before.
        let _ = child.start_kill();
        talked.is_ok_and(|talked| talked.is_ok())
    } else {
        client.talk(&home).await.is_ok()
    };
    let Client {
        stdin,
        mut lines,
        mut said,
        ..
    } = client;
    drop(stdin);
    while let Some(line) = next_line(&mut lines).await {
        keep(&mut said, &line);
    }
    tokio::time::timeout(SOON, child.wait())
        .await
        .expect("the program ends")
        .unwrap();
    home.quiet(SOON).await;
    Aftermath {
        home,
        said,
        watch,
        finished,
    }
}

fn start(home: &Home, library: Vec<(String, String)>) -> Child {
    Command::new(binary("placard"))
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
        .unwrap()
}

async fn next_line(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<String> {
    tokio::time::timeout(SOON, lines.next_line())
        .await
        .expect("the program says something or ends")
        .unwrap()
}

fn keep(said: &mut Vec<u8>, line: &str) {
    said.extend_from_slice(line.as_bytes());
    // A line that was torn has no end, and is no JSON either.
    if serde_json::from_str::<Value>(line).is_ok() {
        said.push(b'\n');
    }
}

impl Client {
    async fn talk(&mut self, home: &Home) -> Result<(), Gone> {
        let capabilities = json!({"_meta": {"terminal_output": true}});
        let hello = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        self.call("initialize", hello).await?;
        let answer = self
            .call(
                "session/new",
                json!({"cwd": home.work_folder(), "mcpServers": []}),
            )
            .await?;
        let session = answer["result"]["sessionId"].clone();
        let prompt =
            |text: &str| json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
        self.call("session/prompt", prompt("Do some work.")).await?;
        std::fs::write(home.work_folder().join("go"), "").unwrap();
        self.until(|message| {
            let update = &message["params"]["update"];
            update["toolCallId"] == BACKGROUND && !update["_meta"]["terminal_exit"].is_null()
        })
        .await?;
        self.call("session/prompt", prompt("And once more."))
            .await?;
        Ok(())
    }

    async fn call(&mut self, method: &str, params: Value) -> Result<Value, Gone> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await?;
        self.until(|message| message["id"] == id && message.get("method").is_none())
            .await
    }

    async fn send(&mut self, message: &Value) -> Result<(), Gone> {
        let line = format!("{message}\n");
        self.stdin
            .write_all(line.as_bytes())
            .await
            .map_err(|_| Gone)
    }

    /// Reads on, allowing whatever is asked for.
    async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<Value, Gone> {
        loop {
            let line = next_line(&mut self.lines).await.ok_or(Gone)?;
            keep(&mut self.said, &line);
            let message: Value = serde_json::from_str(&line).map_err(|_| Gone)?;
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
}
