//! What the shell costs: time against `script`, memory, the first byte, and bytes on the wire.
//!
//! Run by `make bench` on the release build, which is driven over stdio as an editor that draws cards. The two sides of a
//! ratio run in turn and are told as medians. Times depend on the machine and what else it does, so a missed aim is only
//! printed; what does not depend on it, the memory and the bytes on the wire, fails the benchmark.
//!
//! `cargo bench -p placard-tests --bench shell -- memory wire` measures these parts only; the torrent takes minutes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark stops at the first surprise, and what it prints is its result"
)]

mod agent;
mod figures;

use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use agent::{Agent, Run};
use figures::{Aim, Figures, hope, mb, median, worst};

/// A flood of lines: 15.8 MB from the terminal.
const LINES: &str = "seq 1 2000000";
/// A torrent: 1.5 GB from the terminal, where each of the lines has got its CR.
const TORRENT: &str = "yes | head -c 1000000000";

/// How much longer than under `script` a command may take.
const SLOWER: Aim = Aim::ratio(1.2);
/// What the agent's memory may grow by, whatever a command prints, in MB.
const GROWTH: Aim = Aim::megabytes(8.0);
/// From the moment of printing to the arrival of the line that bears it.
const FIRST_BYTE: Aim = Aim::time(Duration::from_millis(5));
const FIRST_BYTE_WORST: Aim = Aim::time(Duration::from_millis(50));
/// All lines about a card against its text as a JSON string.
const WIRE: Aim = Aim::ratio(1.1);

/// Commands whose first byte is waited for, and later lines of one command.
const MOMENTS: usize = 60;

/// A part of the benchmark, and its name on the command line.
type Part = (&'static str, fn(&mut Figures));

fn main() -> ExitCode {
    let mut figures = Figures::new();
    // Cargo adds words of its own that begin with a dash.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let parts: [Part; 5] = [
        ("wire", wire),
        ("memory", memory),
        ("first", |_| first_bytes()),
        ("lines", |_| time(Agent::start(), LINES, 9)),
        // A pair takes minutes, and what is that long varies little.
        ("torrent", |_| {
            time(Agent::unhurried(&["true", TORRENT]), TORRENT, 1);
        }),
    ];
    for (name, measure) in parts {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            measure(&mut figures);
        }
    }
    figures.verdict()
}

/// A command through the tool and under `script`, which does nothing but read its terminal.
fn time(mut agent: Agent, command: &str, pairs: usize) {
    let session = agent.warm_session();
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    for _ in 0..pairs {
        ours.push(agent.run(&session, command).took);
        theirs.push(under_script(command));
    }
    let (ours, theirs) = (median(&mut ours), median(&mut theirs));
    hope(
        &format!("{command}: {ours:.2?}, under script {theirs:.2?}"),
        SLOWER,
        ours.as_secs_f64() / theirs.as_secs_f64(),
    );
}

fn under_script(command: &str) -> Duration {
    let begun = Instant::now();
    let status = Command::new("script")
        .args(["-qec", command, "/dev/null"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .expect("`script` of util-linux runs");
    assert!(status.success(), "{command}: {status}");
    begun.elapsed()
}

/// How far the memory of a fresh agent rises above what it holds while idle.
fn memory(figures: &mut Figures) {
    for command in [
        LINES,
        "yes | head -c 200000000",
        "head -c 10000000 /dev/zero | tr '\\0' x",
        "head -c 11250000 /dev/urandom | base64 -w 76",
    ] {
        let mut agent = Agent::start();
        let session = agent.warm_session();
        let idle = agent.idle_memory();
        agent.run(&session, command);
        let growth = agent.peak_memory().saturating_sub(idle);
        figures.promise(
            &format!("memory over {:.1} MB idle: {command}", mb(idle)),
            GROWTH,
            mb(growth),
        );
    }
}

/// How long a printed line takes to the client, while two other sessions print as fast as they can.
fn first_bytes() {
    let mut agent = Agent::start();
    let session = agent.warm_session();
    for _ in 0..2 {
        let other = agent.warm_session();
        agent.prompt(&other, "$ yes");
    }
    let mut firsts: Vec<Duration> = (0..MOMENTS)
        .flat_map(|_| agent.run(&session, "echo $EPOCHREALTIME").delays())
        .collect();
    let line = format!("for i in {{1..{MOMENTS}}}; do echo $EPOCHREALTIME; sleep 0.1; done");
    let mut later = agent.run(&session, &line).delays();
    for (what, delays) in [
        ("first byte of a command", &mut firsts),
        ("a later line of one", &mut later),
    ] {
        assert_eq!(delays.len(), MOMENTS, "{what}");
        let middle = median(delays).as_secs_f64();
        let title = |which| format!("{what}, under load, {which} of {MOMENTS}");
        hope(&title("median"), FIRST_BYTE, middle);
        let longest = worst(delays).as_secs_f64();
        hope(&title("worst"), FIRST_BYTE_WORST, longest);
    }
}

/// What the lines about a card take beside its text.
fn wire(figures: &mut Figures) {
    let mut agent = Agent::start();
    let session = agent.warm_session();
    for command in [
        "seq 1 35001",
        LINES,
        "head -c 10000000 /dev/zero | tr '\\0' x",
        "timeout 5 yes; true",
    ] {
        let Run { data, wire, .. } = agent.run(&session, command);
        let escaped = serde_json::to_string(&data).unwrap().len();
        figures.promise(
            &format!("wire bytes over those of the text: {command}"),
            WIRE,
            fraction(wire, escaped),
        );
    }
}

fn fraction(part: usize, whole: usize) -> f64 {
    let exact = |count: usize| f64::from(u32::try_from(count).expect("a card is small"));
    exact(part) / exact(whole)
}
