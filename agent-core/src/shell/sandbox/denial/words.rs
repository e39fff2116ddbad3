//! The words that programs have for a refusal, and the paths beside them.

/// What a line says was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    Write,
    Network,
    Privileges,
    Signal,
}

/// The system's words for a refused write, in lower case: of a file system that may not be written, of a right that is
/// missing, and of a link or move out of the sandbox, which the kernel calls one to another device.
const WRITE: [&str; 6] = [
    "permission denied",
    "read-only file system",
    "invalid cross-device link",
    "eacces",
    "erofs",
    "accessdeniedexception",
];

/// The same words where a server refuses somebody who logs in.
const LOGIN: [&str; 6] = [
    "permission denied (publickey",
    "permission denied (password",
    "permission denied (keyboard",
    "permission denied (gssapi",
    "permission denied (hostbased",
    "permission denied, please try again",
];

/// What is said where no socket can be opened, or no name found because of that.
const NETWORK: [&str; 17] = [
    "could not resolve host",
    "couldn't resolve host",
    "could not resolve proxy",
    "failed to resolve address",
    "temporary failure in name resolution",
    "name or service not known",
    "unable to resolve host address",
    "network is unreachable",
    "eai_again",
    "getaddrinfo enotfound",
    "enetunreach",
    "no such host",
    "failed to connect",
    "couldn't connect to server",
    "dns error",
    "connect eperm",
    "nodename nor servname provided",
];

/// What stands beside "operation not permitted" where a socket was refused.
const SOCKET: [&str; 6] = [
    "socket",
    "connect",
    "dial",
    "network",
    "[errno 1]",
    "/dev/tcp/",
];

pub(super) fn refusal(line: &str) -> Option<Refusal> {
    let line = line.to_lowercase();
    let any = |words: &[&str]| words.iter().any(|word| line.contains(word));
    if line.contains("\"no new privileges\" flag is set")
        || line.contains("sudo: effective uid is not 0")
    {
        Some(Refusal::Privileges)
    } else if any(&NETWORK) {
        Some(Refusal::Network)
    } else if line.contains("operation not permitted") {
        if any(&SOCKET) {
            Some(Refusal::Network)
        } else {
            line.contains("kill").then_some(Refusal::Signal)
        }
    } else {
        (any(&WRITE) && !any(&LOGIN)).then_some(Refusal::Write)
    }
}

/// The paths in a line, the likeliest first: in quotes, the last of them first, as `cannot move 'a' to '/b'` is about the
/// second; else the last word before the refusal.
pub(super) fn paths(line: &str) -> Vec<String> {
    let mut quoted = quoted(line);
    if !quoted.is_empty() {
        quoted.reverse();
        return quoted;
    }
    unquoted(line).into_iter().collect()
}

/// The quotes that programs put around paths.
const QUOTES: [(char, char); 5] = [
    ('\'', '\''),
    ('"', '"'),
    ('`', '`'),
    ('\u{2018}', '\u{2019}'),
    ('\u{201c}', '\u{201d}'),
];

/// The texts in quotes that may be paths. An apostrophe inside of a word opens nothing.
fn quoted(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = line;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        let closing = QUOTES
            .iter()
            .find(|(open, _)| *open == first && !before.is_alphanumeric())
            .and_then(|(_, close)| after.split_once(*close));
        match closing {
            Some((inner, behind)) if may_be_path(inner) => {
                found.push(inner.to_owned());
                rest = behind;
                before = ' ';
            }
            _ => {
                rest = after;
                before = first;
            }
        }
    }
    found
}

/// A sentence in quotes is no path; a path with spaces has a slash.
fn may_be_path(text: &str) -> bool {
    !text.is_empty() && (text.contains('/') || !text.contains(' '))
}

/// The path before the refusal, where none is in quotes: `bash: line 1: /etc/x: Permission denied`.
fn unquoted(line: &str) -> Option<String> {
    let lower = line.to_ascii_lowercase();
    let at = WRITE.iter().filter_map(|word| lower.find(word)).min();
    // A line that only tells of a path ends with it.
    let before = line.get(..at.unwrap_or(line.len()))?;
    let before = before.trim_end_matches(['(', ':', ' ', '[', '-']);
    let segments = || before.rsplit(": ").map(str::trim);
    // One word alone, after the name of the program, may be a path without a slash.
    let alone = segments()
        .next()
        .filter(|last| at.is_some() && before.contains(": ") && !last.contains([' ', '/']))
        .filter(|last| !last.is_empty());
    // Some name it last: `AccessDeniedException: /etc/x`.
    let behind = at.and_then(|at| line.get(at..)).and_then(|rest| {
        let word = rest.split(' ').find(|word| word.starts_with('/'))?;
        Some(word.trim_end_matches([':', ',', ')']))
    });
    alone
        .or_else(|| {
            segments().find_map(|segment| {
                if segment.starts_with('/') {
                    return Some(segment);
                }
                segment.rsplit(' ').next().filter(|word| word.contains('/'))
            })
        })
        .or(behind)
        .map(str::to_owned)
}
