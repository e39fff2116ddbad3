//! Agents that end, that never begin, and that have to be ended.

use std::time::Duration;

use acp_client::{AgentCommand, AgentPhase, AgentSource, Hub};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::desk::{Reader, hub, scripted, update};
use crate::programs::{ANSWER_INITIALIZE, has_ended, process, shell};

fn is_answer_to(id: &str) -> impl Fn(&Value) -> bool {
    move |next| next["dir"] == "a2c" && next["frame"]["id"] == id
}

#[tokio::test]
async fn an_agent_may_be_started_again() {
    let hub = hub(scripted(|mut agent| async move {
        agent.initialize().await;
        let id = agent.hear_request("work").await;
        agent.answer(&id, json!(null)).await;
        Err("the work is done".into())
    }));
    let (mut page, _) = Reader::attach(&hub, 0).await;
    for _ in 0..2 {
        page.agent("running").await;
        page.send(json!({"type": "restart"})).await; // It runs: nothing to do.
        page.request(json!("w"), "work").await;
        assert_eq!(
            page.agent("ended").await,
            "the agent ended: the work is done"
        );
        page.send(json!({"type": "restart"})).await;
        assert_eq!(page.agent("starting").await, "");
    }
    hub.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_never_answers_initialize_is_ended_in_time() {
    let hub = hub(scripted(|mut agent| async move {
        agent.update("thinking").await;
        agent.rest().await;
        Ok(())
    }));
    let (mut page, _) = Reader::attach(&hub, 0).await;
    page.frame(json!({"jsonrpc": "2.0", "id": "i", "method": "initialize"}))
        .await;
    let answer = page.until(is_answer_to("i")).await;
    let message = page.agent("ended").await;
    assert_eq!(
        message,
        "`scripted` did not answer `initialize` within 20 s and was stopped. \
         Is it an ACP agent? Many need a flag for it, such as --acp."
    );
    assert_eq!(
        answer.last().unwrap()["frame"]["error"]["message"],
        json!(format!("the agent is not running: {message}"))
    );
    hub.shutdown().await;
}

#[tokio::test]
async fn an_agent_of_another_version_or_with_an_error_is_refused() {
    for (answer, why) in [
        (
            json!({"result": {"protocolVersion": 2}}),
            "it speaks version 2 of the protocol, Placard speaks 1",
        ),
        (
            json!({"error": {"code": 1, "message": "no"}}),
            r#"it answered `initialize` with an error: {"code":1,"message":"no"}"#,
        ),
    ] {
        let hub = hub(scripted(move |mut agent| {
            let mut answer = answer.clone();
            async move {
                answer["jsonrpc"] = json!("2.0");
                answer["id"] = agent.hear_request("initialize").await;
                agent.say(answer).await;
                agent.rest().await;
                Ok(())
            }
        }));
        let (mut page, _) = Reader::attach(&hub, 0).await;
        assert_eq!(
            page.agent("ended").await,
            format!("`scripted` was stopped: {why}")
        );
        hub.shutdown().await;
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_said_to_be_missing() {
    let command = AgentCommand::parse("/no/such/agent --acp", [], "/").unwrap();
    let hub = hub(AgentSource::Command(command));
    let (mut page, attached) = Reader::attach(&hub, 0).await;
    if attached["agent"]["state"] != "ended" {
        page.agent("ended").await;
    }
    let state = hub.agent();
    assert_eq!(
        (state.state, state.name.as_str(), state.message.as_deref()),
        (
            AgentPhase::Ended,
            "agent",
            Some(
                "the agent `/no/such/agent` could not be started in /: No such file or directory (os error 2). \
                 Check that the program is installed and on PATH, and that the folder exists."
            )
        )
    );
    hub.shutdown().await;
}

#[tokio::test]
async fn shutting_down_ends_an_agent_that_does_not_want_to_and_its_children() {
    let started = std::time::Instant::now();
    let hub = hub(shell(&format!(
        "trap '' TERM; sleep 300 & echo \"{{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"method\\\":\\\"child\\\",\
         \\\"params\\\":$!}}\"; {ANSWER_INITIALIZE}; while :; do sleep 300; done"
    )));
    let (mut page, _) = Reader::attach(&hub, 0).await;
    let seen = page.until(|next| next["frame"]["method"] == "child").await;
    let child = process(&seen.last().unwrap()["frame"]["params"]);
    page.agent("running").await;
    hub.shutdown().await;
    assert!(started.elapsed() < Duration::from_secs(8));
    assert_eq!(
        page.page.next().await,
        None,
        "a page of a hub that is gone is to be closed"
    );
    assert!(has_ended(&child), "the child lives on");
}

#[tokio::test]
async fn an_agent_that_is_stopped_while_it_writes_can_still_end() {
    let hub = hub(scripted(|mut agent| async move {
        agent.initialize().await;
        // Far more than the pipe holds: it ends only if someone reads.
        for _ in 0..100 {
            agent.update(&"x".repeat(10_000)).await;
        }
        agent.update("last").await;
        agent.rest().await;
        Ok(())
    }));
    let (mut page, _) = Reader::attach(&hub, 0).await;
    page.agent("running").await;
    let stopping: Hub = hub.clone();
    let stopped = tokio::spawn(async move { stopping.shutdown().await });
    tokio::time::timeout(Duration::from_secs(4), stopped)
        .await
        .expect("before the limit")
        .unwrap();
    assert_eq!(
        hub.agent().message.as_deref(),
        Some("the agent was stopped")
    );
    drop(page);
}

#[tokio::test]
async fn a_hub_that_is_dropped_ends_its_agent() {
    let (told, heard) = tokio::sync::oneshot::channel();
    let told = std::sync::Mutex::new(Some(told));
    let hub = hub(scripted(move |mut agent| {
        let told = told.lock().unwrap().take().unwrap();
        async move {
            agent.initialize().await;
            agent.say(update("ready")).await;
            agent.rest().await;
            told.send(()).unwrap();
            Ok(())
        }
    }));
    let (mut page, _) = Reader::attach(&hub, 0).await;
    page.until(|next| next["frame"] == update("ready")).await;
    drop(hub);
    tokio::time::timeout(Duration::from_secs(5), heard)
        .await
        .expect("the agent's input ends")
        .unwrap();
}
