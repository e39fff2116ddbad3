//! A log, line by line: what is an event, what a crash left, and what is damage.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom, Take};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::session::event::{Entry, Event};
use crate::session::{SCHEMA_VERSION, SessionHeader, SessionId};

/// How much is read from a file at once, in bytes.
const BUFFER: usize = 64 * 1024;

/// The first line of a log.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FirstLine<H> {
    pub(super) header: H,
}

/// What of a header every build must be able to read.
#[derive(Debug, Deserialize)]
struct AnyHeader {
    schema_version: u32,
}

/// Why a log cannot be read on.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// The system said no.
    Io(io::Error),
    /// A line, from 1, is not what was written.
    Damaged { line: u64, reason: String },
    /// A newer build wrote it, with this schema.
    Newer(u32),
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads the whole lines of a file, as long as it was at first: what a crash had left there, and what a writer has put in its
/// place since, do not make a line together. What stands behind the last line's end is being written, or was when a crash
/// came.
#[derive(Debug)]
struct Lines {
    source: BufReader<Take<File>>,
    line: Vec<u8>,
    /// Where the last line that was read ends, in bytes.
    offset: u64,
}

impl Lines {
    /// Whether there was another one; it is in `line`, without its end.
    fn advance(&mut self) -> io::Result<bool> {
        self.line.clear();
        let length = self.source.read_until(b'\n', &mut self.line)?;
        if self.line.pop_if(|end| *end == b'\n').is_none() {
            return Ok(false);
        }
        self.offset += length as u64;
        Ok(true)
    }
}

/// Reads the events of a log.
#[derive(Debug)]
pub(super) struct LogReader {
    lines: Lines,
    /// The number of the next event.
    next: u64,
    /// Where the last event that was read ends, in bytes.
    end: u64,
    /// Nothing more is read.
    ended: bool,
}

/// The place in front of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// The event's number.
    pub(super) seq: u64,
    /// In bytes.
    pub(super) offset: u64,
}

impl LogReader {
    /// Begins with the header, which must be that of this session.
    pub(super) fn begin(file: File, id: &SessionId) -> Result<(SessionHeader, Self), Unreadable> {
        let mut reader = Self::at(file, Mark { seq: 0, offset: 0 })?;
        let header = reader.header(id)?;
        reader.end = reader.lines.offset;
        Ok((header, reader))
    }

