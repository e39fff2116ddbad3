//! Sessions that cannot be opened: an error that says why, and nothing told.

use std::path::Path;
use std::time::Duration;

use placard_tests::{Home, Program, SOON};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{fork, refusal, resume, stored};
use crate::editor::{Editor, draws_cards};
use crate::seen::{load, loaded};

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
