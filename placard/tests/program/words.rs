//! What the program says to a person, and hears from one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use pretty_assertions::assert_eq;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::process::Command;
use tokio::time::timeout;

use crate::home::{Home, PATIENCE, end_of};
use crate::person::Person;

/// Asks for permission twice and ends its turn; before that it waits for a line where it is given a place for one.
/// Tells the answers.
const ASKER: &str = r#"
import json, sys
told = open(sys.argv[1], "w", buffering=1)
def say(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def ask(number):
    say(id=number, method="session/request_permission", params={"sessionId": "s",
        "toolCall": {"toolCallId": "c", "title": "rm"},
        "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"},
                    {"optionId": "no", "name": "No", "kind": "reject_once"}]})
prompt = None
for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "initialize": say(id=message["id"], result={"protocolVersion": 1})
        case "session/new": say(id=message["id"], result={"sessionId": "s"})
        case "session/prompt":
            prompt = message["id"]
            if len(sys.argv) > 2: open(sys.argv[2]).readline()
            ask(1)
        case None:
            print(message["result"]["outcome"]["optionId"], file=told)
            if message["id"] == 1: ask(2)
            else: say(id=prompt, result={"stopReason": "end_turn"})
"#;

#[tokio::test]
async fn what_is_typed_before_the_question_is_no_answer_to_it() {
    let home = Home::new();
    let (agent, mut told) = home.agent(ASKER);
    let go = home.pipe("go");
    let mut terminal = home.terminal(&["run", "--agent", &format!("{agent} {go}"), "ask"]);
    let mut person = Person::at(&mut terminal);
    let mut hear = async || timeout(PATIENCE, told.next_line()).await.unwrap().unwrap();
    // A whole line and half of one, echoed: the terminal has them.
    person.types("1\n1").await;
    person.sees("1\r\n1").await;
    let mut sender = pipe::OpenOptions::new()
        .read_write(true)
        .open_sender(&go)
        .unwrap();
    sender.write_all(b"go\n").await.unwrap();
    let question = "\r\nThe agent asks for permission: rm\r\n  1  Yes\r\n  2  No\r\n";
    let line = "Your choice (1-2, y, n): ";
    person.sees(&format!("{question}{line}")).await;
    person.types("2\n").await;
    assert_eq!(hear().await.as_deref(), Some("no"));
    person.sees(&format!("2\r\n{question}{line}")).await;
    // What is unclear is asked again.
    person.types("what?\n").await;
    person.sees(&format!("what?\r\n{line}")).await;
    person.types("Y\n").await;
    assert_eq!(hear().await.as_deref(), Some("yes"));
    assert_eq!(end_of(&mut terminal).await.code(), Some(0));
}

#[tokio::test]
async fn a_refusal_without_a_terminal_is_explained_once() {
    let why = "placard: the agent asked for permission and there is no terminal to ask you on, so it was refused. \
               To let it do what it asks for: --permission allow\n";
    let table: [(&[&str], &str); 3] = [
        (&[], why),
        (&["--permission", "reject"], ""),
        (&["--permission", "allow"], ""),
    ];
    for (arguments, words) in table {
        let home = Home::new();
        let (agent, _told) = home.agent(ASKER);
        let program = home.run(&[arguments, &["--agent", &agent, "ask"]].concat());
        let output = timeout(PATIENCE, program.wait_with_output())
            .await
            .expect("the program ends")
            .unwrap();
        assert_eq!(
            (
                output.status.code(),
                String::from_utf8_lossy(&output.stderr)
            ),
            (Some(0), words.into()),
            "{arguments:?}"
        );
    }
}

#[tokio::test]
async fn a_folder_that_no_agent_can_be_told_of_is_refused() {
    let home = Home::new();
    let latin = home.folder().join(OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&latin).unwrap();
    let words = format!(
        "placard: the folder {} has a name that is not UTF-8, and agents are told of folders in UTF-8 only. \
         Rename it, or give another folder with --cwd\n",
        latin.display()
    );
    let table: [(&[&str], bool); 4] = [
        (&["run", "hello"], true),
        (&["run", "hello"], false),
        (&["serve"], true),
        (&["serve"], false),
    ];
    for (arguments, inside) in table {
        let mut command = Command::new(env!("CARGO_BIN_EXE_placard"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", home.folder());
        if inside {
            command.current_dir(&latin);
        } else {
            command.current_dir(home.folder()).arg("--cwd").arg(&latin);
        }
        let output = timeout(PATIENCE, command.kill_on_drop(true).output())
            .await
            .expect("the program ends")
            .unwrap();
        assert_eq!(
            (
                output.status.code(),
                String::from_utf8_lossy(&output.stderr)
            ),
            (Some(2), words.as_str().into()),
            "{arguments:?} {inside}"
        );
    }
}

#[tokio::test]
async fn an_agent_for_editors_says_so_to_a_person() {
    let home = Home::new();
    for (key, echo, status) in [("\x03", "^C", 130), ("\x04", "", 0)] {
        let mut terminal = home.terminal(&["acp"]);
        let mut person = Person::at(&mut terminal);
        person
            .sees(
                "placard: `acp` speaks JSON-RPC to an editor that starts it. End it with Ctrl-D or Ctrl-C; \
                 for people there are `placard run` and `placard serve`\r\n",
            )
            .await;
        person.types(key).await;
        person.sees(echo).await;
        assert_eq!(end_of(&mut terminal).await.code(), Some(status), "{key:?}");
    }
}
