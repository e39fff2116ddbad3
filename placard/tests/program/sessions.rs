//! `placard sessions` with sessions that `placard run` has left.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::home::{Home, end_of, names};
use crate::person::Person;

/// Runs a prompt of commands, and gives the id of its session.
pub async fn session(home: &Home, prompt: &str) -> String {
    let answer = home.placard(&["run", prompt]).await;
    let id = answer
        .stderr
        .strip_prefix("placard: to go on with this session: placard run --resume ");
    id.unwrap_or_else(|| panic!("{answer:?}"))
        .trim_end()
        .to_owned()
}

/// As much of an id as `list` shows, where it is the only one.
fn short(id: &str) -> &str {
    &id[..8]
}

#[tokio::test]
async fn a_home_without_sessions_has_none_and_gets_nothing() {
    let home = Home::new();
    let list = home.placard(&["sessions", "list"]).await;
    assert_eq!(list.words(0), "placard: there is no session\n");
    let list = home.placard(&["sessions", "list", "--here"]).await;
    assert_eq!(list.words(0), "placard: there is no session of ~\n");
    let list = home.placard(&["sessions", "list", "--json"]).await;
    assert_eq!(
        list.json(),
        json!({"sessions": [], "next": null, "damaged": []})
    );
    let search = home.placard(&["sessions", "search", "word"]).await;
    assert_eq!(search.words(0), "placard: no session has word\n");
    let search = home
        .placard(&["sessions", "search", "word", "--json"])
        .await;
    assert_eq!(search.json(), json!({"hits": []}));
    let none =
        "placard: there is no session 0199; `placard sessions list` shows those that there are\n";
    for command in ["show", "export", "recover", "fork", "rm"] {
        let answer = home.placard(&["sessions", command, "0199"]).await;
        assert_eq!(answer.words(1), none, "{command}");
    }
    assert_eq!(names(home.folder()), Vec::<String>::new());
}

#[tokio::test]
async fn a_session_is_listed_shown_and_found() {
    let home = Home::new();
    let id = session(&home, "$ echo needle; seq 50; exit 3").await;
    let folder = home.folder().display();
    assert_eq!(
        home.placard(&["sessions", "list"]).await.text(),
        format!(
            "{}  just now  $ echo needle; seq 50; exit 3  ~\n",
            short(&id)
        )
    );
    let list = home.placard(&["sessions", "list", "--json"]).await.json();
    let listed = &list["sessions"][0];
    assert_eq!(
        (&listed["id"], &listed["cwd"], &list["next"]),
        (&json!(id), &json!(home.folder()), &Value::Null)
    );

    let shown = home.placard(&["sessions", "show", short(&id)]).await.text();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        lines[..3],
        ["$ echo needle; seq 50; exit 3", &id, "~ · offline"]
    );
    assert!(lines[3].starts_with("begun ") && lines[3].ends_with(" UTC · just now"));
    assert!(lines[5].ends_with(" UTC · just now"));
    let numbers = |from: u32, to: u32| {
        let numbers: Vec<String> = (from..=to).map(|number| number.to_string()).collect();
        numbers.join("\n")
    };
    let rest = lines[6..].join("\n");
    let (conversation, end) = rest.split_once("exit 3 · ").unwrap();
    assert_eq!(
        conversation,
        format!(
            "> $ echo needle; seq 50; exit 3\n\n$ echo needle; seq 50; exit 3\n  ~\nneedle\n{}\n\
             … 21 lines left out; all of it: placard sessions show --full {id}\n{}\n",
            numbers(1, 9),
            numbers(31, 50)
        )
    );
    assert!(end.contains("exit 3"), "{end}");
    let full = home.placard(&["sessions", "show", "--full", &id]).await;
    assert!(full.text().contains(&numbers(1, 50)));

    let log = home.placard(&["sessions", "show", "--events", &id]).await;
    let log: Vec<Value> = log
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(listed["events"], log.len());
    let whole = home.placard(&["sessions", "show", "--json", &id]).await;
    assert_eq!(
        whole.json(),
        json!({"session": listed, "events": log}),
        "{folder}"
    );

    let found = home.placard(&["sessions", "search", "needle 1 2"]).await;
    assert!(found.text().starts_with(&format!(
        "{}  $ echo needle; seq 50; exit 3  output:1  needle 1 2",
        short(&id)
    )));
    let elsewhere = ["sessions", "search", "needle", "--cwd", "/nowhere"];
    assert_eq!(
        home.placard(&elsewhere).await.words(0),
        "placard: no session has needle\n"
    );
}

