//! The schema number of a SQLite file, read without the database: even a reading connection would leave files beside it.
//!
//! The number stands in the first page. A newer copy of that page may still be in the write-ahead log
//! (<https://www.sqlite.org/fileformat2.html>).

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// The schema that this build reads and writes: what migrations/sqlite brings a file to.
pub(super) const SCHEMA: u32 = 2;

/// What a database begins with.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Where the number stands in the first page.
const SCHEMA_AT: usize = 60;

/// The first four bytes of a write-ahead log whose checksums are little-endian; one more for big-endian.
const LOG_MAGIC: u32 = 0x377f_0682;

/// What a file turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing yet.
    Empty,
    /// A database of this schema.
    Schema(u32),
    /// No database.
    Foreign,
}

/// Looks at a database and changes nothing. A missing file is an empty one.
pub(super) fn look(path: &Path) -> io::Result<Found> {
    // Opening a pipe would wait for ever for somebody at its other end.
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(io::Error::other("it is not a regular file"));
    }
    let logged = match File::open(beside(path, "-wal")) {
        Ok(log) => schema_in_log(&mut BufReader::new(log))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let mut start = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(100).read_to_end(&mut start)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    if start.is_empty() {
        return Ok(logged.map_or(Found::Empty, Found::Schema));
    }
    match schema_in_page(&start) {
        Some(schema) => Ok(Found::Schema(logged.unwrap_or(schema))),
        // A power cut at the making of the file can leave a torn first page, and what takes it back.
        None if beside(path, "-journal").try_exists()? => Ok(Found::Empty),
        None => Ok(Found::Foreign),
    }
}

/// The name of a database's companion.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn schema_in_page(page: &[u8]) -> Option<u32> {
    let number = page.get(SCHEMA_AT..SCHEMA_AT + 4)?;
    page.starts_with(MAGIC).then(|| big_endian(number))
}

/// The number in the last first page that was committed to a log; none where none was.
fn schema_in_log(log: &mut impl Read) -> io::Result<Option<u32>> {
    let mut header = [0; 32];
    if !fill(log, &mut header)? {
        return Ok(None);
    }
    let magic = big_endian(&header[..4]);
    let mut sum = Checksum {
        big_endian: magic == LOG_MAGIC + 1,
        ..Checksum::default()
    };
    sum.add(&header[..24]);
    if magic & !1 != LOG_MAGIC || !sum.is(&header[24..]) {
        return Ok(None);
    }
    // A page takes 512 bytes to 64 KiB.
    let page_size = big_endian(&header[8..12]).min(1 << 16) as usize;
    let mut frame = vec![0; 24 + page_size];
    let mut committed = None;
    let mut written = None;
    while fill(log, &mut frame)? {
        let (about, page) = frame.split_at(24);
        sum.add(&about[..8]);
        sum.add(page);
        // Behind the last frame stand those of the log's last round.
        if about[8..16] != header[16..24] || !sum.is(&about[16..]) {
            break;
        }
        if big_endian(&about[..4]) == 1 {
            written = schema_in_page(page).or(written);
        }
        let commits = big_endian(&about[4..8]) != 0;
        if commits {
            committed = written;
        }
    }
    Ok(committed)
}

/// Reads exactly as much as there is room; false at the end.
fn fill(from: &mut impl Read, room: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(room) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The running sum over a log, which every frame carries.
#[derive(Debug, Default)]
struct Checksum {
    big_endian: bool,
    first: u32,
    second: u32,
}

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        for pair in bytes.chunks_exact(8) {
            let (left, right) = pair.split_at(4);
            self.first = self
                .first
                .wrapping_add(self.word(left))
                .wrapping_add(self.second);
            self.second = self
                .second
                .wrapping_add(self.word(right))
                .wrapping_add(self.first);
        }
    }

    fn word(&self, bytes: &[u8]) -> u32 {
        let word = big_endian(bytes);
        if self.big_endian {
            word
        } else {
            word.swap_bytes()
        }
    }

    fn is(&self, stored: &[u8]) -> bool {
        (big_endian(&stored[..4]), big_endian(&stored[4..8])) == (self.first, self.second)
    }
}

fn big_endian(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .take(4)
        .fold(0, |number, byte| number << 8 | u32::from(*byte))
}
