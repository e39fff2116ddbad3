//! Finding what an agent's processes have left behind in sessions of their own, where no signal to a group reaches.
//!
//! Every process below an agent bears the mark of the agent's life in its environment. Who wipes the environment, or
//! belongs to another person by now, is not found.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use rustix::process::{Pid, Signal, kill_process};

/// The variable that bears the mark.
pub(crate) const MARK: &str = "PLACARD_AGENT";

/// Kills every process that bears `mark`. A process may fork between the look and the signal, so it looks again until
/// there is none, a bounded number of times. Where there is no `/proc`, nobody is found.
pub(crate) fn kill_marked(mark: &str) {
    const LOOKS: usize = 20;
    let entry = format!("{MARK}={mark}");
    for _ in 0..LOOKS {
        let marked = bearing(entry.as_bytes());
        if marked.is_empty() {
            return;
        }
        for process in marked {
            // It may have ended since it was listed.
            let _ = kill_process(process, Signal::KILL);
        }
    }
}

fn bearing(entry: &[u8]) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| {
            let name = process.file_name();
            let number = std::str::from_utf8(name.as_bytes()).ok()?.parse().ok()?;
            // Other people's cannot be read.
            let environment = fs::read(process.path().join("environ")).ok()?;
            let marked = environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == entry);
            marked.then(|| Pid::from_raw(number)).flatten()
        })
        .collect()
}