    /// Goes on in front of an event.
    pub(super) fn at(mut file: File, mark: Mark) -> io::Result<Self> {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(mark.offset))?;
        let file = file.take(length.saturating_sub(mark.offset));
        Ok(Self {
            lines: Lines {
                source: BufReader::with_capacity(BUFFER, file),
                line: Vec::new(),
                offset: mark.offset,
            },
            next: mark.seq,
            end: mark.offset,
            ended: false,
        })
    }

    /// The place in front of the next event: all before it is in order.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            seq: self.next,
            offset: self.end,
        }
    }

    /// The line of the last event, as it stands in the file, without its end.
    pub(super) fn raw(&self) -> &[u8] {
        &self.lines.line
    }

    fn header(&mut self, id: &SessionId) -> Result<SessionHeader, Unreadable> {
        let damaged = |reason| Unreadable::Damaged { line: 1, reason };
        if !self.lines.advance()? {
            return Err(damaged("the header is missing".to_owned()));
        }
        let line = &self.lines.line;
        if let Ok(FirstLine::<AnyHeader> { header }) = serde_json::from_slice(line)
            && header.schema_version > SCHEMA_VERSION
        {
            return Err(Unreadable::Newer(header.schema_version));
        }
        let FirstLine::<SessionHeader> { header } = serde_json::from_slice(line)
            .map_err(|error| damaged(format!("this is no header ({error})")))?;
        if header.id == *id {
            Ok(header)
        } else {
            let other = header.id;
            Err(damaged(format!("this is the header of session {other}")))
        }
    }

    /// The next event; `None` at the end of what is in order. What a crash left half written behind it is no damage.
    pub(super) fn event(&mut self) -> Result<Option<Event>, Unreadable> {
        if self.ended {
            return Ok(None);
        }
        if !self.lines.advance()? {
            self.ended = true;
            return Ok(None);
        }
        match next_event(&self.lines.line, self.next) {
            Ok(event) => {
                self.next += 1;
                self.end = self.lines.offset;
                Ok(Some(event))
            }
            Err(reason) => {
                self.ended = true;
                // The header stands before event 0, each event on a line.
                let line = self.next + 2;
                if self.is_torn()? {
                    Ok(None)
                } else {
                    Err(Unreadable::Damaged { line, reason })
                }
            }
        }
    }

    /// Everything that can be read. What is wrong comes with its line.
    pub(super) fn salvage(file: File, id: &SessionId) -> Result<Salvaged, Unreadable> {
        let mut reader = Self::at(file, Mark { seq: 0, offset: 0 })?;
        let mut found = Finding::default();
        let header = match reader.header(id) {
            Ok(header) => Some(header),
            Err(Unreadable::Damaged { line, reason }) => {
                found.damage.push((line, reason));
                // Whatever stands there instead may be an event.
                if let Ok(event) = parse(&reader.lines.line) {
                    found.event(1, event);
                }
                None
            }
            Err(why) => return Err(why),
        };
        let mut line = 1;
        while reader.lines.advance()? {
            line += 1;
            match parse(&reader.lines.line) {
                Ok(event) => found.event(line, event),
                Err(reason) => found.no_event(line, reason, reader.lines.line.contains(&0)),
            }
        }
        Ok(found.end(header))
    }

    /// Whether the line that is no event was left so by a crash: it holds bytes that were never written (NUL), and no event
    /// stands behind it.
    fn is_torn(&mut self) -> io::Result<bool> {
        if !self.lines.line.contains(&0) {
            return Ok(false);
        }
        while self.lines.advance()? {
            if parse(&self.lines.line).is_ok() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// What was found in a damaged log.
#[derive(Debug)]
pub(super) struct Salvaged {
    pub(super) header: Option<SessionHeader>,
    /// Under their own numbers, in order.
    pub(super) events: Vec<Event>,
    /// Lines, from 1, and what is wrong with them.
    pub(super) damage: Vec<(u64, String)>,
}

/// A damaged log, while it is read.
#[derive(Debug, Default)]
struct Finding {
    events: BTreeMap<u64, Event>,
    damage: Vec<(u64, String)>,
    /// The number that the next event should have.
    next: u64,
    /// How much damage there was before the lines without an event that were read last, and whether those look like what a
    /// crash leaves.
    behind: Option<(usize, bool)>,
}

impl Finding {
    fn event(&mut self, line: u64, event: Event) {
        self.behind = None;
        let (next, seq) = (self.next, event.seq);
        let last = self.events.last_key_value().map(|(last, _)| *last);
        let reason = match self.events.get(&seq) {
            Some(there) if *there == event => Some(format!("event {seq} stands here once more")),
            Some(_) => Some(format!("another event {seq} stands here")),
            None if last.is_some_and(|last| seq < last) => {
                Some(format!("event {seq} stands behind later ones"))
            }
            None if seq > next => Some(format!("events {next} to {} are missing", seq - 1)),
            None => None,
        };
        self.damage.extend(reason.map(|reason| (line, reason)));
        if last.is_none_or(|last| seq > last) {
            self.next = seq.saturating_add(1);
        }
        self.events.entry(seq).or_insert(event);
    }

    fn no_event(&mut self, line: u64, reason: String, unwritten: bool) {
        self.behind.get_or_insert((self.damage.len(), unwritten));
        self.damage.push((line, reason));
        // It may have been one.
        self.next = self.next.saturating_add(1);
    }

    fn end(mut self, header: Option<SessionHeader>) -> Salvaged {
        if let Some((before, true)) = self.behind {
            self.damage.truncate(before);
        }
        Salvaged {
            header,
            events: self.events.into_values().collect(),
            damage: self.damage,
        }
    }
}

/// Reads the event that must have this number.
fn next_event(line: &[u8], number: u64) -> Result<Event, String> {
    let event = parse(line)?;
    if event.seq == number {
        Ok(event)
    } else {
        Err(format!(
            "event {} stands where event {number} should",
            event.seq
        ))
    }
}

/// Reads an event.
pub(super) fn parse(line: &[u8]) -> Result<Event, String> {
    #[derive(Deserialize)]
    struct Line<'l> {
        seq: u64,
        at: u64,
        #[serde(borrow)]
        what: &'l RawValue,
    }
    let read = || {
        let Line { seq, at, what } = serde_json::from_slice(line)?;
        let what = Entry::from_json(what.get())?;
        Ok(Event { seq, at, what })
    };
    read().map_err(|error: serde_json::Error| format!("this is no event ({error})"))
}
