//! The same sandbox in words for `bwrap`: which mounts it makes, and what it takes away.

use std::ffi::OsString;
use std::path::Path;

use super::policy::DEVICES;
use super::{Level, Sandbox, capabilities};

/// The arguments for `bwrap`, up to the command's own. `cwd` is the folder as the command shall know it.
///
/// Everything is there read-only, without devices; then what may be written is laid over it. A device is writable
/// whatever its mount says, so there is a `/dev` of the command's own with the harmless ones, terminals of its own, and what else is
/// on the list.
pub(crate) fn arguments(sandbox: &Sandbox, cwd: &Path, root: bool) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    let mut say = |words: &[&dyn AsRef<std::ffi::OsStr>]| {
        arguments.extend(words.iter().map(|word| word.as_ref().to_owned()));
    };
    if sandbox.level == Level::Off {
        say(&[&"--dev-bind", &"/", &"/"]);
    } else {
        say(&[&"--ro-bind", &"/", &"/", &"--dev", &"/dev"]);
        for path in &sandbox.writable {
            // What is gone since the list was made is passed over.
            if !path.starts_with("/dev") {
                say(&[&"--bind-try", path, path]);
            } else if !DEVICES.iter().any(|device| path == Path::new(device)) {
                say(&[&"--dev-bind-try", path, path]);
            }
        }
        // Memory, and the command's own; but a file that is made there would seem to be one.
        say(&[&"--remount-ro", &"/dev"]);
    }
    if !sandbox.network {
        say(&[&"--unshare-net"]);
    }
    if root {
        say(&[&"--cap-drop", &"ALL"]);
        for name in capabilities::kept_names() {
            say(&[&"--cap-add", &name]);
        }
    }
    say(&[&"--chdir", &cwd, &"--"]);
    arguments
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::Engine;
    use super::*;

    fn words(level: Level, network: bool, root: bool) -> String {
        let sandbox = Sandbox {
            level,
            network,
            writable: ["/dev/dri", "/dev/null", "/work/a b"]
                .map(Into::into)
                .into(),
            engine: Engine::Bubblewrap,
            bubblewrap: None,
            given_up: false,
        };
        let arguments = arguments(&sandbox, Path::new("/work/link"), root);
        let words: Vec<&str> = arguments
            .iter()
            .map(|word| word.to_str().unwrap())
            .collect();
        words.join(" ")
    }

    #[test]
    fn writable_paths_are_laid_over_a_tree_that_is_not() {
        let laid = "--ro-bind / / --dev /dev --dev-bind-try /dev/dri /dev/dri --bind-try /work/a b /work/a b --remount-ro /dev";
        assert_eq!(
            words(Level::WorkspaceWrite, true, false),
            format!("{laid} --chdir /work/link --")
        );
        assert_eq!(
            words(Level::ReadOnly, false, false),
            format!("{laid} --unshare-net --chdir /work/link --")
        );
        assert_eq!(
            words(Level::Off, false, true),
            "--dev-bind / / --unshare-net --cap-drop ALL --cap-add CAP_CHOWN --cap-add CAP_DAC_OVERRIDE --cap-add \
             CAP_FOWNER --cap-add CAP_FSETID --cap-add CAP_KILL --cap-add CAP_SETGID --cap-add CAP_SETUID --cap-add \
             CAP_NET_BIND_SERVICE --cap-add CAP_NET_RAW --chdir /work/link --"
        );
    }
}
