//! `placard run` in a session that is there already.

use pretty_assertions::assert_eq;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::home::{Home, PATIENCE, end_of, names};
use crate::sessions::session;

fn going_on(id: &str, title: &str) -> String {
    format!(
        "placard: going on with session {id}: {title} · just now\n\
         placard: to go on with this session: placard run --resume {id}\n"
    )
}

async fn prompts(home: &Home, id: &str) -> Vec<String> {
    let log = home
        .placard(&["sessions", "show", "--events", id])
        .await
        .text();
    let prompt = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        let what = &event["what"];
        (what["type"] == "user/message").then(|| what["text"].as_str().unwrap().to_owned())
    };
    log.lines().filter_map(prompt).collect()
}

#[tokio::test]
async fn a_session_is_gone_on_with_by_its_id_its_folder_or_a_variable() {
    let home = Home::new();
    let id = session(&home, "$ echo one").await;
    let begun = async |arguments: &[&str], variables: &[(&str, &str)]| {
        let answer = home
            .placard_with(&[&["run"], arguments].concat(), variables)
            .await;
        assert_eq!(
            (answer.code, answer.stderr),
            (Some(0), going_on(&id, "$ echo one")),
            "{arguments:?}"
        );
        // Nothing of what was said before.
        assert!(!answer.stdout.contains("one"), "{}", answer.stdout);
    };
    begun(&["--resume", &id, "$ echo two"], &[]).await;
    begun(
        &["--resume", &id[..10], "$ echo three"],
        &[("PLACARD_RESUME", "x")],
    )
    .await;
    begun(&["--continue", "$ echo four"], &[]).await;
    begun(&["$ echo five"], &[("PLACARD_RESUME", &id)]).await;
    let words = ["one", "two", "three", "four", "five"];
    assert_eq!(
        prompts(&home, &id).await,
        words.map(|word| format!("$ echo {word}"))
    );
    let list = home.placard(&["sessions", "list", "--json"]).await.json();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_session_goes_on_where_the_person_is() {
    let home = Home::new();
    let id = session(&home, "$ echo one").await;
    let elsewhere = home.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let here = ["run", "--cwd", &elsewhere, "--continue", "$ pwd"];
    assert_eq!(
        home.placard(&here).await.words(2),
        format!(
            "placard: there is no session of {elsewhere} to go on with; without --continue a new one is begun\n"
        )
    );
    let answer = home
        .placard(&["run", "--cwd", &elsewhere, "--resume", &id, "$ pwd"])
        .await;
    assert!(
        answer.stdout.contains(&format!("\n{elsewhere}\nok")),
        "{}",
        answer.stdout
    );
    let shown = home.placard(&["sessions", "show", &id]).await.text();
    assert!(shown.contains("\nfrom here on in ~/elsewhere\n"), "{shown}");
}

#[tokio::test]
async fn what_cannot_be_gone_on_with_is_said_and_nothing_is_begun() {
    let home = Home::new();
    let none =
        "placard: there is no session 0199; `placard sessions list` shows those that there are\n";
    let answer = home.placard(&["run", "--resume", "0199", "go"]).await;
    assert_eq!(answer.words(2), none);
    let answer = home
        .placard_with(&["run", "go"], &[("PLACARD_RESUME", "0199")])
        .await;
    assert_eq!(answer.words(2), none);
    let answer = home.placard(&["run", "--continue", "go"]).await;
    assert_eq!(
        answer.words(2),
        format!(
            "placard: there is no session of {} to go on with; without --continue a new one is begun\n",
            home.folder().display()
        )
    );
    assert_eq!(names(home.folder()), Vec::<String>::new());
}

#[tokio::test]
async fn a_session_at_work_is_not_taken_from_who_has_it() {
    let home = Home::new();
    let gate = home.pipe("gate");
    let mut at_work = home.run(&[&format!("$ echo begun; read line < {gate}")]);
    let mut shown = BufReader::new(at_work.stdout.take().unwrap()).lines();
    let mut line = async || timeout(PATIENCE, shown.next_line()).await.unwrap().unwrap();
    while line().await.as_deref() != Some("begun") {}
    let list = home.placard(&["sessions", "list", "--json"]).await.json();
    let id = list["sessions"][0]["id"].as_str().unwrap();
    let taken = home.placard(&["run", "--resume", id, "$ echo two"]).await;
    assert_eq!(
        taken.stderr,
        format!(
            "placard: session {id} is open for writing in another place; close it there, or fork it with `placard sessions fork {id}`\n"
        )
    );
    assert_eq!((taken.code, taken.stdout.as_str()), (Some(2), ""));
    // Looking on is no writing.
    let seen = home.placard(&["sessions", "show", id]).await.text();
    assert!(seen.ends_with("no result yet\n"), "{seen}");
    let mut sender = pipe::OpenOptions::new()
        .read_write(true)
        .open_sender(&gate)
        .unwrap();
    sender.write_all(b"go\n").await.unwrap();
    assert_eq!(end_of(&mut at_work).await.code(), Some(0));
    // Free at once.
    let taken = home.placard(&["run", "--resume", id, "$ echo two"]).await;
    assert_eq!(taken.code, Some(0), "{}", taken.stderr);
}

#[tokio::test]
async fn the_wire_alone_is_printed_where_that_is_asked_for() {
    let home = Home::new();
    let answer = home.placard(&["run", "--json", "$ echo one"]).await;
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""));
    let answer = home
        .placard(&["run", "--json", "--continue", "$ echo two"])
        .await;
    assert!(
        answer.stdout.contains("session/resume") && !answer.stdout.contains("session/load"),
        "{}",
        answer.stdout
    );
}
