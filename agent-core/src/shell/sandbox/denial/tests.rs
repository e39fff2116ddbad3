//! The words of real programs, and what they mean.

use pretty_assertions::assert_eq;

use super::super::Engine;
use super::*;

fn sandbox(level: Level, network: bool) -> Sandbox {
    Sandbox {
        level,
        network,
        writable: match level {
            Level::WorkspaceWrite => ["/work/atlas", "/tmp", "/dev/null"]
                .map(PathBuf::from)
                .into(),
            _ => vec!["/dev/null".into()],
        },
        engine: Engine::Landlock,
        bubblewrap: None,
        given_up: false,
    }
}

/// The disk of these tests: everything is the person's but `/etc`, and `/work/link` leads to `/work/atlas`.
fn look(path: &Path) -> Place {
    let real = path.strip_prefix("/work/link").map_or_else(
        |_| path.to_owned(),
        |below| Path::new("/work/atlas").join(below),
    );
    Place {
        writable_by_person: !real.starts_with("/etc"),
        real,
    }
}

fn find(sandbox: &Sandbox, text: &str, succeeded: bool) -> Option<(Denied, bool)> {
    denial_by(sandbox, text, succeeded, Path::new("/work/atlas"), look)
        .map(|denial| (denial.what, denial.certain))
}

fn at(path: &str) -> (Denied, bool) {
    (Denied::Write(Some(path.into())), true)
}

/// What programs print, and the path that it is about.
const NAMED: &[(&str, &str)] = &[
    // bash and other shells
    (
        "bash: line 1: /home/ada/x: Permission denied",
        "/home/ada/x",
    ),
    ("/bin/bash: line 1: ../x: Permission denied", "/work/x"),
    (
        "bash: line 3: /home/ada/a b: Read-only file system",
        "/home/ada/a b",
    ),
    (
        "sh: 1: cannot create /home/ada/x: Permission denied",
        "/home/ada/x",
    ),
    ("zsh: permission denied: '/home/ada/x'", "/home/ada/x"),
    // coreutils and their friends
    (
        "touch: cannot touch '/home/ada/x': Permission denied",
        "/home/ada/x",
    ),
    (
        "mkdir: cannot create directory \u{2018}/home/ada/x\u{2019}: Read-only file system",
        "/home/ada/x",
    ),
    (
        "rm: cannot remove '/home/ada/x': Permission denied",
        "/home/ada/x",
    ),
    (
        "mv: cannot move 'inner' to '/home/ada/x': Permission denied",
        "/home/ada/x",
    ),
    (
        "mv: cannot move '/home/ada/x' to 'inner': Permission denied",
        "/home/ada/x",
    ),
    (
        "cp: cannot create regular file '../other/x': Permission denied",
        "/work/other/x",
    ),
    (
        "ln: failed to create hard link '/home/ada/x' => 'inner': Invalid cross-device link",
        "/home/ada/x",
    ),
    ("tee: /home/ada/x: Permission denied", "/home/ada/x"),
    (
        "dd: failed to open '/home/ada/x': Permission denied",
        "/home/ada/x",
    ),
    (
        "sed: couldn't open temporary file /home/ada/sedVyd: Permission denied",
        "/home/ada/sedVyd",
    ),
    (
        "tar: /home/ada/x: Cannot open: Permission denied\ntar: /home/ada/y: Cannot open: Permission denied",
        "/home/ada/y",
    ),
    (
        "rsync: [receiver] mkstemp \"/home/ada/.x.Yk1\" failed: Permission denied (13)",
        "/home/ada/.x.Yk1",
    ),
    // git
    (
        "fatal: Unable to create '/work/other/.git/index.lock': Permission denied",
        "/work/other/.git/index.lock",
    ),
    (
        "error: could not lock config file /home/ada/.gitconfig: Permission denied",
        "/home/ada/.gitconfig",
    ),
    (
        "Cloning into '../b'...\nfatal: could not create work tree dir '../b': Permission denied",
        "/work/b",
    ),
    // languages
    (
        "PermissionError: [Errno 13] Permission denied: '/home/ada/x'",
        "/home/ada/x",
    ),
    (
        "OSError: [Errno 30] Read-only file system: '/home/ada/x'",
        "/home/ada/x",
    ),
    (
        "Error: EACCES: permission denied, open '/home/ada/x'",
        "/home/ada/x",
    ),
    (
        "Error: EROFS: read-only file system, mkdir '/home/ada/x'",
        "/home/ada/x",
    ),
    ("open /home/ada/x: permission denied", "/home/ada/x"),
    (
        "Error: Os { code: 13, kind: PermissionDenied, message: \"Permission denied\" } at \"/home/ada/x\"",
        "/home/ada/x",
    ),
    (
        "java.io.FileNotFoundException: /home/ada/x (Permission denied)",
        "/home/ada/x",
    ),
    (
        "java.nio.file.AccessDeniedException: /home/ada/x",
        "/home/ada/x",
    ),
    (
        "rb_sysopen: Permission denied @ rb_sysopen - '/home/ada/x' (Errno::EACCES)",
        "/home/ada/x",
    ),
    // what is said in several lines
    (
        "error: failed to open: /home/ada/.cargo/.package-cache\n\nCaused by:\n  Permission denied (os error 13)",
        "/home/ada/.cargo/.package-cache",
    ),
    (
        "error: failed to write `/home/ada/Cargo.lock`\n\nCaused by:\n  Permission denied (os error 13)",
        "/home/ada/Cargo.lock",
    ),
    (
        "npm error code EACCES\nnpm error syscall mkdir\nnpm error path /usr/lib/node_modules/x\nnpm error errno -13\nnpm \
         error Error: EACCES: permission denied, mkdir '/usr/lib/node_modules/x'",
        "/usr/lib/node_modules/x",
    ),
    (
        "Warning: Failed to open the file /home/ada/x: Permission denied\ncurl: (23) Failure writing output",
        "/home/ada/x",
    ),
];

