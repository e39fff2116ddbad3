//! Words in a gigabyte of output, against a program that reads all of it.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agent_core::session::SessionId;
use agent_core::session::event::{Entry, Event, EventKind};
use agent_core::shell::exit::Exit;
use agent_core::store::sqlite::SqliteStore;
use agent_core::store::{Blob, SearchRequest, SessionStore};
use agent_core::tool::presentation::Circumstances;

use super::figures::{Aim, hope, median};
use super::{header, ratio, size};

/// A tenth of the time.
const SEARCH: Aim = Aim::ratio(0.1);

const CARDS: u64 = 1_100;
const CARD_BYTES: usize = 940 * 1024;
const ROUNDS: usize = 5;
/// How many hits a person is shown.
const SHOWN: usize = 20;

/// Every fiftieth card has it once.
const RARE: &str = "quixotic_needle";
/// Every card has it often.
const COMMON: &str = "warning";

pub async fn search() {
    let folder = tempfile::tempdir().unwrap();
    let texts = folder.path().join("texts");
    let files = folder.path().join("store");
    std::fs::create_dir(&texts).unwrap();
    let store = SqliteStore::open(&files.join("s.sqlite")).await.unwrap();
    let begun = Instant::now();
    fill(&store, &texts).await;
    println!(
        "{} MB of output stored in {:.0?}",
        size(&texts),
        begun.elapsed()
    );
    let begun = Instant::now();
    // The first search reads what the index has not read yet.
    assert_eq!(find(&store, RARE).await, SHOWN);
    println!(
        "indexed in {:.0?}; text and index take {} MB",
        begun.elapsed(),
        size(&files)
    );
    let (reader, words) = if Command::new("rg").arg("--version").output().is_ok() {
        (
            "rg",
            ["--ignore-case", "--word-regexp", "--no-ignore"].as_slice(),
        )
    } else {
        println!("rg is not installed: compared with grep instead");
        ("grep", ["-r", "-i", "-w"].as_slice())
    };
    for wanted in [RARE, COMMON] {
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            assert_eq!(find(&store, wanted).await, SHOWN);
            ours.push(begun.elapsed());
            theirs.push(read_all(reader, words, wanted, &texts));
        }
        let (ours, theirs) = (median(&mut ours), median(&mut theirs));
        let what = format!("{wanted}: {ours:.1?}, {reader} {theirs:.1?}");
        hope(&what, SEARCH, ratio(ours, theirs));
    }
    store.close().await;
}

async fn find(store: &SqliteStore, query: &str) -> usize {
    let request = SearchRequest {
        query: query.to_owned(),
        cwd: None,
        session: None,
        limit: SHOWN,
    };
    store.search(&request).await.unwrap().len()
}

fn read_all(program: &str, words: &[&str], wanted: &str, texts: &Path) -> Duration {
    let begun = Instant::now();
    let status = Command::new(program)
        .args(words)
        .arg(wanted)
        .arg(texts)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    begun.elapsed()
}

/// The same outputs as cards of a session and as files.
async fn fill(store: &SqliteStore, texts: &Path) {
    let header = header(SessionId::fresh());
    let mut writer = store.writer(&header.id).await.unwrap();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for card in 0..CARDS {
        let text = output(card, &mut random);
        std::fs::write(texts.join(format!("{card}.txt")), &text).unwrap();
        let blob = Blob::new(text.into_bytes());
        let event = Event {
            seq: card,
            at: 1_000 + card,
            what: Entry::Known(EventKind::TerminalExit {
                call_id: format!("call-{card}"),
                exit: Exit::Code(0),
                circumstances: Circumstances::default(),
                output_ref: Some(blob.id().to_string()),
            }),
        };
        writer.append(&header, &[event], &[blob]).await.unwrap();
    }
    writer.release().await;
}

/// Lines as compilers and tests print them, of some ten thousand different words.
fn output(card: u64, random: &mut u64) -> String {
    let mut text = String::with_capacity(CARD_BYTES + 200);
    let mut next = |bound: u64| {
        // xorshift64: the same text at every run.
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        *random % bound
    };
    let needle_line = 1_000 + next(5_000);
    let mut line = 0;
    while text.len() < CARD_BYTES {
        line += 1;
        // Most words are frequent ones.
        let word = next(10_000).min(next(10_000));
        let file = next(400);
        match next(4) {
            0 => writeln!(
                text,
                "{COMMON}: unused variable `value_{word}` in src/part_{file}.rs:{line}:9"
            ),
            1 => writeln!(text, "test part_{file}::case_{word} ... ok"),
            2 => writeln!(
                text,
                "   Compiling crate_{word} v0.{file}.{} (/home/ann/work)",
                next(20)
            ),
            _ => writeln!(
                text,
                "error[E{word:04}]: mismatched types, expected `Kind{file}`"
            ),
        }
        .unwrap();
        if line == needle_line && card.is_multiple_of(50) {
            writeln!(text, "thread main panicked at {RARE} in case {card}").unwrap();
        }
    }
    text
}
