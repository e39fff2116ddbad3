//! A session that is loaded looks as it did when it ran (rule W12): every card, message and call, compared whole, for every kind
//! of client; in a fresh process, a second time on the same connection, and on the connection where it ran.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use inspector::model_server::{Answer, Failure, Gate, ModelServer, Script, Step};
use placard_tests::{Home, SOON, until};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};
use terminal_card::{Card, CardStatus, Note, TerminalExit};

use crate::editor::Editor;
use crate::images::picture;
use crate::left_out;
use crate::scripted::{Scripted, bash, finished};
use crate::seen::{Message, Seen, loaded, said};

/// The kinds of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    DrawsCards,
    DrawsNone,
    TakesDeltas,
    /// As Zed introduces itself.
    Zed,
}

const CLIENTS: [Client; 4] = [
    Client::DrawsCards,
    Client::DrawsNone,
    Client::TakesDeltas,
    Client::Zed,
];

impl Client {
    fn capabilities(self) -> Value {
        match self {
            Self::DrawsCards => json!({"_meta": {"terminal_output": true}}),
            Self::DrawsNone => json!({}),
            Self::TakesDeltas => json!({"_meta": {"terminal_output_delta": true}}),
            Self::Zed => json!({
                "fs": {"readTextFile": true, "writeTextFile": true},
                "terminal": true,
                "_meta": {"terminal_output": true, "terminal-auth": true},
            }),
        }
    }
}

/// What the person does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Person {
    Allows,
    Refuses,
    /// Cancels when the command has made the file `begun`.
    CancelsTheCommand,
    /// Cancels when the model has begun to speak.
    CancelsTheWords,
    /// Cancels when the model was asked.
    CancelsTheSilence,
}

/// A session that is run and loaded.
struct Case {
    name: &'static str,
    script: Script,
    person: Person,
    config: &'static str,
}

impl Case {
    fn new(name: &'static str, script: Script) -> Self {
        Self {
            name,
            script,
            person: Person::Allows,
            config: "",
        }
    }

    fn of_command(name: &'static str, command: &str) -> Self {
        let asks = bash(&json!({"command": command}));
        Self::new(name, Script::new().then(asks).then(finished()))
    }

    fn with(self, person: Person) -> Self {
        Self { person, ..self }
    }

    fn configured(self, config: &'static str) -> Self {
        Self { config, ..self }
    }
}

const PROMPT: &str = "go on\n\nand say what came of it";

