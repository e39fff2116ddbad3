//! A session with a long past: loading it keeps nobody waiting, can be broken off, and costs no memory.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use placard_tests::{Home, Program, SOON, binary, until};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::editor::{Editor, draws_cards};
use crate::seen::{Message, loaded};
use crate::slow_reader::resident;

const ID: &str = "0192f0c1-7b2e-7000-8000-0123456789ab";

/// Turns of the long session. Telling them all takes much longer than any other request.
const TURNS: usize = 4_000;

/// Puts a session of many turns into the store, whose answers go on in these words.
async fn store_long_session(home: &Home, words: &str) {
    let header = json!({
        "id": ID,
        "cwd": home.work_folder(),
        "created_at": 1_790_000_000_000_u64,
        "program_version": "0.1.0",
        "model": "offline",
        "schema_version": 1,
    });
    let mut lines = json!({"header": header}).to_string() + "\n";
    let mut seq = 0_u64;
    let mut line = |what: Value| {
        let at = 1_790_000_000_000 + seq;
        let event = json!({"seq": seq, "at": at, "what": what});
        seq += 1;
        writeln!(lines, "{event}").unwrap();
    };
    for turn in 0..TURNS {
        line(json!({"type": "turn/start", "trigger": "prompt"}));
        line(json!({"type": "user/message", "text": format!("question {turn}")}));
        line(json!({"type": "step/start"}));
        let blocks = json!([{"type": "text", "text": format!("answer {turn}{words}")}]);
        line(json!({"type": "assistant/message", "blocks": blocks}));
        line(json!({"type": "step/end"}));
        line(json!({"type": "turn/end", "reason": "completed"}));
    }
    let file = home.path().join("long.jsonl");
    std::fs::write(&file, lines).unwrap();
    let file = file.display().to_string();
    let mut import = Program::start(home, &binary("placard"), &["sessions", "import", &file]);
    let ended = import.ended(Duration::from_mins(1)).await;
    assert!(ended.success(), "{}", import.stderr(SOON).await);
}

fn wanted(cwd: &Path) -> Value {
    json!({"sessionId": ID, "cwd": cwd, "mcpServers": []})
}

/// Whether a message tells some of the past.
fn tells(message: &Value) -> bool {
    message["params"]["sessionId"] == ID
}

