//! Finding a command's processes when its supervisor is gone: a command can kill it, or stop it.
//!
//! Every process of a command bears the command's mark in its environment. A process can wipe its own environment, so this
//! is the second line of defence; the first is the supervisor, which needs no mark.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use rustix::process::{Pid, Signal, kill_process};

/// The variable that bears the mark.
pub const MARK: &str = "PLACARD_COMMAND";

/// Kills every process that bears this mark; looks again until there is none, a bounded number of times, since a process may
/// fork between the look and the signal.
pub fn kill_marked(mark: &str) {
    const LOOKS: usize = 20;
    let entry = [MARK.as_bytes(), b"=", mark.as_bytes()].concat();
    for _ in 0..LOOKS {
        let marked = bearing(&entry);
        if marked.is_empty() {
            return;
        }
        for pid in marked {
            // It may have ended since it was listed.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn bearing(entry: &[u8]) -> Vec<Pid> {
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .flatten()
        .filter_map(|process| {
            let name = process.file_name();
            let pid = std::str::from_utf8(name.as_bytes()).ok()?.parse().ok()?;
            // Of processes of other people it cannot be read.
            let environment = fs::read(process.path().join("environ")).ok()?;
            let marked = environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == entry);
            marked.then(|| Pid::from_raw(pid)).flatten()
        })
        .collect()
}
