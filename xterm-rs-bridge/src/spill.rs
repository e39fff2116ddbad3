//! The file that takes what memory does not hold. This is the only part of the crate that does I/O.

use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// An output as it came, byte for byte, in a file that only its owner can read (mode 0600, in a folder of mode 0700, where the system has
/// modes). Folder and file are made at the first byte; a file that is already there is an error, never written over.
///
/// How much goes in is not decided here but by [`KeptOutput`](crate::KeptOutput::spill_cut), which also gives the
/// [ending](crate::KeptOutput::spill_ending). After an error nothing more is written and the command's output goes on without the file.
#[derive(Debug)]
pub struct SpillFile {
    path: PathBuf,
    file: Option<File>,
    made: bool,
    closed: bool,
    /// Raw bytes that were given, written or not.
    given: u64,
    error: Option<SpillError>,
}

/// Why a spill file holds less than it should.
#[derive(Debug)]
pub struct SpillError {
    attempt: Attempt,
    path: PathBuf,
    cause: io::Error,
}

#[derive(Debug, Clone, Copy)]
enum Attempt {
    MakeFolder,
    MakeFile,
    Write,
}

impl fmt::Display for SpillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            attempt,
            path,
            cause,
        } = self;
        let path = path.display();
        match attempt {
            Attempt::MakeFolder => write!(
                f,
                "the folder {path} for large outputs cannot be made ({cause}): only the beginning and the end of the output are kept"
            ),
            Attempt::MakeFile => write!(
                f,
                "the file {path} for a large output cannot be made ({cause}): only the beginning and the end of the output are kept"
            ),
            Attempt::Write => write!(
                f,
                "the output could not be written to {path} any further ({cause}): the file ends early; free space there or choose another folder"
            ),
        }
    }
}

impl std::error::Error for SpillError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