fn cases() -> Vec<Case> {
    let call = |arguments: Value| bash(&arguments);
    let two = Answer::new()
        .reasoning(["Both ", "at once."])
        .text(["I look at ", "two things."])
        .call(
            "m1",
            "bash",
            [
                json!({"command": "echo first; exit 2", "description": "Looks at the first"})
                    .to_string(),
            ],
        )
        .call(
            "m2",
            "bash",
            [json!({"command": "echo second"}).to_string()],
        );
    let wait = "echo begun; touch begun; exec sleep 30";
    vec![
        Case::of_command(
            "color",
            r"printf '\033[32mgreen\033[0m, \033[1;4mbold\033[0m\n'",
        ),
        Case::of_command("fail", "echo to stdout; echo to stderr >&2; exit 3"),
        Case::of_command("stream", "for n in a b c; do echo $n; sleep 0.1; done"),
        Case::of_command("signal", "echo going; kill -9 $$"),
        Case::of_command("empty", "true"),
        Case::of_command("cr", r"printf '1 of 2\r2 of 2\r\nodd \xff\xfe bytes, no end'"),
        Case::of_command("a fence", r"printf '```\nwithin\n`````\n'"),
        Case::of_command("many lines", "echo one\necho two\n# three"),
        Case::new("two", Script::new().then(two).then(finished())),
        Case::of_command("cancel", wait).with(Person::CancelsTheCommand),
        Case::new(
            "cancel before a second call",
            Script::new().then(
                call(json!({"command": wait})).call(
                    "m2",
                    "bash",
                    [json!({"command": "touch never"}).to_string()],
                ),
            ),
        )
        .with(Person::CancelsTheCommand),
        Case::new(
            "cancel-llm",
            Script::new().then(Answer::new().text(["Let me "]).hold(&Gate::new())),
        )
        .with(Person::CancelsTheWords),
        Case::new("cancel-llm in silence", Script::new().then(Step::Hang))
            .with(Person::CancelsTheSilence),
        Case::of_command("rejected", "touch never").with(Person::Refuses),
        Case::new(
            "llm-error",
            Script::new().then(Failure::new(400, "not this")),
        ),
        Case::new(
            "llm-error behind a command",
            Script::new()
                .then(call(json!({"command": "echo done"})))
                .then(Failure::new(400, "not this")),
        ),
        Case::of_command("read", "cat a.txt"),
        Case::of_command("read as its kind", "cat a.txt").configured("[cards]\nclassified = \"kind\""),
        Case::of_command("failed read as its kind", "cat no.txt")
            .configured("[cards]\nclassified = \"kind\""),
        Case::of_command("search as its kind", "grep -n b a.txt")
            .configured("[cards]\nclassified = \"kind\""),
        Case::of_command("picture", "cat a.png"),
        Case::of_command("left running", "sleep 30 & echo started"),
        Case::new(
            "time-out",
            Script::new()
                .then(call(json!({"command": "echo in; exec sleep 30", "timeout": 0.3})))
                .then(finished()),
        ),
        Case::new(
            "no such folder",
            Script::new()
                .then(call(json!({"command": "true", "workdir": "/no/such/folder"})))
                .then(finished()),
        ),
        Case::new(
            "another folder",
            Script::new()
                .then(call(json!({"command": "pwd", "workdir": "below"})))
                .then(finished()),
        ),
        Case::new(
            "malformed arguments",
            Script::new()
                .then(Answer::new().call("m1", "bash", ["{\"command\": \"tr"]))
                .then(finished()),
        ),
        Case::new(
            "no such tool",
            Script::new()
                .then(Answer::new().call("m1", "fly", ["{\"to\": \"Rome\"}"]))
                .then(finished()),
        ),
        Case::new(
            "another tool",
            Script::new()
                .then(Answer::new().call("m1", "read_file", ["{\"path\": \"a.txt\"}"]))
                .then(finished()),
        ),
        Case::new(
            "background",
            Script::new()
                .then(call(
                    json!({"command": "echo up; until [ -e stop ]; do sleep 0.02; done; echo down; exit 4", "run_in_background": true}),
                ))
                .then(
                    Answer::new().call("m2", "bash", [json!({"command": "touch stop"}).to_string()]),
                )
                .then(Answer::new().call(
                    "m3",
                    "bash_output",
                    [json!({"id": "call-1", "wait": 20}).to_string()],
                ))
                .then(finished()),
        ),
        Case::new(
            "ended by the model",
            Script::new()
                .then(call(
                    json!({"command": "echo up; exec sleep 60", "run_in_background": true}),
                ))
                .then(Answer::new().call(
                    "m2",
                    "bash_output",
                    [json!({"id": "call-1", "wait": 20}).to_string()],
                ))
                .then(Answer::new().call("m3", "bash_kill", [json!({"id": "call-1"}).to_string()]))
                .then(finished()),
        ),
    ]
}

/// A session that has run, on the connection where it did.
struct Ran {
    home: Home,
    editor: Editor,
    session: String,
    cwd: PathBuf,
    /// As it was seen live.
    seen: Seen,
    _server: ModelServer,
}

