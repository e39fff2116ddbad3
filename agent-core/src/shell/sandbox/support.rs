//! What this system can enforce, and what a person is told where that is less than was asked for.

use std::path::PathBuf;

use super::{Engine, Level, Sandbox, enforce};
use crate::surroundings::Environment;

/// What this system can enforce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Support {
    /// The version of the kernel's Landlock; none where it is missing or switched off.
    pub landlock: Option<u32>,
    /// The kernel takes a filter of calls, and we have one for this processor.
    pub seccomp: bool,
    /// The programs `bwrap` on the person's PATH, in its order, without symbolic links.
    pub bubblewrap: Vec<PathBuf>,
}

impl Support {
    /// Finds out. The kernel is asked by a thread that is restricted on trial and ends.
    pub fn probe(environment: &Environment) -> Self {
        let tried = std::thread::spawn(enforce::try_out).join();
        // A thread that cannot end in order has found out nothing.
        let (landlock, seccomp) = tried.unwrap_or_default();
        Self {
            landlock,
            seccomp,
            bubblewrap: find_bubblewrap(environment),
        }
    }

    /// Whether commands can be kept from writing by this engine, in full or in part.
    pub fn enforces(&self, engine: Engine) -> bool {
        match engine {
            Engine::Landlock => self.landlock.is_some(),
            Engine::Bubblewrap => !self.bubblewrap.is_empty(),
        }
    }

    /// What the version of Landlock leaves open of what a level promises, in words that follow "does not keep commands from".
    pub fn gaps(&self, level: Level) -> Vec<&'static str> {
        let Some(version) = self.landlock else {
            return Vec::new();
        };
        let gaps = [
            (
                3,
                level != Level::Off,
                "emptying files elsewhere (truncate)",
            ),
            (5, level != Level::Off, "controlling devices (ioctl)"),
            (
                6,
                level == Level::ReadOnly,
                "signalling other processes and talking to their abstract sockets",
            ),
        ];
        gaps.into_iter()
            .filter(|(since, matters, _)| *matters && version < *since)
            .map(|(_, _, what)| what)
            .collect()
    }
}

fn find_bubblewrap(environment: &Environment) -> Vec<PathBuf> {
    std::env::split_paths(environment.get("PATH").unwrap_or_default())
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("bwrap"))
        .filter(|program| program.is_file())
        .filter_map(|program| program.canonicalize().ok())
        .collect()
}

/// What a person has to do to have the engine.
pub(super) const INSTALL_BUBBLEWRAP: &str = "the program bwrap is not on the PATH: install the package bubblewrap, \
     or take [sandbox] engine = \"landlock\" in the configuration";

/// Whether a command can run in this sandbox at all. Without what it asks for, the launcher refuses.
pub fn can_run(sandbox: &Sandbox, support: &Support) -> bool {
    !sandbox.restricts()
        || match sandbox.engine {
            Engine::Bubblewrap => sandbox.bubblewrap.is_some(),
            Engine::Landlock => {
                (sandbox.level == Level::Off || support.landlock.is_some())
                    && (sandbox.network || support.seccomp)
            }
        }
}

