//! macOS, unverified: written from the documentation of the system's own tools, and never built. `docs/platforms.md` lists the gaps.
//!
//! Processes are found through `ps`, as no safe crate that we use wraps `libproc`. Orphans cannot be adopted there, so what a double fork
//! hides is found by the mark in its environment alone, and nothing dies by itself when its supervisor is killed.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Pid;
use rustix::termios::LocalModes;

use super::Look;

/// What runs this program again: its file, which an update may have replaced meanwhile.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// There is no such call; what is orphaned is found by its mark.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

/// There is no such call; the supervisor's end is found by the agent, which kills by the mark.
pub(crate) fn die_with_parent() {}

/// Child to parent, for every process that is no zombie.
pub(crate) fn parents() -> HashMap<i32, i32> {
    listed(&["-axo", "pid=,ppid=,stat="])
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            let (pid, parent) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
            (!fields.next()?.starts_with('Z')).then_some((pid, parent))
        })
        .collect()
}

/// The processes that have this variable (`NAME=value`) in their environment, which `ps` writes behind the command.
pub(crate) fn bearing(entry: &[u8]) -> Vec<Pid> {
    let entry = String::from_utf8_lossy(entry);
    listed(&["-axEww", "-o", "pid=,command="])
        .lines()
        .filter(|line| line.split(' ').any(|word| word == entry))
        .filter_map(|line| line.split_ascii_whitespace().next()?.parse().ok())
        .filter_map(Pid::from_raw)
        .collect()
}

/// Where an open file really lies.
pub(crate) fn path_of(file: &impl AsRawFd) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/dev/fd/{}", file.as_raw_fd()))
}

/// Whether a password is asked for: that a program reads with the echo on cannot be seen from outside.
pub(crate) fn look(terminal: impl AsFd) -> Look {
    let modes = rustix::termios::tcgetattr(terminal).map(|attributes| attributes.local_modes);
    let by_line = modes.is_ok_and(|modes| modes.contains(LocalModes::ICANON));
    let echo = modes.is_ok_and(|modes| modes.contains(LocalModes::ECHO));
    Look {
        reading: by_line && !echo,
        by_line,
    }
}

fn listed(arguments: &[&str]) -> String {
    Command::new("/bin/ps")
        .args(arguments)
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default()
}
