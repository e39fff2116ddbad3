//! What one reader of JSON takes and another does not: it costs only itself.

use acp_client::Hub;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::desk::{Agent, Reader, frames, hub, scripted};
use crate::programs::{notes, tapped};

/// Says these lines.
async fn say_lines(agent: &mut Agent, lines: &[String]) {
    for line in lines {
        agent.say_text(&format!("{line}\n")).await;
    }
}

#[tokio::test]
async fn what_an_agent_says_and_nobody_can_read_is_waited_for_by_nobody() {
    let (settings, wire) = tapped(scripted(|mut agent| async move {
        agent.initialize().await;
        let first = agent.hear_request("first").await;
        let second = agent.hear_request("second").await;
        let deep = "[".repeat(200) + &"]".repeat(200);
        let lines = [
            r#"{"jsonrpc":"2.0","method":"half","params":["\ud83d"]}"#.to_owned(),
            format!(r#"{{"jsonrpc":"2.0","method":"deep","params":{deep}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":{first},"result":{deep}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":{second},"result":{{"x":NaN}}}}"#),
            r#"{"jsonrpc":"2.0","id":"q","method":"ask","params":1e999}"#.to_owned(),
        ];
        say_lines(&mut agent, &lines).await;
        let refusal = agent.hear().await.unwrap();
        agent
            .say(json!({"jsonrpc": "2.0", "method": "refused", "params": refusal}))
            .await;
        agent.rest().await;
        Ok(())
    }));
    let hub = Hub::start(settings);
    let (mut page, _) = Reader::attach(&hub, 2).await;
    page.request(json!("a"), "first").await;
    page.request(json!("b"), "second").await;
    let seen = page
        .until(|next| next["frame"]["method"] == "refused")
        .await;
    let unreadable = |id: &str, why: &str| {
        let message = format!("the agent's answer cannot be read: {why}");
        json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": message}})
    };
    let refusal = json!({"jsonrpc": "2.0", "id": "q", "error": {"code": -32600,
        "message": "this request cannot be read: number out of range at line 1 column 55"}});
    let seen = frames(&seen);
    assert_eq!(
        seen[seen.len() - 4..],
        [
            json!({"jsonrpc": "2.0", "method": "half", "params": ["\u{fffd}"]}),
            unreadable(
                "a",
                "lists and objects in more than 100 others at line 1 column 133"
            ),
            unreadable("b", "expected value at line 1 column 39"),
            json!({"jsonrpc": "2.0", "method": "refused", "params": refusal}),
        ]
    );
    hub.shutdown().await;
    drop((page, hub));
    assert_eq!(
        notes(wire).await,
        [
            "the line above has half characters (lone surrogates): U+FFFD is in their place",
            "the line above was left out: lists and objects in more than 100 others at line 1 column 142",
            "the line above was left out: lists and objects in more than 100 others at line 1 column 133",
            "the line above was left out: expected value at line 1 column 39",
            "the line above was left out: number out of range at line 1 column 55",
        ]
    );
}

#[tokio::test]
async fn bytes_that_are_not_utf_8_are_replaced() {
    let (settings, wire) = tapped(crate::programs::shell(&format!(
        r#"{}; read line; printf '{{"jsonrpc":"2.0","id":2,"result":"caf\351"}}\n'; cat"#,
        crate::programs::ANSWER_INITIALIZE
    )));
    let hub = Hub::start(settings);
    let (mut page, _) = Reader::attach(&hub, 2).await;
    page.request(json!("a"), "first").await;
    let seen = page
        .until(|next| next["dir"] == "a2c" && next["frame"]["id"] == "a")
        .await;
    assert_eq!(
        frames(&seen).last(),
        Some(&json!({"jsonrpc": "2.0", "id": "a", "result": "caf\u{fffd}"}))
    );
    hub.shutdown().await;
    drop((page, hub));
    assert_eq!(
        notes(wire).await,
        ["the line above is not UTF-8: U+FFFD is where it is not"]
    );
}

#[tokio::test]
async fn an_initialize_that_nobody_can_read_is_told_of() {
    let hub = hub(scripted(|mut agent| async move {
        let id = agent.hear_request("initialize").await;
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"x":1e999}}}}"#);
        say_lines(&mut agent, &[line]).await;
        agent.rest().await;
        Ok(())
    }));
    let (mut page, _) = Reader::attach(&hub, 0).await;
    let message = page.agent("ended").await;
    assert_eq!(
        message,
        "`scripted` was stopped: it answered `initialize` with an error: \
         {\"code\":-32603,\"message\":\"the agent's answer cannot be read: \
         number out of range at line 1 column 43\"}"
    );
    hub.shutdown().await;
}

#[tokio::test]
async fn what_a_page_sends_is_read_as_strictly() {
    let hub = hub(scripted(|mut agent| async move {
        agent.initialize().await;
        let half = agent.hear().await.unwrap();
        agent
            .say(json!({"jsonrpc": "2.0", "method": "got", "params": half["params"]}))
            .await;
        agent.rest().await;
        Ok(())
    }));
    let (mut page, _) = Reader::attach(&hub, 0).await;
    page.agent("running").await;
    for frame in [
        r#"{"jsonrpc":"2.0","id":"c","method":"far","params":1e999}"#,
        r#"{"jsonrpc":"2.0","method":"half","params":["\udc00"]}"#,
    ] {
        let envelope = format!(r#"{{"type":"frame","frame":{frame}}}"#);
        page.page.send(&envelope).await.unwrap();
    }
    let seen = page.until(|next| next["frame"]["method"] == "got").await;
    assert_eq!(
        frames(&seen),
        [
            json!({"jsonrpc": "2.0", "id": "c", "error": {"code": -32600, "message":
                "this is no JSON-RPC message: number out of range at line 1 column 55"}}),
            json!({"jsonrpc": "2.0", "method": "half", "params": ["\u{fffd}"]}),
            json!({"jsonrpc": "2.0", "method": "got", "params": ["\u{fffd}"]}),
        ]
    );
    hub.shutdown().await;
}
