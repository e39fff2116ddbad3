//! Programs as they come: what third parties' agents do wrong, with real processes and pipes.

use std::os::fd::OwnedFd;
use std::time::Duration;

use acp_client::{AgentCommand, AgentSource, Hub, HubSettings, WireSide, WireTap};
use pretty_assertions::assert_eq;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::desk::{Reader, frames, settings, update};

/// A script for an interpreter on the PATH that tests may rely on.
pub fn program(interpreter: &str, script: &str) -> AgentSource {
    let mut command =
        AgentCommand::parse(&format!("{interpreter} -c"), [], std::env::temp_dir()).unwrap();
    command.args.push(script.to_owned());
    command.environment = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    AgentSource::Command(command)
}

pub fn shell(script: &str) -> AgentSource {
    program("sh", script)
}

pub const ANSWER_INITIALIZE: &str =
    r#"read line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'"#;

/// Settings whose wire goes to the receiver.
pub fn tapped(source: AgentSource) -> (HubSettings, mpsc::UnboundedReceiver<(WireSide, String)>) {
    let (tap, wire) = mpsc::unbounded_channel();
    let mut settings = settings(source);
    settings.tap = WireTap::new(move |side, line| {
        let _ = tap.send((side, line.to_owned()));
    });
    (settings, wire)
}

/// All notes on a wire whose hub is gone.
pub async fn notes(mut wire: mpsc::UnboundedReceiver<(WireSide, String)>) -> Vec<String> {
    let mut notes = Vec::new();
    while let Some((side, line)) = wire.recv().await {
        if side == WireSide::Note {
            notes.push(line);
        }
    }
    notes
}

/// A process that lives.
pub fn process(id: &Value) -> OwnedFd {
    let id = i32::try_from(id.as_i64().unwrap()).unwrap();
    pidfd_open(Pid::from_raw(id).unwrap(), PidfdFlags::empty()).unwrap()
}

/// A process descriptor is readable once its process has ended; a killed one ends when it is next scheduled.
pub fn has_ended(process: &OwnedFd) -> bool {
    let limit = Timespec::try_from(Duration::from_secs(2)).unwrap();
    poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&limit)) == Ok(1)
}

fn is_answer_to(id: &str) -> impl Fn(&Value) -> bool {
    move |next| next["dir"] == "a2c" && next["frame"]["id"] == id
}

