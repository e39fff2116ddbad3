//! Linux: processes are found in `/proc`, orphans can be adopted, a process can be told to die with its parent.

mod reading;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::process::{Pid, Signal};

pub(crate) use reading::look;

/// What runs this very program again, also when its file was replaced while it runs, as an update does.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    let own = PathBuf::from("/proc/self/exe");
    if own.exists() {
        Ok(own)
    } else {
        std::env::current_exe()
    }
}

/// Whatever loses its parent below this process becomes a child of it.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Has this process killed when its parent ends. Of a parent with several threads the one that started it counts.
pub(crate) fn die_with_parent() {
    // It fails for no signal that exists.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
}

/// Child to parent, for every process that is no zombie.
pub(crate) fn parents() -> HashMap<i32, i32> {
    processes()
        .filter_map(|pid| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            Some((pid, parent_of(&stat)?))
        })
        .collect()
}

/// The processes that have this variable (`NAME=value`) in the environment that they were started with.
pub(crate) fn bearing(entry: &[u8]) -> Vec<Pid> {
    processes()
        .filter(|pid| {
            // Of processes of other people it cannot be read.
            fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
                environment
                    .split(|byte| *byte == 0)
                    .any(|variable| variable == entry)
            })
        })
        .filter_map(Pid::from_raw)
        .collect()
}

/// Where an open file really lies, whatever its path was replaced by meanwhile.
pub(crate) fn path_of(file: &impl AsRawFd) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn processes() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            std::str::from_utf8(entry.file_name().as_bytes())
                .ok()?
                .parse()
                .ok()
        })
}

/// The parent in a line of `/proc/PID/stat`; none for a zombie. The program's name, in parentheses, may hold anything.
fn parent_of(stat: &str) -> Option<i32> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (state != "Z" && state != "X").then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent_of("7 (a) b) (c)) S 3 7 7 0 -1"), Some(3));
        assert_eq!(parent_of("7 (gone) Z 3 7 7 0 -1"), None);
        assert_eq!(parent_of("nonsense"), None);
    }
}
