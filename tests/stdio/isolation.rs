//! Many sessions on one connection share nothing but the store (sessions.md, section 6).

mod crossing;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use inspector::model_server::{Answer, Script};
use placard_tests::{Home, SOON, until};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use self::crossing::{Wire, crossings};
use crate::editor::{Editor, draws_cards};
use crate::scripted::{Scripted, bash, finished};
use crate::seen::Seen;

const SESSIONS: usize = 20;

/// What happens to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It streams to its end.
    Streams,
    /// It is cancelled while it runs.
    Cancelled,
    /// It is closed while it runs.
    Closed,
    /// It fails, is loaded again, and goes on.
    Fails,
    /// It leaves a process running.
    Leaves,
}

const FATES: [Fate; 5] = [
    Fate::Streams,
    Fate::Cancelled,
    Fate::Closed,
    Fate::Fails,
    Fate::Leaves,
];

fn fate(nth: usize) -> Fate {
    FATES[nth % FATES.len()]
}

/// Stands in everything of one session, and in nothing of another.
fn mark(nth: usize) -> String {
    format!("mark-{nth:02}-")
}

/// The process that a session starts; each sleeps for a time of its own, so that it can be told from others.
fn process(nth: usize) -> String {
    format!("sleep 10{nth:02}")
}

/// A command that waits until those of all sessions run.
fn prompt(nth: usize, shared: &str) -> String {
    let (mark, process) = (mark(nth), process(nth));
    let end = match fate(nth) {
        Fate::Streams => format!("for n in 1 2 3 4 5; do echo {mark}$n; sleep 0.03; done"),
        Fate::Cancelled | Fate::Closed => {
            format!("{process} & echo {mark}begun; wait")
        }
        Fate::Fails => format!("echo {mark}fails; exit 7"),
        Fate::Leaves => format!("{process} & echo {mark}leaves"),
    };
    format!(
        "$ pwd; touch {shared}/{nth}; until [ $(ls {shared} | wc -l) -eq {SESSIONS} ]; do sleep 0.02; done; {end}"
    )
}

/// A client that records both directions.
struct Desk {
    editor: Editor,
    wire: Vec<Wire>,
    /// Requests that were not answered yet.
    open: BTreeMap<i64, (&'static str, usize)>,
}

impl Desk {
    async fn send(&mut self, method: &'static str, nth: usize, params: Value) {
        let id = self.editor.send(method, params.clone()).await;
        let message = json!({"id": id, "method": method, "params": params});
        self.wire.push(Wire::Ours(message));
        self.open.insert(id, (method, nth));
    }

    async fn prompt(&mut self, session: &str, nth: usize, text: &str) {
        let blocks = json!([{"type": "text", "text": text}]);
        let params = json!({"sessionId": session, "prompt": blocks});
        self.send("session/prompt", nth, params).await;
    }

    async fn cancel(&mut self, session: &str) {
        self.editor.cancel(session).await;
        let params = json!({"sessionId": session});
        let message = json!({"method": "session/cancel", "params": params});
        self.wire.push(Wire::Ours(message));
    }

