//! Every frame of both directions, numbered: the newest in memory, all of them in one unlinked file.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::PageId;

/// The way that a frame went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Direction {
    /// From client to agent.
    #[serde(rename = "c2a")]
    ToAgent,
    /// From agent to client.
    #[serde(rename = "a2c")]
    FromAgent,
}

impl Direction {
    /// The word for it on the wire to pages.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::ToAgent => "c2a",
            Self::FromAgent => "a2c",
        }
    }
}

/// A frame as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spooled {
    /// Milliseconds of Unix time.
    pub(crate) t: u64,
    /// The way that it went.
    pub(crate) direction: Direction,
    /// The page that it belongs to, with that page's own id where the frame has one.
    pub(crate) owner: Option<(PageId, Option<String>)>,
    /// The frame, with the hub's id, as one line of JSON.
    pub(crate) frame: String,
}

/// What precedes a frame in the file.
#[derive(Serialize, Deserialize)]
struct Head {
    t: u64,
    dir: Direction,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    page: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

/// Lengths of head and frame, 4 bytes each.
const LENGTHS: u64 = 8;
/// One offset is remembered for so many records; those between are found by hopping over their lengths.
const MARK_EVERY: u64 = 64;

/// The frames of a hub's whole life.
#[derive(Debug)]
pub(crate) struct Spool {
    recent: VecDeque<Recent>,
    recent_bytes: usize,
    memory_limit: usize,
    last: u64,
    end: u64,
    file: Option<File>,
    marks: Vec<u64>,
}

#[derive(Debug)]
struct Recent {
    offset: u64,
    frame: Arc<Spooled>,
}

impl Spool {
    /// A spool whose file is in `folder`. Without a file (a full disk, a folder that cannot be written) only the newest
    /// `memory_limit` bytes are kept; this is logged and nothing else suffers.
    pub(crate) fn new(folder: &Path, memory_limit: usize) -> Self {
        let file = tempfile::tempfile_in(folder).map_err(|error| {
            tracing::warn!(
                folder = %folder.display(), %error,
                "frames are kept in memory only: no temporary file can be created here",
            );
        });
        Self {
            recent: VecDeque::new(),
            recent_bytes: 0,
            memory_limit,
            last: 0,
            end: 0,
            file: file.ok(),
            marks: Vec::new(),
        }
    }

    /// The number of the newest frame; 0 when there is none.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// The number after which every frame is still held.
    pub(crate) fn held_after(&self) -> u64 {
        if self.file.is_some() {
            0
        } else {
            self.last - self.recent.len() as u64
        }
    }

    /// True when at least `bytes` of frames come after number `after`.
    pub(crate) fn holds_more_than(&self, after: u64, bytes: u64) -> bool {
        match self
            .recent_index(after + 1)
            .and_then(|index| self.recent.get(index))
        {
            Some(next) => self.end - next.offset >= bytes,
            None => after < self.last,
        }
    }

    /// Keeps a frame and gives its number.
    pub(crate) fn append(&mut self, frame: Spooled) -> u64 {
        let offset = self.end;
        self.end += self.write(&frame);
        self.last += 1;
        self.recent_bytes += frame.frame.len();
        self.recent.push_back(Recent {
            offset,
            frame: Arc::new(frame),
        });
        while self.recent_bytes > self.memory_limit && self.recent.len() > 1 {
            if let Some(oldest) = self.recent.pop_front() {
                self.recent_bytes -= oldest.frame.frame.len();
            }
        }
        self.last
    }

    /// Frames from number `first` on: as many as fit in `budget` bytes, at least one where there is one.
    pub(crate) fn read(&mut self, first: u64, budget: usize) -> Vec<(u64, Arc<Spooled>)> {
        if let Some(index) = self.recent_index(first) {
            let frames = self
                .recent
                .iter()
                .skip(index)
                .map(|recent| Arc::clone(&recent.frame));
            return fitting(first, budget, frames);
        }
        if first > self.last || self.file.is_none() {
            return Vec::new();
        }
        match self.read_file(first, budget) {
            Ok(frames) => frames,
            Err(error) => {
                self.lose_file(&error);
                Vec::new()
            }
        }
    }

    fn recent_index(&self, number: u64) -> Option<usize> {
        let first = self.last + 1 - self.recent.len() as u64;
        (first..=self.last)
            .contains(&number)
            .then(|| usize::try_from(number - first).ok())
            .flatten()
    }

    fn write(&mut self, frame: &Spooled) -> u64 {
        let head = Head {
            t: frame.t,
            dir: frame.direction,
            page: frame.owner.as_ref().map(|(page, _)| page.0),
            id: frame.owner.as_ref().and_then(|(_, id)| id.clone()),
        };
        let head = serde_json::to_vec(&head).unwrap_or_default();
        let mut record = Vec::with_capacity(head.len() + frame.frame.len() + 8);
        for length in [head.len(), frame.frame.len()] {
            record.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        }
        record.extend(head);
        record.extend(frame.frame.as_bytes());
        if let Some(file) = &self.file {
            match file.write_all_at(&record, self.end) {
                Ok(()) if self.last.is_multiple_of(MARK_EVERY) => self.marks.push(self.end),
                Ok(()) => {}
                Err(error) => self.lose_file(&error),
            }
        }
        record.len() as u64
    }

