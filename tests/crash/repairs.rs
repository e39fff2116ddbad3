//! The repair of a crash's remains is killed, and power is cut in it, at each of its own operations.

use serde_json::Value;

use crate::conversation::{Aftermath, Sabotage, converse, load};
use crate::disk::{Fate, Tree, read_in};
use crate::library::{Order, When};
use crate::parallel::{alone, report, side_by_side};
use crate::power::{Cut, cuts};
use crate::store::Kept;
use crate::survey::Remains;
use crate::told::Told;
use crate::trace::{self, Kind, Operation};
use crate::undisturbed::Undisturbed;

/// Where a conversation breaks off so that there is much to repair.
#[derive(Debug, Clone, Copy)]
enum BrokenOff {
    /// A command has printed something.
    InOutput,
    /// A command has begun, another one runs in the background.
    BesideBackground,
}

impl BrokenOff {
    fn at(self, operations: &[Operation]) -> usize {
        let in_output = |operation: &Operation| {
            operation.kind == Kind::Write && operation.path.ends_with("call-3.txt")
        };
        let beside_background = |operation: &Operation| {
            let text = String::from_utf8_lossy(&operation.bytes);
            operation.kind == Kind::Tell && text.contains("call-5") && text.contains("in_progress")
        };
        let at = match self {
            Self::InOutput => operations.iter().position(in_output),
            Self::BesideBackground => operations.iter().position(beside_background),
        };
        // From 1.
        at.unwrap() + 1
    }
}

/// A session that a killed program has left.
struct Wreck {
    kept: Kept,
    /// The home that it happened in.
    killed: Aftermath,
    session: String,
    /// What was in the data folder then.
    left: Tree,
}

impl Wreck {
    fn of(kept: Kept, broken_off: BrokenOff) -> Self {
        let at = broken_off.at(&alone(Undisturbed::of(kept)).operations);
        let killed = alone(converse(
            kept,
            &Sabotage::Order(Order::Kill(When::After, at)),
        ));
        Self {
            kept,
            session: Told::of(&killed.said).session.unwrap(),
            left: read_in(&killed.home.path().join("data")),
            killed,
        }
    }

    fn load(&self, order: &Order) -> Aftermath {
        let work = &self.killed.work;
        alone(load(self.kept, &self.left, &self.session, work, order))
    }

    /// What is left after a load, told of by these words: the log without what differs from run to run.
    fn survey(&self, remains: Remains<'_>, told: Told) -> Result<Vec<Value>, String> {
        let session = Some(self.session.clone());
        let remains = Remains {
            told: Told { session, ..told },
            ..remains
        };
        let found = alone(remains.survey(&[]))?;
        Ok(remains.plain(&found.repaired))
    }
}

/// What the repair comes to when nothing disturbs it, and what it does.
struct Repair {
    aftermath: Aftermath,
    operations: Vec<Operation>,
    log: Vec<Value>,
}

impl Repair {
    fn of(wreck: &Wreck) -> Self {
        let aftermath = wreck.load(&Order::Nothing);
        assert!(aftermath.finished);
        let operations = trace::changes(aftermath.watch.operations());
        let told = Told::of(&aftermath.said);
        assert!(told.loaded && told.listed, "{told:?}");
        let log = wreck
            .survey(Remains::of(wreck.kept, &aftermath), told)
            .unwrap();
        let ends: Vec<&Value> = log.iter().rev().take(2).collect();
        assert_eq!(ends[0]["reason"], "interrupted", "{ends:?}");
        Self {
            aftermath,
            operations,
            log,
        }
    }

    fn same(&self, log: &[Value]) -> Result<(), String> {
        if log == self.log {
            return Ok(());
        }
        Err(format!("another log: {log:#?}\nthan {:#?}", self.log))
    }
}

fn a_repair_that_is_killed_is_made_again(kept: Kept, broken_off: BrokenOff) {
    let wreck = Wreck::of(kept, broken_off);
    let repair = Repair::of(&wreck);
    let mut points = vec![Sabotage::Order(Order::Kill(When::Before, 1))];
    for (at, operation) in (1..).zip(&repair.operations) {
        if operation.kind == Kind::Write {
            points.push(Sabotage::Order(Order::Kill(When::Torn, at)));
        }
        points.push(Sabotage::Order(Order::Kill(When::After, at)));
    }
    let wrong = side_by_side(&points, |point| {
        let Sabotage::Order(order) = point else {
            unreachable!("all of them are orders");
        };
        let aftermath = wreck.load(order);
        let told = Told::of(&aftermath.said);
        repair.same(&wreck.survey(Remains::of(kept, &aftermath), told)?)
    });
    report(&wrong, points.len());
}

fn a_repair_whose_power_is_cut_is_made_again(kept: Kept, broken_off: BrokenOff) {
    let wreck = Wreck::of(kept, broken_off);
    let repair = Repair::of(&wreck);
    let cuts = cuts(&repair.aftermath.before, &repair.operations, |after| {
        vec![Fate::Lost, Fate::Torn(after as u64)]
    });
    let wrong = side_by_side(&cuts, |cut: &Cut| {
        let folder = cut.rebuilt();
        let remains = Remains {
            data: folder.path().join("placard"),
            ..Remains::of(kept, &repair.aftermath)
        };
        repair.same(&wreck.survey(remains, cut.told.clone())?)
    });
    report(&wrong, cuts.len());
}

mod sqlite {
    use super::BrokenOff::{BesideBackground, InOutput};
    use crate::store::Kept::Sqlite;

    #[test]
    fn a_repair_that_is_killed_is_made_again() {
        super::a_repair_that_is_killed_is_made_again(Sqlite, InOutput);
        super::a_repair_that_is_killed_is_made_again(Sqlite, BesideBackground);
    }

    #[test]
    fn a_repair_whose_power_is_cut_is_made_again() {
        super::a_repair_whose_power_is_cut_is_made_again(Sqlite, InOutput);
    }
}
