//! What people reported of other programs' output, each with the input that shows it, against real bash.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use inspector::model_server::Script;
use placard_tests::Home;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::command::{closed, exits, output, told};
use crate::editor::{Editor, draws_cards};
use crate::left_out::{self, Shown};
use crate::scripted::{Scripted, bash, finished};

/// What a card may hold beyond what goes on live: the beginning and the end (rule W11).
const BOUND: usize = 1024 * 1024;
/// What may go on live in a second between them.
const LIVE: usize = 4 * 1024;
/// What an agent's own memory may grow by in a debug build, in KiB. `make bench` checks the promise on the release build.
const GROWTH: u64 = 16 * 1024;

#[tokio::test]
async fn f01_three_lines_with_pauses_come_at_three_moments_and_the_first_at_once() {
    let home = Home::alone();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    // The first prompt opens the store and so on; the promise is about commands.
    editor.turn(&session, "$ true").await;
    editor.frames.clear();

    let sent = Instant::now();
    editor
        .turn(&session, "$ for i in 1 2 3; do echo $i; sleep 0.5; done")
        .await;
    let seen: Vec<(&str, Duration)> = editor
        .frames
        .iter()
        .filter_map(|frame| {
            let text = output(&frame.message["params"]["update"])?;
            Some((text, frame.at - sent))
        })
        .collect();
    let [("1\r\n", first), ("2\r\n", second), ("3\r\n", third)] = seen[..] else {
        panic!("not three moments: {seen:?}")
    };
    assert!(first < Duration::from_millis(200), "{seen:?}");
    let apart = Duration::from_millis(350);
    assert!(
        second.saturating_sub(first) > apart && third.saturating_sub(second) > apart,
        "{seen:?}"
    );
}

#[tokio::test]
async fn f02_a_character_in_two_writes_is_one_character() {
    let told = told(
        &Home::new(),
        draws_cards(),
        r"$ printf 'caf\xe2'; sleep 0.1; printf '\x80\x94!\n'",
    )
    .await;
    assert_eq!(told.printed(), "caf—!\r\n");
}

/// Reads end anywhere: characters of two, three and four bytes, each begun at each of its bytes.
#[tokio::test]
async fn f02_a_character_is_whole_wherever_a_read_ends() {
    let mut prompt = String::new();
    let mut expected = Vec::new();
    for character in ["é", "—", "😀"] {
        for before in 0..character.len() {
            let ahead = "x".repeat(before);
            writeln!(
                prompt,
                "$ printf '{ahead}'; yes '{character}' | head -n 30000 | tr -d '\\n'"
            )
            .unwrap();
            expected.push(ahead + &character.repeat(30000));
        }
    }
    let told = told(&Home::new(), draws_cards(), &prompt).await;
    for (number, expected) in (1..).zip(&expected) {
        let call = json!(format!("call-{number}"));
        let of_call = told.calls.iter().filter(|it| it["toolCallId"] == call);
        let printed: String = of_call.filter_map(output).collect();
        let same = printed == *expected;
        assert!(same, "{call} printed {} bytes", printed.len());
    }
    assert_eq!(told.exits().len(), expected.len());
}

#[tokio::test]
async fn f02_a_byte_that_is_no_character_is_one_replacement_and_stalls_nothing() {
    let home = Home::new();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    for (command, at_once, whole) in [
        (r"printf 'a\xff'; sleep 30", "a\u{fffd}", "a\u{fffd}"),
        (
            r"printf 'a\xffb\n'; sleep 30",
            "a\u{fffd}b\r\n",
            "a\u{fffd}b\r\n",
        ),
        // Only what may still become a character waits, and not what came before it.
        (r"printf 'caf\xe2\x80'; sleep 30", "caf", "caf\u{fffd}"),
    ] {
        let session = editor.session(&home.work_folder()).await;
        let id = editor.prompt(&session, &format!("$ {command}")).await;
        let first = editor
            .until(|message| output(&message["params"]["update"]).is_some())
            .await;
        assert_eq!(output(&first["params"]["update"]), Some(at_once));
        editor.cancel(&session).await;
        editor.response(id).await;
        assert_eq!(editor.printed(&session), whole);
    }
}

