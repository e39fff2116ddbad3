//! A program that is killed under a command: its card keeps what its file holds, and gets an exit that is not known.

use std::fs;
use std::path::Path;
use std::time::Duration;

use inspector::model_server::Script;
use placard_tests::{Home, SOON, until};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};
use terminal_card::{Card, CardStatus, Note, TerminalExit};

use super::cases::NEVER;
use super::{CLIENTS, Client, PROMPT};
use crate::editor::Editor;
use crate::scripted::{Scripted, bash, finished};
use crate::seen::{Message, Seen, loaded, said};

#[tokio::test]
async fn a_card_whose_program_was_killed_shows_what_it_had_printed_and_no_exit() {
    for client in CLIENTS {
        let home = Home::new();
        let cwd = home.work_folder();
        let asks = json!({"command": "printf 'one\\ntwo'; exec sleep 60", "description": "Waits"});
        let script = Script::new().then(bash(&asks).call("m2", "bash", [NEVER]));
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

/// Its call was over, and stays what it was.
#[tokio::test]
async fn a_card_in_the_background_whose_program_was_killed_keeps_its_status() {
    let asks = json!({"command": "echo up; exec sleep 60", "run_in_background": true});
    let script = Script::new().then(bash(&asks)).then(finished());
    let cards = Client::DrawsCards.capabilities();
    let mut agent = Scripted::start(Home::new(), cards.clone(), script).await;
    let id = agent.editor.prompt(&agent.session, PROMPT).await;
    agent.answered(id).await;
    while agent.editor.printed(&agent.session).is_empty() {
        agent.editor.next().await;
    }
    let mut told = vec![said(PROMPT)];
    told.extend(agent.editor.updates(&agent.session));
    let mut live = Seen::of(&told);
    agent.editor.program.kill().await;
    agent.home.quiet(SOON).await;

    live.cards[0].exit = Some(UNKNOWN);
    let exit = json!({"terminal_id": "terminal-call-1", "exit_code": null, "signal": null});
    live.calls.get_mut("call-1").unwrap()["_meta"]["terminal_exit"] = exit;
    assert_eq!(live.cards[0].status, CardStatus::Completed);
    let mut fresh = Editor::connect(&agent.home, cards).await;
    let work = agent.home.work_folder();
    assert_eq!(loaded(&mut fresh, &agent.session, &work).await, live);
    fresh.close(Duration::from_secs(10)).await;
}

const UNKNOWN: TerminalExit = TerminalExit {
    exit_code: None,
    signal: None,
};

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
        exit: Some(UNKNOWN),
        notes: vec![Note::NoExitCode],
        ..card
    }
}
