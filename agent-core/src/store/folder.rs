//! Folders whose names outlive a power cut.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

/// Makes a folder, and those above it, where they are missing; only their owner may enter them (mode 0700). When this
/// returns, the folder's name is on the disk: one that is there already may be what a program made that died before it
/// could see to that.
pub(super) fn make_durable(folder: &Path) -> io::Result<()> {
    let above = match folder.parent() {
        // A relative name stands in the folder of this process.
        Some(above) if above.as_os_str().is_empty() => Path::new("."),
        Some(above) => above,
        None => return Ok(()),
    };
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => sync(above),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_durable(above)?;
            make_durable(folder)
        }
        // Whatever it is, who opens files in it will find out.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match sync(above) {
            // Somebody else has made it, who may read the folder above.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            synced => synced,
        },
        Err(error) => Err(error),
    }
}

/// Puts on the disk which names a folder has.
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn every_folder_that_is_missing_is_made_for_its_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a/b/c");
        for _ in 0..2 {
            make_durable(&folder).unwrap();
            for folder in [&folder, &home.path().join("a")] {
                let mode = folder.metadata().unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o700);
            }
        }
    }

    #[test]
    fn a_file_in_the_way_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("a"), "").unwrap();
        let error = make_durable(&home.path().join("a/b")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    }
}
