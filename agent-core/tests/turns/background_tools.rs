//! What the tools for commands in the background are told, and what they answer: a pipe, the end of the input, a filter.

use std::sync::Arc;

use agent_core::session::event::{Decision, EventKind, TurnEndReason};
use agent_core::session::update::{Update, channel};
use agent_core::store::memory::MemoryStore;
use inspector::model_server::{Answer, ModelServer, Script};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{Stage, assert_balanced};

/// What a model reads as the results of these calls, one a step, of a person who allows everything.
async fn results(calls: &[(&str, Value)]) -> Vec<String> {
    let mut script = Script::new();
    for (number, (name, args)) in calls.iter().enumerate() {
        script = script.then(Answer::new().call(format!("m{number}"), *name, [args.to_string()]));
    }
    let server = ModelServer::start(script.then(Answer::new().text(["Done."]))).unwrap();
    let mut stage = Stage::with_model(&server, Some(Arc::new(MemoryStore::default())));
    let opened = stage.opened.as_mut().unwrap();
    let mut updates = std::mem::replace(&mut opened.updates, channel().1);
    tokio::spawn(async move {
        loop {
            if let Update::Permission(request) = updates.next().await {
                request.answer.send(Decision::AllowOnce).unwrap();
            }
        }
    });
    assert_eq!(stage.turn("go").await, (TurnEndReason::Completed, None));
    let session = stage.session();
    session.close().await;
    let events = session.events().await.unwrap();
    assert_balanced(&events);
    let results = events.iter().filter_map(|event| match event.what.known()? {
        EventKind::ToolResult { content, .. } => Some(content.clone()),
        _ => None,
    });
    results.collect()
}

fn in_background(command: &str) -> (&'static str, Value) {
    (
        "bash",
        json!({"command": command, "run_in_background": true}),
    )
}

/// What was printed, and how it stands in the end: looks at one command put together, because how much each sees depends on timing.
fn put_together(looks: &[String]) -> (String, &str) {
    let parted = looks
        .iter()
        .map(|look| look.rsplit_once('\n').unwrap_or(("", look)));
    let (printed, stands): (Vec<_>, Vec<_>) = parted.unzip();
    (printed.concat(), stands.last().unwrap())
}

fn look() -> (&'static str, Value) {
    ("bash_output", json!({"id": "call-1", "wait": 20}))
}

#[tokio::test]
async fn a_command_without_a_terminal_prints_through_a_pipe_and_reads_nothing() {
    let line = "for n in 0 1 2; do test -t $n && echo $n is a terminal; done; test -p /dev/stdout && echo a pipe; cat";
    let results = results(&[
        ("bash", json!({"command": line, "tty": false})),
        (
            "bash",
            json!({"command": "echo up; exec sleep 98731", "tty": false, "run_in_background": true}),
        ),
        ("bash_input", json!({"id": "call-2", "text": "x\n"})),
        ("bash_output", json!({"id": "call-2", "wait": 20})),
        ("bash_kill", json!({"id": "call-2"})),
    ])
    .await;
    assert_eq!(
        results[..3],
        [
            "a pipe\n[exit 0]",
            "Started in the background as call-2.\n[running]",
            "call-2: this command reads nothing that is typed: it was started without a keyboard",
        ]
    );
    assert_eq!(results[3], "up\n[running]");
    assert_eq!(results[4], "[stopped; killed by SIGINT]");
}

#[tokio::test]
async fn the_end_of_the_input_ends_it_behind_a_line_that_is_not_finished() {
    let results = results(&[
        in_background("cat; echo over"),
        (
            "bash_input",
            json!({"id": "call-1", "text": "abc", "eof": true}),
        ),
        look(),
    ])
    .await;
    let (printed, stands) = put_together(&results[1..]);
    // Once by the terminal as it is typed, once by cat.
    assert_eq!((printed.as_str(), stands), ("abcabcover", "[exit 0]"));
}

#[tokio::test]
async fn a_filter_shows_lines_of_a_command_that_runs_and_a_wrong_one_costs_nothing() {
    let results = results(&[
        in_background("printf 'one\\ntwo\\nthree\\n'; read line; echo read $line"),
        (
            "bash_output",
            json!({"id": "call-1", "filter": "(", "wait": 20}),
        ),
        (
            "bash_output",
            json!({"id": "call-1", "filter": "^t", "wait": 20}),
        ),
        ("bash_output", json!({"id": "call-1"})),
        ("bash_input", json!({"id": "call-1", "text": "four\n"})),
        look(),
    ])
    .await;
    assert!(
        results[1].starts_with("the `filter` of bash_output is no regular expression: "),
        "{results:?}"
    );
    assert!(
        results[2].starts_with("two\nthree\n[running"),
        "{results:?}"
    );
    // What the filter left out was looked at all the same.
    assert!(results[3].starts_with("[running"), "{results:?}");
    let (printed, stands) = put_together(&results[4..]);
    assert_eq!((printed.as_str(), stands), ("four\nread four", "[exit 0]"));
}
