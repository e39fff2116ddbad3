//! A worktree of git keeps its index and its commits outside of itself. Without those folders no commit can be made there.

use std::path::{Path, PathBuf};

/// The folders in which git administers the worktree at `root`: its own, and the repository's that it belongs to. None where
/// `root` is no worktree, or only claims to be one.
///
/// What says where they are is a file in the session's folder, which a command or a downloaded archive may have written. So it
/// is believed only where the other side confirms it: git's own folder of the worktree lies outside of what is writable
/// anyway, names this very root, and stands where git puts it, in `worktrees` of a repository.
pub(super) fn administration(root: &Path, writable: &[PathBuf]) -> Vec<PathBuf> {
    confirmed(root, writable).unwrap_or_default()
}

fn confirmed(root: &Path, writable: &[PathBuf]) -> Option<Vec<PathBuf>> {
    let pointer = root.canonicalize().ok()?.join(".git");
    if !pointer.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let own = one_line(&pointer)?;
    let own = root.join(own.strip_prefix("gitdir:")?.trim());
    let own = own.canonicalize().ok()?;
    if writable.iter().any(|folder| own.starts_with(folder)) {
        return None;
    }
    let back = own.join(one_line(&own.join("gitdir"))?.trim());
    if back.canonicalize().ok()? != pointer {
        return None;
    }
    let common = own.join(one_line(&own.join("commondir"))?.trim());
    let common = common.canonicalize().ok()?;
    let holds = own.parent()? == common.join("worktrees") && common.join("HEAD").is_file();
    holds.then(|| vec![own, common])
}

/// A small file's text. The limit keeps a planted file of any size from being read.
fn one_line(path: &Path) -> Option<String> {
    const LONGEST: u64 = 8 * 1024;
    let small = path.metadata().ok()?;
    if !small.is_file() || small.len() > LONGEST {
        return None;
    }
    std::fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use pretty_assertions::assert_eq;

    use super::*;

    fn git(folder: &Path, arguments: &[&str]) {
        let done = Command::new("git")
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", folder)
            .envs(["AUTHOR", "COMMITTER"].iter().flat_map(|who| {
                [
                    (format!("GIT_{who}_NAME"), "ada"),
                    (format!("GIT_{who}_EMAIL"), "ada@localhost"),
                ]
            }))
            .output()
            .unwrap();
        assert!(done.status.success(), "{arguments:?}: {done:?}");
    }

    /// A repository `main` and its worktree `tree`.
    fn worktree() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        git(&real, &["init", "-q", "main"]);
        git(
            &real.join("main"),
            &["commit", "-q", "--allow-empty", "-m", "1"],
        );
        git(&real.join("main"), &["worktree", "add", "-q", "../tree"]);
        (folder, real)
    }

    #[test]
    fn a_worktree_is_confirmed_by_its_repository() {
        let (_folder, real) = worktree();
        let common = real.join("main/.git");
        let own = common.join("worktrees/tree");
        assert_eq!(
            administration(&real.join("tree"), &[real.join("tree")]),
            vec![own, common]
        );
        assert_eq!(
            administration(&real.join("main"), &[]),
            Vec::<PathBuf>::new()
        );
        assert_eq!(administration(&real, &[]), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_folder_that_only_claims_to_be_one_gets_nothing() {
        let (_folder, real) = worktree();
        let nothing = Vec::<PathBuf>::new();
        // Another's pointer, copied: the repository names somebody else.
        fs::create_dir(real.join("thief")).unwrap();
        fs::copy(real.join("tree/.git"), real.join("thief/.git")).unwrap();
        assert_eq!(administration(&real.join("thief"), &[]), nothing);
        // A repository that came with the folder and says what the folder wants to hear.
        let fake = real.join("archive/fake/worktrees/x");
        fs::create_dir_all(&fake).unwrap();
        let root = real.join("archive");
        fs::write(root.join(".git"), format!("gitdir: {}\n", fake.display())).unwrap();
        fs::write(
            fake.join("gitdir"),
            format!("{}\n", root.join(".git").display()),
        )
        .unwrap();
        fs::write(fake.join("commondir"), "../..\n").unwrap();
        fs::write(root.join("fake/HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(administration(&root, std::slice::from_ref(&root)), nothing);
        // The same, and its repository shall be a folder that does not hold it.
        fs::create_dir_all(real.join("home/worktrees")).unwrap();
        fs::write(real.join("home/HEAD"), "").unwrap();
        fs::write(fake.join("commondir"), real.join("home").to_str().unwrap()).unwrap();
        assert_eq!(administration(&root, &[]), nothing);
    }

    #[test]
    fn files_that_make_no_sense_are_no_worktree() {
        let folder = tempfile::tempdir().unwrap();
        for text in [
            "",
            "gitdir:",
            "gitdir: /no/such",
            "nonsense",
            "gitdir: /proc/self",
        ] {
            fs::write(folder.path().join(".git"), text).unwrap();
            assert_eq!(
                administration(folder.path(), &[]),
                Vec::<PathBuf>::new(),
                "{text:?}"
            );
        }
    }
}
