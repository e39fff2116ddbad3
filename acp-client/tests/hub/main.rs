//! The hub with scripted agents and pages: what one sees, what all see, what is still there later.

mod desk;

use desk::{Reader, frames, hub, scripted, update};
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
    assert_eq!((attached["type"].as_str(), attached["cwd"].as_str()), (Some("attached"), Some("/work")));
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
        let mut entries: Vec<_> =
            entries.iter().filter(|entry| entry["frame"].is_object()).cloned().collect();
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
    assert_eq!((attached["after"].as_u64(), attached["last"].as_u64()), (Some(4), Some(6)));
    assert_eq!(late.until(|next| next["n"] == 6).await, rest);
    hub.shutdown().await;
}
