//! The card board against the vectors that every implementation shares (`tests/vectors/README.md` tells their format).

// The lints know only test functions as tests, not what serves them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::Path;

use pretty_assertions::assert_eq;
use serde::Deserialize;
use serde_json::{Value, json};
use terminal_card::{Board, Card, Change, ChangeKind};

const SESSION: &str = "session";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    name: String,
    rule: String,
    capability: String,
    updates: Vec<Value>,
    cards: Vec<Card>,
}

fn vectors() -> Vec<Vector> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors/terminal-card");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
        .iter()
        .map(|file| {
            let text = fs::read_to_string(file).unwrap();
            serde_json::from_str(&text)
                .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        })
        .collect()
}

fn feed(board: &mut Board, update: &Value) -> Vec<Change> {
    match update.get("placard").and_then(Value::as_str) {
        None => board.apply(SESSION, update),
        Some("turn_ended") => board.turn_ended(SESSION),
        Some("permission") => board.apply_permission(SESSION, &update["toolCall"]),
        Some(other) => panic!("no such pseudo-update: {other}"),
    }
}

fn cards(board: &Board) -> Vec<Card> {
    board.cards().map(|(_, card)| card.clone()).collect()
}

#[test]
fn every_vector_ends_with_its_cards() {
    let vectors = vectors();
    assert!(vectors.len() > 60, "only {} vectors", vectors.len());
    for vector in vectors {
        assert!(
            matches!(vector.capability.as_str(), "none" | "output" | "delta"),
            "{}",
            vector.name
        );
        let mut board = Board::new();
        for update in &vector.updates {
            feed(&mut board, update);
        }
        assert_eq!(
            cards(&board),
            vector.cards,
            "{} ({})",
            vector.name,
            vector.rule
        );
    }
}

#[test]
fn every_rule_that_a_board_can_show_has_a_vector() {
    let vectors = vectors();
    for rule in (1..=18).map(|n| format!("R{n}")) {
        assert!(
            vectors.iter().any(|vector| vector.rule == rule),
            "{rule} has no vector"
        );
    }
}

/// Every field of every update, one at a time, becomes something that no schema allows: a board takes it, and what it tells of the
/// other calls' cards does not depend on it.
#[test]
fn a_malformed_field_harms_nothing_else() {
    let bystander = json!({"sessionUpdate": "tool_call", "toolCallId": "by", "kind": "execute", "title": "id -u"});
    let odd = [
        json!(null),
        json!(""),
        json!(17),
        json!([]),
        json!({}),
        json!([[]]),
        json!(true),
    ];
    for vector in vectors() {
        for (at, update) in vector.updates.iter().enumerate() {
            let mut places = Vec::new();
            places_in(update, String::new(), &mut places);
            for (place, odd) in places
                .iter()
                .flat_map(|place| odd.iter().map(move |odd| (place, odd)))
            {
                let mut updates = vector.updates.clone();
                *updates[at].pointer_mut(place).unwrap() = odd.clone();
                let mut board = Board::new();
                board.apply("other session", &bystander);
                for update in updates.iter().filter(|update| update["placard"].is_null()) {
                    board.apply(SESSION, update);
                }
                let untouched = board
                    .cards_of_call("other session", "by")
                    .next()
                    .map(Card::heading);
                assert_eq!(untouched, Some("id -u"), "{}: {place} = {odd}", vector.name);
            }
        }
    }
}

/// The JSON pointers to everything inside of a value.
fn places_in(value: &Value, here: String, places: &mut Vec<String>) {
    let inside: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, value)| (index.to_string(), value))
            .collect(),
        _ => Vec::new(),
    };
    for (key, value) in inside {
        places_in(value, format!("{here}/{key}"), places);
    }
    if !here.is_empty() {
        places.push(here);
    }
}

/// A viewer that only follows the changes must show what the board holds.
#[test]
fn changes_alone_lead_to_the_same_texts_exits_and_states() {
    for vector in vectors() {
        let mut board = Board::new();
        let mut followed: Vec<Card> = Vec::new();
        for update in &vector.updates {
            for change in feed(&mut board, update) {
                follow(&mut followed, change);
            }
        }
        for (card, expected) in followed.iter_mut().zip(cards(&board)) {
            // Descriptions are looked up on the board when a change says that they are new.
            card.title = expected.title;
            card.command = expected.command;
            card.cwd = expected.cwd;
            card.notes = expected.notes;
        }
        assert_eq!(followed, cards(&board), "{}", vector.name);
    }
}

fn follow(cards: &mut Vec<Card>, change: Change) {
    let place = cards.iter().position(|card| match &change.terminal_id {
        // A card without a terminal may have got one, and a terminal may have moved to the call that claims it.
        Some(id) => card
            .terminal_id
            .as_ref()
            .map_or(card.tool_call_id == change.tool_call_id, |known| {
                known == id
            }),
        None => card.tool_call_id == change.tool_call_id && card.terminal_id.is_none(),
    });
    if change.kind == ChangeKind::Opened {
        cards.push(Card {
            terminal_id: change.terminal_id,
            tool_call_id: change.tool_call_id,
            ..Card::default()
        });
        return;
    }
    let card = &mut cards[place.expect("a card is opened before it changes")];
    card.terminal_id = change.terminal_id;
    card.tool_call_id = change.tool_call_id;
    match change.kind {
        ChangeKind::Opened | ChangeKind::Described => {}
        ChangeKind::Output(text) => card.text.push_str(&text),
        ChangeKind::Replaced(text) => card.text = text,
        ChangeKind::Exited(exit) => card.exit = Some(exit),
        ChangeKind::StatusChanged(status) => card.status = status,
    }
}
