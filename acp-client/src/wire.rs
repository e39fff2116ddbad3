//! Lines from an agent, whatever it writes: bounded, and nothing in them ends the connection.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// The longest line that is read: longer ones are skipped.
pub const LINE_LIMIT: usize = 64 * 1024 * 1024;

/// Where a line on the wire was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireSide {
    /// From the client to the agent.
    ToAgent,
    /// From the agent to the client.
    FromAgent,
    /// The agent's stderr.
    Stderr,
    /// Not on the wire: what the client noted about it.
    Note,
}

/// Sees every line, as it is, without its line end. Called from the tasks that read and write: it must not block.
#[derive(Clone)]
pub struct WireTap(Arc<See>);

type See = dyn Fn(WireSide, &str) + Send + Sync;

impl WireTap {
    /// A tap that calls `see`.
    pub fn new(see: impl Fn(WireSide, &str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(see))
    }

    pub(crate) fn see(&self, side: WireSide, line: &str) {
        (self.0)(side, line);
    }
}

impl Default for WireTap {
    /// A tap that looks away.
    fn default() -> Self {
        Self::new(|_, _| {})
    }
}

impl std::fmt::Debug for WireTap {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("WireTap")
    }
}

/// A line as it came, without its line end (LF or CR LF) and without a byte order mark.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// UTF-8 text.
    Text(String),
    /// Bytes that are not UTF-8, with replacement characters.
    NotUtf8(String),
    /// A line above the limit; skipped.
    TooLong {
        /// Its length.
        bytes: u64,
        /// Its beginning, with replacement characters.
        head: String,
    },
}

/// So much is kept of a line that is skipped: enough to see what it would have been.
const HEAD: usize = 512;

/// Reads lines. Cancel-safe: a line begun is kept for the next call.
#[derive(Debug)]
pub(crate) struct LineReader<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    skipped: u64,
    limit: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// A reader of lines of at most `limit` bytes.
    pub(crate) fn new(input: R, limit: usize) -> Self {
        Self {
            input: BufReader::with_capacity(64 * 1024, input),
            line: Vec::new(),
            skipped: 0,
            limit,
        }
    }

    /// The next line; `None` at the end. A last line without a line end counts.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let bytes = self.input.fill_buf().await?;
            if bytes.is_empty() {
                let nothing = self.line.is_empty() && self.skipped == 0;
                return Ok(if nothing { None } else { Some(self.take()) });
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.skipped > 0 || self.line.len() + part.len() > self.limit {
                if self.skipped == 0 {
                    self.skipped = self.line.len() as u64;
                    let wanted = HEAD.saturating_sub(self.line.len()).min(part.len());
                    self.line.extend_from_slice(&part[..wanted]);
                    self.line.truncate(HEAD);
                    self.line.shrink_to_fit();
                }
                self.skipped += part.len() as u64;
            } else {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                return Ok(Some(self.take()));
            }
        }
    }

    fn take(&mut self) -> Line {
        if self.skipped > 0 {
            return Line::TooLong {
                bytes: std::mem::take(&mut self.skipped),
                head: String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned(),
            };
        }
        let mut line = std::mem::take(&mut self.line);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        match String::from_utf8(line) {
            Ok(text) => Line::Text(text),
            Err(error) => Line::NotUtf8(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[tokio::test]
    async fn lines_of_every_kind() {
        let input: &[u8] = b"\xef\xbb\xbfone\r\n\ntwo \xff\n0123456789\n01234567890\nlast";
        let mut reader = LineReader::new(input, 10);
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            lines.push(line);
        }
        assert_eq!(
            lines,
            vec![
                Line::Text("one".into()),
                Line::Text(String::new()),
                Line::NotUtf8("two \u{fffd}".into()),
                Line::Text("0123456789".into()),
                Line::TooLong {
                    bytes: 11,
                    head: "01234567890".into(),
                },
                Line::Text("last".into()),
            ]
        );
    }
}
