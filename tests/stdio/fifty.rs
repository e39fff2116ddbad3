//! Fifty commands at once: no byte of one is lost, changed, or shown on the card of another.

use std::collections::BTreeMap;
use std::path::Path;

use inspector::model_server::{Answer, Script};
use placard_tests::Home;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::command::output;
use crate::editor::{Editor, draws_cards};
use crate::left_out;
use crate::scripted::{Scripted, finished};

const SESSIONS: usize = 10;
const COMMANDS: usize = 50;

/// Waits until all of its kind run, then prints text that only its number decides, cut where no character cares, and
/// ends with a code of its own. What leaves the terminal for it is in `expected-N`.
const NOISE: &str = r#"
import os, random, sys, time
number, size, everyone, folder = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
chance = random.Random(number)
words = ["plain", " ", "\n", "\r", "10%\r", "é", "—", "漢字", "😀", "e\u0301", "\x1b[31m", "\x1b[0m", "\x1b]8;;https://a.test/\x07", "x" * 61]
text = "".join(chance.choice(words) for _ in range(size // 4)).encode()[:size]
printed = text.replace(b"\n", b"\r\n").decode(errors="replace")
with open(f"{folder}/expected-{number}", "w", newline="") as file: file.write(printed)
open(f"{folder}/here-{number}", "w").close()
until = time.monotonic() + 60
while sum(name.startswith("here-") for name in os.listdir(folder)) < everyone:
    if time.monotonic() > until: sys.exit(99)
    time.sleep(0.02)
while text:
    cut = chance.randint(1, 3001)
    os.write(1, text[:cut])
    text = text[cut:]
sys.exit(number % 7)
"#;

/// Bytes that a command prints, before each of its line feeds gets a CR: from nothing to 400 KiB, and for some more
/// than a card holds.
fn size(number: usize) -> usize {
    const SIZES: [usize; 10] = [
        0, 1, 4095, 4096, 4097, 65_536, 100_003, 409_600, 300_000, 2_000_000,
    ];
    SIZES[number % SIZES.len()]
}

/// A card as its updates told it.
#[derive(Debug, Default)]
struct Card {
    text: String,
    exits: Vec<Value>,
}

/// The cards of a session, by the number of their command.
fn cards(editor: &Editor, session: &str) -> BTreeMap<usize, Card> {
    let mut numbers = BTreeMap::new();
    let mut cards: BTreeMap<usize, Card> = BTreeMap::new();
    for call in editor.calls(session) {
        let id = call["toolCallId"].to_string();
        if let Some(command) = call["title"].as_str() {
            let number: usize = command.split(' ').nth(2).unwrap().parse().unwrap();
            numbers.entry(id.clone()).or_insert(number);
        }
        let card = cards.entry(numbers[&id]).or_default();
        card.text.push_str(output(&call).unwrap_or_default());
        let exit = &call["_meta"]["terminal_exit"];
        if !exit.is_null() {
            card.exits.push(exit["exit_code"].clone());
        }
    }
    cards
}

fn check(card: &Card, number: usize, folder: &Path) {
    let expected = std::fs::read_to_string(folder.join(format!("expected-{number}"))).unwrap();
    assert_eq!(card.exits, [json!(number % 7)], "command {number}");
    let left_out = left_out::check(&card.text, &expected);
    assert_eq!(
        left_out > 0,
        expected.len() > 1024 * 1024,
        "command {number} printed {} bytes and {left_out} were left out",
        expected.len()
    );
}

/// What a model asks for in one session: all but one of its commands in the background, so that they run at once.
fn asked(session: usize, folder: &Path) -> Answer {
    let here = COMMANDS / SESSIONS;
    (0..here).fold(Answer::new(), |answer, nth| {
        let number = session * here + nth;
        let command = format!(
            "python3 ../noise.py {number} {} {COMMANDS} {}",
            size(number),
            folder.display()
        );
        let arguments = json!({"command": command, "run_in_background": nth + 1 < here});
        answer.call(format!("m{nth}"), "bash", [arguments.to_string()])
    })
}

#[tokio::test]
async fn fifty_commands_in_ten_sessions_each_reach_their_own_card_to_the_byte() {
    let home = Home::new();
    let folder = home.path().join("tmp");
    std::fs::write(home.work_folder().join("noise.py"), NOISE).unwrap();
    let script = (0..SESSIONS).fold(Script::new(), |script, session| {
        script.then(asked(session, &folder))
    });
    let mut agent = Scripted::start(home, draws_cards(), script.otherwise(finished())).await;
    let (mut sessions, mut waiting) = (Vec::new(), Vec::new());
    for number in 0..SESSIONS {
        let cwd = agent.home.folder(&format!("work/{number}"));
        let session = agent.editor.session(&cwd).await;
        waiting.push(agent.editor.prompt(&session, "go on").await);
        sessions.push(session);
    }
    let mut exits = 0;
    while !waiting.is_empty() || exits < COMMANDS {
        let message = agent.next_allowed().await;
        waiting.retain(|id| message["id"] != *id || message.get("method").is_some());
        exits += usize::from(message["params"]["update"]["_meta"]["terminal_exit"].is_object());
    }
    // Whatever would still come, comes before the end of the output.
    agent.editor.rest().await;
    let mut checked = Vec::new();
    for session in &sessions {
        let cards = cards(&agent.editor, session);
        assert_eq!(cards.len(), COMMANDS / SESSIONS);
        for (number, card) in cards {
            check(&card, number, &folder);
            checked.push(number);
        }
    }
    checked.sort_unstable();
    assert_eq!(checked, (0..COMMANDS).collect::<Vec<_>>());
}
