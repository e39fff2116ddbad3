//! What the machine has: PostgreSQL's programs, and a user who may run them.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The longest folder that a socket in it can still be opened by its path.
const SHORT: usize = 60;

/// Who runs the server where the tests run as root.
#[derive(Debug)]
pub(crate) struct User {
    id: u32,
    group: u32,
}

impl User {
    /// A command that this user runs.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("setpriv");
        command
            .arg(format!("--reuid={}", self.id))
            .arg(format!("--regid={}", self.group))
            .args(["--clear-groups", "--", program]);
        command
    }
}

/// Somebody other than root, where this process is root.
pub(crate) fn user() -> Option<User> {
    let own = fs::metadata("/proc/self").expect("/proc/self can be looked at");
    if own.uid() != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("/etc/passwd can be read");
    let of = |name: &str| {
        users.lines().find_map(|line| {
            let mut fields = line.split(':');
            let found = fields.next() == Some(name);
            let (id, group) = (fields.nth(1)?, fields.next()?);
            found.then_some(User {
                id: id.parse().ok()?,
                group: group.parse().ok()?,
            })
        })
    };
    Some(
        of("postgres")
            .or_else(|| of("nobody"))
            .expect("a user to run PostgreSQL: root must not"),
    )
}

/// A new folder that only the server's user, and root, can enter. The path is short enough for a socket in it.
pub(crate) fn private_folder(user: Option<&User>) -> PathBuf {
    let usual = std::env::temp_dir();
    // The temporary folder of root may be closed to others.
    let base = if user.is_some() || usual.as_os_str().len() > SHORT {
        Path::new("/tmp")
    } else {
        &usual
    };
    let folder = tempfile::Builder::new()
        .prefix("placard-pg-")
        .tempdir_in(base)
        .expect("a temporary folder")
        .keep();
    if let Some(user) = user {
        chown(&folder, Some(user.id), Some(user.group)).expect("root gives a folder away");
    }
    folder
}

/// The folder of `initdb`, `postgres` and `psql`: Debian keeps them apart, by version; elsewhere they are on the path.
pub(crate) fn programs() -> PathBuf {
    let version = |folder: &PathBuf| -> Option<u32> {
        let version = folder.parent()?.file_name()?.to_str()?;
        version.parse().ok()
    };
    let debian = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .filter(|folder| is_whole(folder))
        .max_by_key(version);
    let path = std::env::var_os("PATH").unwrap_or_default();
    debian
        .or_else(|| std::env::split_paths(&path).find(|folder| is_whole(folder)))
        .expect("PostgreSQL is installed (`scripts/setup test` does it)")
}

fn is_whole(folder: &Path) -> bool {
    ["initdb", "postgres", "psql"]
        .iter()
        .all(|program| folder.join(program).is_file())
}
