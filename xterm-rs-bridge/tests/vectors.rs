//! The screen against the vectors that the page's emulator reads as well (`tests/vectors/README.md` tells their format and how they are
//! written anew).

// The lints know only test functions as tests, not what serves them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::PathBuf;

use pretty_assertions::assert_eq;
use serde::{Deserialize, Serialize};
use xterm_rs_bridge::Screen;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    differs: Option<String>,
    rows: u16,
    columns: u16,
    scrollback: usize,
    input: String,
    #[serde(default)]
    snapshot: String,
    #[serde(default)]
    text: Vec<String>,
    #[serde(default)]
    cursor: Place,
}

/// Counted from 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    row: usize,
    column: usize,
}

fn vectors() -> Vec<(PathBuf, Vector)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors/screen");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|file| {
            let text = fs::read_to_string(&file).unwrap();
            let vector = serde_json::from_str(&text)
                .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            (file, vector)
        })
        .collect()
}

fn screen(vector: &Vector, fed: &str) -> Screen {
    let mut screen = Screen::new(vector.rows, vector.columns, vector.scrollback);
    screen.feed(fed.as_bytes());
    screen
}

/// The vector with what the screen gives for its input now.
fn played(vector: &Vector) -> Vector {
    let mut screen = screen(vector, &vector.input);
    let (row, column) = screen.cursor();
    Vector {
        snapshot: screen.snapshot(),
        text: screen.final_text().lines().map(str::to_owned).collect(),
        cursor: Place { row, column },
        ..vector.clone()
    }
}

#[test]
fn every_vector_is_what_the_screen_gives() {
    let vectors = vectors();
    assert!(vectors.len() > 20, "only {} vectors", vectors.len());
    for (file, vector) in vectors {
        let played = played(&vector);
        if std::env::var_os("PLACARD_WRITE_VECTORS").is_some() {
            let text = serde_json::to_string_pretty(&played).unwrap();
            fs::write(&file, text + "\n").unwrap();
        } else {
            assert_eq!(played, vector, "{}", file.display());
        }
    }
}

#[test]
fn the_snapshot_of_a_restored_screen_is_the_same() {
    for (file, vector) in vectors() {
        let mut restored = screen(&vector, &vector.snapshot);
        assert_eq!(restored.snapshot(), vector.snapshot, "{}", file.display());
    }
}
