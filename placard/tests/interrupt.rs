//! `placard run` and the person who wants to leave: Ctrl-C is heard whatever the program waits for.

// The lints know only test functions as tests, not what serves them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use pretty_assertions::assert_eq;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// Nothing here takes longer, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// Says more in its turn than any pipe holds, tells the test of its progress over a pipe with a name, and never ends
/// its turn. Its argument is that pipe.
const TALKER: &str = r#"
import json, sys
told = open(sys.argv[1], "w", buffering=1)
def say(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    match message["method"]:
        case "initialize": say(id=message["id"], result={"protocolVersion": 1})
        case "session/new": say(id=message["id"], result={"sessionId": "s"})
        case "session/prompt":
            chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "word " * 200}}
            for _ in range(2000): say(method="session/update", params={"sessionId": "s", "update": chunk})
            print("talked", file=told)
        case "session/cancel": print("cancelled", file=told)
"#;

/// A home of its own, with an agent in it.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// The command line of an agent in Python, and what it tells.
    fn agent(&self, script: &str) -> (String, Lines<BufReader<pipe::Receiver>>) {
        let (program, told) = (self.path("agent.py"), self.path("told"));
        std::fs::write(&program, script).unwrap();
        mknodat(CWD, &told, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let receiver = pipe::OpenOptions::new()
            .read_write(true)
            .open_receiver(&told)
            .unwrap();
        (
            format!("python3 {program} {told}"),
            BufReader::new(receiver).lines(),
        )
    }

    /// Starts `placard run` with pipes that nobody reads or writes.
    fn run(&self, arguments: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_placard"))
            .arg("run")
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.0.path())
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap()
    }
}

fn press_ctrl_c(program: &Child) {
    let id = i32::try_from(program.id().unwrap()).unwrap();
    kill_process(Pid::from_raw(id).unwrap(), Signal::INT).unwrap();
}

async fn end_of(program: &mut Child) -> ExitStatus {
    timeout(PATIENCE, program.wait())
        .await
        .expect("the program ends")
        .unwrap()
}

