//! The processes of a test, found by the environment that they were started with.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// A running process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub id: u32,
    /// Its command line, its arguments separated by spaces.
    pub command: String,
}

impl Process {
    /// Every process whose environment had the variable when it was started. Zombies have none and are not found.
    pub(crate) fn started_with(name: &str, value: &Path) -> Vec<Self> {
        let variable = format!("{name}={}", value.display()).into_bytes();
        fs::read_dir("/proc")
            .expect("/proc can be listed")
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|id| *id != std::process::id())
            .filter(|id| {
                // A process can end between the listing and the reading; one that is gone is not running.
                let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
                environment
                    .split(|byte| *byte == 0)
                    .any(|entry| entry == variable)
            })
            .filter_map(|id| {
                let line = fs::read(format!("/proc/{id}/cmdline"))
                    .ok()
                    .filter(|line| !line.is_empty())?;
                let command = String::from_utf8_lossy(&line)
                    .trim_end_matches('\0')
                    .replace('\0', " ");
                Some(Self { id, command })
            })
            .collect()
    }

    /// Ends it at once. One that has ended meanwhile is no fault.
    pub(crate) fn kill(&self) {
        if let Some(id) = i32::try_from(self.id).ok().and_then(Pid::from_raw) {
            let _ = kill_process(id, Signal::KILL);
        }
    }
}
