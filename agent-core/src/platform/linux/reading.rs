//! Whether a command waits for somebody to type: what its processes are doing in the kernel right now.
//!
//! A process that reads the terminal is asleep in a system call on it: `read`, or one of the calls that wait for several
//! files at once. Which call, and on what, stands in `/proc`, and for the latter in the process's own memory, which an
//! ancestor may read. Where that is forbidden, as for a program with other rights, a terminal that does not show what is typed tells.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::process::Pid;
use rustix::termios::LocalModes;

use crate::platform::Look;
use crate::shell::supervisor::descendants;

/// No program waits for more files than this by one call; a larger number is not looked into.
const MOST_FILES: usize = 1024;

/// Looks at everything that runs in the foreground of the terminal.
pub(crate) fn look(terminal: impl AsFd) -> Look {
    let terminal = terminal.as_fd();
    let modes = rustix::termios::tcgetattr(terminal).map(|attributes| attributes.local_modes);
    let by_line = modes.is_ok_and(|modes| modes.contains(LocalModes::ICANON));
    let hidden = modes
        .is_ok_and(|modes| modes.contains(LocalModes::ICANON) && !modes.contains(LocalModes::ECHO));
    let (Ok(group), Ok(name)) = (
        rustix::termios::tcgetpgrp(terminal),
        rustix::termios::ttyname(terminal, Vec::new()),
    ) else {
        return Look::default();
    };
    let Ok(name) = name.into_string() else {
        return Look::default();
    };
    let names = [PathBuf::from(name), PathBuf::from("/dev/tty")];
    let reading = descendants::living()
        .into_iter()
        .filter(|pid| in_group(*pid, group))
        .any(|pid| reads(pid, &names).unwrap_or(hidden));
    Look { reading, by_line }
}

fn in_group(pid: Pid, group: Pid) -> bool {
    rustix::process::getpgid(Some(pid)).is_ok_and(|own| own == group)
}

/// Whether any thread of a process waits for one of these files; `None` where that cannot be known.
fn reads(pid: Pid, names: &[PathBuf]) -> Option<bool> {
    let process = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
    let mut known = false;
    for thread in fs::read_dir(process.join("task")).ok()?.flatten() {
        let Ok(line) = fs::read_to_string(thread.path().join("syscall")) else {
            continue;
        };
        known = true;
        if waiting(&line).is_some_and(|waiting| waits_for(&process, &waiting, names)) {
            return Some(true);
        }
    }
    known.then_some(false)
}

/// A system call that waits for files.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Waiting {
    /// `read` and its kin, of this file.
    Read(u64),
    /// `poll`: an array of so many entries at this address.
    Poll { at: u64, count: usize },
    /// `select`: a set of bits at this address, for files below this number.
    Select { at: u64, below: usize },
    /// `epoll_wait` on this file.
    Epoll(u64),
}

/// The call of a line of `/proc/PID/task/TID/syscall`: its number, then six arguments; or a word for a thread that runs.
fn waiting(line: &str) -> Option<Waiting> {
    let mut fields = line.split_ascii_whitespace();
    let number: u32 = fields.next()?.parse().ok()?;
    let mut argument = || u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok();
    let (first, second) = (argument()?, argument()?);
    let count = |value: u64| {
        usize::try_from(value)
            .ok()
            .filter(|count| *count <= MOST_FILES)
    };
    match number {
        calls::READ | calls::READV => Some(Waiting::Read(first)),
        calls::PPOLL => Some(Waiting::Poll {
            at: first,
            count: count(second)?,
        }),
        calls::PSELECT6 => Some(Waiting::Select {
            at: second,
            below: count(first)?,
        }),
        calls::EPOLL_PWAIT | calls::EPOLL_PWAIT2 => Some(Waiting::Epoll(first)),
        #[cfg(target_arch = "x86_64")]
        calls::POLL => Some(Waiting::Poll {
            at: first,
            count: count(second)?,
        }),
        #[cfg(target_arch = "x86_64")]
        calls::SELECT => Some(Waiting::Select {
            at: second,
            below: count(first)?,
        }),
        #[cfg(target_arch = "x86_64")]
        calls::EPOLL_WAIT => Some(Waiting::Epoll(first)),
        _ => None,
    }
}

/// The numbers of the calls, as the kernel's tables have them.
#[cfg(target_arch = "x86_64")]
mod calls {
    pub(super) const READ: u32 = 0;
    pub(super) const POLL: u32 = 7;
    pub(super) const READV: u32 = 19;
    pub(super) const SELECT: u32 = 23;
    pub(super) const EPOLL_WAIT: u32 = 232;
    pub(super) const PSELECT6: u32 = 270;
    pub(super) const PPOLL: u32 = 271;
    pub(super) const EPOLL_PWAIT: u32 = 281;
    pub(super) const EPOLL_PWAIT2: u32 = 441;
}

