//! Putting the sandbox up in this process, by the kernel's Landlock and seccomp. There is no way back.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, LandlockStatus,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _,
    RulesetStatus, Scope,
};
use rustix::fs::FileType;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::{Level, Sandbox, SandboxError, capabilities};
use crate::platform;

/// The newest interface whose rights are asked for. Later ones are known to the crate, but nobody has seen here what they do
/// to commands.
const NEWEST: ABI = ABI::V7;

/// Puts this thread, and whatever it becomes or starts, into the sandbox.
pub(crate) fn apply(sandbox: &Sandbox) -> Result<(), SandboxError> {
    if sandbox.restricts() {
        capabilities::give_up()?;
    }
    if sandbox.level != Level::Off {
        restrict_files(sandbox)?;
    }
    if !sandbox.network {
        seccompiler::apply_filter(&network_filter()?)?;
    }
    Ok(())
}

/// Keeps this thread, and whatever it becomes or starts, from signalling other processes and from their abstract sockets, where the
/// kernel can. For what already is in a sandbox of another kind.
pub(crate) fn keep_to_own_processes() -> Result<(), SandboxError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .restrict_self()?;
    Ok(())
}

/// Restricts this thread on trial: the version of Landlock where there is one, and whether there is a filter of calls.
pub(super) fn try_out() -> (Option<u32>, bool) {
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_write(NEWEST))
        .and_then(Ruleset::create)
        .and_then(RulesetCreated::restrict_self);
    let landlock = restricted.ok().and_then(|status| match status.landlock {
        LandlockStatus::Available {
            kernel_abi: Some(newer),
            ..
        } => u32::try_from(newer).ok(),
        LandlockStatus::Available { effective_abi, .. } => u32::try_from(effective_abi as i32).ok(),
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => None,
    });
    let filter = network_filter().and_then(|filter| Ok(seccompiler::apply_filter(&filter)?));
    (landlock, filter.is_ok())
}

fn restrict_files(sandbox: &Sandbox) -> Result<(), SandboxError> {
    let writing = AccessFs::from_write(NEWEST);
    // What an older kernel does not know is left out; what that means is told before a command runs (`notice`).
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writing)?;
    if sandbox.level == Level::ReadOnly {
        // A command that was allowed as one that only reads has no business with other processes.
        ruleset = ruleset.scope(Scope::from_all(NEWEST))?;
    }
    let mut ruleset = ruleset.create()?;
    for path in &sandbox.writable {
        // What is gone since the list was made needs no right.
        let Ok(opened) = PathFd::new(path) else {
            continue;
        };
        // Nor does it when another command has put a link in its place meanwhile.
        if platform::path_of(&opened.as_fd()).is_ok_and(|real| real == *path) {
            let rights = rights(&opened, writing);
            ruleset = ruleset.add_rule(PathBeneath::new(opened, rights))?;
        }
    }
    match ruleset.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err(SandboxError::NoLandlock(sandbox.level.name())),
    }
}

/// What may be done with a path: Landlock refuses rights of folders on what is none.
fn rights(opened: impl AsFd, writing: BitFlags<AccessFs>) -> BitFlags<AccessFs> {
    let kind = rustix::fs::fstat(opened).map(|stat| FileType::from_raw_mode(stat.st_mode));
    if kind.is_ok_and(FileType::is_dir) {
        writing
    } else {
        writing & AccessFs::from_file(NEWEST)
    }
}

/// The numbers of the calls that open a way to the network, by processor.
#[derive(Debug)]
struct Calls {
    processor: TargetArch,
    /// `socket` and `socketpair`, whose first argument is the family.
    sockets: &'static [i64],
    /// Calls that lead around the filter.
    others: &'static [i64],
}

#[cfg(target_arch = "x86_64")]
const CALLS: Calls = Calls {
    processor: TargetArch::x86_64,
    sockets: &[SOCKET, SOCKETPAIR, SOCKET | X32, SOCKETPAIR | X32],
    others: &[IO_URING_SETUP, IO_URING_SETUP | X32],
};
#[cfg(target_arch = "x86_64")]
const SOCKET: i64 = 41;
#[cfg(target_arch = "x86_64")]
const SOCKETPAIR: i64 = 53;
/// Programs with short pointers make the same calls, and the kernel tells theirs by this bit.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

#[cfg(target_arch = "aarch64")]
const CALLS: Calls = Calls {
    processor: TargetArch::aarch64,
    sockets: &[198, 199],
    others: &[IO_URING_SETUP],
};

/// The same on every processor: it came when the kernel had stopped numbering calls for each.
const IO_URING_SETUP: i64 = 425;

/// `AF_UNIX`: sockets between the processes of one machine.
const LOCAL: u64 = 1;

/// `EPERM`, in programs' words "Operation not permitted": a file that may not be written says "Permission denied", so the two
/// can be told apart.
const REFUSED: u32 = 1;

/// Refuses every socket that is not local to the machine, and the ring of `io_uring`, which opens sockets without that call.
///
/// A program of another processor's kind, such as one of 32 bits, is ended by the kernel at its first call: its numbers mean
/// other calls.
fn network_filter() -> Result<BpfProgram, SandboxError> {
    let not_local = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, LOCAL)
        .and_then(|condition| SeccompRule::new(vec![condition]))
        .map_err(seccompiler::Error::from)?;
    let rules: BTreeMap<i64, Vec<SeccompRule>> = CALLS
        .sockets
        .iter()
        .map(|call| (*call, vec![not_local.clone()]))
        .chain(CALLS.others.iter().map(|call| (*call, Vec::new())))
        .collect();
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(REFUSED),
        CALLS.processor,
    )
    .map_err(seccompiler::Error::from)?;
    BpfProgram::try_from(filter).map_err(|error| seccompiler::Error::from(error).into())
}
