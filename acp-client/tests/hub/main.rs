//! The hub with scripted agents and pages: what one sees, what all see, what is still there later.

// The lints know only test functions as tests, not what serves them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod desk;
mod ends;
mod programs;
mod unreadable;

use acp_client::{ClientError, Hub, WireSide, WireTap};
use desk::{Reader, frames, hub, scripted, settings, update};
use futures::FutureExt;
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::sync::oneshot;

#[tokio::test]
async fn a_page_that_is_loaded_again_in_mid_turn_gets_the_same_frames_and_the_turn_goes_on() {
    let (go_on, wait) = oneshot::channel();
    let wait = std::sync::Mutex::new(Some(wait));
    let hub = hub(scripted(move |mut agent| {
        let wait = wait.lock().unwrap().take().unwrap();
        async move {
            agent.initialize().await;
            let id = agent.hear_request("session/prompt").await;
            agent.update("one").await;
            wait.await.unwrap();
            agent.update("two").await;
            agent.answer(&id, json!({"stopReason": "end_turn"})).await;
            agent.rest().await;
            Ok(())
        }
    }));
    let (mut page, attached) = Reader::attach(&hub, 0).await;
    assert_eq!(
        (attached["type"].as_str(), attached["cwd"].as_str()),
        (Some("attached"), Some("/work"))
    );
    page.request(json!("p"), "session/prompt").await;
    let is_one = |next: &serde_json::Value| next["frame"] == update("one");
    let first = page.until(is_one).await;
    drop(page);

    let (mut page, _) = Reader::attach(&hub, 0).await;
    let again = page.until(is_one).await;
    // The same frames, but the request is foreign now: another id, not marked as the page's own.
    assert_eq!(frames(&first)[2]["id"], json!("p"));
    assert_eq!(frames(&again)[2]["id"], json!(2));
    let without_ids = |entries: &[serde_json::Value]| -> Vec<_> {
        let mut entries: Vec<_> = entries
            .iter()
            .filter(|entry| entry["frame"].is_object())
            .cloned()
            .collect();
        for entry in &mut entries {
            entry.as_object_mut().unwrap().remove("own");
            entry["frame"].as_object_mut().unwrap().remove("id");
        }
        entries
    };
    assert_eq!(without_ids(&first), without_ids(&again));

    go_on.send(()).unwrap();
    let rest = page.until(|next| next["frame"]["id"] == 2).await;
    assert_eq!(
        rest,
        vec![
            json!({"n": 5, "t": 0, "dir": "a2c", "frame": update("two")}),
            json!({"n": 6, "t": 0, "dir": "a2c",
                "frame": {"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "end_turn"}}}),
        ]
    );
    let (mut late, attached) = Reader::attach(&hub, 4).await;
    assert_eq!(
        (attached["after"].as_u64(), attached["last"].as_u64()),
        (Some(4), Some(6))
    );
    assert_eq!(late.until(|next| next["n"] == 6).await, rest);
    hub.shutdown().await;
}

#[tokio::test]
async fn two_pages_may_use_the_same_id_and_each_sees_its_own_answer() {
    let hub = hub(scripted(|mut agent| async move {
        agent.initialize().await;
        // Answers in the other order.
        let first = agent.hear_request("session/new").await;
        let second = agent.hear_request("session/new").await;
        agent.answer(&second, json!({"sessionId": "second"})).await;
        agent.answer(&first, json!({"sessionId": "first"})).await;
        agent.rest().await;
        Ok(())
    }));
    let (mut one, _) = Reader::attach(&hub, 0).await;
    let (mut two, _) = Reader::attach(&hub, 0).await;
    one.request(json!(1), "session/new").await;
    one.until(|next| next["frame"]["method"] == "session/new")
        .await;
    two.request(json!(1), "session/new").await;
    let answers = async |page: &mut Reader| {
        let is_answer = |next: &serde_json::Value| next["frame"]["result"]["sessionId"].is_string();
        let mut answers = page.until(is_answer).await;
        answers.extend(page.until(is_answer).await);
        answers.retain(is_answer);
        answers
            .iter()
            .map(|entry| {
                let own = entry["own"] == true;
                (
                    own,
                    entry["frame"]["id"].clone(),
                    entry["frame"]["result"]["sessionId"].clone(),
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(
        answers(&mut one).await,
        [
            (false, json!(3), json!("second")),
            (true, json!(1), json!("first"))
        ]
    );
    assert_eq!(
        answers(&mut two).await,
        [
            (true, json!(1), json!("second")),
            (false, json!(2), json!("first"))
        ]
    );
    hub.shutdown().await;
}

#[tokio::test]
async fn the_first_answer_to_a_question_wins_and_every_page_sees_it() {
    let (told, heard) = oneshot::channel();
    let told = std::sync::Mutex::new(Some(told));
    let hub = hub(scripted(move |mut agent| {
        let told = told.lock().unwrap().take().unwrap();
        async move {
            agent.initialize().await;
            agent
                .say(json!({"jsonrpc": "2.0", "id": "ask", "method": "session/request_permission"}))
                .await;
            let answer = agent.hear().await.unwrap();
            let next = agent.hear().await.unwrap();
            told.send((answer, next)).unwrap();
            agent.rest().await;
            Ok(())
        }
    }));
    let (mut one, _) = Reader::attach(&hub, 0).await;
    let (mut two, _) = Reader::attach(&hub, 0).await;
    let is_question =
        |next: &serde_json::Value| next["frame"]["method"] == "session/request_permission";
    one.until(is_question).await;
    two.until(is_question).await;
    let answer =
        |choice: &str| json!({"jsonrpc": "2.0", "id": "ask", "result": {"outcome": choice}});
    one.frame(answer("allow")).await;
    two.frame(answer("reject")).await;
    two.frame(json!({"jsonrpc": "2.0", "method": "end"})).await;
    assert_eq!(
        heard.await.unwrap(),
        (answer("allow"), json!({"jsonrpc": "2.0", "method": "end"}))
    );
    let is_end = |next: &serde_json::Value| next["frame"]["method"] == "end";
    let entry = |n: u64, own: bool, frame: serde_json::Value| {
        let mut entry = json!({"n": n, "t": 0, "dir": "c2a", "own": true, "frame": frame});
        if !own {
            entry.as_object_mut().unwrap().remove("own");
        }
        entry
    };
    let end = json!({"jsonrpc": "2.0", "method": "end"});
    assert_eq!(
        one.until(is_end).await,
        [
            entry(4, true, answer("allow")),
            entry(5, false, end.clone())
        ]
    );
    assert_eq!(
        two.until(is_end).await,
        [entry(4, false, answer("allow")), entry(5, true, end)]
    );
    hub.shutdown().await;
}

#[tokio::test]
async fn a_page_that_reads_nothing_holds_up_nobody() {
    const UPDATES: usize = 1000;
    let hub = hub(scripted(|mut agent| async move {
        agent.initialize().await;
        let id = agent.hear_request("go").await;
        // 10 MB, more than is kept in memory.
        let text = "x".repeat(10_000);
        for _ in 0..UPDATES {
            agent.update(&text).await;
        }
        agent.answer(&id, json!(null)).await;
        agent.rest().await;
        Ok(())
    }));
    let (mut silent, _) = Reader::attach(&hub, 0).await;
    let (mut page, _) = Reader::attach(&hub, 0).await;
    page.request(json!("go"), "go").await;
    let seen = page
        .until(|next| next["frame"]["id"] == "go" && next["dir"] == "a2c")
        .await;
    let numbers = |entries: &[serde_json::Value]| -> Vec<u64> {
        entries
            .iter()
            .filter_map(|entry| entry["n"].as_u64())
            .collect()
    };
    let last = UPDATES as u64 + 4;
    assert_eq!(numbers(&seen), (1..=last).collect::<Vec<_>>());

    // The silent one gets what its credit allows, and the rest once it acknowledges.
    let mut got = Vec::new();
    for _ in 0..16 {
        got.extend(silent.batch().await);
    }
    let beyond = silent.page.next().now_or_never();
    assert_eq!(beyond, None, "no more than sixteen batches are under way");
    let acknowledged = got.last().unwrap()["n"].clone();
    silent.send(json!({"type": "ack", "n": acknowledged})).await;
    let mut all = numbers(&got);
    while all.last() != Some(&last) {
        let frames = silent.batch().await;
        all.extend(numbers(&frames));
        silent
            .send(json!({"type": "ack", "n": frames.last().unwrap()["n"]}))
            .await;
    }
    assert_eq!(all, (1..=last).collect::<Vec<_>>());
    hub.shutdown().await;
}

#[tokio::test]
async fn what_an_agent_should_not_do_is_lived_with() {
    let (tap, mut wire) = tokio::sync::mpsc::unbounded_channel();
    let mut settings = settings(scripted(|mut agent| async move {
        agent.say_text("Welcome to the agent!\n\n[1,2]\n").await;
        let id = agent.hear_request("initialize").await;
        agent
            .say_text(&format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":\"{id}\",\r\"result\":{{}}}}\r\n"
            ))
            .await;
        let new = agent.hear_request("session/new").await;
        agent.update("before the session").await;
        agent.answer(&new, json!({"sessionId": "s"})).await;
        agent.answer(&new, json!({"sessionId": "t"})).await;
        agent
            .say(json!({"jsonrpc": "2.0", "id": 0, "method": "fs/read_text_file"}))
            .await;
        let refusal = agent.hear().await.unwrap();
        agent
            .say(json!({"jsonrpc": "2.0", "method": "got", "params": refusal}))
            .await;
        agent.rest().await;
        Ok(())
    }));
    settings.tap = WireTap::new(move |side, line| {
        let _ = tap.send((side, line.to_owned()));
    });
    let hub = Hub::start(settings);
    let (mut page, _) = Reader::attach(&hub, 2).await;
    page.request(json!("n"), "session/new").await;
    let seen = page.until(|next| next["frame"]["method"] == "got").await;
    let refusal = json!({"jsonrpc": "2.0", "id": 0, "error": {"code": -32601,
        "message": "fs/read_text_file is not offered (see clientCapabilities of initialize)"}});
    assert_eq!(
        frames(&seen)[frames(&seen).len() - 6..],
        [
            json!({"jsonrpc": "2.0", "id": "n", "method": "session/new", "params": {}}),
            update("before the session"),
            json!({"jsonrpc": "2.0", "id": "n", "result": {"sessionId": "s"}}),
            json!({"jsonrpc": "2.0", "id": 0, "method": "fs/read_text_file"}),
            refusal.clone(),
            json!({"jsonrpc": "2.0", "method": "got", "params": refusal}),
        ]
    );
    hub.shutdown().await;
    drop(page);
    drop(hub);
    let mut notes = Vec::new();
    while let Some((side, line)) = wire.recv().await {
        if side == WireSide::Note {
            notes.push(line);
        }
    }
    assert_eq!(
        notes,
        [
            "the line above is no JSON-RPC message and was left out",
            "the line above is no JSON-RPC message and was left out",
            "the line above was left out: it answers no open request (id 2)",
        ]
    );
}

#[tokio::test]
async fn what_a_page_should_not_do_is_answered() {
    let hub = hub(scripted(|mut agent| async move {
        agent.initialize().await;
        agent.rest().await;
        Ok(())
    }));
    let early = hub.page();
    assert_eq!(
        early.send(r#"{"type":"ack","n":1}"#).await,
        Err(ClientError::NotAttached)
    );
    let (mut page, _) = Reader::attach(&hub, 0).await;
    page.agent("running").await;
    let wrong = page.page.send("hello").await;
    assert_eq!(
        wrong.map_err(|error| error.to_string()),
        Err(
            "this message is not understood: it is no envelope: expected value at line 1 column 1"
                .into()
        )
    );
    page.frame(json!([])).await;
    page.frame(json!({"id": 4, "method": "old"})).await;
    page.frame(json!({"jsonrpc": "2.0", "id": "i", "method": "initialize"}))
        .await;
    // Answers nothing that was asked: dropped.
    page.frame(json!({"jsonrpc": "2.0", "id": 77, "result": {}}))
        .await;
    page.frame(json!({"jsonrpc": "2.0", "method": "end"})).await;
    let seen = page.until(|next| next["frame"]["method"] == "end").await;
    let private = |frame: serde_json::Value| json!({"n": 0, "t": 0, "dir": "a2c", "own": true, "frame": frame});
    let error = |id: serde_json::Value, message: &str| {
        private(json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32600, "message": message}}))
    };
    let end = json!({"jsonrpc": "2.0", "method": "end"});
    assert_eq!(
        seen,
        [
            error(
                json!(null),
                "this is no JSON-RPC message: it is no JSON object"
            ),
            error(
                json!(4),
                r#"not a JSON-RPC 2.0 message: it needs "jsonrpc":"2.0" and a method, a result or an error"#
            ),
            private(json!({"jsonrpc": "2.0", "id": "i", "result":
                {"protocolVersion": 1, "agentInfo": {"name": "fake", "title": "Fake"}}})),
            json!({"n": 3, "t": 0, "dir": "c2a", "own": true, "frame": end}),
        ]
    );
    hub.shutdown().await;
}

#[tokio::test]
async fn a_page_may_withdraw_its_request() {
    let (told, heard) = oneshot::channel();
    let told = std::sync::Mutex::new(Some(told));
    let hub = hub(scripted(move |mut agent| {
        let told = told.lock().unwrap().take().unwrap();
        async move {
            agent.initialize().await;
            let id = agent.hear_request("slow").await;
            told.send((id, agent.hear().await.unwrap())).unwrap();
            agent.rest().await;
            Ok(())
        }
    }));
    let (page, _) = Reader::attach(&hub, 0).await;
    page.request(json!("mine"), "slow").await;
    let cancel = |id: serde_json::Value| json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": id}});
    page.frame(cancel(json!("mine"))).await;
    assert_eq!(heard.await.unwrap(), (json!(2), cancel(json!(2))));
    hub.shutdown().await;
}