/// The numbers of the calls on every architecture that came later.
#[cfg(not(target_arch = "x86_64"))]
mod calls {
    pub(super) const EPOLL_PWAIT: u32 = 22;
    pub(super) const READ: u32 = 63;
    pub(super) const READV: u32 = 65;
    pub(super) const PSELECT6: u32 = 72;
    pub(super) const PPOLL: u32 = 73;
    pub(super) const EPOLL_PWAIT2: u32 = 441;
}

fn waits_for(process: &Path, waiting: &Waiting, names: &[PathBuf]) -> bool {
    let files = match waiting {
        Waiting::Read(file) => vec![*file],
        Waiting::Poll { at, count } => polled(process, *at, *count).unwrap_or_default(),
        Waiting::Select { at, below } => selected(process, *at, *below).unwrap_or_default(),
        Waiting::Epoll(file) => registered(process, *file).unwrap_or_default(),
    };
    let targets: Vec<PathBuf> = files
        .iter()
        .filter_map(|file| fs::read_link(process.join(format!("fd/{file}"))).ok())
        .collect();
    // A server that also listens to keys waits for its clients, not for the person.
    let serves = targets
        .iter()
        .any(|target| target.to_string_lossy().starts_with("socket:"));
    !serves && targets.iter().any(|target| names.contains(target))
}

/// The files of `struct pollfd { int fd; short events; short revents; }` that are waited for to be readable.
fn polled(process: &Path, at: u64, count: usize) -> Option<Vec<u64>> {
    const SIZE: usize = 8;
    const POLLIN: u16 = 1;
    let memory = memory(process, at, count * SIZE)?;
    let entries = memory.chunks_exact(SIZE).filter_map(|entry| {
        let file = i32::from_ne_bytes(entry.get(..4)?.try_into().ok()?);
        let events = u16::from_ne_bytes(entry.get(4..6)?.try_into().ok()?);
        u64::try_from(file).ok().filter(|_| events & POLLIN != 0)
    });
    Some(entries.collect())
}

/// The files whose bits are set in an `fd_set`: words of the machine's own size and order.
fn selected(process: &Path, at: u64, below: usize) -> Option<Vec<u64>> {
    const WORD: usize = size_of::<usize>();
    let bits = WORD * 8;
    let memory = memory(process, at, below.div_ceil(bits) * WORD)?;
    let words: Vec<usize> = memory
        .chunks_exact(WORD)
        .filter_map(|word| Some(usize::from_ne_bytes(word.try_into().ok()?)))
        .collect();
    let is_set = |file: &usize| {
        words
            .get(file / bits)
            .is_some_and(|word| word >> (file % bits) & 1 == 1)
    };
    Some((0..below).filter(is_set).map(|file| file as u64).collect())
}

/// The files that an epoll file waits for to be readable: its `tfd:` lines.
fn registered(process: &Path, file: u64) -> Option<Vec<u64>> {
    let text = fs::read_to_string(process.join(format!("fdinfo/{file}"))).ok()?;
    Some(text.lines().filter_map(registration).collect())
}

/// The file of a line such as `tfd:        0 events:       19 data: …`, if it is waited for to be readable.
fn registration(line: &str) -> Option<u64> {
    const EPOLLIN: u32 = 1;
    let (file, rest) = line.strip_prefix("tfd:")?.split_once("events:")?;
    let events = u32::from_str_radix(rest.split_ascii_whitespace().next()?, 16).ok()?;
    file.trim().parse().ok().filter(|_| events & EPOLLIN != 0)
}

fn memory(process: &Path, at: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    // An address of null reads nothing: a call that waits for no file.
    File::open(process.join("mem"))
        .ok()?
        .read_exact_at(&mut bytes, at)
        .ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_registration_is_read_with_what_it_waits_for() {
        assert_eq!(
            registration("tfd:        0 events:       19 data: ff  pos:0 ino:3 sdev:1a"),
            Some(0)
        );
        assert_eq!(registration("tfd:       12 events: 4 data: ff"), None);
        assert_eq!(registration("pos:\t0"), None);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_line_tells_the_call_and_what_it_waits_for() {
        let with = |number: &str| format!("{number} 0x3 0x2 0x5 0x0 0x0 0x0 0x7ff 0x7f9");
        assert_eq!(waiting(&with("0")), Some(Waiting::Read(3)));
        assert_eq!(waiting(&with("7")), Some(Waiting::Poll { at: 3, count: 2 }));
        assert_eq!(
            waiting(&with("270")),
            Some(Waiting::Select { at: 2, below: 3 })
        );
        assert_eq!(waiting(&with("281")), Some(Waiting::Epoll(3)));
        assert_eq!(waiting(&with("35")), None);
        assert_eq!(waiting("running"), None);
        assert_eq!(waiting("7 0x1 0xffffffff"), None);
    }
}
