//! `placard sessions` where what is stored is damaged, newer, or no store at all.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::home::{Home, names};
use crate::sessions::session;

fn store(home: &Home) -> String {
    home.path(".local/share/placard/sessions.sqlite")
}

/// Changes the store behind the program's back.
async fn change(home: &Home, sql: &str) {
    const SCRIPT: &str = "import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.executescript(sys.argv[2])
database.close()";
    let changed = Command::new("python3")
        .args(["-c", SCRIPT, &store(home), sql])
        .status()
        .await
        .unwrap();
    assert!(changed.success());
}

#[tokio::test]
async fn a_damaged_session_is_recovered_and_left_as_it_is() {
    let home = Home::new();
    let id = session(&home, "$ echo one").await;
    let log = home.placard(&["sessions", "show", "--events", &id]).await;
    let log = log.text();
    let position = |of: &str| log.lines().position(|line| line.contains(of)).unwrap();
    let call = position("\"type\":\"tool/call\"");
    change(
        &home,
        &format!("UPDATE events SET what = '{{' WHERE seq = {call}"),
    )
    .await;

    let show = home.placard(&["sessions", "show", &id]).await;
    assert_eq!(show.code, Some(1));
    let hint =
        format!("`placard sessions recover {id}` writes a new session from what can be read\n");
    assert!(
        show.stderr.contains(&format!(", event {call}: ")),
        "{}",
        show.stderr
    );
    assert!(show.stderr.ends_with(&hint), "{}", show.stderr);

    let recover = home.placard(&["sessions", "recover", &id]).await;
    assert_eq!(recover.code, Some(0), "{}", recover.stderr);
    let copy = recover.stdout.trim_end();
    let told: Vec<&str> = recover.stderr.lines().collect();
    assert_eq!(
        told[0],
        format!(
            "placard: session {id} was left as it is; what could be read of it is in the new session"
        )
    );
    assert!(told[1].contains(&format!(", event {call}: ")), "{told:?}");
    assert_eq!(told[2], format!("placard: lost: event {call}"));
    let shown = home.placard(&["sessions", "show", copy]).await.text();
    for expected in [
        &format!("a copy of {id}\n") as &str,
        "\n$ echo one\none\nok · ",
        &format!("\nThis session is what could be read of session {id}. "),
    ] {
        assert!(shown.contains(expected), "{expected:?} in {shown}");
    }
    let again = home.placard(&["sessions", "recover", copy]).await;
    assert_eq!(
        again.words(0),
        format!("placard: session {copy} is in order: there is nothing to recover\n")
    );
    // It is gone on with like any other.
    let run = home.placard(&["run", "--resume", copy, "$ echo two"]).await;
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let list = home.placard(&["sessions", "list", "--json"]).await.json();
    let ids: Vec<&Value> = list["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| &session["id"])
        .collect();
    assert_eq!(ids, [&json!(copy), &json!(id)]);
    // What is damaged can be removed.
    let rm = home.placard(&["sessions", "rm", "--yes", &id]).await;
    assert_eq!(rm.code, Some(0), "{}", rm.stderr);
}

#[tokio::test]
async fn a_session_of_which_a_list_knows_nothing_is_told_and_recovered() {
    let home = Home::new();
    let id = session(&home, "$ echo one").await;
    change(&home, "UPDATE sessions SET header = '{'").await;
    let list = home.placard(&["sessions", "list"]).await;
    assert_eq!((list.code, list.stdout.as_str()), (Some(0), ""));
    assert!(
        list.stderr
            .starts_with("placard: a session cannot be listed: ")
            && list.stderr.contains(&id),
        "{}",
        list.stderr
    );
    let listed = home.placard(&["sessions", "list", "--json"]).await.json();
    assert_eq!(listed["damaged"].as_array().unwrap().len(), 1);
    let recover = home
        .placard(&["sessions", "recover", &id[..10], "--json"])
        .await;
    let recovered = recover.json();
    assert_eq!(recovered["recovered_from"], json!(id));
    let copy = recovered["id"].as_str().unwrap();
    let shown = home.placard(&["sessions", "show", copy]).await.text();
    assert!(shown.contains("\none\nok · "), "{shown}");
}

#[tokio::test]
async fn a_store_that_cannot_be_used_is_named_and_never_an_empty_list() {
    let commands: [&[&str]; 7] = [
        &["list"],
        &["search", "word"],
        &["show", "0199"],
        &["fork", "0199"],
        &["rm", "--yes", "0199"],
        &["export", "0199"],
        &["recover", "0199"],
    ];
    let newer = Home::new();
    session(&newer, "$ echo one").await;
    change(&newer, "PRAGMA user_version = 99").await;
    let foreign = Home::new();
    session(&foreign, "$ echo one").await;
    std::fs::write(
        store(&foreign),
        "no database, and rather long for a line of text ".repeat(99),
    )
    .unwrap();
    let folder = Home::new();
    std::fs::create_dir_all(store(&folder)).unwrap();
    for (home, words) in [
        (&newer, "were written by a newer Placard (schema 99;"),
        (&foreign, "are damaged"),
        (&folder, "cannot be opened"),
    ] {
        let before = std::fs::read(store(home)).ok();
        let beside = names(&home.folder().join(".local/share/placard"));
        for command in commands {
            let answer = home.placard(&[&["sessions"], command].concat()).await;
            let told = answer.words(1);
            let begins = format!("placard: the sessions in {} {words}", store(home));
            assert!(told.starts_with(&begins), "{command:?} {told}");
            assert_eq!(told.lines().count(), 1, "{told}");
        }
        assert_eq!(std::fs::read(store(home)).ok(), before);
        let after = names(&home.folder().join(".local/share/placard"));
        assert!(
            after.iter().all(|name| beside.contains(name)),
            "{after:?} {beside:?}"
        );
    }
}

/// A home whose sessions are plain files.
fn home_of_plain_files() -> Home {
    let home = Home::new();
    let configuration = home.folder().join(".config/placard");
    std::fs::create_dir_all(&configuration).unwrap();
    std::fs::write(
        configuration.join("config.toml"),
        "[store]\nkind = \"jsonl\"\n",
    )
    .unwrap();
    home
}

#[tokio::test]
async fn an_output_that_is_damaged_costs_only_itself() {
    let home = home_of_plain_files();
    let id = session(&home, "$ echo one").await;
    let outputs = home.path(&format!(".local/share/placard/sessions/{id}.blobs"));
    for name in names(std::path::Path::new(&outputs)) {
        std::fs::write(format!("{outputs}/{name}"), "something else").unwrap();
    }
    let shown = home.placard(&["sessions", "show", &id]).await.text();
    assert!(
        shown.contains("\n$ echo one\n  ~\n(what it printed is not kept any more)\nok · "),
        "{shown}"
    );
}

#[tokio::test]
async fn a_line_of_a_plain_file_that_is_damaged_costs_only_itself() {
    let home = home_of_plain_files();
    let id = session(&home, "$ echo one").await;
    let sessions = home.folder().join(".local/share/placard/sessions");
    let name = names(&sessions)
        .into_iter()
        .find(|name| name.starts_with(&id) && name.contains("jsonl"));
    let file = sessions.join(name.unwrap());
    let log = std::fs::read_to_string(&file).unwrap();
    let damaged = log.replacen("\"type\":\"tool/call\"", "\"type\"###", 1);
    std::fs::write(&file, &damaged).unwrap();
    let line = 1 + damaged
        .lines()
        .position(|line| line.contains("###"))
        .unwrap();

    let place = format!("{}, line {line}: ", file.display());
    let show = home.placard(&["sessions", "show", &id]).await;
    assert_eq!(show.code, Some(1));
    assert!(show.stderr.contains(&place), "{}", show.stderr);
    let recover = home.placard(&["sessions", "recover", &id]).await;
    assert_eq!(recover.code, Some(0), "{}", recover.stderr);
    assert!(recover.stderr.contains(&place), "{}", recover.stderr);
    let shown = home
        .placard(&["sessions", "show", recover.stdout.trim_end()])
        .await
        .text();
    assert!(shown.contains("\n$ echo one\none\nok · "), "{shown}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), damaged);
}
