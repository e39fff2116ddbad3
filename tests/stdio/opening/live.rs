//! Sessions that are open already: looked at again on their own connection.

use std::time::Duration;

use inspector::model_server::{Answer, Script};
use placard_tests::Home;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{refusal, resume, stored};
use crate::editor::{Editor, draws_cards};
use crate::scripted::{Scripted, bash, finished};
use crate::seen::{Seen, load, loaded};

#[tokio::test]
async fn two_loads_at_once_are_served_one_after_the_other() {
    let home = Home::new();
    let session = stored(&home, "$ echo once").await;
    let work = home.work_folder();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let wanted = json!({"sessionId": session, "cwd": work, "mcpServers": []});
    let first = editor.send("session/load", wanted.clone()).await;
    let second = editor.send("session/load", wanted).await;
    let answer = editor.response(first).await;
    assert!(answer["result"].is_object(), "{answer}");
    let between = editor.updates(&session).len();
    let answer = editor.response(second).await;
    assert!(answer["result"].is_object(), "{answer}");
    let told = editor.updates(&session);
    let (once, again) = told.split_at(between);
    assert_eq!(Seen::of(once), Seen::of(again));
    let answer = editor.turn(&session, "$ true").await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    editor.close(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_live_session_is_not_told_again_while_its_prompt_runs() {
    let home = Home::new();
    let work = home.work_folder();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&work).await;
    let turn = editor
        .prompt(
            &session,
            "$ echo begun; until [ -e go ]; do sleep 0.01; done; echo over",
        )
        .await;
    editor
        .until(|message| !message["params"]["update"]["_meta"]["terminal_output"].is_null())
        .await;
    let (answer, _) = load(&mut editor, &session, &work).await;
    assert_eq!(
        refusal(&answer),
        (
            -32600,
            "a prompt is running in this session; wait for it or cancel it first"
        )
    );
    // In another folder it could not even go on.
    let elsewhere = home.folder("elsewhere");
    let (answer, _) = load(&mut editor, &session, &elsewhere).await;
    let (code, words) = refusal(&answer);
    assert_eq!(code, -32600);
    assert!(words.contains("its commands still run"), "{words}");

    std::fs::write(work.join("go"), "").unwrap();
    let answer = editor.response(turn).await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    assert_eq!(editor.printed(&session), "begun\r\nover\r\n");
    // Now it can, and its past comes along.
    let seen = loaded(&mut editor, &session, &elsewhere).await;
    assert_eq!(seen.printed(), "begun\r\nover\r\n");
    editor.turn(&session, "$ pwd").await;
    let seen = loaded(&mut editor, &session, &elsewhere).await;
    let pwd = format!("{}\r\n", elsewhere.display());
    assert_eq!(seen.cards[1].text, pwd);
    editor.close(Duration::from_secs(10)).await;
}

/// An agent with a command that runs in the background until the file `stop` is there.
async fn in_background() -> Scripted {
    let arguments = json!({
        "command": "echo up; until [ -e stop ]; do sleep 0.02; done; echo down",
        "run_in_background": true,
    });
    let script = Script::new()
        .then(bash(&arguments))
        .then(finished())
        .otherwise(Answer::new().text(["Yes."]));
    let mut agent = Scripted::start(Home::new(), draws_cards(), script).await;
    agent.turn().await;
    while agent.editor.printed(&agent.session).is_empty() {
        agent.editor.next().await;
    }
    agent
}

fn ended(message: &Value) -> bool {
    !message["params"]["update"]["_meta"]["terminal_exit"].is_null()
}

/// Rule W8.
#[tokio::test]
async fn a_card_that_still_runs_is_announced_again_after_a_resume_and_goes_on() {
    let mut agent = in_background().await;
    let work = agent.home.work_folder();
    let before = agent.editor.updates(&agent.session).len();
    let answer = resume(&mut agent.editor, &agent.session, &work).await;
    assert!(answer["result"].is_object(), "{answer}");
    let quiet = agent.editor.updates(&agent.session).len();
    assert_eq!(quiet, before, "nothing comes before the answer");
    std::fs::write(work.join("stop"), "").unwrap();
    agent.editor.until(ended).await;
    let title = "echo up; until [ -e stop ]; do sleep 0.02; done; echo down";
    assert_eq!(
        agent.editor.updates(&agent.session)[before..],
        [
            json!({
                "sessionUpdate": "tool_call",
                "toolCallId": "call-1",
                "title": title,
                "kind": "execute",
                "status": "completed",
                "content": [{"type": "terminal", "terminalId": "terminal-call-1"}],
                "rawInput": {"command": title, "run_in_background": true},
                "_meta": {
                    "terminal_info": {"terminal_id": "terminal-call-1", "cwd": work},
                    "placard": {"background": true},
                },
            }),
            json!({
                "sessionUpdate": "tool_call_update",
                "toolCallId": "call-1",
                "_meta": {"terminal_output": {"terminal_id": "terminal-call-1", "data": "down\r\n"}},
            }),
            json!({
                "sessionUpdate": "tool_call_update",
                "toolCallId": "call-1",
                "_meta": {"terminal_exit": {"terminal_id": "terminal-call-1", "exit_code": 0, "signal": null}},
            }),
        ]
    );
    agent.editor.close(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_card_that_still_runs_is_whole_after_a_load_and_goes_on() {
    let mut agent = in_background().await;
    let work = agent.home.work_folder();
    let session = agent.session.clone();
    let before = agent.editor.updates(&session).len();
    for _ in 0..2 {
        let answer = agent
            .editor
            .call(
                "session/load",
                json!({"sessionId": session, "cwd": work, "mcpServers": []}),
            )
            .await;
        assert!(answer["result"].is_object(), "{answer}");
    }
    let last = agent.editor.updates(&session)[before..]
        .iter()
        .rposition(|update| update["sessionUpdate"] == "user_message_chunk")
        .unwrap();
    std::fs::write(work.join("stop"), "").unwrap();
    agent.editor.until(ended).await;
    let seen = Seen::of(&agent.editor.updates(&session)[before + last..]);
    // As whoever has watched it all along has seen it.
    let mut watched = vec![crate::seen::said("go on")];
    watched.extend(agent.editor.updates(&session)[..before].iter().cloned());
    let mut watched = Seen::of(&watched);
    assert_eq!(watched.printed(), "up\r\n");
    watched.cards[0].text = "up\r\ndown\r\n".to_owned();
    watched.cards[0].exit = Some(terminal_card::TerminalExit {
        exit_code: Some(0),
        signal: None,
    });
    watched.cards[0].notes.clear();
    watched.calls.get_mut("call-1").unwrap()["_meta"]["terminal_exit"] =
        json!({"terminal_id": "terminal-call-1", "exit_code": 0, "signal": null});
    assert_eq!(seen, watched);
    // It was not taken elsewhere while it ran, and is told as ended from now on.
    let past = loaded(&mut agent.editor, &session, &work).await;
    assert_eq!(past, watched);
    agent.editor.close(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_session_whose_command_runs_is_not_taken_to_another_folder() {
    let mut agent = in_background().await;
    let elsewhere = agent.home.folder("elsewhere");
    let words = format!(
        "this session is open here in {} and its commands still run; close it with session/close before it is loaded with other folders",
        agent.home.work_folder().display()
    );
    let (answer, told) = load(&mut agent.editor, &agent.session, &elsewhere).await;
    assert_eq!((refusal(&answer), told.len()), ((-32600, &*words), 0));
    let answer = resume(&mut agent.editor, &agent.session, &elsewhere).await;
    assert_eq!(refusal(&answer), (-32600, &*words));
    std::fs::write(agent.home.work_folder().join("stop"), "").unwrap();
    agent.editor.until(ended).await;
    assert_eq!(agent.editor.printed(&agent.session), "up\r\ndown\r\n");
    agent.editor.close(Duration::from_secs(10)).await;
}