    async fn next(&mut self) -> Value {
        let message = self.editor.next().await;
        self.wire.push(Wire::Agents(message.clone()));
        message
    }
}

/// Which of the processes that sessions start still run.
fn processes(home: &Home) -> Vec<String> {
    let mut left: Vec<String> = home
        .left_running()
        .into_iter()
        .map(|process| process.command)
        .filter(|command| command.starts_with("sleep 10"))
        .collect();
    left.sort();
    left
}

#[tokio::test]
async fn twenty_sessions_stream_cancel_close_and_fail_at_once_and_nothing_crosses_over() {
    let home = Home::new();
    let shared = home.folder("tmp/shared").display().to_string();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let mut sessions = Vec::new();
    let mut folders = Vec::new();
    for nth in 0..SESSIONS {
        let folder = home.folder(&format!("{}folder", mark(nth)));
        sessions.push(editor.session(&folder).await);
        folders.push(folder);
    }
    let mut desk = Desk {
        editor,
        wire: Vec::new(),
        open: BTreeMap::new(),
    };
    for (nth, session) in sessions.iter().enumerate() {
        desk.prompt(session, nth, &prompt(nth, &shared)).await;
    }
    let mut stopped = [false; SESSIONS];
    let mut loaded = [false; SESSIONS];
    while !desk.open.is_empty() {
        let message = desk.next().await;
        let session = message["params"]["sessionId"].as_str();
        let nth = session.and_then(|id| sessions.iter().position(|known| known == id));
        let data = &message["params"]["update"]["_meta"]["terminal_output"]["data"];
        if let Some(nth) = nth
            && data.as_str().is_some_and(|data| data.contains("begun"))
            && !std::mem::replace(&mut stopped[nth], true)
        {
            match fate(nth) {
                Fate::Cancelled => desk.cancel(&sessions[nth]).await,
                Fate::Closed => {
                    let params = json!({"sessionId": sessions[nth]});
                    desk.send("session/close", nth, params).await;
                }
                _ => panic!("{message}"),
            }
        }
        let answered = message["id"].as_i64().and_then(|id| desk.open.remove(&id));
        let Some((method, nth)) = answered else {
            continue;
        };
        let again = matches!(fate(nth), Fate::Fails);
        if method == "session/prompt" && again && !std::mem::replace(&mut loaded[nth], true) {
            let params = json!({"sessionId": sessions[nth], "cwd": folders[nth], "mcpServers": []});
            desk.send("session/load", nth, params).await;
        } else if method == "session/load" {
            let words = format!("$ echo {}again", mark(nth));
            desk.prompt(&sessions[nth], nth, &words).await;
        }
    }

    let marks = sessions.iter().cloned().zip((0..SESSIONS).map(mark));
    let found = crossings(&desk.wire, &marks.collect());
    assert_eq!(found, [] as [String; 0]);
    let printed: Vec<String> = sessions
        .iter()
        .map(|session| desk.editor.printed(session))
        .collect();
    let expected: Vec<String> = (0..SESSIONS)
        .map(|nth| expected(nth, &folders[nth].display().to_string()))
        .collect();
    assert_eq!(printed, expected);

    // A cancel and a close have ended their own processes only.
    let left: Vec<String> = (0..SESSIONS)
        .filter(|nth| fate(*nth) == Fate::Leaves)
        .map(process)
        .collect();
    assert_eq!(processes(&home), left);
    let one = SESSIONS - 1;
    let params = json!({"sessionId": sessions[one]});
    desk.editor.call("session/close", params).await;
    assert_eq!(processes(&home), left[..left.len() - 1]);
    desk.editor.close(Duration::from_secs(10)).await;
    until(SOON, "the processes of all sessions are gone", async || {
        processes(&home).is_empty().then_some(())
    })
    .await;
}

/// All that a session prints.
fn expected(nth: usize, folder: &str) -> String {
    let mark = mark(nth);
    let first = format!("{folder}\r\n");
    let mut printed = first.clone();
    match fate(nth) {
        Fate::Streams => {
            for n in 1..=5 {
                write!(printed, "{mark}{n}\r\n").unwrap();
            }
        }
        Fate::Cancelled | Fate::Closed => write!(printed, "{mark}begun\r\n").unwrap(),
        // Told live, once more by the load, and then what followed.
        Fate::Fails => {
            write!(printed, "{mark}fails\r\n").unwrap();
            printed = format!("{printed}{printed}{mark}again\r\n");
        }
        Fate::Leaves => write!(printed, "{mark}leaves\r\n").unwrap(),
    }
    printed
}

/// The tools of one session know nothing of the commands of another, whatever the ids.
#[tokio::test]
async fn a_command_in_the_background_is_unknown_to_another_session() {
    let call = |tool: &str, arguments: Value| (tool.to_owned(), arguments.to_string());
    let background = json!({"command": "echo up; exec sleep 60", "run_in_background": true});
    let meddle = [
        call("bash_output", json!({"id": "call-2"})),
        call("bash_input", json!({"id": "call-2", "text": "x"})),
        call("bash_kill", json!({"id": "call-2"})),
        call("bash_list", json!({})),
    ];
    let meddle = meddle
        .into_iter()
        .enumerate()
        .fold(Answer::new(), |answer, (nth, (tool, arguments))| {
            answer.call(format!("m{nth}"), tool, [arguments])
        });
    let script = Script::new()
        .then(bash(&json!({"command": "true"})))
        .then(bash(&background))
        .then(finished())
        .then(meddle)
        .then(finished())
        .then(Answer::new().call("m9", "bash_kill", [json!({"id": "call-2"}).to_string()]))
        .then(finished());
    let types = json!({"_meta": {"terminal_output": true, "placard": {"terminal_input": true}}});
    let mut agent = Scripted::start(Home::new(), types, script).await;
    agent.turn().await;
    let owner = agent.session.clone();

    agent.session = agent.editor.session(&agent.home.folder("other")).await;
    agent.turn().await;
    let unknown = r#"There is no command "call-2" in this session; there is none at all."#;
    let read = agent.model_read();
    assert_eq!(read[..3], [unknown; 3]);
    assert!(!read[3].contains("call-2"), "{}", read[3]);
    let other = agent.session.clone();
    for (method, more) in [
        ("_placard/terminal_input", json!({"data": "x"})),
        ("_placard/terminal_stop", json!({})),
    ] {
        let mut params = json!({"sessionId": other, "terminalId": "terminal-call-2"});
        let own = params.as_object_mut().unwrap();
        own.extend(more.as_object().unwrap().clone());
        let answer = agent.editor.call(method, params).await;
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
    }
    // Nor does its end concern it.
    agent
        .editor
        .call("session/close", json!({"sessionId": other}))
        .await;

    agent.session = owner;
    agent.turn().await;
    let seen = Seen::of(&agent.editor.updates(&agent.session));
    assert_eq!(seen.cards[1].text, "up\r\n");
    let killed = agent.model_read().pop().unwrap();
    assert!(killed.contains("[stopped; "), "{killed}");
    agent.editor.close(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_relative_workdir_is_one_of_the_sessions_own_folder() {
    let run = bash(&json!({"command": "pwd", "workdir": "below"}));
    let script = Script::new()
        .then(run.clone())
        .then(finished())
        .then(run)
        .then(finished());
    let mut agent = Scripted::start(Home::new(), draws_cards(), script).await;
    for name in ["work", "other"] {
        let below = agent.home.folder(&format!("{name}/below"));
        let folder = agent.home.path().join(name);
        agent.session = agent.editor.session(&folder).await;
        agent.turn().await;
        let pwd = format!("{}\r\n", below.display());
        assert_eq!(agent.editor.printed(&agent.session), pwd);
        let call = &agent.editor.calls(&agent.session)[0];
        assert_eq!(call["_meta"]["terminal_info"]["cwd"], json!(below));
    }
    agent.editor.close(Duration::from_secs(10)).await;
}
