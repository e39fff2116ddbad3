//! What opening a long session costs: reading its log, folding it, and telling its past, against a bare read and parse of
//! the same rows.
//!
//! Run by `make bench` on the release build. Each side is a process of its own over the same files, in turn, so that neither
//! lives on the other's memory. Times are printed; the memory, which must not grow with the log, fails the benchmark.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark stops at the first surprise, and what it prints is its result"
)]

#[path = "../shell/figures.rs"]
#[allow(dead_code, reason = "this benchmark needs a part of it")]
mod figures;
mod past;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use agent_core::agent::{Agent, FrontAbilities};
use agent_core::session::SessionId;
use agent_core::session::update::Update;
use agent_core::shell::terminal::TerminalOutput;
use agent_core::{Environment, Surroundings};
use figures::{Aim, Figures, hope, mb, median};
use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection as _, Row as _};

/// How many events the long session has.
const EVENTS: u64 = 100_000;
/// How many the short one has that its memory is compared with.
const FEW: u64 = 2_000;
/// How often each side runs.
const ROUNDS: usize = 5;

/// Loading and telling against reading and parsing.
const SLOWER: Aim = Aim::ratio(2.0);
/// When the first update comes, as a part of the whole.
const FIRST: Aim = Aim::ratio(0.1);
/// What a log of fifty times the length may take more of memory, in MB.
const GROWTH: Aim = Aim::megabytes(4.0);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    match words.as_slice() {
        ["bare", folder] => say(&runtime.block_on(bare(Path::new(folder)))),
        ["load", folder, id] => say(&runtime.block_on(load(Path::new(folder), id))),
        _ => return compare(&runtime),
    }
    ExitCode::SUCCESS
}

fn say(found: &Value) {
    println!("{found}");
}

fn compare(runtime: &tokio::runtime::Runtime) -> ExitCode {
    let mut figures = Figures::new();
    let long = tempfile::tempdir().unwrap();
    let short = tempfile::tempdir().unwrap();
    let id = runtime.block_on(past::make(long.path(), EVENTS));
    let short_id = runtime.block_on(past::make(short.path(), FEW));
    let mut bare = Vec::new();
    let mut loads = Vec::new();
    let mut firsts = Vec::new();
    let mut peak = 0;
    for _ in 0..ROUNDS {
        bare.push(micros(&run(&["bare"], long.path(), None)["whole"]));
        let load = run(&["load"], long.path(), Some(&id));
        loads.push(micros(&load["whole"]));
        firsts.push(micros(&load["first"]));
        peak = peak.max(load["peak"].as_u64().unwrap());
    }
    let few = run(&["load"], short.path(), Some(&short_id))["peak"]
        .as_u64()
        .unwrap();
    let (bare, load, first) = (median(&mut bare), median(&mut loads), median(&mut firsts));
    println!(
        "{EVENTS} events: read and parsed in {bare:.1?}, loaded and told in {load:.1?}, the first update after {first:.1?}"
    );
    hope(
        "a session of 100,000 events against a bare read and parse",
        SLOWER,
        ratio(load, bare),
    );
    hope(
        "the first update of it, as a part of the whole",
        FIRST,
        ratio(first, load),
    );
    figures.promise(
        "memory above that of 2,000 events",
        GROWTH,
        mb(peak.saturating_sub(few)),
    );
    figures.verdict()
}

/// One side, in a process of its own.
fn run(words: &[&str], folder: &Path, id: Option<&SessionId>) -> Value {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(words)
        .arg(folder)
        .args(id.map(SessionId::as_str))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn micros(value: &Value) -> Duration {
    Duration::from_micros(value.as_u64().unwrap())
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

/// Every row of the log parsed as JSON, and the bytes of every card read.
async fn bare(folder: &Path) -> Value {
    let options = SqliteConnectOptions::new().filename(folder.join("sessions.sqlite"));
    let begun = Instant::now();
    let mut file = SqliteConnection::connect_with(&options).await.unwrap();
    let rows = sqlx::query("SELECT what FROM events ORDER BY seq")
        .fetch_all(&mut file)
        .await
        .unwrap();
    let mut parsed = 0;
    for row in rows {
        let value: Value = serde_json::from_str(row.get(0)).unwrap();
        parsed += usize::from(value.is_object());
    }
    let cards = sqlx::query("SELECT bytes FROM blobs")
        .fetch_all(&mut file)
        .await
        .unwrap();
    let bytes: usize = cards.iter().map(|row| row.get::<&[u8], _>(0).len()).sum();
    json!({"whole": spent(begun), "parsed": parsed, "bytes": bytes})
}

/// The session opened, its past told to the end, every card's output taken.
async fn load(folder: &Path, id: &str) -> Value {
    let agent = Agent::new(surroundings(folder));
    let id = SessionId::from(id.to_owned());
    let begun = Instant::now();
    let mut loading = agent
        .begin_load(&id, folder, &[], FrontAbilities::default())
        .await
        .unwrap();
    let mut first = None;
    let mut outputs: Vec<(String, TerminalOutput)> = Vec::new();
    let mut bytes = 0;
    while let Some(update) = loading.next().await.unwrap() {
        first.get_or_insert_with(|| spent(begun));
        match update {
            Update::Call {
                call_id,
                presentation,
            } => outputs.extend(presentation.terminal.map(|it| (call_id, it.output))),
            Update::CallEnded { call_id, .. } => {
                if let Some(at) = outputs.iter().position(|(id, _)| *id == call_id) {
                    let (_, output) = outputs.swap_remove(at);
                    while let Some(piece) = output.next().await {
                        bytes += piece.len();
                    }
                }
            }
            _ => {}
        }
    }
    let whole = spent(begun);
    let session = loading.finish().await.unwrap().session;
    session.close().await;
    json!({"whole": whole, "first": first, "bytes": bytes, "peak": peak_kib()})
}

fn surroundings(folder: &Path) -> Surroundings {
    Surroundings {
        environment: Environment::default(),
        config_dir: folder.join("config"),
        data_dir: folder.to_owned(),
        cache_dir: folder.join("cache"),
        program: "/nowhere".into(),
    }
}

fn spent(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_micros()).unwrap()
}

/// The most that this process has held in memory, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
