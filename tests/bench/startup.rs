//! How fast the headless agent is there, and how little it takes while it waits.
//!
//! Run by `make bench` on the release build. Times are printed beside those of a program that does nothing but echo
//! lines (`cat`), in turn and as medians, because a time alone says more of the machine than of the program. The one
//! promise that does not depend on the machine's speed, the memory, is checked.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark stops at the first surprise, and what it prints is its result"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use placard_tests::binary;
use serde_json::json;
use tempfile::TempDir;

/// Pairs of runs.
const RUNS: usize = 21;
/// What the agent may hold while nobody asks for anything, in KiB of resident memory.
const IDLE: u64 = 15 * 1024;

fn main() -> ExitCode {
    let placard = binary("placard");
    let home = tempfile::tempdir().unwrap();
    let initialize = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": 1, "clientCapabilities": {"_meta": {"terminal_output": true}}},
    })
    .to_string();

    let mut agents = Vec::new();
    let mut echoes = Vec::new();
    // One pair more than is counted, to warm the file cache.
    for run in 0..=RUNS {
        let agent = first_answer(Command::new(&placard).arg("acp"), &home, &initialize);
        let echo = first_answer(&mut Command::new("cat"), &home, &initialize);
        if run > 0 {
            agents.push(agent);
            echoes.push(echo);
        }
    }
    let (agent, echo) = (median(&mut agents), median(&mut echoes));
    println!(
        "initialize answered after start   {agent:>8.2?}   (promised: under 30 ms on a warm machine)"
    );
    println!(
        "a line echoed by cat after start  {echo:>8.2?}   ratio {:.1}",
        agent.as_secs_f64() / echo.as_secs_f64()
    );

    let resident = idle_memory(&placard, &home, &initialize);
    println!(
        "resident memory while idle        {:>6.1} MB   (promised: under 15 MB)",
        kib_as_mb(resident)
    );
    if resident < IDLE {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn start(command: &mut Command, home: &TempDir) -> Child {
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// From the start of a program to the first line that it answers.
fn first_answer(command: &mut Command, home: &TempDir, line: &str) -> Duration {
    let begun = Instant::now();
    let mut child = start(command, home);
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{line}").unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut answer)
        .unwrap();
    let took = begun.elapsed();
    assert!(answer.contains("jsonrpc"), "{answer}");
    drop(stdin);
    child.wait().unwrap();
    took
}

/// Resident memory, in KiB, of an agent that has answered `initialize` and waits.
fn idle_memory(placard: &Path, home: &TempDir, line: &str) -> u64 {
    let mut child = start(Command::new(placard).arg("acp"), home);
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{line}").unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut answer)
        .unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let resident = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    let resident = resident.trim().trim_end_matches(" kB").parse().unwrap();
    drop(stdin);
    child.wait().unwrap();
    resident
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn kib_as_mb(kib: u64) -> f64 {
    f64::from(u32::try_from(kib).unwrap_or(u32::MAX)) / 1024.0
}
