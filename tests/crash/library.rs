//! The library that stands between a program and its files: how it is built, and how it is told what is to go wrong.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use placard_tests::repository;

use crate::trace::{self, Kind, Operation};

/// The library, built once for each test program.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let source = repository().join("tests/crash/interpose.c");
        let fresh = folder.join(format!("interpose-{}.so", std::process::id()));
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"])
            .arg("-o")
            .args([&fresh, &source])
            .arg("-ldl")
            .output()
            .unwrap_or_else(|fault| {
                panic!("cannot start cc (`scripts/setup test` installs it): {fault}")
            });
        assert!(
            built.status.success(),
            "interpose.c does not compile: {}",
            String::from_utf8_lossy(&built.stderr)
        );
        // Whoever has the one before loaded keeps it.
        let library = folder.join("interpose.so");
        std::fs::rename(&fresh, &library).unwrap();
        library
    })
}

/// When, at an operation, a program is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    Before,
    /// Half of its bytes are written; what has no bytes is not done.
    Torn,
    After,
}

impl std::fmt::Display for When {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Before => "before",
            Self::Torn => "torn",
            Self::After => "after",
        })
    }
}

/// What is to go wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    Nothing,
    /// The program is killed at the n-th operation, from 1, that changes something or tells the client something.
    Kill(When, usize),
    Fail(Failure),
}

/// Operations that fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Of which kind; any when none.
    pub kind: Option<Kind>,
    /// The first of them, from 1.
    pub at: usize,
    /// How many of them; 0 for all from there on.
    pub times: usize,
    /// The number of the error.
    pub error: i32,
    /// Where it is a write: the first of them writes half of its bytes and says so.
    pub short: bool,
    /// Only where the path has this in it.
    pub part: String,
}

/// The library in front of one program: what it watches, what it writes down, what it was told.
#[derive(Debug)]
pub struct Watch {
    root: PathBuf,
    folder: PathBuf,
}

impl Watch {
    /// Watches `root`, which must exist. The library's own files are in `folder`, which must be outside of it.
    pub fn new(root: &Path, folder: &Path) -> Self {
        Self {
            root: root.canonicalize().unwrap(),
            folder: folder.to_owned(),
        }
    }

    /// The variables to start the program with.
    pub fn environment(&self) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        vec![
            ("LD_PRELOAD".to_owned(), text(library())),
            ("PLACARD_INTERPOSE_ROOT".to_owned(), text(&self.root)),
            (
                "PLACARD_INTERPOSE_TRACE".to_owned(),
                text(&self.trace_file()),
            ),
            (
                "PLACARD_INTERPOSE_ORDERS".to_owned(),
                text(&self.orders_file()),
            ),
        ]
    }

    /// Says what is to go wrong from now on, and sets the counts back.
    pub fn order(&self, order: &Order) {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let text = match order {
            Order::Nothing => format!("{number} none\n"),
            Order::Kill(when, at) => format!("{number} kill {when} {at}\n"),
            Order::Fail(Failure {
                kind,
                at,
                times,
                error,
                short,
                part,
            }) => {
                let sort = if *short { "short" } else { "fail" };
                let kind = kind.map_or("any", Kind::name);
                format!("{number} {sort} {kind} {at} {times} {error} {part}\n")
            }
        };
        let fresh = self.folder.join("orders.new");
        std::fs::write(&fresh, text).unwrap();
        std::fs::rename(fresh, self.orders_file()).unwrap();
    }

    /// Everything that was done so far.
    pub fn operations(&self) -> Vec<Operation> {
        trace::read(&self.trace_file())
    }

    fn trace_file(&self) -> PathBuf {
        self.folder.join("trace")
    }

    fn orders_file(&self) -> PathBuf {
        self.folder.join("orders")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::collections::BTreeMap;

    /// What a shell leaves in the folder, whether it came to its end, and what it did.
    fn shell(script: &str, order: &Order) -> (BTreeMap<String, String>, bool, Vec<Operation>) {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("root");
        std::fs::create_dir(&root).unwrap();
        let watch = Watch::new(&root, home.path());
        watch.order(order);
        let output = Command::new("sh")
            .args(["-c", script])
            .envs(watch.environment())
            .current_dir(&root)
            .output()
            .unwrap();
        let files = std::fs::read_dir(&root).unwrap().map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read_to_string(entry.path()).unwrap())
        });
        (files.collect(), output.status.success(), watch.operations())
    }

    const SCRIPT: &str = "echo 1234567 >a && echo hi && echo end >>a";

    #[test]
    fn a_program_is_killed_before_in_and_after_an_operation() {
        let table = [
            (When::Before, 1, None),
            (When::After, 1, Some("")),
            (When::Before, 2, Some("")),
            (When::Torn, 2, Some("1234")),
            (When::After, 2, Some("1234567\n")),
            (When::Before, 4, Some("1234567\n")),
            (When::Torn, 4, Some("1234567\nen")),
            (When::After, 4, Some("1234567\nend\n")),
        ];
        for (when, at, expected) in table {
            let (files, ended, _) = shell(SCRIPT, &Order::Kill(when, at));
            assert!(!ended, "{when:?} {at}");
            assert_eq!(
                files.get("a").map(String::as_str),
                expected,
                "{when:?} {at}"
            );
        }
    }

    #[test]
    fn operations_are_written_down_in_order_and_those_of_other_programs_are_not() {
        let script = format!("{SCRIPT} && cp a b && printenv LD_PRELOAD");
        let (files, _, operations) = shell(&script, &Order::Nothing);
        assert_eq!(files.get("b").unwrap(), "1234567\nend\n");
        let told: Vec<(Kind, u64, String)> = trace::changes(operations)
            .into_iter()
            .map(|operation| {
                let bytes = String::from_utf8(operation.bytes).unwrap();
                (operation.kind, operation.place, bytes)
            })
            .collect();
        let expected = [
            (Kind::Create, 0, ""),
            (Kind::Write, 0, "1234567\n"),
            (Kind::Tell, 0, "hi\n"),
            (Kind::Write, 8, "end\n"),
        ];
        assert_eq!(
            told,
            expected.map(|(kind, place, bytes)| (kind, place, bytes.to_owned()))
        );
    }

    #[test]
    fn the_operations_that_are_named_fail_and_no_others() {
        let failure = Failure {
            kind: Some(Kind::Write),
            at: 1,
            times: 1,
            error: 28,
            short: false,
            part: String::new(),
        };
        let create = Failure {
            kind: Some(Kind::Create),
            ..failure.clone()
        };
        let second = Failure {
            at: 2,
            ..failure.clone()
        };
        let short = Failure {
            short: true,
            times: 0,
            ..failure.clone()
        };
        let elsewhere = Failure {
            part: "other".to_owned(),
            ..failure.clone()
        };
        let table = [
            (failure, Some(""), false),
            (create, None, false),
            (second, Some("1234567\n"), false),
            (short, Some("1234"), false),
            (elsewhere, Some("1234567\nend\n"), true),
        ];
        for (failure, expected, ends) in table {
            let (files, ended, _) = shell(SCRIPT, &Order::Fail(failure.clone()));
            let found = (files.get("a").map(String::as_str), ended);
            assert_eq!(found, (expected, ends), "{failure:?}");
        }
    }
}