#[tokio::test]
async fn f03_a_line_that_was_overwritten_is_drawn_on_the_card_and_not_told_to_the_model() {
    let progress = json!({"command": r"printf '10%%\r20%%\r100%%\nDone\n'"});
    let script = || Script::new().then(bash(&progress)).then(finished());

    let mut card = Scripted::start(Home::new(), draws_cards(), script()).await;
    card.turn().await;
    assert_eq!(
        card.editor.printed(&card.session),
        "10%\r20%\r100%\r\nDone\r\n"
    );
    assert_eq!(card.model_read(), ["100%\nDone\n[exit 0]"]);
    drop(card);

    let mut block = Scripted::start(Home::new(), json!({}), script()).await;
    block.turn().await;
    let last = block.editor.calls(&block.session).pop().unwrap();
    assert_eq!(
        last["content"],
        json!([{"type": "content", "content": {"type": "text", "text": "```console\n100%\nDone\n```"}}])
    );
}

/// Checks a card of `yes`, of which nobody holds the whole: gives how much was printed and how much was shown.
fn of_yes(card: &str) -> (usize, usize) {
    let (parts, length) = left_out::read(card);
    let mut shown = 0;
    for Shown { place, text } in parts {
        let as_printed = text
            .bytes()
            .zip(place..)
            .all(|(byte, place)| byte == b"y\r\n"[place % 3]);
        assert!(as_printed, "{} bytes at {place} are not of yes", text.len());
        shown += text.len();
    }
    (length, shown)
}

/// A tenth of what was reported, which is twenty times what a card holds; `make bench` prints the whole.
#[tokio::test]
async fn f04_a_torrent_leaves_memory_flat_says_what_it_left_out_and_ends_its_card() {
    let home = Home::alone();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    editor.turn(&session, "$ seq 1 1000").await;
    let agent = editor.program.id().unwrap();
    let before = memory(agent, "VmRSS:");
    editor.frames.clear();

    let begun = Instant::now();
    let id = editor.prompt(&session, "$ yes | head -c 20000000").await;
    editor.response(id).await;
    let seconds = usize::try_from(begun.elapsed().as_secs()).unwrap() + 1;
    let grown = memory(agent, "VmHWM:").saturating_sub(before);
    assert!(grown < GROWTH, "{grown} KiB more than {before}");
    let card = editor.printed(&session);
    let (printed, shown) = of_yes(&card);
    assert_eq!(printed, 30_000_000, "each line has got its CR");
    assert!(shown <= BOUND + LIVE * seconds, "{shown} in {seconds} s");
    assert_eq!(
        exits(&editor.calls(&session)),
        [closed("call-2", "completed", Some(0), None)]
    );
}

#[tokio::test]
async fn f04_a_torrent_that_is_cancelled_ends_with_what_it_printed_last() {
    let home = Home::new();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    let id = editor.prompt(&session, "$ yes").await;
    editor
        .until(|message| {
            output(&message["params"]["update"]).is_some_and(|text| text.contains(" left out"))
        })
        .await;
    editor.cancel(&session).await;
    let answer = editor.response(id).await;
    assert_eq!(answer["result"], json!({"stopReason": "cancelled"}));
    let (printed, shown) = of_yes(&editor.printed(&session));
    assert!(printed > shown && shown > 512 * 1024, "{printed}, {shown}");
    assert_eq!(
        exits(&editor.calls(&session)),
        [closed("call-1", "failed", None, Some("SIGINT"))]
    );
}

#[tokio::test]
async fn f05_one_line_of_ten_megabytes_is_an_ordinary_output() {
    let home = Home::alone();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let (line, other) = (
        editor.session(&home.work_folder()).await,
        editor.session(&home.folder("other")).await,
    );
    editor.turn(&line, "$ seq 1 1000").await;
    let agent = editor.program.id().unwrap();
    let before = memory(agent, "VmRSS:");
    editor.frames.clear();

    let long = editor
        .prompt(&line, r"$ head -c 10000000 /dev/zero | tr '\0' x; sleep 1")
        .await;
    // The agent has time for others meanwhile.
    editor.turn(&other, "$ echo here").await;
    assert_eq!(editor.printed(&other), "here\r\n");
    assert!(
        exits(&editor.calls(&line)).is_empty(),
        "the long line is still under way"
    );
    editor.response(long).await;

    let grown = memory(agent, "VmHWM:").saturating_sub(before);
    assert!(grown < GROWTH, "{grown} KiB more than {before}");
    let card = editor.printed(&line);
    let left_out = left_out::check(&card, &"x".repeat(10_000_000));
    assert!(left_out > 8_000_000, "{left_out}");
    wire_is_lean(&editor, &line);
}

#[tokio::test]
async fn f06_the_bytes_on_the_wire_grow_with_the_output_and_nothing_is_sent_twice() {
    let home = Home::new();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    editor.turn(&session, "$ seq 1 35001").await;
    let mut expected = String::new();
    for number in 1..=35001 {
        write!(expected, "{number}\r\n").unwrap();
    }
    let whole = editor.printed(&session) == expected;
    assert!(whole, "every line once");
    wire_is_lean(&editor, &session);
}

