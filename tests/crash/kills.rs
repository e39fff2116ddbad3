//! The program is killed at its operations, and at any time.

use std::time::Duration;

use pretty_assertions::assert_eq;

use crate::conversation::{CALLS, Sabotage, converse};
use crate::disk::{Fate, read_in};
use crate::library::{Order, When};
use crate::parallel::{alone, report, side_by_side};
use crate::store::Kept;
use crate::survey::Remains;
use crate::told::Told;
use crate::trace::{self, Kind, Operation};
use crate::undisturbed::Undisturbed;

/// How many points a program is killed at, for each store.
const POINTS: usize = 130;

/// Every operation but writes, and an even choice of these, every other one torn.
fn points(operations: &[Operation]) -> Vec<Sabotage> {
    let (writes, others): (Vec<_>, Vec<_>) = (1..)
        .zip(operations)
        .partition(|(_, operation)| operation.kind == Kind::Write);
    let room = POINTS.saturating_sub(others.len() + 1).min(writes.len());
    let torn_or_not = (0..room).map(|nth| {
        let when = if nth % 2 == 0 {
            When::Torn
        } else {
            When::After
        };
        (when, writes[nth * writes.len() / room].0)
    });
    let whole = others.iter().map(|(at, _)| (When::After, *at));
    std::iter::once((When::Before, 1))
        .chain(whole)
        .chain(torn_or_not)
        .map(|(when, at)| Sabotage::Order(Order::Kill(when, at)))
        .collect()
}

/// Kills a program at each of these points.
fn kill_at(kept: Kept, undisturbed: &Undisturbed, points: &[Sabotage]) {
    let wrong = side_by_side(points, |sabotage| {
        alone(async {
            let aftermath = converse(kept, sabotage).await;
            let remains = Remains::of(kept, &aftermath);
            let found = remains.survey(&undisturbed.log).await;
            found.map(|_| ()).map_err(|fault| {
                let operations = trace::changes(aftermath.watch.operations());
                let last = operations.iter().skip(operations.len().saturating_sub(5));
                let last: Vec<String> = last.map(|operation| format!("  {operation}")).collect();
                let last = last.join("\n");
                format!("{fault}\nIts last operations:\n{last}")
            })
        })
    });
    report(&wrong, points.len());
}

/// What the library sees is all that is done: played again from the trace, the folder is what it is.
fn nothing_gets_around_the_library(kept: Kept) {
    let aftermath = alone(converse(kept, &Sabotage::Order(Order::Nothing)));
    let operations = trace::changes(aftermath.watch.operations());
    let told = Told::of(&aftermath.said);
    assert_eq!(Told::of(&trace::told(&operations)), told);
    assert_eq!(told.answered, 2);
    let calls = (1..=CALLS).map(|number| format!("call-{number}"));
    assert_eq!(told.ended, calls.collect());
    let data = aftermath.home.path().join("data");
    let mut disk = aftermath.before.clone();
    for operation in &operations {
        disk.note(operation);
    }
    let [seen, there] = [disk.after_cut(Fate::Kept), read_in(&data)].map(|mut tree| {
        // It is written to as memory, and made anew by whoever opens the database first.
        tree.retain(|path, _| !path.to_string_lossy().ends_with("-shm"));
        tree
    });
    assert!(seen == there, "{:?}\n{:?}", seen.keys(), there.keys());
}

fn killed_at_any_operation(kept: Kept) {
    let undisturbed = alone(Undisturbed::of(kept));
    let points = points(&undisturbed.operations);
    assert!(points.len() >= 100, "{} points", points.len());
    kill_at(kept, &undisturbed, &points);
}

fn killed_at_any_time(kept: Kept) {
    let undisturbed = alone(Undisturbed::of(kept));
    let times = (0..20).map(|nth| Sabotage::KillAfter(Duration::from_millis(nth * 43)));
    kill_at(kept, &undisturbed, &times.collect::<Vec<_>>());
}

mod sqlite {
    use crate::store::Kept::Sqlite;

    #[test]
    fn nothing_gets_around_the_library() {
        super::nothing_gets_around_the_library(Sqlite);
    }

    #[test]
    fn killed_at_any_operation_it_keeps_what_was_acknowledged() {
        super::killed_at_any_operation(Sqlite);
    }

    #[test]
    fn killed_at_any_time_it_keeps_what_was_acknowledged() {
        super::killed_at_any_time(Sqlite);
    }
}
