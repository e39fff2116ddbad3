//! What a program did to the folder, as the library in front of it has written it down.

use std::path::{Path, PathBuf};

/// How a record begins.
const MAGIC: u32 = 0x706c_6364;

/// The numbers of a record, in bytes.
const NUMBERS: usize = 48;

/// The kinds of operations, in the order of the library's own list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Create,
    Truncate,
    Write,
    Sync,
    Rename,
    Link,
    Symlink,
    Unlink,
    MakeFolder,
    RemoveFolder,
    Allocate,
    /// Bytes on stdout: what the client was told.
    Tell,
    Open,
    Read,
    Stat,
    List,
    Lock,
}

const KINDS: [(Kind, &str); 17] = [
    (Kind::Create, "create"),
    (Kind::Truncate, "truncate"),
    (Kind::Write, "write"),
    (Kind::Sync, "sync"),
    (Kind::Rename, "rename"),
    (Kind::Link, "link"),
    (Kind::Symlink, "symlink"),
    (Kind::Unlink, "unlink"),
    (Kind::MakeFolder, "mkdir"),
    (Kind::RemoveFolder, "rmdir"),
    (Kind::Allocate, "allocate"),
    (Kind::Tell, "tell"),
    (Kind::Open, "open"),
    (Kind::Read, "read"),
    (Kind::Stat, "stat"),
    (Kind::List, "list"),
    (Kind::Lock, "lock"),
];

impl Kind {
    /// As orders name it.
    pub fn name(self) -> &'static str {
        KINDS
            .iter()
            .find(|(kind, _)| *kind == self)
            .map_or("any", |(_, name)| name)
    }

    /// Whether it changes something, so that a program can be killed at it.
    pub fn changes(self) -> bool {
        self < Self::Open
    }
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    pub kind: Kind,
    /// What the call gave: a number of bytes, 0, or the negative number of its error.
    pub result: i64,
    /// The file's own number.
    pub node: u64,
    /// Where in the file, or its new length.
    pub place: u64,
    /// The file; of a link the old name, of a symbolic one what it points to.
    pub path: PathBuf,
    /// The new name of a rename or link.
    pub other: PathBuf,
    /// What was written.
    pub bytes: Vec<u8>,
}

impl std::fmt::Display for Operation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.kind.name(), self.path.display())?;
        match self.kind {
            Kind::Write => write!(formatter, " at {}: {} bytes", self.place, self.bytes.len()),
            Kind::Rename | Kind::Link | Kind::Symlink => {
                write!(formatter, " to {}", self.other.display())
            }
            Kind::Tell => {
                let text = String::from_utf8_lossy(&self.bytes);
                write!(formatter, "{:.200}", text.trim_end())
            }
            _ => Ok(()),
        }
    }
}

/// Reads a trace.
///
/// # Panics
/// When it is no trace.
pub fn read(file: &Path) -> Vec<Operation> {
    let bytes = std::fs::read(file).unwrap_or_default();
    parse(&bytes)
}

fn parse(mut rest: &[u8]) -> Vec<Operation> {
    let mut operations = Vec::new();
    while let Some((operation, behind)) = one(rest) {
        operations.push(operation);
        rest = behind;
    }
    operations
}

fn one(bytes: &[u8]) -> Option<(Operation, &[u8])> {
    use std::os::unix::ffi::OsStringExt as _;
    let (numbers, mut rest) = bytes.split_at_checked(NUMBERS)?;
    let four = |at: usize| u32::from_le_bytes(numbers[at..at + 4].try_into().unwrap());
    let eight = |at: usize| u64::from_le_bytes(numbers[at..at + 8].try_into().unwrap());
    assert_eq!(four(0), MAGIC, "not a trace");
    let mut take = |length: u32| {
        let (taken, behind) = rest.split_at_checked(usize::try_from(length).unwrap())?;
        rest = behind;
        Some(taken.to_vec())
    };
    let path = |bytes: Vec<u8>| PathBuf::from(std::ffi::OsString::from_vec(bytes));
    let operation = Operation {
        kind: KINDS[four(4) as usize].0,
        result: eight(8).cast_signed(),
        node: eight(16),
        place: eight(24),
        path: path(take(four(32))?),
        other: path(take(four(36))?),
        bytes: take(four(40))?,
    };
    Some((operation, rest))
}

/// Those that can be the point of a kill or a cut, in order.
pub fn changes(operations: Vec<Operation>) -> Vec<Operation> {
    let changes = operations.into_iter().filter(|it| it.kind.changes());
    changes.collect()
}

/// Everything that was told by these operations.
pub fn told(operations: &[Operation]) -> Vec<u8> {
    let tells = operations.iter().filter(|it| it.kind == Kind::Tell);
    tells.flat_map(|it| it.bytes.iter().copied()).collect()
}
