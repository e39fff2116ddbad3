//! Fifty commands at once: no byte of one is lost, changed, or shown on the card of another.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use placard_tests::Home;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::command::output;
use crate::editor::{Editor, draws_cards};
use crate::left_out;

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
            let number = command.split(' ').nth(2).unwrap().parse().unwrap();
            assert_eq!(numbers.insert(id.clone(), number), None);
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

#[tokio::test]
async fn fifty_commands_at_once_each_reach_their_own_card_to_the_byte() {
    let home = Home::new();
    let (program, folder) = (home.work_folder().join("noise.py"), home.path().join("tmp"));
    std::fs::write(&program, NOISE).unwrap();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let mut waiting = Vec::new();
    for number in 0..COMMANDS {
        let session = editor.session(&home.work_folder()).await;
        let mut prompt = String::new();
        write!(
            prompt,
            "$ python3 noise.py {number} {} {COMMANDS} {}",
            size(number),
            folder.display()
        )
        .unwrap();
        let id = editor.prompt(&session, &prompt).await;
        waiting.push((session, id));
    }
    let sessions: Vec<String> = waiting.iter().map(|(session, _)| session.clone()).collect();
    while !waiting.is_empty() {
        let message = editor.next().await;
        waiting.retain(|(_, id)| message["id"] != *id || message.get("method").is_some());
    }
    let mut checked = Vec::new();
    for session in &sessions {
        for (number, card) in cards(&editor, session) {
            check(&card, number, &folder);
            checked.push(number);
        }
    }
    checked.sort_unstable();
    assert_eq!(checked, (0..COMMANDS).collect::<Vec<_>>());
}
