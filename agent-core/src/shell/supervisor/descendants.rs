//! Everything that a command has started and that still runs.
//!
//! The supervisor adopts orphans, so whatever setsid, nohup or a double fork did, every living descendant is found
//! by following parents upwards to the supervisor.

use std::collections::HashMap;
use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// The living descendants of this process, zombies not counted.
pub fn living() -> Vec<Pid> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    below(own, &parents())
        .into_iter()
        .filter_map(Pid::from_raw)
        .collect()
}

/// Sends `signal` to every living descendant; says how many there were.
pub fn signal_all(signal: Signal) -> usize {
    let all = living();
    for pid in &all {
        // It may have ended since it was listed.
        let _ = kill_process(*pid, signal);
    }
    all.len()
}

/// Child to parent, for every process that is no zombie.
fn parents() -> HashMap<i32, i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return HashMap::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            Some((pid, parent_of(&stat)?))
        })
        .collect()
}

/// The parent in a line of `/proc/PID/stat`; none for a zombie. The program's name, in parentheses, may hold anything.
fn parent_of(stat: &str) -> Option<i32> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (state != "Z" && state != "X").then_some(parent)
}

/// Every process whose line of parents leads to `root`. A zombie between the two breaks no line: its children
/// were adopted when it died.
fn below(root: i32, parents: &HashMap<i32, i32>) -> Vec<i32> {
    let mut found: Vec<i32> = parents
        .keys()
        .copied()
        .filter(|pid| {
            let mut at = *pid;
            // A line is no longer than the number of processes; the bound guards against a snapshot that contradicts itself.
            for _ in 0..=parents.len() {
                match parents.get(&at) {
                    Some(parent) if *parent == root => return true,
                    Some(parent) => at = *parent,
                    None => return false,
                }
            }
            false
        })
        .collect();
    found.sort_unstable();
    found
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

    #[test]
    fn descendants_are_found_at_any_depth_and_nobody_else() {
        let parents = HashMap::from([(2, 1), (10, 2), (11, 10), (12, 11), (20, 1), (21, 20)]);
        assert_eq!(below(10, &parents), vec![11, 12]);
        assert_eq!(below(2, &parents), vec![10, 11, 12]);
        assert_eq!(below(12, &parents), Vec::<i32>::new());
    }

    #[test]
    fn a_snapshot_that_runs_in_circles_ends() {
        assert_eq!(
            below(1, &HashMap::from([(5, 6), (6, 5)])),
            Vec::<i32>::new()
        );
    }
}
