//! The copy of the person's file that is kept before a migration changes it.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::schema::beside;

/// Copies a database, whose write lock the caller holds, to `NAME.before-SCHEMA` beside it, durably. An earlier copy is never
/// overwritten: a further one gets a number, and none is made of what was copied already.
pub(super) fn keep(path: &Path, schema: u32) -> io::Result<PathBuf> {
    let log = beside(path, "-wal");
    // Whatever is moved from the log into the file from now on stays in the log as well, so the file first, then the log.
    let unnamed = Unnamed::copy(path)?;
    let unnamed_log = match std::fs::metadata(&log) {
        Ok(metadata) if metadata.len() > 0 => Some(Unnamed::copy(&log)?),
        Ok(_) => None,
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let mut number = 0_u32;
    let name = loop {
        let name = match number {
            0 => beside(path, &format!(".before-{schema}")),
            number => beside(path, &format!(".before-{schema}.{number}")),
        };
        if !name.try_exists()? {
            break name;
        }
        if unnamed_log.is_none() && same(&name, &unnamed.0)? {
            return Ok(name);
        }
        number += 1;
    };
    // The log gets its name first: a copy that can be seen is whole.
    if let Some(unnamed_log) = unnamed_log {
        unnamed_log.name(&beside(&name, "-wal"))?;
    }
    unnamed.name(&name)?;
    File::open(name.parent().unwrap_or(Path::new(".")))?.sync_all()?;
    Ok(name)
}

/// A copy that is on the disk and has no name yet that anybody looks for. Removed unless it gets one.
#[derive(Debug)]
struct Unnamed(PathBuf);

impl Unnamed {
    fn copy(from: &Path) -> io::Result<Self> {
        let name = beside(from, &format!(".copy-{}", uuid::Uuid::new_v4()));
        let copy = Self(name);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&copy.0)?;
        io::copy(&mut File::open(from)?, &mut file)?;
        file.sync_all()?;
        Ok(copy)
    }

    /// Only one program at a time gets here, so what is not there now is not there then.
    fn name(self, name: &Path) -> io::Result<()> {
        std::fs::rename(&self.0, name)
    }
}

impl Drop for Unnamed {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Whether two files hold the same bytes.
fn same(one: &Path, other: &Path) -> io::Result<bool> {
    let (one, other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let mut others = BufReader::new(other).bytes();
    for byte in BufReader::new(one).bytes() {
        if Some(byte?) != others.next().transpose()? {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn an_earlier_copy_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions.sqlite");
        let copy = |content: &str, log: &str| {
            std::fs::write(&path, content).unwrap();
            std::fs::write(beside(&path, "-wal"), log).unwrap();
            let name = keep(&path, 2).unwrap();
            name.file_name().unwrap().to_owned()
        };
        assert_eq!(copy("one", ""), "sessions.sqlite.before-2");
        assert_eq!(copy("two", ""), "sessions.sqlite.before-2.1");
        assert_eq!(copy("two", ""), "sessions.sqlite.before-2.1");
        assert_eq!(copy("two", "log"), "sessions.sqlite.before-2.2");
        let mut files: Vec<(String, String)> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                (name, std::fs::read_to_string(path).unwrap())
            })
            .collect();
        files.sort();
        let file = |name: &str, content: &str| (name.to_owned(), content.to_owned());
        assert_eq!(
            files,
            [
                file("sessions.sqlite", "two"),
                file("sessions.sqlite-wal", "log"),
                file("sessions.sqlite.before-2", "one"),
                file("sessions.sqlite.before-2.1", "two"),
                file("sessions.sqlite.before-2.2", "two"),
                file("sessions.sqlite.before-2.2-wal", "log"),
            ]
        );
    }
}