#[tokio::test]
async fn banners_early_updates_and_second_answers_are_lived_with() {
    let (settings, wire) = tapped(program(
        "python3",
        r#"
import json, sys
def say(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
print("Welcome to the agent!\nReading ~/.agent ... ok", flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        say(id=message["id"], result={"protocolVersion": 1})
    elif message["method"] == "session/new":
        say(method="session/update", params={"sessionId": "s", "update": "early"})
        say(id=message["id"], result={"sessionId": "s"})
        say(id=message["id"], result={"sessionId": "t"})
        say(method="end")
"#,
    ));
    let hub = Hub::start(settings);
    let (mut page, _) = Reader::attach(&hub, 0).await;
    page.request(json!("n"), "session/new").await;
    let seen = page.until(|next| next["frame"]["method"] == "end").await;
    assert_eq!(
        frames(&seen)[2..],
        [
            json!({"jsonrpc": "2.0", "id": "n", "method": "session/new", "params": {}}),
            update("early"),
            json!({"jsonrpc": "2.0", "id": "n", "result": {"sessionId": "s"}}),
            json!({"jsonrpc": "2.0", "method": "end"}),
        ]
    );
    hub.shutdown().await;
    drop((page, hub));
    assert_eq!(
        notes(wire).await,
        [
            "the line above is no JSON-RPC message and was left out",
            "the line above is no JSON-RPC message and was left out",
            "the line above was left out: it answers no open request (id 2)",
        ]
    );
}

#[tokio::test]
async fn a_program_that_never_answers_initialize_is_ended_and_may_be_tried_again() {
    let mut settings = settings(shell("cat >/dev/null"));
    settings.initialize_limit = Duration::from_millis(250);
    let hub = Hub::start(settings);
    let (mut page, _) = Reader::attach(&hub, 0).await;
    for _ in 0..2 {
        assert_eq!(
            page.agent("ended").await,
            "`sh` did not answer `initialize` within 0.25 s and was stopped. \
             Is it an ACP agent? Many need a flag for it, such as --acp."
        );
        page.send(json!({"type": "restart"})).await;
        page.agent("starting").await;
    }
    hub.shutdown().await;
}

#[tokio::test]
async fn a_program_that_dies_in_mid_turn_fails_what_is_open_with_its_last_words() {
    let hub = Hub::start(settings(shell(&format!(
        "{ANSWER_INITIALIZE}; read line; \
         echo '{{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"session/request_permission\"}}'; \
         echo 'out of cheese' >&2; exit 3"
    ))));
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
async fn a_program_that_closes_its_input_and_lives_is_ended_with_its_last_words() {
    let hub = Hub::start(settings(shell(&format!(
        "{ANSWER_INITIALIZE}; echo 'no more of this' >&2; exec 0<&-; \
         echo '{{\"jsonrpc\":\"2.0\",\"method\":\"closed\"}}'; exec sleep 600"
    ))));
    let (mut page, _) = Reader::attach(&hub, 0).await;
    page.until(|next| next["frame"]["method"] == "closed").await;
    // More than may wait for it to read: what comes after the first fault must not turn in circles.
    for number in 1..=100 {
        page.request(json!(number.to_string()), "session/prompt")
            .await;
    }
    let message = "`sh` closed its input, so that nothing more can be said to it, and was stopped";
    let seen = page.until(|next| next["agent"]["state"] == "ended").await;
    let answer = |id| {
        let entry = seen.iter().find(|entry| is_answer_to(id)(entry)).unwrap();
        entry["frame"]["error"]["message"].clone()
    };
    let words = "\nThe last that it wrote to stderr:\nno more of this";
    assert_eq!(
        (answer("1"), answer("100")),
        (
            json!(format!(
                "the agent ended before it answered: {message}{words}"
            )),
            json!(format!("the agent is not running: {message}{words}"))
        )
    );
    hub.shutdown().await;
}

#[tokio::test]
async fn a_program_that_closes_its_input_and_ends_is_told_of_by_its_exit() {
    let hub = Hub::start(settings(shell(&format!(
        "{ANSWER_INITIALIZE}; exec 0<&-; \
         echo '{{\"jsonrpc\":\"2.0\",\"method\":\"closed\"}}'; sleep 0.3; exit 4"
    ))));
    let (mut page, _) = Reader::attach(&hub, 0).await;
    page.until(|next| next["frame"]["method"] == "closed").await;
    page.request(json!("p"), "session/prompt").await;
    assert_eq!(
        page.agent("ended").await,
        "the agent `sh` ended with exit status 4"
    );
    hub.shutdown().await;
}

#[tokio::test]
async fn what_a_program_leaves_in_sessions_of_its_own_ends_with_it() {
    // One is stopped, the other ends by itself.
    for then in ["exec cat", "exit 0"] {
        let hub = Hub::start(settings(shell(&format!(
            "setsid sleep 300 </dev/null >/dev/null 2>&1 & \
             echo \"{{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"method\\\":\\\"child\\\",\\\"params\\\":$!}}\"; \
             {ANSWER_INITIALIZE}; read line; {then}"
        ))));
        let (mut page, _) = Reader::attach(&hub, 0).await;
        let seen = page.until(|next| next["frame"]["method"] == "child").await;
        let child = process(&seen.last().unwrap()["frame"]["params"]);
        page.agent("running").await;
        page.request(json!("p"), "session/prompt").await;
        if then == "exit 0" {
            page.agent("ended").await;
        }
        hub.shutdown().await;
        assert!(has_ended(&child), "the child lives on after {then}");
    }
}
