//! Stored sessions that are opened again: with their past, in silence, as copies; and when that is not to be had.

use std::path::Path;
use std::time::Duration;

use inspector::model_server::{Answer, Script};
use placard_tests::{Home, Program, SOON};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::editor::{Editor, draws_cards};
use crate::scripted::{Scripted, bash, finished};
use crate::seen::{Message, Seen, load, loaded};

/// The protocol's code of an error, and its words.
fn refusal(answer: &Value) -> (i64, &str) {
    let error = &answer["error"];
    (
        error["code"].as_i64().unwrap_or_else(|| panic!("{answer}")),
        error["message"].as_str().unwrap(),
    )
}

async fn resume(editor: &mut Editor, session: &str, cwd: &Path) -> Value {
    let wanted = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
    editor.call("session/resume", wanted).await
}

async fn fork(editor: &mut Editor, session: &str, cwd: &Path) -> Value {
    let wanted = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
    editor.call("session/fork", wanted).await
}

/// A session that ran one prompt in a program that has ended.
async fn stored(home: &Home, prompt: &str) -> String {
    let mut editor = Editor::connect(home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    let answer = editor.turn(&session, prompt).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    editor.close(Duration::from_secs(10)).await;
    session
}

/// Changes the store as no program of ours does.
async fn change(home: &Home, statement: &str) {
    let file = home.data_folder().join("sessions.sqlite");
    let program = "import sqlite3, sys\n\
                   c = sqlite3.connect(sys.argv[1])\n\
                   assert c.execute(sys.argv[2]).rowcount == 1\n\
                   c.commit()";
    let mut python = Program::start(
        home,
        Path::new("python3"),
        &["-c", program, &file.display().to_string(), statement],
    );
    assert!(python.ended(SOON).await.success());
}

#[tokio::test]
async fn what_is_offered_is_advertised() {
    let home = Home::new();
    let mut editor = Editor::start(&home);
    let answer = editor
        .call("initialize", json!({"protocolVersion": 1}))
        .await;
    let offered = &answer["result"]["agentCapabilities"];
    assert_eq!(
        (&offered["loadSession"], &offered["sessionCapabilities"]),
        (
            &json!(true),
            &json!({
                "list": {},
                "delete": {},
                "additionalDirectories": {},
                "fork": {},
                "resume": {},
                "close": {},
            })
        )
    );
}

#[tokio::test]
async fn a_session_goes_on_in_another_program_where_it_stood() {
    let script = Script::new()
        .then(bash(&json!({"command": "echo kept"})))
        .then(finished())
        .then(bash(&json!({"command": "echo more"})))
        .then(finished());
    let mut agent = Scripted::start(Home::new(), draws_cards(), script).await;
    agent.turn().await;
    let cwd = agent.home.work_folder();
    agent.editor.close(Duration::from_secs(10)).await;

    agent.editor = Editor::connect(&agent.home, draws_cards()).await;
    let past = loaded(&mut agent.editor, &agent.session, &cwd).await;
    assert_eq!(
        past.messages,
        [
            Message::User("go on".to_owned()),
            Message::Call("call-1".to_owned()),
            Message::Agent("Finished.".to_owned()),
        ]
    );
    let answer = agent.turn().await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    let commands: Vec<Value> = agent
        .editor
        .calls(&agent.session)
        .into_iter()
        .filter(|call| call["sessionUpdate"] == "tool_call")
        .map(|call| json!([call["toolCallId"], call["title"]]))
        .collect();
    assert_eq!(
        commands,
        [
            json!(["call-1", "echo kept"]),
            json!(["call-2", "echo more"])
        ]
    );
    let read = agent.model_read();
    assert_eq!(read.len(), 2);
    assert!(read[0].starts_with("kept\n"), "{read:?}");
    agent.editor.close(Duration::from_secs(10)).await;
}

/// Its cwd and its further folders are those of the request, and stay so for who does not say otherwise.
#[tokio::test]
async fn a_session_goes_on_in_the_folders_of_the_request() {
    let home = Home::new();
    let session = stored(&home, "$ pwd").await;
    let (other, further) = (home.folder("other"), home.folder("further"));
    std::fs::write(further.join("note"), "in another root\n").unwrap();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let wanted = json!({
        "sessionId": session,
        "cwd": other,
        "additionalDirectories": [further],
        "mcpServers": [],
    });
    let answer = editor.call("session/load", wanted).await;
    assert_eq!(
        answer["result"],
        json!({"_meta": {"placard": {"model": "offline"}}})
    );
    editor.turn(&session, "$ pwd").await;
    let past = loaded_with(&mut editor, &session, &other, &further).await;
    let folders: Vec<Option<&str>> = past.cards.iter().map(|card| card.cwd.as_deref()).collect();
    let work = home.work_folder();
    assert_eq!(folders, [work.to_str(), other.to_str()]);
    let printed: Vec<&str> = past.cards.iter().map(|card| card.text.as_str()).collect();
    assert_eq!(
        printed,
        [
            format!("{}\r\n", work.display()),
            format!("{}\r\n", other.display())
        ]
    );
    editor.close(Duration::from_secs(10)).await;
}

async fn loaded_with(editor: &mut Editor, session: &str, cwd: &Path, further: &Path) -> Seen {
    let before = editor.updates(session).len();
    let wanted = json!({
        "sessionId": session,
        "cwd": cwd,
        "additionalDirectories": [further],
        "mcpServers": [],
    });
    let answer = editor.call("session/load", wanted).await;
    assert!(answer["result"].is_object(), "{answer}");
    Seen::of(&editor.updates(session)[before..])
}

#[tokio::test]
async fn a_load_that_cannot_be_served_is_an_error_and_tells_nothing() {
    let home = Home::new();
    let session = stored(&home, "$ true").await;
    let work = home.work_folder();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let nowhere = home.path().join("nowhere");
    let unknown = "0192f0c1-7b2e-7000-8000-0123456789ab";
    let no_such = "there is no such session; session/list shows those that there are";
    let table = [
        (
            unknown,
            work.clone(),
            -32002,
            format!("there is no session {unknown}; `placard sessions list` shows those that there are"),
        ),
        ("../outputs", work.clone(), -32002, no_such.to_owned()),
        ("", work.clone(), -32002, no_such.to_owned()),
        (
            &session,
            nowhere.clone(),
            -32602,
            format!(
                "the session's folder {} cannot be used: it does not exist; create it or give another",
                nowhere.display()
            ),
        ),
        (
            &session,
            "work".into(),
            -32602,
            "the session's folder work cannot be used: it is not absolute; give the whole path from /".to_owned(),
        ),
    ];
    for (id, cwd, code, words) in table {
        let (answer, told) = load(&mut editor, id, &cwd).await;
        assert_eq!((refusal(&answer), told.len()), ((code, &*words), 0), "{id}");
        let answer = resume(&mut editor, id, &cwd).await;
        assert_eq!(refusal(&answer), (code, &*words), "{id}");
        let answer = fork(&mut editor, id, &cwd).await;
        assert_eq!(refusal(&answer), (code, &*words), "{id}");
    }
    // None of that has taken the session.
    let seen = loaded(&mut editor, &session, &work).await;
    assert_eq!(seen.cards.len(), 1);
    editor.close(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_session_that_is_not_open_takes_no_prompt_and_says_what_to_do() {
    let home = Home::new();
    let session = stored(&home, "$ true").await;
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let words =
        "this session is not open here; load it with session/load, or start one with session/new";
    let answer = editor.turn(&session, "$ touch ran").await;
    assert_eq!(refusal(&answer), (-32002, words));
    let answer = editor
        .call("session/close", json!({"sessionId": session}))
        .await;
    assert_eq!(refusal(&answer), (-32002, words));
    // Nobody is told of a cancel that meant nothing.
    editor.cancel(&session).await;
    let seen = loaded(&mut editor, &session, &home.work_folder()).await;
    assert_eq!(seen.cards.len(), 1);
    assert!(!home.work_folder().join("ran").exists());
    editor.close(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_session_that_another_program_writes_to_is_refused_until_that_has_ended() {
    let home = Home::new();
    let work = home.work_folder();
    let mut owner = Editor::connect(&home, draws_cards()).await;
    let session = owner.session(&work).await;
    owner.turn(&session, "$ true").await;

    let mut other = Editor::connect(&home, draws_cards()).await;
    let words = format!(
        "session {session} is open for writing in another place; close it there, or fork it with `placard sessions fork {session}`"
    );
    let (answer, told) = load(&mut other, &session, &work).await;
    assert_eq!((refusal(&answer), told.len()), ((-32600, &*words), 0));
    let answer = resume(&mut other, &session, &work).await;
    assert_eq!(refusal(&answer), (-32600, &*words));
    let answer = other
        .call("session/delete", json!({"sessionId": session}))
        .await;
    assert_eq!(refusal(&answer), (-32600, &*words));

    // A copy is nobody's.
    let copy = fork(&mut other, &session, &work).await;
    let copy = copy["result"]["sessionId"].as_str().unwrap().to_owned();
    let answer = other.turn(&copy, "$ true").await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));

    owner.program.kill().await;
    let seen = loaded(&mut other, &session, &work).await;
    assert_eq!(seen.cards.len(), 1);
    other.close(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_damaged_session_is_an_error_that_names_the_place_and_is_left_as_it_is() {
    let home = Home::new();
    let session = stored(&home, "$ true").await;
    let statement = format!(
        "UPDATE events SET what = '{{\"type\":' WHERE session_id = '{session}' AND seq = 4"
    );
    change(&home, &statement).await;
    let mut editor = Editor::connect(&home, draws_cards()).await;
    for _ in 0..2 {
        let (answer, _) = load(&mut editor, &session, &home.work_folder()).await;
        let (code, words) = refusal(&answer);
        assert_eq!(code, -32603, "{words}");
        for part in [
            format!("session {session} is damaged"),
            "the table of events, event 4".to_owned(),
            format!("placard sessions recover {session}"),
        ] {
            assert!(words.contains(&part), "no {part:?} in {words:?}");
        }
        let answer = resume(&mut editor, &session, &home.work_folder()).await;
        assert_eq!(refusal(&answer), (code, words));
    }
    let answer = editor.turn(&session, "$ true").await;
    assert_eq!(refusal(&answer).0, -32002);
    editor.close(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_store_that_cannot_be_used_is_an_error_of_every_request() {
    let home = Home::new();
    std::fs::write(home.data_folder(), "in the way").unwrap();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let id = "0192f0c1-7b2e-7000-8000-0123456789ab";
    let folders = json!({"sessionId": id, "cwd": home.work_folder(), "mcpServers": []});
    for (method, params) in [
        ("session/load", folders.clone()),
        ("session/resume", folders.clone()),
        ("session/fork", folders),
        ("session/list", json!({})),
        ("session/delete", json!({"sessionId": id})),
    ] {
        let answer = editor.call(method, params).await;
        let (code, words) = refusal(&answer);
        assert_eq!(code, -32603, "{method}: {words}");
        assert!(words.contains("cannot be opened"), "{method}: {words}");
    }
    editor.close(Duration::from_secs(10)).await;
}

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
async fn of_two_programs_that_load_at_once_one_is_served() {
    let home = Home::new();
    let session = stored(&home, "$ echo once").await;
    let wanted = json!({"sessionId": session, "cwd": home.work_folder(), "mcpServers": []});
    let mut editors = [
        Editor::connect(&home, draws_cards()).await,
        Editor::connect(&home, draws_cards()).await,
    ];
    let mut served = 0;
    let mut ids = Vec::new();
    for editor in &mut editors {
        ids.push(editor.send("session/load", wanted.clone()).await);
    }
    for (editor, id) in editors.iter_mut().zip(ids) {
        let answer = editor.response(id).await;
        if answer["result"].is_object() {
            served += 1;
        } else {
            assert_eq!(refusal(&answer).0, -32600, "{answer}");
        }
    }
    assert_eq!(served, 1);
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

#[tokio::test]
async fn a_new_session_can_be_looked_at_again_and_has_nothing_to_copy() {
    let home = Home::new();
    let work = home.work_folder();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&work).await;
    assert_eq!(loaded(&mut editor, &session, &work).await, Seen::default());
    let answer = resume(&mut editor, &session, &work).await;
    assert!(answer["result"].is_object(), "{answer}");
    let words = "this session was not prompted yet, so there is nothing to take elsewhere; start one with session/new";
    let answer = fork(&mut editor, &session, &work).await;
    assert_eq!(refusal(&answer), (-32600, words));
    let (answer, _) = load(&mut editor, &session, &home.folder("elsewhere")).await;
    assert_eq!(refusal(&answer), (-32600, words));
    let answer = editor.turn(&session, "$ true").await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    editor.close(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_session_that_is_resumed_says_nothing_of_its_past_and_knows_it() {
    let script = Script::new()
        .then(bash(&json!({"command": "echo kept"})))
        .then(finished())
        .then(finished());
    let mut agent = Scripted::start(Home::new(), draws_cards(), script).await;
    agent.turn().await;
    agent.editor.close(Duration::from_secs(10)).await;

    agent.editor = Editor::connect(&agent.home, draws_cards()).await;
    let answer = resume(&mut agent.editor, &agent.session, &agent.home.work_folder()).await;
    assert_eq!(
        answer["result"],
        json!({"_meta": {"placard": {"model": "openai/gpt-test"}}})
    );
    agent.turn().await;
    assert_eq!(agent.editor.calls(&agent.session), [] as [Value; 0]);
    assert!(agent.model_read()[0].starts_with("kept\n"));
    agent.editor.close(Duration::from_secs(10)).await;
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

#[tokio::test]
async fn a_copy_has_the_same_past_and_goes_its_own_way() {
    let home = Home::new();
    let work = home.work_folder();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&work).await;
    editor.turn(&session, "$ echo shared").await;
    let elsewhere = home.folder("elsewhere");
    let answer = fork(&mut editor, &session, &elsewhere).await;
    let copy = answer["result"]["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(
        answer["result"],
        json!({"sessionId": copy, "_meta": {"placard": {"model": "offline"}}})
    );
    assert_ne!(copy, session);
    assert_eq!(editor.updates(&copy), [] as [Value; 0]);

    editor.turn(&copy, "$ pwd").await;
    editor.turn(&session, "$ echo mine").await;
    let printed = async |editor: &mut Editor, session: &str, cwd: &Path| {
        let seen = loaded(editor, session, cwd).await;
        let cards = seen.cards.iter();
        cards.map(|card| card.text.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        printed(&mut editor, &copy, &elsewhere).await,
        [
            "shared\r\n".to_owned(),
            format!("{}\r\n", elsewhere.display())
        ]
    );
    assert_eq!(
        printed(&mut editor, &session, &work).await,
        ["shared\r\n", "mine\r\n"]
    );
    editor.close(Duration::from_secs(10)).await;
}

/// A copy of a session at work is balanced, and the original does not notice.
#[tokio::test]
async fn a_copy_of_a_session_at_work_holds_what_was_stored_and_is_closed() {
    let home = Home::new();
    let work = home.work_folder();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&work).await;
    let turn = editor
        .prompt(
            &session,
            "$ echo begun; until [ -e go ]; do sleep 0.01; done; exit 3",
        )
        .await;
    editor
        .until(|message| !message["params"]["update"]["_meta"]["terminal_output"].is_null())
        .await;
    let answer = fork(&mut editor, &session, &work).await;
    let copy = answer["result"]["sessionId"].as_str().unwrap().to_owned();
    let seen = loaded(&mut editor, &copy, &work).await;
    let cards: Vec<_> = seen
        .cards
        .iter()
        .map(|card| (card.status, card.exit.clone()))
        .collect();
    let unknown = terminal_card::TerminalExit {
        exit_code: None,
        signal: None,
    };
    assert_eq!(cards, [(terminal_card::CardStatus::Failed, Some(unknown))]);
    let answer = editor.turn(&copy, "$ true").await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));

    std::fs::write(work.join("go"), "").unwrap();
    let answer = editor.response(turn).await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    let seen = loaded(&mut editor, &session, &work).await;
    assert_eq!(seen.cards[0].exit.as_ref().unwrap().exit_code, Some(3));
    editor.close(Duration::from_secs(10)).await;
}
