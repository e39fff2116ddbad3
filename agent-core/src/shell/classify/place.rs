//! Which names stand for what can be read again: what has one beginning, the same for everybody who opens it.

/// Files of /proc that say how the machine is, to every process alike. All else there is a process, its open files, or the log
/// that a read empties.
const MACHINE: &[&str] = &[
    "cmdline",
    "cpuinfo",
    "devices",
    "diskstats",
    "filesystems",
    "interrupts",
    "loadavg",
    "meminfo",
    "modules",
    "partitions",
    "stat",
    "swaps",
    "uptime",
    "version",
    "vmstat",
];

/// Whether a name stands for a file or a folder of data: not standard input, no device, no process, not empty.
pub(super) fn names_a_place(name: &str) -> bool {
    if name.is_empty() || name == "-" {
        return false;
    }
    let parts = parts(name);
    // What `..` leads to is for the file system to say: it may be the root.
    let mut behind_a_root = parts
        .iter()
        .enumerate()
        .filter(|(_, part)| **part == "..")
        .map(|(at, _)| &parts[at + 1..]);
    let is_ours = |from_root: &[&str]| match from_root {
        ["dev", ..] => false,
        ["proc", rest @ ..] => matches!(rest, [file] if MACHINE.contains(file)),
        _ => true,
    };
    (!name.starts_with('/') || is_ours(&parts)) && behind_a_root.all(is_ours)
}

/// Whether a name can only be a folder's, so nothing is read.
pub(super) fn names_a_folder(name: &str) -> bool {
    matches!(name.rsplit('/').next(), Some("" | "." | ".."))
}

/// The steps of a path, without those that go nowhere.
fn parts(name: &str) -> Vec<&str> {
    name.split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect()
}
