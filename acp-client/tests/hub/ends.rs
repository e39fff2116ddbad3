//! Agents that end, that never begin, and that have to be ended.

use std::time::Duration;

use acp_client::{AgentCommand, AgentPhase, AgentSource, Hub};
use pretty_assertions::assert_eq;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::{Value, json};

use crate::desk::{Reader, hub, scripted, update};

/// A real program: `sh` with a script.
fn shell(script: &str) -> AgentSource {
    let mut command = AgentCommand::parse("sh -c", [], std::env::temp_dir()).unwrap();
    command.args.push(script.to_owned());
    command.environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
    AgentSource::Command(command)
}

const ANSWER_INITIALIZE: &str =
    r#"read line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'"#;

fn is_answer_to(id: &str) -> impl Fn(&Value) -> bool {
    move |next| next["dir"] == "a2c" && next["frame"]["id"] == id
}

#[tokio::test]
async fn an_agent_that_dies_in_mid_turn_fails_what_is_open_with_its_last_words() {
    let hub = hub(shell(&format!(
        "{ANSWER_INITIALIZE}; read line; \
         echo '{{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"session/request_permission\"}}'; \
         echo 'out of cheese' >&2; exit 3"
    )));
    let (mut page, _) = Reader::attach(&hub, 0).await;
    page.agent("running").await;
    page.request(json!("p"), "session/prompt").await;
    let seen = page.until(|next| next["agent"]["state"] == "ended").await;
    let what = "the agent `sh` ended with exit status 3";
    let message = format!("{what}\nThe last that it wrote to stderr:\nout of cheese");
    let failed = json!({"jsonrpc": "2.0", "id": "p", "error": {
        "code": -32603,
        "message": format!("the agent ended before it answered: {message}"),
        "data": {"reason": what, "stderr": "out of cheese\n"}}});
    let closed = json!({"jsonrpc": "2.0", "id": "q", "error":
        {"code": -32603, "message": "the agent ended before an answer"}});
    assert_eq!(
        seen[1..],
        [
            json!({"n": 4, "t": 0, "dir": "a2c", "frame":
                {"jsonrpc": "2.0", "id": "q", "method": "session/request_permission"}}),
            json!({"n": 5, "t": 0, "dir": "a2c", "own": true, "frame": failed}),
            json!({"n": 6, "t": 0, "dir": "c2a", "frame": closed}),
            json!({"type": "agent", "agent": {"state": "ended", "name": "sh", "message": message}}),
        ]
    );
    // A request to nobody is answered too.
    page.request(json!("late"), "session/prompt").await;
    let late = page.until(is_answer_to("late")).await;
    assert_eq!(
        late.last().unwrap()["frame"]["error"]["message"],
        json!(format!("the agent is not running: {message}"))
    );
    hub.shutdown().await;
}

#[tokio::test]
async fn an_agent_may_be_started_again() {
    let hub = hub(scripted(|mut agent| async move {
        agent.initialize().await;
        let id = agent.hear_request("work").await;
        agent.answer(&id, json!(null)).await;
        Err("the work is done".to_owned())
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
    let child = seen.last().unwrap()["frame"]["params"].as_i64().unwrap();
    let child = Pid::from_raw(i32::try_from(child).unwrap()).unwrap();
    let child = pidfd_open(child, PidfdFlags::empty()).unwrap();
    page.agent("running").await;
    hub.shutdown().await;
    assert!(started.elapsed() < Duration::from_secs(8));
    assert_eq!(
        page.page.next().await,
        None,
        "a page of a hub that is gone is to be closed"
    );
    // A process descriptor is readable once its process has ended; a killed one ends when it is next scheduled.
    let limit = Timespec::try_from(Duration::from_secs(2)).unwrap();
    let ended = poll(&mut [PollFd::new(&child, PollFlags::IN)], Some(&limit));
    assert_eq!(ended, Ok(1), "the child lives on");
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