/// Waits until the program hears signals itself; nothing announces that.
async fn hears_signals(program: &Child) {
    let status = format!("/proc/{}/status", program.id().unwrap());
    let caught = || {
        let text = std::fs::read_to_string(&status).unwrap();
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        u64::from_str_radix(mask.unwrap().trim(), 16).unwrap()
    };
    let hang_up = 1 << (Signal::HUP.as_raw() - 1);
    let interrupt = 1 << (Signal::INT.as_raw() - 1);
    let all = hang_up | interrupt;
    timeout(PATIENCE, async {
        while caught() & all != all {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("the program hears signals");
}

#[tokio::test]
async fn a_reader_that_stalls_stops_neither_the_agent_nor_ctrl_c() {
    for form in [&["--json"][..], &[]] {
        let home = Home::new();
        let (agent, mut told) = home.agent(TALKER);
        let mut program = home.run(&[form, &["--agent", &agent, "talk"]].concat());
        let mut hear = async || timeout(PATIENCE, told.next_line()).await;
        // The agent is not held up...
        assert_eq!(hear().await.unwrap().unwrap().as_deref(), Some("talked"));
        // ...the first Ctrl-C reaches it, and the second does not wait for it.
        press_ctrl_c(&program);
        assert_eq!(hear().await.unwrap().unwrap().as_deref(), Some("cancelled"));
        press_ctrl_c(&program);
        assert_eq!(end_of(&mut program).await.code(), Some(130), "{form:?}");
    }
}

#[tokio::test]
async fn ctrl_c_is_heard_while_the_prompt_is_read() {
    let home = Home::new();
    let mut program = home.run(&["-"]);
    // Waiting for a program closes its stdin.
    let _open = program.stdin.take();
    hears_signals(&program).await;
    press_ctrl_c(&program);
    assert_eq!(end_of(&mut program).await.code(), Some(130));
}

/// Asks more than it has answers read for.
const CURIOUS: &str = r#"
import json, sys, time
told = open(sys.argv[1], "w", buffering=1)
def say(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
say(id=1, result={"protocolVersion": 1})
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "session/new": say(id=message["id"], result={"sessionId": "s"})
    if message["method"] == "session/prompt": break
for number in range(5000):
    say(id=number, method="session/request_permission", params={"sessionId": "s", "toolCall": {"toolCallId": "c"},
        "options": [{"optionId": "n", "name": "No", "kind": "reject_once"}]})
print("asked", file=told)
time.sleep(600)
"#;

#[tokio::test]
async fn an_agent_that_does_not_read_leaves_ctrl_c_working() {
    let home = Home::new();
    let (agent, mut told) = home.agent(CURIOUS);
    let mut program = home.run(&["--agent", &agent, "ask"]);
    let asked = timeout(PATIENCE, told.next_line()).await.unwrap().unwrap();
    assert_eq!(asked.as_deref(), Some("asked"));
    // Nothing tells that the first was heard: the agent hears nothing.
    let status = timeout(PATIENCE, async {
        loop {
            press_ctrl_c(&program);
            if let Ok(status) = timeout(Duration::from_millis(100), program.wait()).await {
                return status.unwrap();
            }
        }
    });
    assert_eq!(status.await.expect("the program ends").code(), Some(130));
}

/// Says a word, asks for permission, and tells what it hears then.
const ASKER: &str = r#"
import json, sys
told = open(sys.argv[1], "w", buffering=1)
def say(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "initialize": say(id=message["id"], result={"protocolVersion": 1})
        case "session/new": say(id=message["id"], result={"sessionId": "s"})
        case "session/prompt":
            chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Well."}}
            say(method="session/update", params={"sessionId": "s", "update": chunk})
            say(id="q", method="session/request_permission", params={"sessionId": "s",
                "toolCall": {"toolCallId": "c", "title": "rm"},
                "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]})
        case "session/cancel": print("cancelled", file=told)
        case None: print(json.dumps(message["result"]["outcome"]), file=told)
"#;

/// A program in a terminal of its own: what is typed comes through a pipe, what it shows goes to one.
const TERMINAL: &str =
    "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

#[tokio::test]
async fn a_question_on_the_terminal_leaves_ctrl_c_working() {
    let home = Home::new();
    let (agent, mut told) = home.agent(ASKER);
    let mut terminal = Command::new("python3")
        .args(["-c", TERMINAL, env!("CARGO_BIN_EXE_placard"), "run"])
        .args(["--agent", &agent, "ask"])
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", home.0.path())
        .env("TERM", "dumb")
        .current_dir(home.0.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut keyboard = terminal.stdin.take().unwrap();
    let mut screen = terminal.stdout.take().unwrap();
    let asked = "Well.\r\n\r\nThe agent asks for permission: rm\r\n  1  Yes\r\nYour choice (1-1): ";
    let mut shown = vec![0; asked.len()];
    timeout(PATIENCE, screen.read_exact(&mut shown))
        .await
        .expect("the question is asked")
        .unwrap();
    assert_eq!(String::from_utf8(shown).unwrap(), asked);

    let mut hear = async || timeout(PATIENCE, told.next_line()).await.unwrap().unwrap();
    keyboard.write_all(b"\x03").await.unwrap();
    assert_eq!(
        [hear().await.unwrap(), hear().await.unwrap()],
        ["cancelled", r#"{"outcome": "cancelled"}"#]
    );
    keyboard.write_all(b"\x03").await.unwrap();
    let mut rest = String::new();
    timeout(PATIENCE, screen.read_to_string(&mut rest))
        .await
        .expect("the terminal is closed")
        .unwrap();
    assert_eq!(
        (rest.as_str(), end_of(&mut terminal).await.code()),
        ("^C^Cplacard: cancelled\r\n", Some(130))
    );
}

#[tokio::test]
async fn another_programs_turn_leaves_nothing_in_the_home() {
    let home = Home::new();
    let agent = r#"sh -c 'while read line; do echo "{\"jsonrpc\":\"2.0\",\"id\":$((n+=1)),\"result\":{\"protocolVersion\":1,\"sessionId\":\"s\",\"stopReason\":\"end_turn\"}}"; done'"#;
    let program = home.run(&["--agent", agent, "hello"]);
    let output = timeout(PATIENCE, program.wait_with_output())
        .await
        .expect("the program ends")
        .unwrap();
    assert_eq!(
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
            names(home.0.path())
        ),
        (Some(0), String::new(), Vec::<String>::new())
    );
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}
