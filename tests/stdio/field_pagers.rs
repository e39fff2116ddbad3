//! F10: a pager where nobody can press its keys.

use std::fmt::Write as _;
use std::process::Command;
use std::time::Duration;

use inspector::model_server::Script;
use placard_tests::Home;
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::time::timeout;

use crate::command::{closed, exits, told};
use crate::editor::draws_cards;
use crate::scripted::{Scripted, bash, finished};

/// A pager is taken for one after this time at the latest. Commands have a limit of two minutes without it.
const TAKEN_FOR_A_PAGER: Duration = Duration::from_secs(10);

/// More lines than fit on any screen, as a file has them and as a terminal prints them.
fn long() -> (String, String) {
    let mut file = String::new();
    for number in 1..=500 {
        writeln!(file, "line {number}").unwrap();
    }
    let printed = file.replace('\n', "\r\n");
    (file, printed)
}

#[tokio::test]
async fn f10_a_pager_without_keys_shows_its_first_screen_and_is_stopped() {
    let script = Script::new()
        .then(bash(&json!({"command": "less f"})))
        .then(finished());
    let mut agent = Scripted::start(Home::alone(), draws_cards(), script).await;
    std::fs::write(agent.home.work_folder().join("f"), long().0).unwrap();
    let answer = timeout(TAKEN_FOR_A_PAGER, agent.turn()).await;
    let answer = answer.expect("the pager is stopped in time");
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));

    let card = agent.editor.printed(&agent.session);
    for number in 1..=20 {
        assert!(card.contains(&format!("line {number}\r\n")), "{card:?}");
    }
    assert!(!card.contains("line 100"), "{card:?}");
    // Ended as a pager of its version ends by SIGTERM.
    let ends = [(Some(15), None), (None, Some("SIGTERM"))].map(|(code, signal)| {
        let mut exit = closed("call-1", "failed", code, signal);
        exit["_meta"]["placard"] = json!({"stopped": true});
        vec![exit]
    });
    let exits = exits(&agent.editor.calls(&agent.session));
    assert!(ends.contains(&exits), "{exits:#?}");
    // The screen that it drew is gone with it, so this line is all that a model reads.
    let [read] = &agent.model_read()[..] else {
        panic!("one result")
    };
    assert!(
        read.starts_with("[stopped; ") && read.ends_with("; was waiting for input]"),
        "{read}"
    );
}

/// `man` pipes its text into `$MANPAGER`, other programs into `$PAGER`, whatever the person has set for themselves.
#[tokio::test]
async fn f10_what_calls_a_pager_prints_everything() {
    let mut home = Home::new();
    let (file, printed) = long();
    std::fs::write(home.work_folder().join("f"), file).unwrap();
    let tools = home.folder("tools");
    // Written by another process: a child of another test could hold a file of this one open for writing, and then it could not
    // be executed.
    let written = Command::new("sh")
        .args([
            "-c",
            r#"printf '#!/bin/sh\n%s\n' "$1" > "$2" && chmod 700 "$2""#,
            "sh",
        ])
        .arg(r#"exec ${MANPAGER:-less} "$1""#)
        .arg(tools.join("man"))
        .status();
    assert!(written.unwrap().success());
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    home.set("PATH", &path);
    for name in ["MANPAGER", "PAGER", "SYSTEMD_PAGER"] {
        home.set(name, "less");
    }
    let told = told(
        &home,
        draws_cards(),
        "$ man f\n$ $PAGER f\n$ $SYSTEMD_PAGER f",
    )
    .await;
    assert_eq!(told.printed(), printed.repeat(3));
    assert_eq!(
        told.exits(),
        ["call-1", "call-2", "call-3"].map(|call| closed(call, "completed", Some(0), None))
    );
}