#[test]
fn the_path_is_found_in_the_words_of_many_programs() {
    let writing = sandbox(Level::WorkspaceWrite, true);
    for (text, expected) in NAMED.iter().copied() {
        assert_eq!(find(&writing, text, false), Some(at(expected)), "{text}");
        // Also where the command went on and succeeded in the end.
        assert_eq!(find(&writing, text, true), Some(at(expected)), "{text}");
    }
}

#[test]
fn what_has_another_cause_is_not_blamed_on_the_sandbox() {
    let writing = sandbox(Level::WorkspaceWrite, true);
    for text in [
        "",
        "all is well",
        // The person could not have written that either.
        "touch: cannot touch '/etc/x': Permission denied",
        "cat: /etc/shadow: Permission denied",
        // Within the sandbox, so it is the file's own doing.
        "bash: line 1: ./run.sh: Permission denied",
        "bash: line 1: run.sh: Permission denied",
        "touch: cannot touch '/work/atlas/x': Permission denied",
        "touch: cannot touch '/work/link/x': Permission denied",
        "touch: cannot touch '/tmp/x': Permission denied",
        // A server refuses a login.
        "git@example.com: Permission denied (publickey).",
        "ada@host: Permission denied (publickey,password).",
        "Permission denied, please try again.",
        // The network is on, so it is the network's doing.
        "curl: (6) Could not resolve host: example.com",
        "kill: (1) - Operation not permitted",
        "chown: changing ownership of 'x': Operation not permitted",
    ] {
        assert_eq!(find(&writing, text, false), None, "{text}");
    }
    let off = sandbox(Level::Off, true);
    assert_eq!(
        find(
            &off,
            "touch: cannot touch '/home/x': Permission denied",
            false
        ),
        None
    );
}

#[test]
fn without_a_path_it_is_likely_where_the_command_failed() {
    let writing = sandbox(Level::WorkspaceWrite, true);
    for text in [
        "Permission denied",
        "error: Permission denied (os error 13)",
        "PermissionError: [Errno 13] Permission denied",
        "failed: EACCES",
    ] {
        assert_eq!(
            find(&writing, text, false),
            Some((Denied::Write(None), false)),
            "{text}"
        );
        assert_eq!(find(&writing, text, true), None, "{text}");
    }
}

