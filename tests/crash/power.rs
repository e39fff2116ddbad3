//! Power is cut in the trace of a program.

use tempfile::TempDir;

use crate::disk::{Disk, Fate, Tree, write_out};
use crate::parallel::{alone, report, side_by_side};
use crate::store::Kept;
use crate::survey::Remains;
use crate::told::Told;
use crate::trace::{self, Operation};
use crate::undisturbed::Undisturbed;

/// How many points power is cut at, for each store.
const CUTS: usize = 210;

/// A cut.
#[derive(Debug)]
pub struct Cut {
    /// How many operations were done.
    after: usize,
    fate: Fate,
    tree: Tree,
    pub told: Told,
}

impl Cut {
    /// What is left, in a folder of its own.
    pub fn rebuilt(&self) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        write_out(&self.tree, folder.path());
        folder
    }
}

impl std::fmt::Display for Cut {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {:?}", self.after, self.fate)
    }
}

/// Cuts power at an even choice of operations. What a point leaves in the same state as the one before is left out.
pub fn cuts(
    before: &Disk,
    operations: &[Operation],
    fates: impl Fn(usize) -> Vec<Fate>,
) -> Vec<Cut> {
    let mut disk = before.clone();
    let mut cuts: Vec<Cut> = Vec::new();
    let mut points = (0..=CUTS).map(|nth| nth * operations.len() / CUTS);
    let mut next = points.next();
    for after in 0..=operations.len() {
        if next == Some(after) {
            next = points.by_ref().find(|point| *point > after);
            let told = Told::of(&trace::told(&operations[..after]));
            for fate in fates(after) {
                let tree = disk.after_cut(fate);
                let same = cuts
                    .iter()
                    .rev()
                    .take(16)
                    .any(|cut| cut.tree == tree && cut.told == told);
                if !same {
                    let told = told.clone();
                    cuts.push(Cut {
                        after,
                        fate,
                        tree,
                        told,
                    });
                }
            }
        }
        if let Some(operation) = operations.get(after) {
            disk.note(operation);
        }
    }
    cuts
}

/// What is found after a cut, by the checks that a killed program gets.
fn try_out(kept: Kept, undisturbed: &Undisturbed, cut: &Cut) -> Result<(), String> {
    let folder = cut.rebuilt();
    let remains = Remains {
        data: folder.path().join("placard"),
        told: cut.told.clone(),
        // A mark may have been made after the cut; what was printed tells of commands as well.
        ran: std::collections::BTreeSet::new(),
        ..Remains::of(kept, &undisturbed.aftermath)
    };
    alone(remains.survey(&undisturbed.log))
        .map(|_| ())
        .map_err(|fault| {
            let last = &undisturbed.operations[cut.after.saturating_sub(5)..cut.after];
            let last: Vec<String> = last.iter().map(|it| format!("  {it}")).collect();
            format!("{fault}\nThe last operations:\n{}", last.join("\n"))
        })
}

fn power_is_cut(kept: Kept) {
    let undisturbed = alone(Undisturbed::of(kept));
    let cuts = cuts(
        &undisturbed.aftermath.before,
        &undisturbed.operations,
        |after| {
            let seed = after as u64;
            let in_turn = match after % 3 {
                0 => Fate::NamesOnly,
                1 => Fate::NamesAndLengths,
                _ => Fate::BytesOnly,
            };
            vec![Fate::Lost, Fate::Torn(seed), in_turn]
        },
    );
    assert!(cuts.len() >= CUTS, "{} cuts", cuts.len());
    let wrong = side_by_side(&cuts, |cut| try_out(kept, &undisturbed, cut));
    report(&wrong, cuts.len());
}

/// That the checks above would find a store that never syncs.
fn a_disk_that_heeds_no_sync_is_found_out(kept: Kept) {
    let undisturbed = alone(Undisturbed::of(kept));
    let disk = undisturbed.aftermath.before.clone().deaf();
    let cuts = cuts(&disk, &undisturbed.operations, |_| {
        vec![Fate::Lost, Fate::NamesOnly]
    });
    let wrong = side_by_side(&cuts, |cut| try_out(kept, &undisturbed, cut));
    let lost = wrong
        .iter()
        .filter(|fault| fault.contains("is not in the log"));
    assert!(lost.count() > 5, "{wrong:#?}");
}

mod sqlite {
    use crate::store::Kept::Sqlite;

    #[test]
    fn when_power_is_cut_it_keeps_what_was_acknowledged() {
        super::power_is_cut(Sqlite);
    }

    #[test]
    fn a_disk_that_heeds_no_sync_is_found_out() {
        super::a_disk_that_heeds_no_sync_is_found_out(Sqlite);
    }
}