async fn run(case: Case, client: Client) -> Ran {
    let home = Home::new();
    let cwd = home.work_folder();
    fs::write(cwd.join("a.txt"), "a\nb\nc\n").unwrap();
    fs::write(cwd.join("a.png"), picture()).unwrap();
    home.folder("work/below");
    fs::write(home.config_folder().join("config.toml"), case.config).unwrap();
    let mut agent = Scripted::start(home, client.capabilities(), case.script).await;
    let prompt = agent.editor.prompt(&agent.session, PROMPT).await;
    let mut cancelled = false;
    if case.person == Person::CancelsTheSilence {
        agent.server.wait_for_requests(1).await;
        agent.editor.cancel(&agent.session).await;
    }
    loop {
        let message = agent.editor.next().await;
        if message["id"] == prompt && message.get("method").is_none() {
            break;
        }
        let update = &message["params"]["update"];
        if message["method"] == "session/request_permission" {
            let option = match case.person {
                Person::Refuses => "reject-once",
                _ => "allow-once",
            };
            let chosen = json!({"outcome": {"outcome": "selected", "optionId": option}});
            agent.editor.answer(&message["id"], chosen).await;
        }
        let speaks = update["sessionUpdate"] == "agent_message_chunk";
        let runs = update["status"] == "in_progress";
        let cancels = match case.person {
            Person::CancelsTheCommand => runs,
            Person::CancelsTheWords => speaks,
            _ => false,
        };
        if cancels && !std::mem::replace(&mut cancelled, true) {
            if case.person == Person::CancelsTheCommand {
                let begun = cwd.join("begun");
                until(SOON, "the command has begun", async || {
                    begun.exists().then_some(())
                })
                .await;
            }
            agent.editor.cancel(&agent.session).await;
        }
    }
    let Scripted {
        home,
        editor,
        session,
        server,
    } = agent;
    let mut told = vec![said(PROMPT)];
    told.extend(editor.updates(&session));
    Ran {
        home,
        editor,
        session,
        cwd,
        seen: Seen::of(&told),
        _server: server,
    }
}

/// Runs a case, loads it on its own connection and twice in a fresh process, and compares what `look` makes of it.
async fn compare<L: PartialEq + std::fmt::Debug>(
    case: Case,
    client: Client,
    look: impl Fn(&Seen) -> L,
) {
    let name = case.name;
    let mut ran = run(case, client).await;
    let live = look(&ran.seen);
    let here = loaded(&mut ran.editor, &ran.session, &ran.cwd).await;
    assert_eq!(live, look(&here), "{name}, {client:?}, loaded where it ran");
    ran.editor.close(Duration::from_secs(10)).await;

    let mut fresh = Editor::connect(&ran.home, client.capabilities()).await;
    for time in ["the first time", "the second time"] {
        let past = loaded(&mut fresh, &ran.session, &ran.cwd).await;
        assert_eq!(live, look(&past), "{name}, {client:?}, loaded {time}");
    }
    fresh.close(Duration::from_secs(10)).await;
}

async fn all_for(client: Client) {
    for case in cases() {
        compare(case, client, Seen::clone).await;
    }
}

#[tokio::test]
async fn for_a_client_that_draws_cards() {
    all_for(Client::DrawsCards).await;
}

#[tokio::test]
async fn for_a_client_without_cards() {
    all_for(Client::DrawsNone).await;
}

#[tokio::test]
async fn for_a_client_that_takes_deltas() {
    all_for(Client::TakesDeltas).await;
}

#[tokio::test]
async fn for_zed() {
    all_for(Client::Zed).await;
}

/// The live card was told of gaps as they came; what is kept has one.
#[tokio::test]
async fn of_a_large_output_what_is_kept_is_shown_and_the_cut_is_counted() {
    let printed: String = (1..=200_000).map(|n| format!("{n}\r\n")).collect();
    for client in [Client::DrawsCards, Client::DrawsNone] {
        compare(Case::of_command("large", "seq 200000"), client, |seen| {
            let mut seen = seen.clone();
            if client != Client::DrawsNone {
                assert!(left_out::check(seen.printed(), &printed) > 0);
                seen.cards[0].text.clear();
            }
            seen
        })
        .await;
    }
}

#[tokio::test]
async fn a_card_whose_program_was_killed_shows_what_it_had_printed_and_no_exit() {
    for client in CLIENTS {
        let home = Home::new();
        let cwd = home.work_folder();
        let asks = json!({"command": "printf 'one\\ntwo'; exec sleep 60", "description": "Waits"});
        let script = Script::new().then(bash(&asks).call(
            "m2",
            "bash",
            [json!({"command": "touch never"}).to_string()],
        ));
        let mut agent = Scripted::start(home, client.capabilities(), script).await;
        agent.editor.prompt(&agent.session, PROMPT).await;
        while agent.next_allowed().await["params"]["update"]["status"] != "in_progress" {}
        let outputs = agent.home.data_folder().join("outputs");
        let spill = outputs.join(&agent.session).join("call-1.txt");
        until(SOON, "the file of the output holds all of it", async || {
            (fs::read(&spill).ok()? == b"one\r\ntwo").then_some(())
        })
        .await;
        agent.editor.program.kill().await;
        agent.home.quiet(SOON).await;

        let mut fresh = Editor::connect(&agent.home, client.capabilities()).await;
        let past = loaded(&mut fresh, &agent.session, &cwd).await;
        assert_eq!(past, interrupted(client, &cwd, &asks), "{client:?}");
        // What was repaired is the log from now on.
        let again = loaded(&mut fresh, &agent.session, &cwd).await;
        assert_eq!(again, past, "{client:?}");
        fresh.close(Duration::from_secs(10)).await;
    }
}