#[test]
fn a_reader_may_not_even_write_in_the_session() {
    let reading = sandbox(Level::ReadOnly, true);
    assert_eq!(
        find(
            &reading,
            "touch: cannot touch 'x': Permission denied",
            false
        ),
        Some(at("/work/atlas/x"))
    );
    assert_eq!(
        find(
            &reading,
            "bash: line 1: kill: (812) - Operation not permitted",
            false
        ),
        Some((Denied::Signal, true))
    );
}

#[test]
fn what_else_is_denied() {
    let cut_off = sandbox(Level::WorkspaceWrite, false);
    for text in [
        "curl: (6) Could not resolve host: example.com",
        "curl: (7) Couldn't connect to server",
        "fatal: unable to access 'https://example.com/x/': Could not resolve host: example.com",
        "ssh: Could not resolve hostname example.com: Temporary failure in name resolution",
        "npm error network request to https://example.com failed, reason: getaddrinfo EAI_AGAIN example.com",
        "warning: spurious network error (3 tries remaining): [6] Could not resolve hostname",
        "PermissionError: [Errno 1] Operation not permitted",
        "bash: socket: Operation not permitted\nbash: line 1: /dev/tcp/127.0.0.1/80: Operation not permitted",
        "ping: socket: Operation not permitted",
        "dial tcp: lookup example.com: no such host",
        "wget: unable to resolve host address 'example.com'",
        "connect: Network is unreachable",
    ] {
        assert_eq!(
            find(&cut_off, text, false),
            Some((Denied::Network, true)),
            "{text}"
        );
        assert_eq!(find(&cut_off, text, true), None, "{text}");
    }
    let only_network = sandbox(Level::Off, false);
    assert_eq!(
        find(&only_network, "Could not resolve host: x", false),
        Some((Denied::Network, true))
    );
    let sudo =
        "sudo: The \"no new privileges\" flag is set, which prevents sudo from running as root.";
    assert_eq!(
        find(&cut_off, sudo, false),
        Some((Denied::Privileges, true))
    );
}

#[test]
fn only_the_end_of_a_long_output_counts_and_the_last_refusal_first() {
    let writing = sandbox(Level::WorkspaceWrite, true);
    let old = "touch: cannot touch '/home/ada/old': Permission denied\n";
    let long = old.to_owned() + &"fine\n".repeat(LINES);
    assert_eq!(find(&writing, &long, false), None);
    let two = old.to_owned() + "touch: cannot touch '/home/ada/new': Permission denied\n";
    assert_eq!(find(&writing, &two, false), Some(at("/home/ada/new")));
}

#[test]
fn it_is_told_in_one_line() {
    let say = |level, network, text| {
        denial_by(
            &sandbox(level, network),
            text,
            false,
            Path::new("/work/atlas"),
            look,
        )
        .unwrap()
        .to_string()
    };
    let way_out = "If the command needs it, call bash again with without_sandbox: true; the person is always asked then.";
    assert_eq!(
        say(
            Level::WorkspaceWrite,
            true,
            "tee: /home/ada/x: Permission denied"
        ),
        format!(
            "The sandbox (workspace-write) denied writing /home/ada/x: in it, commands write only in the session's folders, \
             temporary folders and caches. {way_out}"
        )
    );
    assert_eq!(
        say(Level::ReadOnly, false, "Permission denied"),
        format!(
            "Perhaps the sandbox (read-only, without network) denied writing somewhere: in it, commands write nowhere. {way_out}"
        )
    );
    assert_eq!(
        say(Level::Off, false, "Could not resolve host: x"),
        format!("The sandbox (without network) denied the network. {way_out}")
    );
}

#[test]
fn the_disk_is_asked_with_the_persons_rights() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap();
    std::os::unix::fs::symlink(&real, real.join("link")).unwrap();
    assert_eq!(
        super::look(&real.join("link/new/deeper")),
        Place {
            real: real.join("new/deeper"),
            writable_by_person: true,
        }
    );
}
