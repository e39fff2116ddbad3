//! The card board against recorded wires of agents that other people wrote.
//!
//! The recordings are not part of the project. `PLACARD_TRANSCRIPTS` names a folder of them: `<agent>-<version>/<case>.jsonl`, one object a
//! line with `dir` (`c2a` or `a2c`) and `raw`, the exact line of the wire.

// The lints know only test functions as tests, not what serves them.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fs;
use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;
use serde_json::Value;
use terminal_card::{Board, Card, CardStatus, TerminalExit};

fn folder() -> Option<PathBuf> {
    let folder = std::env::var("PLACARD_TRANSCRIPTS").ok().map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: PLACARD_TRANSCRIPTS names no folder of recordings");
    }
    folder
}

fn recordings(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(recordings(&path));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Folds one recording as a client does: updates and permission requests as they come, and the end of a turn where a prompt is answered.
fn cards_of(file: &Path) -> Vec<Card> {
    let mut board = Board::new();
    let mut prompts: Vec<(Value, String)> = Vec::new();
    for line in fs::read_to_string(file).unwrap().lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let Some(message) = entry["raw"]
            .as_str()
            .and_then(|raw| serde_json::from_str::<Value>(raw).ok())
        else {
            continue;
        };
        let params = &message["params"];
        let session = params["sessionId"].as_str().unwrap_or_default();
        match (entry["dir"].as_str(), message["method"].as_str()) {
            (Some("c2a"), Some("session/prompt")) => {
                prompts.push((message["id"].clone(), session.to_owned()));
            }
            (Some("a2c"), Some("session/update")) => {
                board.apply(session, &params["update"]);
            }
            (Some("a2c"), Some("session/request_permission")) => {
                board.apply_permission(session, &params["toolCall"]);
            }
            (Some("a2c"), None) => {
                for (_, session) in prompts.iter().filter(|(id, _)| *id == message["id"]) {
                    board.turn_ended(session);
                }
            }
            _ => {}
        }
    }
    board.cards().map(|(_, card)| card.clone()).collect()
}

#[test]
fn every_recording_goes_through_the_board() {
    let Some(folder) = folder() else { return };
    let files = recordings(&folder);
    assert!(!files.is_empty(), "no recordings in {}", folder.display());
    for file in files {
        let cards = cards_of(&file);
        // In v1 recordings a turn always ends, so nothing is left open; a replay has no turn.
        let is_turn = !file
            .components()
            .any(|part| matches!(part.as_os_str().to_str(), Some("load" | "v2")));
        for card in cards.iter().filter(|_| is_turn) {
            assert!(!card.status.is_open(), "{}: {card:#?}", file.display());
        }
    }
}

#[test]
fn the_colour_case_ends_with_the_red_text_and_a_status() {
    let Some(folder) = folder() else { return };
    let command = r"printf '\033[31mred\033[0m\n'; echo ok";
    let success = Some(TerminalExit {
        exit_code: Some(0),
        signal: None,
    });
    let red = "\x1b[31mred\x1b[0m\nok";
    // Which agents show the text in which of their recordings, and whether they tell the exit code.
    let table = [
        ("claude-agent-acp-0.101.0/color.jsonl", red, success.clone()),
        (
            "claude-agent-acp-0.101.0/color.delta.jsonl",
            red,
            success.clone(),
        ),
        (
            "claude-agent-acp-0.101.0/color.zed.jsonl",
            red,
            success.clone(),
        ),
        ("claude-agent-acp-0.101.0/color.none.jsonl", red, None),
        ("codex-acp-2.6.0/color.jsonl", red, success.clone()),
        ("codex-acp-2.6.0/color.delta.jsonl", red, success.clone()),
        ("codex-acp-2.6.0/color.none.jsonl", red, success.clone()),
        ("zed-codex-acp-0.16.0/color.jsonl", red, success.clone()),
        ("pi-acp-0.0.34/color.jsonl", red, success.clone()),
        ("pi-acp-0.0.34/color.none.jsonl", red, success.clone()),
        ("opencode-1.18.33/color.jsonl", red, success),
        ("kimi-code-2.1.0/color.jsonl", red, None),
        ("gemini-cli-0.61.0/color.jsonl", "", None),
    ];
    for (file, text, exit) in table {
        let path = folder.join(file);
        if !path.exists() {
            println!("skipped: no {}", path.display());
            continue;
        }
        let cards = cards_of(&path);
        assert_eq!(cards.len(), 1, "{file}: {cards:#?}");
        let card = &cards[0];
        assert_eq!(
            (card.text.trim_end(), &card.exit, card.status),
            (text, &exit, CardStatus::Completed),
            "{file}"
        );
        assert_eq!(card.heading(), command, "{file}");
    }
}

/// The end of each recorded case, agent by agent: exit codes as they were measured.
#[test]
fn the_failing_cases_end_as_measured() {
    let Some(folder) = folder() else { return };
    let table = [
        (
            "claude-agent-acp-0.101.0/fail.jsonl",
            Some(3),
            CardStatus::Failed,
        ),
        (
            "claude-agent-acp-0.101.0/signal.jsonl",
            Some(1),
            CardStatus::Failed,
        ),
        ("codex-acp-2.6.0/fail.jsonl", Some(3), CardStatus::Failed),
        (
            "codex-acp-2.6.0/signal.jsonl",
            Some(137),
            CardStatus::Failed,
        ),
        ("codex-acp-2.6.0/cancel.jsonl", None, CardStatus::NoResult),
        (
            "zed-codex-acp-0.16.0/fail.jsonl",
            Some(3),
            CardStatus::Failed,
        ),
        (
            "zed-codex-acp-0.16.0/signal.jsonl",
            Some(-1),
            CardStatus::Failed,
        ),
        ("pi-acp-0.0.34/fail.jsonl", Some(1), CardStatus::Failed),
        ("pi-acp-0.0.34/cancel.jsonl", Some(1), CardStatus::Failed),
        ("load/pi-acp.fail.jsonl", Some(1), CardStatus::Failed),
        (
            "load/claude-agent-acp.stream.jsonl",
            Some(0),
            CardStatus::Completed,
        ),
        (
            "load/codex-acp.stream.jsonl",
            Some(0),
            CardStatus::Completed,
        ),
        (
            "opencode-1.18.33/fail.jsonl",
            Some(3),
            CardStatus::Completed,
        ),
    ];
    for (file, code, status) in table {
        let path = folder.join(file);
        if !path.exists() {
            println!("skipped: no {}", path.display());
            continue;
        }
        let cards = cards_of(&path);
        let ends: Vec<_> = cards
            .iter()
            .map(|card| {
                (
                    card.exit.as_ref().and_then(|exit| exit.exit_code),
                    card.status,
                )
            })
            .collect();
        assert_eq!(ends, [(code, status)], "{file}: {cards:#?}");
    }
}