    fn lose_file(&mut self, error: &io::Error) {
        tracing::warn!(%error, "the spool's file failed: older frames are lost, the newest stay in memory");
        self.file = None;
        self.marks = Vec::new();
    }

    fn read_file(&self, first: u64, budget: usize) -> io::Result<Vec<(u64, Arc<Spooled>)>> {
        let Some(file) = &self.file else {
            return Ok(Vec::new());
        };
        let mark = (first - 1) / MARK_EVERY;
        let mut offset = usize::try_from(mark)
            .ok()
            .and_then(|mark| self.marks.get(mark))
            .copied()
            .ok_or_else(|| io::Error::other(format!("frame {first} has no place in the file")))?;
        for _ in mark * MARK_EVERY + 1..first {
            let (head, frame) = lengths_at(file, offset)?;
            offset += LENGTHS + head + frame;
        }
        let mut frames = Vec::new();
        let mut used = 0;
        let mut number = first;
        while number <= self.last {
            let (head, length) = lengths_at(file, offset)?;
            let size = usize::try_from(length).map_err(io::Error::other)?;
            if used > 0 && used + size > budget {
                break;
            }
            frames.push((
                number,
                Arc::new(frame_at(file, offset + LENGTHS, head, length)?),
            ));
            used += size.max(1);
            offset += LENGTHS + head + length;
            number += 1;
        }
        Ok(frames)
    }
}

fn fitting(
    first: u64,
    budget: usize,
    frames: impl Iterator<Item = Arc<Spooled>>,
) -> Vec<(u64, Arc<Spooled>)> {
    let mut used = 0;
    (first..)
        .zip(frames)
        .take_while(|(_, frame)| {
            let fits = used == 0 || used + frame.frame.len() <= budget;
            used += frame.frame.len().max(1);
            fits
        })
        .collect()
}

fn lengths_at(file: &File, offset: u64) -> io::Result<(u64, u64)> {
    let mut head = [0; 4];
    let mut frame = [0; 4];
    file.read_exact_at(&mut head, offset)?;
    file.read_exact_at(&mut frame, offset + 4)?;
    Ok((
        u32::from_le_bytes(head).into(),
        u32::from_le_bytes(frame).into(),
    ))
}

fn frame_at(file: &File, offset: u64, head: u64, length: u64) -> io::Result<Spooled> {
    let mut bytes = vec![0; usize::try_from(head).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, offset)?;
    let head_fields: Head = serde_json::from_slice(&bytes)?;
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, offset + head)?;
    Ok(Spooled {
        t: head_fields.t,
        direction: head_fields.dir,
        owner: head_fields.page.map(|page| (PageId(page), head_fields.id)),
        frame: String::from_utf8(bytes).map_err(io::Error::other)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn frame(number: u64, length: usize) -> Spooled {
        Spooled {
            t: number,
            direction: if number.is_multiple_of(2) {
                Direction::FromAgent
            } else {
                Direction::ToAgent
            },
            owner: (!number.is_multiple_of(3))
                .then(|| (PageId(number), Some(format!("\"{number}\"")))),
            frame: format!("{number:0length$}"),
        }
    }

    #[test]
    fn frames_come_back_from_memory_and_from_the_file() {
        let mut spool = Spool::new(&std::env::temp_dir(), 1000);
        for number in 1..=300 {
            assert_eq!(spool.append(frame(number, 100)), number);
        }
        assert_eq!(
            (spool.last(), spool.held_after(), spool.recent.len()),
            (300, 0, 10)
        );
        for first in [1, 2, 63, 64, 65, 66, 129, 200, 290, 291, 299, 300] {
            let expected: Vec<_> = (first..=300)
                .take(3)
                .map(|number| (number, Arc::new(frame(number, 100))))
                .collect();
            assert_eq!(spool.read(first, 300), expected, "from {first}");
        }
        assert_eq!(spool.read(301, 300), vec![]);
    }

    #[test]
    fn one_frame_larger_than_the_budget_travels_alone() {
        let mut spool = Spool::new(&std::env::temp_dir(), 1);
        for number in 1..=3 {
            spool.append(frame(number, 500));
        }
        for first in 1..=3 {
            assert_eq!(
                spool.read(first, 100),
                vec![(first, Arc::new(frame(first, 500)))]
            );
        }
    }

    #[test]
    fn without_a_file_the_newest_are_kept() {
        let mut spool = Spool::new(Path::new("/nowhere/at/all"), 1000);
        for number in 1..=50 {
            spool.append(frame(number, 100));
        }
        assert_eq!((spool.held_after(), spool.read(40, 1000)), (40, vec![]));
        assert_eq!(spool.read(41, 100), vec![(41, Arc::new(frame(41, 100)))]);
    }

    #[test]
    fn it_knows_when_a_batch_is_full() {
        let mut spool = Spool::new(&std::env::temp_dir(), 1000);
        assert!(!spool.holds_more_than(0, 1));
        for number in 1..=20 {
            spool.append(frame(number, 100));
        }
        let answers = [0, 15, 19, 20].map(|after| spool.holds_more_than(after, 400));
        assert_eq!(answers, [true, true, false, false]);
    }
}
