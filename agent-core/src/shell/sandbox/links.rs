//! Symbolic links on the way to a folder that shall be writable.
//!
//! A command may make links wherever it may write. One in the place of a cache, pointing at the person's keys, would hand those
//! over to the next command whose sandbox is worked out. So it is known of each path where the links stand that it leads through.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// More links than this on one way are a circle.
const MOST_LINKS: usize = 40;

/// Where a path leads, and the folders that hold the links that it leads through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Way {
    /// The path without symbolic links.
    pub(super) real: PathBuf,
    /// Each folder that holds a link on the way, without symbolic links itself.
    pub(super) holders: Vec<PathBuf>,
}

/// Follows an absolute path; none where it does not lead to anything.
pub(super) fn follow(path: &Path) -> Option<Way> {
    if !path.is_absolute() {
        return None;
    }
    let mut ahead: VecDeque<OsString> = steps(path);
    let mut real = PathBuf::from("/");
    let mut holders = Vec::new();
    while let Some(step) = ahead.pop_front() {
        if step == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&step);
        let metadata = next.symlink_metadata().ok()?;
        if !metadata.is_symlink() {
            real = next;
            continue;
        }
        if holders.len() == MOST_LINKS {
            return None;
        }
        holders.push(real.clone());
        let target = next.read_link().ok()?;
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        for step in steps(&target).into_iter().rev() {
            ahead.push_front(step);
        }
    }
    Some(Way { real, holders })
}

/// The parts of a path, `..` among them.
fn steps(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| part.as_os_str().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn every_link_on_the_way_is_known_by_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        std::fs::create_dir_all(at("a/b")).unwrap();
        std::fs::create_dir_all(at("c")).unwrap();
        symlink("../c", at("a/up")).unwrap();
        symlink(at("a/up"), at("c/again")).unwrap();
        symlink("circle", at("circle")).unwrap();
        let way = |path: &str| follow(&at(path)).map(|way| (way.real, way.holders));
        assert_eq!(way("a/b"), Some((at("a/b"), vec![])));
        assert_eq!(way("a/up"), Some((at("c"), vec![at("a")])));
        assert_eq!(
            way("a/up/again"),
            Some((at("c"), vec![at("a"), at("c"), at("a")]))
        );
        assert_eq!(way("a/b/../up"), Some((at("c"), vec![at("a")])));
        assert_eq!(way("circle"), None);
        assert_eq!(way("nothing"), None);
        assert_eq!(follow(Path::new("relative")), None);
    }
}
