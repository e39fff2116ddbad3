//! Everything that a command has started and that still runs.
//!
//! The supervisor adopts orphans, so whatever setsid, nohup or a double fork did, every living descendant is found
//! by following parents upwards to the supervisor.

use std::collections::HashMap;

use rustix::process::{Pid, Signal, kill_process};

use crate::platform::parents;

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