impl SpillFile {
    /// A file at `path`, which is not made before there is something to write.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            file: None,
            made: false,
            closed: false,
            given: 0,
            error: None,
        }
    }

    /// Where the file is, or would be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Is there a file, whole or not?
    pub fn is_made(&self) -> bool {
        self.made
    }

    /// What stopped the writing, if anything did.
    pub fn error(&self) -> Option<&SpillError> {
        self.error.as_ref()
    }

    /// Writes `bytes`, the next of the output, as far as they come before `until` (a place in the whole output; `None` for no bound).
    pub fn write(&mut self, bytes: &[u8], until: Option<u64>) {
        let room = until.map_or(usize::MAX, |until| {
            usize::try_from(until.saturating_sub(self.given)).unwrap_or(usize::MAX)
        });
        self.given += bytes.len() as u64;
        self.append(&bytes[..bytes.len().min(room)]);
    }

    /// Writes what ends the file, if something does, and closes it: nothing is written after that.
    pub fn finish(&mut self, ending: Option<&str>) {
        self.append(ending.unwrap_or_default().as_bytes());
        self.closed = true;
        self.file = None;
    }

    fn append(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.closed || self.error.is_some() {
            return;
        }
        if let Err((attempt, cause)) = self.try_append(bytes) {
            let path = match (attempt, self.path.parent()) {
                (Attempt::MakeFolder, Some(folder)) => folder,
                _ => &self.path,
            };
            self.error = Some(SpillError {
                attempt,
                path: path.to_owned(),
                cause,
            });
            self.file = None;
        }
    }

    fn try_append(&mut self, bytes: &[u8]) -> Result<(), (Attempt, io::Error)> {
        let file = if let Some(file) = &mut self.file {
            file
        } else {
            if let Some(folder) = self.path.parent() {
                make_folder(folder).map_err(|cause| (Attempt::MakeFolder, cause))?;
            }
            let file = make_file(&self.path).map_err(|cause| (Attempt::MakeFile, cause))?;
            self.made = true;
            self.file.insert(file)
        };
        file.write_all(bytes)
            .map_err(|cause| (Attempt::Write, cause))
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn make_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;
    use crate::KeptOutput;

    /// Pushes `pieces` through an output and a file with `limit`, and returns both.
    fn spilled(path: PathBuf, limit: u64, pieces: &[&[u8]]) -> (KeptOutput, SpillFile) {
        let mut output = KeptOutput::new();
        output.set_spill_limit(limit);
        let mut spill = SpillFile::new(path);
        for piece in pieces {
            output.push(piece);
            spill.write(piece, output.spill_cut());
        }
        output.finish();
        spill.finish(output.spill_ending().as_deref());
        (output, spill)
    }

    #[test]
    fn nothing_is_made_for_a_command_that_prints_nothing() {
        let home = TempDir::new().unwrap();
        let path = home.path().join("outputs/1.bin");
        let (_, spill) = spilled(path.clone(), 100, &[b""]);
        assert_eq!((spill.is_made(), spill.error().is_none()), (false, true));
        assert!(!home.path().join("outputs").exists());
    }

    #[cfg(unix)]
    #[test]
    fn folder_and_file_are_the_owners_alone() {
        use std::os::unix::fs::PermissionsExt as _;

        let home = TempDir::new().unwrap();
        let path = home.path().join("a/b/1.bin");
        let (_, spill) = spilled(path.clone(), 100, &[b"one ", b"\xff two"]);
        assert_eq!(fs::read(&path).unwrap(), b"one \xff two");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            [
                mode(&path),
                mode(path.parent().unwrap()),
                mode(&home.path().join("a"))
            ],
            [0o600, 0o700, 0o700]
        );
        assert!(spill.is_made());
    }

    #[test]
    fn a_file_that_is_there_is_left_alone() {
        let home = TempDir::new().unwrap();
        let path = home.path().join("1.bin");
        fs::write(&path, "mine").unwrap();
        let (output, spill) = spilled(path.clone(), 100, &[b"other", b"more"]);
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        assert_eq!(
            (output.text().as_str(), spill.is_made()),
            ("othermore", false)
        );
        let words = spill.error().unwrap().to_string();
        assert!(words.starts_with(&format!(
            "the file {} for a large output cannot be made (",
            path.display()
        )));
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_told() {
        let home = TempDir::new().unwrap();
        fs::write(home.path().join("taken"), "").unwrap();
        let (_, spill) = spilled(home.path().join("taken/1.bin"), 100, &[b"x"]);
        let words = spill.error().unwrap().to_string();
        assert!(words.starts_with(&format!(
            "the folder {} for large outputs cannot be made (",
            home.path().join("taken").display()
        )));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_stops_the_file_and_nothing_else() {
        let mut spill = SpillFile::new("/dev/full");
        spill.file = Some(OpenOptions::new().write(true).open("/dev/full").unwrap());
        for _ in 0..3 {
            spill.write(b"x", None);
        }
        spill.finish(Some("end"));
        let words = spill.error().unwrap().to_string();
        assert!(words.starts_with("the output could not be written to /dev/full any further ("));
    }

    #[test]
    fn past_the_limit_the_file_alone_shows_beginning_and_end() {
        let home = TempDir::new().unwrap();
        let path = home.path().join("1.bin");
        let all = b"0123456789abcd\r\n".repeat(100_000);
        let pieces: Vec<&[u8]> = all.chunks(4096).collect();
        let (output, _) = spilled(path.clone(), 700_001, &pieces);
        let file = String::from_utf8(fs::read(&path).unwrap()).unwrap();
        let tail_bytes = 448 * 1024;
        let left_out = all.len() - 700_001 - tail_bytes;
        let expected = format!(
            "{}\x1b[0m\r\n[{left_out} bytes left out]\r\n{}",
            str::from_utf8(&all[..700_001]).unwrap(),
            str::from_utf8(&all[all.len() - tail_bytes..]).unwrap()
        );
        // A difference is over a megabyte long: not for printing.
        let same = file == expected;
        assert!(same);
        assert_eq!(output.total_bytes(), all.len() as u64);
    }

    proptest! {
        #[test]
        fn the_file_holds_what_was_pushed_up_to_the_limit(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20),
            limit in 0u64..600,
        ) {
            let home = TempDir::new().unwrap();
            let path = home.path().join("1.bin");
            let slices: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            let (output, spill) = spilled(path.clone(), limit, &slices);
            let all = pieces.concat();
            let file = if spill.is_made() { fs::read(&path).unwrap() } else { Vec::new() };
            let taken = output.spill_cut().unwrap_or(all.len() as u64);
            prop_assert!(taken <= limit + 3);
            let taken = usize::try_from(taken).unwrap();
            prop_assert_eq!(&file[..taken], &all[..taken]);
            // So small an output is all there, in one form or the other.
            prop_assert_eq!(String::from_utf8_lossy(&file), String::from_utf8_lossy(&all));
        }
    }
}