/// One sentence for the card of a command, where its sandbox keeps it from less than was asked for, or keeps it from running.
pub fn notice(sandbox: &Sandbox, support: &Support) -> Option<String> {
    let level = sandbox.level.name();
    if sandbox.given_up {
        return Some(match sandbox.engine {
            Engine::Landlock => {
                "Runs without a sandbox: this system has no Landlock to enforce one with."
                    .to_owned()
            }
            Engine::Bubblewrap => format!("Runs without a sandbox: {INSTALL_BUBBLEWRAP}."),
        });
    }
    if !sandbox.restricts() {
        return None;
    }
    if sandbox.engine == Engine::Bubblewrap {
        return sandbox.bubblewrap.is_none().then(|| {
            format!("Does not run, because its sandbox cannot be put up: {INSTALL_BUBBLEWRAP}.")
        });
    }
    if sandbox.level != Level::Off && support.landlock.is_none() {
        return Some(format!(
            "Does not run, because this system has no Landlock to enforce the sandbox {level} with; [sandbox] level = \"off\" runs commands without one."
        ));
    }
    if !sandbox.network && !support.seccomp {
        return Some(
            "Does not run, because this system has no filter of calls (seccomp) to cut the network off with; [sandbox] network = true leaves it on."
                .to_owned(),
        );
    }
    let gaps = support.gaps(sandbox.level);
    (!gaps.is_empty()).then(|| {
        format!(
            "The sandbox {level} is enforced in part: this kernel's Landlock does not keep commands from {}.",
            gaps.join(", nor from ")
        )
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn support(landlock: Option<u32>) -> Support {
        Support {
            landlock,
            seccomp: landlock.is_some(),
            bubblewrap: Vec::new(),
        }
    }

    fn sandbox(level: Level, network: bool, engine: Engine) -> Sandbox {
        Sandbox {
            level,
            network,
            writable: Vec::new(),
            engine,
            bubblewrap: None,
            given_up: false,
        }
    }

    #[test]
    fn a_sandbox_that_is_whole_or_meant_to_be_none_needs_no_words() {
        for asked in [
            sandbox(Level::WorkspaceWrite, true, Engine::Landlock),
            sandbox(Level::ReadOnly, false, Engine::Landlock),
            sandbox(Level::Off, true, Engine::Landlock),
            sandbox(Level::Off, true, Engine::Bubblewrap),
        ] {
            assert_eq!(notice(&asked, &support(Some(7))), None, "{asked:?}");
        }
        let off = sandbox(Level::Off, true, Engine::Landlock);
        assert_eq!(notice(&off, &support(None)), None);
        // What only a reader is kept from does not matter to a writer.
        let writing = sandbox(Level::WorkspaceWrite, true, Engine::Landlock);
        assert_eq!(notice(&writing, &support(Some(5))), None);
    }

    #[test]
    fn what_is_missing_is_said() {
        let given_up = |engine| Sandbox {
            given_up: true,
            ..sandbox(Level::Off, true, engine)
        };
        let cases = [
            (
                given_up(Engine::Landlock),
                None,
                "Runs without a sandbox: this system has no Landlock to enforce one with.",
            ),
            (
                given_up(Engine::Bubblewrap),
                Some(7),
                "Runs without a sandbox: the program bwrap is not on the PATH: install the package bubblewrap, or take \
                 [sandbox] engine = \"landlock\" in the configuration.",
            ),
            (
                sandbox(Level::WorkspaceWrite, true, Engine::Landlock),
                None,
                "Does not run, because this system has no Landlock to enforce the sandbox workspace-write with; [sandbox] \
                 level = \"off\" runs commands without one.",
            ),
            (
                sandbox(Level::WorkspaceWrite, true, Engine::Bubblewrap),
                Some(7),
                "Does not run, because its sandbox cannot be put up: the program bwrap is not on the PATH: install the \
                 package bubblewrap, or take [sandbox] engine = \"landlock\" in the configuration.",
            ),
            (
                sandbox(Level::Off, false, Engine::Landlock),
                None,
                "Does not run, because this system has no filter of calls (seccomp) to cut the network off with; \
                 [sandbox] network = true leaves it on.",
            ),
            (
                sandbox(Level::WorkspaceWrite, true, Engine::Landlock),
                Some(2),
                "The sandbox workspace-write is enforced in part: this kernel's Landlock does not keep commands from \
                 emptying files elsewhere (truncate), nor from controlling devices (ioctl).",
            ),
            (
                sandbox(Level::ReadOnly, true, Engine::Landlock),
                Some(5),
                "The sandbox read-only is enforced in part: this kernel's Landlock does not keep commands from signalling \
                 other processes and talking to their abstract sockets.",
            ),
        ];
        for (asked, landlock, expected) in cases {
            let support = support(landlock);
            assert_eq!(notice(&asked, &support).as_deref(), Some(expected));
            assert_eq!(
                can_run(&asked, &support),
                !expected.starts_with("Does not run"),
                "{expected}"
            );
        }
    }
}
