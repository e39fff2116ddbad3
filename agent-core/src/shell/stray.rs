//! Finding a command's processes when its supervisor is gone: a command can kill it, or stop it.
//!
//! Every process of a command bears the command's mark in its environment. A process can wipe its own environment, so this
//! is the second line of defence; the first is the supervisor, which needs no mark.

use rustix::process::{Signal, kill_process};

use crate::platform::bearing;

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