#[tokio::test]
async fn f07_a_fence_is_longer_than_any_that_was_printed() {
    let told = told(&Home::new(), json!({}), r"$ printf '```\nfenced\n`````\n'").await;
    assert_eq!(
        told.calls.last().unwrap()["content"],
        json!([{"type": "content", "content": {"type": "text",
            "text": "``````console\n```\nfenced\n`````\n``````"}}])
    );
}

#[tokio::test]
async fn f08_output_that_ends_like_our_own_exit_line_hides_no_exit() {
    for (command, printed, read) in [
        (
            r"printf 'all fine\n[exit 0]\n'; exit 3",
            "all fine\r\n[exit 0]\r\n",
            "all fine\n[exit 0]\n[exit 3]",
        ),
        (
            r"printf 'all fine\n[exit 0]'; exit 3",
            "all fine\r\n[exit 0]",
            "all fine\n[exit 0]\n[exit 3]",
        ),
    ] {
        let script = Script::new()
            .then(bash(&json!({"command": command})))
            .then(finished());
        let mut agent = Scripted::start(Home::new(), draws_cards(), script).await;
        agent.turn().await;
        assert_eq!(agent.editor.printed(&agent.session), printed);
        assert_eq!(agent.model_read(), [read]);
        assert_eq!(
            exits(&agent.editor.calls(&agent.session)),
            [closed("call-1", "failed", Some(3), None)]
        );
    }
}

/// The agent sends these as they are; whoever draws them makes them harmless (`placard run` and the page have tests).
#[tokio::test]
async fn f09_what_acts_on_terminals_passes_unchanged_and_a_query_is_not_answered() {
    let told = told(
        &Home::new(),
        draws_cards(),
        r"$ printf '\e]52;c;QQ==\a\e]8;;javascript:alert(1)\aX\e]8;;\a\e[6n'",
    )
    .await;
    assert_eq!(
        told.printed(),
        "\x1b]52;c;QQ==\x07\x1b]8;;javascript:alert(1)\x07X\x1b]8;;\x07\x1b[6n"
    );
    // An answer would be there for whoever reads the terminal.
    let asked =
        r#"printf '\e[6n'; read -rs -t 0.3 -d R answer 2>/dev/null </dev/tty; echo "[$answer]""#;
    let told = self::told(&Home::new(), draws_cards(), &format!("$ {asked}")).await;
    assert_eq!(told.printed(), "\x1b[6n[]\r\n");
}

#[tokio::test]
async fn f10_a_long_log_comes_whole_and_coloured_without_a_pager() {
    let home = Home::new();
    let command = "git init -q .; \
        for i in {1..300}; do printf 'commit refs/heads/main\\ncommitter A <a@b> %d +0000\\ndata 3\\nc%02d\\n' $i $((i % 100)); done \
        | git fast-import --quiet; git checkout -q main; git log --format='%C(yellow)%ct%Creset %s'";
    let told = told(&home, draws_cards(), &format!("$ {command}")).await;
    let mut expected = String::new();
    for number in (1..=300).rev() {
        write!(expected, "\x1b[33m{number}\x1b[m c{:02}\r\n", number % 100).unwrap();
    }
    assert_eq!(told.printed(), expected);
}

#[tokio::test]
async fn f11_wide_and_composed_characters_reach_the_card_as_they_are() {
    let table = "| ✅ | 👨‍👩‍👧‍👦 |\n| 漢字 | e\u{301} |\n| שלום | 🇩🇪 |\n";
    let home = Home::new();
    std::fs::write(home.work_folder().join("table"), table).unwrap();
    let told = told(&home, draws_cards(), "$ cat table").await;
    assert_eq!(told.printed(), table.replace('\n', "\r\n"));
}

/// All lines about a session's cards take little more than their text as JSON strings.
fn wire_is_lean(editor: &Editor, session: &str) {
    let lines = editor.frames.iter().map(|frame| &frame.message);
    let wire: usize = lines
        .filter(|message| message["params"]["sessionId"] == session)
        .map(|message| message.to_string().len() + 1)
        .sum();
    let text = json!(editor.printed(session)).to_string().len();
    assert!(wire * 10 <= text * 11, "{wire} bytes for {text} of text");
}

/// A figure about a process's memory, in KiB.
fn memory(pid: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let figure = line.unwrap().trim().trim_end_matches(" kB");
    figure.parse().unwrap()
}
