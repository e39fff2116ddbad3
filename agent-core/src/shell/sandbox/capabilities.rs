//! What is left of the powers of root. A sandboxed command of an ordinary person has none, so this is only for those who
//! work as root: with all of its powers a command could load a module into the kernel, or read another process's memory, and
//! so get around any sandbox.

use rustix::thread::CapabilitySet;

/// What commands of root keep: powers over files, which the sandbox bounds, over their own processes, and what `ping` needs.
const KEPT: &[(CapabilitySet, &str)] = &[
    (CapabilitySet::CHOWN, "CAP_CHOWN"),
    (CapabilitySet::DAC_OVERRIDE, "CAP_DAC_OVERRIDE"),
    (CapabilitySet::FOWNER, "CAP_FOWNER"),
    (CapabilitySet::FSETID, "CAP_FSETID"),
    (CapabilitySet::KILL, "CAP_KILL"),
    (CapabilitySet::SETGID, "CAP_SETGID"),
    (CapabilitySet::SETUID, "CAP_SETUID"),
    (CapabilitySet::NET_BIND_SERVICE, "CAP_NET_BIND_SERVICE"),
    (CapabilitySet::NET_RAW, "CAP_NET_RAW"),
];

/// Gives up the others, for this process and, because no program it becomes gains any (`no_new_privs`), for good.
pub(super) fn give_up() -> rustix::io::Result<()> {
    let kept = KEPT
        .iter()
        .fold(CapabilitySet::empty(), |all, (one, _)| all | *one);
    let mut sets = rustix::thread::capabilities(None)?;
    if kept.contains(sets.permitted) && sets.inheritable.is_empty() {
        return Ok(());
    }
    // What is inheritable and ambient would come back with the next program.
    rustix::thread::clear_ambient_capability_set()?;
    sets.permitted &= kept;
    sets.effective &= kept;
    sets.inheritable = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, sets)
}

/// The names of those that are kept, as programs are told of them.
pub(super) fn kept_names() -> impl Iterator<Item = &'static str> {
    KEPT.iter().map(|(_, name)| *name)
}