#[tokio::test]
async fn a_long_load_keeps_nobody_waiting_and_tells_everything() {
    let home = Home::new();
    store_long_session(&home, "").await;
    let work = home.work_folder();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let load = editor.send("session/load", wanted(&work)).await;
    editor.until(tells).await;
    // Everything else goes on beside it.
    let session = editor.session(&work).await;
    let answer = editor.turn(&session, "$ echo beside").await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    assert_eq!(editor.printed(&session), "beside\r\n");
    let listed = editor.call("session/list", json!({})).await;
    assert_eq!(listed["result"]["sessions"].as_array().unwrap().len(), 2);
    let early = editor.turn(ID, "$ true").await;
    assert_eq!(
        early["error"],
        json!({"code": -32600, "message": "this session is being loaded; wait for the answer to session/load"})
    );
    let before = editor.updates(ID).len();
    assert!(before < TURNS, "the load was over: this test is too small");

    let answer = editor.response(load).await;
    assert!(answer["result"].is_object(), "{answer}");
    let messages = crate::seen::Seen::of(&editor.updates(ID)).messages;
    let expected: Vec<Message> = (0..TURNS)
        .flat_map(|turn| {
            [
                Message::User(format!("question {turn}")),
                Message::Agent(format!("answer {turn}")),
            ]
        })
        .collect();
    // A difference would be long.
    assert!(messages == expected, "{:#?}", &messages[..4]);
    let answer = editor.turn(ID, "$ true").await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    editor.close(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_load_that_is_withdrawn_or_closed_lets_go_of_the_session() {
    let home = Home::new();
    store_long_session(&home, "").await;
    let work = home.work_folder();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let broken_off = "the session was closed while it was being loaded; load it again";

    let load = editor.send("session/load", wanted(&work)).await;
    editor.until(tells).await;
    editor
        .notify("$/cancel_request", json!({"requestId": load}))
        .await;
    let answer = editor.response(load).await;
    assert_eq!(answer["error"]["code"], -32800, "{answer}");

    let load = editor.send("session/load", wanted(&work)).await;
    editor.until(tells).await;
    let close = editor.send("session/close", json!({"sessionId": ID})).await;
    let again = editor.send("session/resume", wanted(&work)).await;
    let answer = editor.response(load).await;
    assert_eq!(
        answer["error"],
        json!({"code": -32800, "message": broken_off})
    );
    let answer = editor.response(close).await;
    assert_eq!(answer["result"], json!({}));
    let answer = editor.response(again).await;
    assert!(answer["result"].is_object(), "{answer}");
    let before = editor.updates(ID).len();
    let answer = editor.turn(ID, "$ true").await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    // What was broken off says nothing more.
    let late: Vec<Value> = editor.updates(ID).split_off(before);
    assert!(
        late.iter()
            .all(|update| update["sessionUpdate"] != "user_message_chunk"),
        "{late:#?}"
    );

    // A session that is live is told again; breaking that off leaves it live.
    let load = editor.send("session/load", wanted(&work)).await;
    editor.until(tells).await;
    editor
        .notify("$/cancel_request", json!({"requestId": load}))
        .await;
    let answer = editor.response(load).await;
    assert_eq!(answer["error"]["code"], -32800, "{answer}");
    let before = editor.updates(ID).len();
    let answer = editor.turn(ID, "$ echo live").await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    let seen = crate::seen::Seen::of(&editor.updates(ID)[before..]);
    assert_eq!(seen.printed(), "live\r\n");

    let load = editor.send("session/load", wanted(&work)).await;
    editor.until(tells).await;
    let delete = editor
        .send("session/delete", json!({"sessionId": ID}))
        .await;
    let answer = editor.response(load).await;
    assert_eq!(answer["error"]["message"], broken_off, "{answer}");
    let answer = editor.response(delete).await;
    assert_eq!(answer["result"], json!({}));
    let listed = editor.call("session/list", json!({})).await;
    assert_eq!(listed["result"], json!({"sessions": []}));
    editor.close(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_client_that_goes_away_ends_the_load_and_frees_the_session() {
    let home = Home::alone();
    store_long_session(&home, "").await;
    let work = home.work_folder();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    editor.send("session/load", wanted(&work)).await;
    editor.until(tells).await;
    // It neither reads nor writes any more.
    editor.close(Duration::from_secs(1)).await;
    let mut other = Editor::connect(&home, draws_cards()).await;
    let seen = loaded(&mut other, ID, &work).await;
    assert_eq!(seen.messages.len(), 2 * TURNS);
    other.close(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_past_that_nobody_reads_waits_in_the_store() {
    let home = Home::new();
    let work = home.work_folder();
    // 32 MB of words.
    let words = " and so on".repeat(800);
    store_long_session(&home, &words).await;
    let mut editor = Editor::connect(&home, draws_cards()).await;
    editor.call("session/list", json!({})).await;
    let pid = editor.program.id().unwrap();
    let before = resident(pid);
    let load = editor.send("session/load", wanted(&work)).await;
    // Nobody reads. It waits when it grows no more; a load that did not wait would be through by then.
    let mut last = (resident(pid), Instant::now());
    until(Duration::from_mins(1), "the load waits", async || {
        let now = resident(pid);
        if now != last.0 {
            last = (now, Instant::now());
        }
        (last.1.elapsed() > Duration::from_secs(2)).then_some(())
    })
    .await;
    let grown = last.0.saturating_sub(before);
    assert!(grown < 16 * 1024, "grew from {before} to {} KiB", last.0);

    let answer = editor.response(load).await;
    assert!(answer["result"].is_object(), "{answer}");
    assert!(editor.said(ID).len() > TURNS * words.len());
    let grown = resident(pid).saturating_sub(before);
    assert!(grown < 16 * 1024, "grew by {grown} KiB");
    editor.close(Duration::from_secs(10)).await;
}
