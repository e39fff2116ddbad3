//! The person who wants to leave: Ctrl-C is heard whatever the program waits for.

use std::time::Duration;

use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::time::timeout;

use crate::home::{Home, PATIENCE, end_of, names};

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

fn press_ctrl_c(program: &Child) {
    let id = i32::try_from(program.id().unwrap()).unwrap();
    kill_process(Pid::from_raw(id).unwrap(), Signal::INT).unwrap();
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

#[tokio::test]
async fn a_question_on_the_terminal_leaves_ctrl_c_working() {
    let home = Home::new();
    let (agent, mut told) = home.agent(ASKER);
    let mut terminal = home.terminal(&["run", "--agent", &agent, "ask"]);
    let mut keyboard = terminal.stdin.take().unwrap();
    let mut screen = terminal.stdout.take().unwrap();
    let asked =
        "Well.\r\n\r\nThe agent asks for permission: rm\r\n  1  Yes\r\nYour choice (1-1, y): ";
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
            names(home.folder())
        ),
        (Some(0), String::new(), Vec::<String>::new())
    );
}
