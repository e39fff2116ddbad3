//! A session that is loaded looks as it did when it ran (rule W12): every card, message and call, compared whole, for every kind
//! of client; in a fresh process, a second time on the same connection, and on the connection where it ran.

mod cases;
mod interrupted;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use inspector::model_server::ModelServer;
use placard_tests::{Home, SOON, until};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use self::cases::{Case, Person, background, further, recorded};
use crate::editor::Editor;
use crate::images::picture;
use crate::left_out;
use crate::scripted::Scripted;
use crate::seen::{Seen, loaded, said};

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

/// Two paragraphs, of which the first becomes the title.
const PROMPT: &str = "go on\n\nand say what came of it";

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
    for case in [recorded(), further(), background()].into_iter().flatten() {
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
    let mut printed = String::new();
    for n in 1..=200_000 {
        writeln!(printed, "{n}\r").unwrap();
    }
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
