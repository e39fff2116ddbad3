//! The list of sessions: pages, folders, titles, ages.

use std::collections::BTreeSet;
use std::time::Duration;

use inspector::model_server::Script;
use placard_tests::Home;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::editor::{Editor, draws_cards};
use crate::scripted::{Scripted, finished};

/// Every page of a list.
async fn pages(editor: &mut Editor, cwd: Option<&str>) -> Vec<Vec<Value>> {
    let mut pages = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let answer = editor
            .call("session/list", json!({"cwd": cwd, "cursor": cursor}))
            .await;
        let page = answer["result"]["sessions"].as_array();
        pages.push(page.unwrap_or_else(|| panic!("{answer}")).clone());
        match answer["result"].get("nextCursor") {
            Some(next) => cursor = next.clone(),
            None => return pages,
        }
    }
}

fn titles(sessions: &[Value]) -> Vec<&str> {
    sessions
        .iter()
        .map(|session| session["title"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn two_hundred_sessions_are_listed_a_page_at_a_time() {
    const SESSIONS: usize = 200;
    let home = Home::new();
    let folders = [home.work_folder(), home.folder("other")];
    let mut editor = Editor::connect(&home, draws_cards()).await;
    // One that was never prompted is none.
    editor.session(&folders[0]).await;
    let mut ids = Vec::new();
    for nth in 0..SESSIONS {
        let session = editor.session(&folders[usize::from(nth % 4 == 0)]).await;
        editor.turn(&session, &format!("Question {nth}")).await;
        ids.push(session);
    }

    let all = pages(&mut editor, None).await;
    let sizes: Vec<usize> = all.iter().map(Vec::len).collect();
    assert_eq!(sizes, [50; 4]);
    let all = all.concat();
    let expected: Vec<Value> = ids
        .iter()
        .enumerate()
        .rev()
        .map(|(nth, id)| {
            json!({
                "sessionId": id,
                "cwd": folders[usize::from(nth % 4 == 0)],
                "title": format!("Question {nth}"),
            })
        })
        .collect();
    let told: Vec<Value> = all
        .iter()
        .map(|session| {
            let mut session = session.clone();
            let at = session.as_object_mut().unwrap().remove("updatedAt");
            let at = at.unwrap();
            let at = at.as_str().unwrap();
            assert!(
                at.len() == 24 && at.ends_with('Z') && at.starts_with("20"),
                "{at}"
            );
            session
        })
        .collect();
    assert_eq!(told, expected);

    let other = folders[1].to_str().unwrap();
    let of_one: Vec<Vec<Value>> = pages(&mut editor, Some(other)).await;
    assert_eq!(of_one.iter().map(Vec::len).collect::<Vec<_>>(), [50]);
    let found: BTreeSet<&str> = titles(&of_one[0]).into_iter().collect();
    let expected: Vec<String> = (0..SESSIONS)
        .step_by(4)
        .map(|nth| format!("Question {nth}"))
        .collect();
    assert_eq!(found, expected.iter().map(String::as_str).collect());
    let nowhere = home.path().join("nowhere");
    let nowhere = pages(&mut editor, nowhere.to_str()).await;
    assert_eq!(nowhere, [Vec::<Value>::new()]);
    editor.close(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_list_goes_on_though_the_session_at_its_cursor_was_deleted() {
    let home = Home::new();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let mut ids = Vec::new();
    for nth in 0..60 {
        let session = editor.session(&home.work_folder()).await;
        editor.turn(&session, &format!("Question {nth}")).await;
        ids.push(session);
    }
    let first = editor.call("session/list", json!({})).await;
    let last = &first["result"]["sessions"][49]["sessionId"];
    assert_eq!(last, &ids[10]);
    editor
        .call("session/delete", json!({"sessionId": last}))
        .await;
    // And another one comes to the front.
    editor.turn(&ids[0], "Again").await;
    let cursor = &first["result"]["nextCursor"];
    let second = editor.call("session/list", json!({"cursor": cursor})).await;
    let second = second["result"]["sessions"].as_array().unwrap();
    let expected: Vec<String> = (1..10).rev().map(|nth| format!("Question {nth}")).collect();
    assert_eq!(titles(second), expected);
    editor.close(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn what_cannot_be_listed_is_an_error() {
    let home = Home::new();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let cursor = "the cursor is not one that session/list gave; begin again without one";
    let folder = "the folder to list sessions of is not absolute; give the whole path from /";
    let table = [
        (json!({"cursor": "secret"}), cursor),
        (json!({"cursor": ""}), cursor),
        (json!({"cwd": "work"}), folder),
    ];
    for (params, words) in table {
        let answer = editor.call("session/list", params).await;
        assert_eq!(answer["error"], json!({"code": -32602, "message": words}));
    }
    let answer = editor.call("session/list", json!({})).await;
    assert_eq!(answer["result"], json!({"sessions": []}));
    editor.close(Duration::from_secs(10)).await;
}

/// First from the prompt, then in the model's words; told as it comes, listed, and told again by a load.
#[tokio::test]
async fn a_title_is_told_listed_and_kept() {
    let script = Script::new()
        .then(finished())
        .then(finished())
        .with_title("Going on with it");
    let mut agent = Scripted::start(Home::new(), draws_cards(), script).await;
    agent.turn().await;
    let named = |message: &Value| {
        let update = &message["params"]["update"];
        update["sessionUpdate"] == "session_info_update" && update["title"] != "go on"
    };
    if !agent
        .editor
        .frames
        .iter()
        .any(|frame| named(&frame.message))
    {
        agent.editor.until(named).await;
    }
    let told: Vec<Value> = agent
        .editor
        .updates(&agent.session)
        .into_iter()
        .filter(|update| update["sessionUpdate"] == "session_info_update")
        .collect();
    assert_eq!(
        told,
        [
            json!({"sessionUpdate": "session_info_update", "title": "go on"}),
            json!({"sessionUpdate": "session_info_update", "title": "Going on with it"}),
        ]
    );
    let listed = pages(&mut agent.editor, None).await.concat();
    assert_eq!(titles(&listed), ["Going on with it"]);
    agent.editor.close(Duration::from_secs(10)).await;

    let mut fresh = Editor::connect(&agent.home, draws_cards()).await;
    let work = agent.home.work_folder();
    let seen = crate::seen::loaded(&mut fresh, &agent.session, &work).await;
    assert_eq!(seen.title.as_deref(), Some("Going on with it"));
    fresh.close(Duration::from_secs(10)).await;
}