/// What there is to read of a call that never came to run.
const NOT_BEGUN: &str = "The program ended before this call had a result; it may not have run.";

/// The session of a program that was killed under a command, while another call waited.
fn interrupted(client: Client, cwd: &Path, asks: &Value) -> Seen {
    let first = ("call-1", asks.clone());
    let second = ("call-2", json!({"command": "touch never"}));
    let calls = [(&first, "one\r\ntwo"), (&second, "")];
    Seen {
        title: Some("go on".to_owned()),
        messages: vec![
            Message::User(PROMPT.to_owned()),
            Message::Call("call-1".to_owned()),
            Message::Call("call-2".to_owned()),
        ],
        calls: calls
            .iter()
            .map(|((id, asks), printed)| {
                let call = interrupted_call(client, cwd, (id, asks), printed);
                ((*id).to_owned(), call)
            })
            .collect(),
        cards: calls
            .iter()
            .map(|((id, asks), printed)| interrupted_card(client, cwd, (id, asks), printed))
            .collect(),
        others: Vec::new(),
    }
}

fn interrupted_call(
    client: Client,
    cwd: &Path,
    (id, asks): (&str, &Value),
    printed: &str,
) -> Map<String, Value> {
    let text = |text: &str| json!({"type": "content", "content": {"type": "text", "text": text}});
    let mut content: Vec<Value> = asks["description"].as_str().map(text).into_iter().collect();
    let mut call = json!({
        "toolCallId": id,
        "title": asks["command"],
        "kind": "execute",
        "status": "failed",
        "rawInput": asks,
    });
    if client == Client::DrawsNone {
        // A call that never came to run has words instead.
        content.push(text(&if printed.is_empty() {
            NOT_BEGUN.to_owned()
        } else {
            format!("```console\n{}\n```", printed.replace('\r', ""))
        }));
    } else {
        let terminal = format!("terminal-{id}");
        content.push(json!({"type": "terminal", "terminalId": terminal}));
        call["_meta"] = json!({
            "terminal_info": {"terminal_id": terminal, "cwd": cwd},
            "terminal_exit": {"terminal_id": terminal, "exit_code": null, "signal": null},
        });
        if !printed.is_empty() {
            let key = match client {
                Client::TakesDeltas => "terminal_output_delta",
                _ => "terminal_output",
            };
            call["_meta"][key] = Value::Null;
        }
    }
    call["content"] = content.into();
    call.as_object().unwrap().clone()
}

fn interrupted_card(client: Client, cwd: &Path, (id, asks): (&str, &Value), printed: &str) -> Card {
    let command = asks["command"].as_str().map(str::to_owned);
    let card = Card {
        tool_call_id: id.to_owned(),
        title: command.clone(),
        command,
        status: CardStatus::Failed,
        ..Card::default()
    };
    if client == Client::DrawsNone {
        // The board shows what the call's content says.
        let words = if printed.is_empty() {
            NOT_BEGUN.to_owned()
        } else {
            printed.replace('\r', "")
        };
        return Card {
            text: words,
            notes: vec![Note::NotStreamed, Note::NoExitCode],
            ..card
        };
    }
    Card {
        terminal_id: Some(format!("terminal-{id}")),
        cwd: Some(cwd.display().to_string()),
        text: printed.to_owned(),
        exit: Some(TerminalExit {
            exit_code: None,
            signal: None,
        }),
        notes: vec![Note::NoExitCode],
        ..card
    }
}
