//! The same sandbox in words for `sandbox-exec` of macOS: a profile in its language.
//!
//! Unverified: the text is tested, and no macOS has read it. Nothing starts `sandbox-exec` yet (`docs/platforms.md`).

use std::fmt::Write as _;

use super::{Level, Sandbox};

/// The profile. Of two rules that fit, the later counts. A path that is not UTF-8 cannot be written in it and stays closed.
pub fn seatbelt_profile(sandbox: &Sandbox) -> String {
    let mut profile = "(version 1)\n(allow default)\n".to_owned();
    if sandbox.level != Level::Off {
        profile.push_str("(deny file-write*)\n");
        for path in sandbox.writable.iter().filter_map(|path| path.to_str()) {
            // Writing to a string does not fail. A `subpath` is the path itself and all beneath it.
            let _ = writeln!(profile, "(allow file-write* (subpath {}))", quoted(path));
        }
    }
    if sandbox.level == Level::ReadOnly {
        profile.push_str("(deny signal)\n(allow signal (target same-sandbox))\n");
    }
    if !sandbox.network {
        profile.push_str(
            "(deny network*)\n(allow network* (local unix-socket))\n(allow network* (remote unix-socket))\n",
        );
    }
    profile
}

/// A text as the profile's language reads it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use pretty_assertions::assert_eq;

    use super::super::Engine;
    use super::*;

    fn sandbox(level: Level, network: bool) -> Sandbox {
        Sandbox {
            level,
            network,
            writable: vec![
                "/dev/null".into(),
                "/Users/ada/a \"b\" \\c".into(),
                OsStr::from_bytes(b"/Users/caf\xe9").into(),
            ],
            engine: Engine::Landlock,
            bubblewrap: None,
            given_up: false,
        }
    }

    #[test]
    fn every_level_has_its_profile() {
        let begin = "(version 1)\n(allow default)\n";
        let files = "(deny file-write*)\n\
                     (allow file-write* (subpath \"/dev/null\"))\n\
                     (allow file-write* (subpath \"/Users/ada/a \\\"b\\\" \\\\c\"))\n";
        let signals = "(deny signal)\n(allow signal (target same-sandbox))\n";
        let network = "(deny network*)\n(allow network* (local unix-socket))\n(allow network* (remote unix-socket))\n";
        for (level, on, expected) in [
            (Level::Off, true, begin.to_owned()),
            (Level::Off, false, format!("{begin}{network}")),
            (Level::WorkspaceWrite, true, format!("{begin}{files}")),
            (
                Level::ReadOnly,
                false,
                format!("{begin}{files}{signals}{network}"),
            ),
        ] {
            assert_eq!(seatbelt_profile(&sandbox(level, on)), expected);
        }
    }
}
