//! Telling from what a command printed that its sandbox was in its way.
//!
//! The kernel tells nobody but the program, and the program says it in words of its own. So its last lines are read for the words
//! that programs have for a refusal, and the path beside them is held against the sandbox. What the person could not have written
//! either, or what lies within the sandbox, has another cause and is not blamed on it.

mod words;

use std::fmt;
use std::path::{Component, Path, PathBuf};

use super::{Level, Sandbox};

/// How many of the last lines are read: errors stand at the end, and a long log may hold words of any kind.
const LINES: usize = 200;

/// How many lines before a refusal may name its path: some programs tell what they wanted first, and why it failed below.
const LINES_BEFORE: usize = 6;

/// What the sandbox was in the way of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// What was denied.
    pub what: Denied,
    /// Whether that is known, or only likely.
    pub certain: bool,
    level: Level,
    network: bool,
}

/// What a sandbox denies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denied {
    /// Writing, at this path where it is known.
    Write(Option<PathBuf>),
    /// The network.
    Network,
    /// Becoming another user, as `sudo` does.
    Privileges,
    /// A signal to a process that is not the command's own.
    Signal,
}

/// What the disk says of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The path without symbolic links, as far as it exists.
    pub real: PathBuf,
    /// Whether the person may write it, or make it.
    pub writable_by_person: bool,
}

/// What a denial's line begins with, where it is known and where it is only likely.
const CERTAIN: &str = "The sandbox (";
const LIKELY: &str = "Perhaps the sandbox (";

/// Whether a line of a result is that of a denial that is known.
pub fn is_certain_denial(line: &str) -> bool {
    line.starts_with(CERTAIN)
}

/// Finds what the sandbox denied a command that printed `text` (plain, its end at least) in the folder `cwd`, and that
/// succeeded or not. Reads the disk.
pub fn denial(sandbox: &Sandbox, text: &str, succeeded: bool, cwd: &Path) -> Option<Denial> {
    denial_by(sandbox, text, succeeded, cwd, look)
}

/// The same, with somebody else's eyes on the disk.
pub fn denial_by(
    sandbox: &Sandbox,
    text: &str,
    succeeded: bool,
    cwd: &Path,
    look: impl Fn(&Path) -> Place,
) -> Option<Denial> {
    if !sandbox.restricts() {
        return None;
    }
    let denied = |what, certain| Denial {
        what,
        certain,
        level: sandbox.level,
        network: sandbox.network,
    };
    // From the end: an output may have half a million lines.
    let mut lines: Vec<&str> = text.lines().rev().take(LINES).collect();
    lines.reverse();
    let mut unexplained = false;
    let mut other = None;
    for (index, line) in lines.iter().enumerate().rev() {
        match words::refusal(line) {
            Some(words::Refusal::Write) if sandbox.level != Level::Off => {
                let before = &lines[index.saturating_sub(LINES_BEFORE)..index];
                let named = named_paths(line, before);
                unexplained |= named.is_empty();
                for path in named {
                    let path = normal(&cwd.join(path));
                    let place = look(&path);
                    if !sandbox.may_write(&place.real) && place.writable_by_person {
                        return Some(denied(Denied::Write(Some(path)), true));
                    }
                }
            }
            Some(words::Refusal::Privileges) => {
                other.get_or_insert(Denied::Privileges);
            }
            Some(words::Refusal::Signal) if sandbox.level == Level::ReadOnly => {
                other.get_or_insert(Denied::Signal);
            }
            Some(words::Refusal::Network) if !sandbox.network => {
                other.get_or_insert(Denied::Network);
            }
            _ => {}
        }
    }
    if succeeded {
        return None;
    }
    match other {
        Some(what) => Some(denied(what, true)),
        None => unexplained.then(|| denied(Denied::Write(None), false)),
    }
}

/// The paths that a refusal is about: from its own line, else absolute ones from the lines before it, the nearest first.
fn named_paths(line: &str, before: &[&str]) -> Vec<String> {
    let own = words::paths(line);
    if !own.is_empty() {
        return own;
    }
    before
        .iter()
        .rev()
        .map(|line| words::paths(line))
        .map(|paths| {
            paths
                .into_iter()
                .filter(|path| path.starts_with('/'))
                .collect::<Vec<_>>()
        })
        .find(|paths| !paths.is_empty())
        .unwrap_or_default()
}

/// Without `.` and `..`, by the names alone.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// Looks at the disk with the person's own rights.
fn look(path: &Path) -> Place {
    let existing = path
        .ancestors()
        .find_map(|part| part.canonicalize().ok().map(|real| (part, real)));
    let Some((part, real)) = existing else {
        return Place {
            real: path.to_owned(),
            writable_by_person: false,
        };
    };
    let rest = path.strip_prefix(part).unwrap_or(Path::new(""));
    // What does not exist is made in its folder, and that folder may have to be made too.
    let writable = rustix::fs::access(&real, rustix::fs::Access::WRITE_OK).is_ok();
    Place {
        real: if rest.as_os_str().is_empty() {
            real
        } else {
            real.join(rest)
        },
        writable_by_person: writable,
    }
}

impl Denial {
    /// What was denied by what, for a person: one sentence.
    pub fn words(&self) -> String {
        let beginning = if self.certain { CERTAIN } else { LIKELY };
        let sandbox = match (self.level, self.network) {
            (Level::Off, _) => "without network".to_owned(),
            (level, true) => level.name().to_owned(),
            (level, false) => format!("{}, without network", level.name()),
        };
        let what = match &self.what {
            Denied::Write(Some(path)) => format!("denied writing {}", path.display()),
            Denied::Write(None) => "denied writing somewhere".to_owned(),
            Denied::Network => "denied the network".to_owned(),
            Denied::Privileges => "kept a program from becoming another user".to_owned(),
            Denied::Signal => "denied a signal to a process outside of the command".to_owned(),
        };
        let rule = match (&self.what, self.level) {
            (Denied::Write(_), Level::ReadOnly) => ": in it, commands write nowhere",
            (Denied::Write(_), _) => {
                ": in it, commands write only in the session's folders, temporary folders and caches"
            }
            _ => "",
        };
        format!("{beginning}{sandbox}) {what}{rule}.")
    }
}

/// One line for the model: what was denied by what, and what can be done.
impl fmt::Display for Denial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} If the command needs it, call bash again with without_sandbox: true; the person is always asked then.",
            self.words()
        )
    }
}

#[cfg(test)]
mod tests;