#[tokio::test]
async fn a_session_travels_and_is_copied() {
    let (home, other) = (Home::new(), Home::new());
    let id = session(&home, "$ echo one").await;
    let file = home.path("one.jsonl");
    let export = home
        .placard(&["sessions", "export", &id, "-o", &file])
        .await;
    assert_eq!(export.text(), "");
    let exported = home.placard(&["sessions", "export", &id]).await.text();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), exported);
    let again = home
        .placard(&["sessions", "export", &id, "-o", &file])
        .await;
    assert_eq!(
        again.words(2),
        format!(
            "placard: {file} is there already and was left as it is; give the name of a new file\n"
        )
    );

    let import = other.placard(&["sessions", "import", &file]).await;
    assert_eq!(import.text(), format!("{id}\n"));
    let shown = async |home: &Home| {
        home.placard(&["sessions", "show", "--events", &id])
            .await
            .text()
    };
    assert_eq!(shown(&other).await, shown(&home).await);
    let exists = other.placard(&["sessions", "import", &file]).await;
    assert_eq!(
        exists.words(1),
        format!("placard: {file}: there is a session {id} already, and it was left as it is\n")
    );
    let import = other
        .placard(&["sessions", "import", "--new-id", "--json", &file])
        .await
        .json();
    assert_eq!(
        (&import["outputs"], &import["missing_outputs"]),
        (&json!(1), &json!(0))
    );

    let copy = home.placard(&["sessions", "fork", &id]).await.text();
    let list = home.placard(&["sessions", "list", "--json"]).await.json();
    let copied = &list["sessions"][0];
    assert_eq!(
        (&copied["id"], &copied["forked_from"], &copied["title"]),
        (&json!(copy.trim_end()), &json!(id), &json!("$ echo one"))
    );
}

#[tokio::test]
async fn a_session_is_removed_with_its_outputs_when_that_is_meant() {
    let home = Home::new();
    // So much is printed that its file stays.
    let id = session(&home, "$ seq 100000").await;
    let outputs = home.folder().join(".local/share/placard/outputs");
    assert_eq!(names(&outputs), [id.as_str()]);
    let rm = home.placard(&["sessions", "rm", &id]).await;
    assert_eq!(
        rm.words(2),
        "placard: there is no terminal to ask you on, so nothing was removed. To remove without being asked: --yes\n"
    );
    let question = format!(
        "  {id}  just now  $ seq 100000\r\nRemove it for good, with all that its commands printed? (y, n): "
    );
    let mut terminal = home.terminal(&["sessions", "rm", short(&id)]);
    let mut person = Person::at(&mut terminal);
    person.sees(&question).await;
    person.types("n\n").await;
    person.sees("n\r\nplacard: nothing was removed\r\n").await;
    assert_eq!(end_of(&mut terminal).await.code(), Some(1));
    assert_eq!(names(&outputs), [id.as_str()]);

    let mut terminal = home.terminal(&["sessions", "rm", short(&id)]);
    let mut person = Person::at(&mut terminal);
    person.sees(&question).await;
    person.types("y\n").await;
    person
        .sees(&format!("y\r\nremoved {id}  just now  $ seq 100000\r\n"))
        .await;
    assert_eq!(end_of(&mut terminal).await.code(), Some(0));
    assert_eq!(names(&outputs), Vec::<String>::new());
    let list = home.placard(&["sessions", "list"]).await;
    assert_eq!(list.words(0), "placard: there is no session\n");
}

#[tokio::test]
async fn what_is_stored_does_not_drive_the_terminal() {
    let home = Home::new();
    let id = session(
        &home,
        r"$ printf '\033]0;title\007\033[31mred\033[6n\033[0m\n'",
    )
    .await;
    for how in [
        &["sessions", "show", &id][..],
        &["sessions", "search", "red"],
        &["sessions", "list"],
    ] {
        // A terminal that has colours: those of our own are all that is left.
        let mut terminal = home.colour_terminal(how);
        let shown = Person::at(&mut terminal).sees_the_end().await;
        let ours = |sequence: &str| sequence.starts_with("[0;") || sequence.starts_with("[0m");
        assert!(shown.split('\x1b').skip(1).all(ours), "{how:?} {shown:?}");
        assert!(shown.contains("red"), "{shown:?}");
    }
}

#[tokio::test]
async fn a_list_is_cut_into_pages_and_an_id_may_be_ambiguous() {
    let home = Home::new();
    let first = session(&home, "$ echo one").await;
    let second = session(&home, "$ echo two").await;
    let page = home
        .placard(&["sessions", "list", "--json", "--limit", "1"])
        .await
        .json();
    assert_eq!(page["sessions"][0]["id"], json!(second));
    let next = page["next"].as_str().unwrap();
    let rest = home
        .placard(&["sessions", "list", "--json", "--after", next])
        .await
        .json();
    assert_eq!(
        (&rest["sessions"][0]["id"], &rest["next"]),
        (&json!(first), &Value::Null)
    );
    let show = home.placard(&["sessions", "show", "0"]).await;
    assert_eq!(
        show.words(2),
        format!(
            "placard: 0 is the beginning of several ids: {first}, {second}. Give more of one\n"
        )
    );
    for wrong in [
        &["list", "--after", "yesterday"][..],
        &["list", "--limit", "0"],
        &["list", "--here", "--cwd", "/"],
        &["search", "--", "--"],
        &["show"],
        &["show", ""],
        &["rm"],
    ] {
        let answer = home.placard(&[&["sessions"], wrong].concat()).await;
        assert_eq!(
            (answer.code, answer.stdout.as_str()),
            (Some(2), ""),
            "{wrong:?}"
        );
        assert!(!answer.stderr.is_empty(), "{wrong:?}");
    }
}
