//! Lines in and out: the edges of the connection that the SDK leaves open (decision 10).
//!
//! In: a line that is not UTF-8 or not JSON gets its error here, without an echo of the line, and costs nothing else;
//! a line is bounded. Out: one writer, and a count of the updates that the client has not taken yet.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::{Sink, SinkExt as _, Stream};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::PollSender;

/// The longest line that is taken in: 64 MiB.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;

/// Lines that may wait between the SDK and the writer.
const WAITING_LINES: usize = 16;

/// Updates of one connection that may be under way before output is held back.
const UPDATES_UNDER_WAY: usize = 4;

/// How the lines begin that are counted: what a session tells of its own accord.
const UPDATE: &str = r#""method":"session/update""#;
const STATE: &str = r#""method":"_placard/terminal_state""#;

/// Where lines for the client go.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    lines: mpsc::Sender<String>,
    under_way: UnderWay,
}

/// How many updates have been handed over and not been written yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnderWay(Arc<Counter>);

#[derive(Debug, Default)]
struct Counter {
    count: AtomicUsize,
    fell: Notify,
    closed: tokio_util::sync::CancellationToken,
}

impl UnderWay {
    /// Waits until another update may be handed over. Resolves at once when the client is gone.
    pub(crate) async fn room(&self) {
        loop {
            let fell = self.0.fell.notified();
            if self.0.count.load(Ordering::Acquire) < UPDATES_UNDER_WAY
                || self.0.closed.is_cancelled()
            {
                return;
            }
            tokio::select! {
                () = fell => {}
                () = self.0.closed.cancelled() => return,
            }
        }
    }

    /// An update was handed over.
    pub(crate) fn add(&self) {
        self.0.count.fetch_add(1, Ordering::AcqRel);
    }

    fn written(&self) {
        // Saturating: the SDK could send an update of its own accord.
        let _ = self
            .0
            .count
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| {
                Some(count.saturating_sub(1))
            });
        self.0.fell.notify_waiters();
    }

    fn close(&self) {
        self.0.closed.cancel();
    }
}

/// A place for lines, and the task that writes them.
pub(crate) fn outbox<O>(output: O) -> (Outbox, impl Future<Output = ()> + Send + 'static)
where
    O: AsyncWrite + Send + Unpin + 'static,
{
    let (lines, waiting) = mpsc::channel(WAITING_LINES);
    let under_way = UnderWay::default();
    (
        Outbox {
            lines,
            under_way: under_way.clone(),
        },
        write(output, waiting, under_way),
    )
}

impl Outbox {
    pub(crate) fn under_way(&self) -> UnderWay {
        self.under_way.clone()
    }

    /// The sink that the SDK writes its lines to.
    pub(crate) fn sink(&self) -> impl Sink<String, Error = io::Error> + Send + 'static {
        PollSender::new(self.lines.clone())
            .sink_map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
            .with(|line| std::future::ready(Ok(without_echo(line))))
    }
}

/// The SDK explains its errors with what the client sent: parameters that do not fit, a method that came too early. They may
/// hold secrets, and clients log errors. Our own errors say all in their message.
fn without_echo(line: String) -> String {
    if !(line.contains(r#""error":{"#) && line.contains(r#""data":"#)) {
        return line;
    }
    let Ok(mut message) = serde_json::from_str::<Value>(&line) else {
        return line;
    };
    // Anything with a method in it is a message of ours whose text only looks so.
    if message.get("method").is_some() {
        return line;
    }
    if let Some(error) = message.get_mut("error").and_then(Value::as_object_mut) {
        error.remove("data");
        if error.get("code") == Some(&json!(-32602))
            && error.get("message") == Some(&json!("Invalid params"))
        {
            let message = "Invalid params: they do not fit the method's schema";
            error.insert("message".to_owned(), message.into());
        }
    }
    message.to_string()
}

async fn write<O: AsyncWrite + Unpin>(
    mut output: O,
    mut waiting: mpsc::Receiver<String>,
    under_way: UnderWay,
) {
    while let Some(mut line) = waiting.recv().await {
        let is_update = [UPDATE, STATE].iter().any(|words| begins(&line, words));
        line.push('\n');
        if output.write_all(line.as_bytes()).await.is_err() || output.flush().await.is_err() {
            break;
        }
        if is_update {
            under_way.written();
        }
    }
    under_way.close();
}

/// Only the beginning is looked at: the words may also stand in what a command printed.
fn begins(line: &str, words: &str) -> bool {
    line.as_bytes()
        .windows(words.len())
        .take(64)
        .any(|part| part == words.as_bytes())
}

/// The lines of the client, those left out that are answered here.
pub(crate) fn read_lines<I>(
    input: I,
    outbox: Outbox,
) -> impl Stream<Item = io::Result<String>> + Send + 'static
where
    I: AsyncRead + Send + Unpin + 'static,
{
    let reader = (BufReader::with_capacity(64 * 1024, input), outbox, true);
    futures::stream::unfold(reader, |(mut reader, outbox, mut first)| async move {
        loop {
            let line = match next_line(&mut reader).await {
                Ok(Some(line)) => line,
                Ok(None) => return None,
                Err(error) => {
                    // A client that is gone closes its side in many ways; all of them mean the same.
                    tracing::debug!(%error, "the client's side broke");
                    return None;
                }
            };
            let without_mark = if std::mem::take(&mut first) {
                strip_byte_order_mark(line)
            } else {
                line
            };
            match judge(without_mark) {
                Judgement::Message(line) => return Some((Ok(line), (reader, outbox, first))),
                Judgement::Blank => {}
                Judgement::Wrong(reason) => {
                    let answer = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": format!("Parse error: {reason}")}});
                    if outbox.lines.send(answer.to_string()).await.is_err() {
                        return None;
                    }
                }
            }
        }
    })
}

/// A line as it came.
enum RawLine {
    Bytes(Vec<u8>),
    TooLong,
}

/// What is to be done with a line.
#[derive(Debug, PartialEq, Eq)]
enum Judgement {
    Message(String),
    Blank,
    Wrong(String),
}

async fn next_line<I: AsyncRead + Unpin>(reader: &mut BufReader<I>) -> io::Result<Option<RawLine>> {
    let mut line = Vec::new();
    (&mut *reader)
        .take(LONGEST_LINE)
        .read_until(b'\n', &mut line)
        .await?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.len() as u64 == LONGEST_LINE && !line.ends_with(b"\n") {
        drop(line);
        pass_over_line(reader).await?;
        return Ok(Some(RawLine::TooLong));
    }
    while line.ends_with(b"\n") || line.ends_with(b"\r") {
        line.pop();
    }
    Ok(Some(RawLine::Bytes(line)))
}

async fn pass_over_line<I: AsyncRead + Unpin>(reader: &mut BufReader<I>) -> io::Result<()> {
    loop {
        let buffer = reader.fill_buf().await?;
        if buffer.is_empty() {
            return Ok(());
        }
        if let Some(at) = buffer.iter().position(|byte| *byte == b'\n') {
            reader.consume(at + 1);
            return Ok(());
        }
        let all = buffer.len();
        reader.consume(all);
    }
}

fn strip_byte_order_mark(line: RawLine) -> RawLine {
    match line {
        RawLine::Bytes(bytes) => match bytes.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) => RawLine::Bytes(rest.to_vec()),
            None => RawLine::Bytes(bytes),
        },
        RawLine::TooLong => RawLine::TooLong,
    }
}

fn judge(line: RawLine) -> Judgement {
    let RawLine::Bytes(bytes) = line else {
        return Judgement::Wrong(format!("a line is longer than {LONGEST_LINE} bytes"));
    };
    let Ok(text) = String::from_utf8(bytes) else {
        return Judgement::Wrong("a line is not UTF-8".to_owned());
    };
    if text.trim().is_empty() {
        return Judgement::Blank;
    }
    // As the SDK reads it: what only a more lenient reader takes, it would answer with the whole line.
    match serde_json::from_str::<Value>(&text) {
        Ok(_) => Judgement::Message(text),
        // The place, never the words: they may be secrets.
        Err(error) => Judgement::Wrong(format!(
            "a line is not JSON from column {} on",
            error.column()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt as _;
    use pretty_assertions::assert_eq;

    /// What passes, and what is answered.
    async fn read(input: &[u8]) -> (Vec<String>, Vec<String>) {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (outbox, writer) = outbox(near);
        let writing = tokio::spawn(writer);
        let passed: Vec<String> = read_lines(io::Cursor::new(input.to_vec()), outbox)
            .map(Result::unwrap)
            .collect()
            .await;
        writing.await.unwrap();
        let mut lines = BufReader::new(far).lines();
        let mut answered = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            answered.push(
                serde_json::from_str::<serde_json::Value>(&line).unwrap()["error"]["message"]
                    .as_str()
                    .unwrap()
                    .to_owned(),
            );
        }
        (passed, answered)
    }

    #[tokio::test]
    async fn what_is_no_message_is_answered_and_its_neighbours_pass() {
        let (passed, answered) =
            read(b"\xef\xbb\xbf{\"a\":1}\r\n\n  \nhello secret\n[1]\n\"\xff\"\n{\"b\":2}").await;
        assert_eq!(passed, [r#"{"a":1}"#, "[1]", r#"{"b":2}"#]);
        assert_eq!(
            answered,
            [
                "Parse error: a line is not JSON from column 1 on",
                "Parse error: a line is not UTF-8"
            ]
        );
    }

    #[tokio::test]
    async fn a_line_beyond_the_cap_is_passed_over() {
        let mut input = vec![b'x'; usize::try_from(LONGEST_LINE).unwrap() + 10];
        input.extend_from_slice(b"\n{}\n");
        let (passed, answered) = read(&input).await;
        assert_eq!(passed, ["{}"]);
        assert_eq!(
            answered,
            ["Parse error: a line is longer than 67108864 bytes"]
        );
    }

    #[tokio::test]
    async fn output_waits_while_the_client_has_not_taken_what_was_sent() {
        let (near, mut far) = tokio::io::duplex(16);
        let (outbox, writer) = outbox(near);
        let writing = tokio::spawn(writer);
        let under_way = outbox.under_way();
        let mut sink = Box::pin(outbox.sink());
        for _ in 0..UPDATES_UNDER_WAY {
            under_way.add();
            sink.send(format!("{{{UPDATE}}}")).await.unwrap();
        }
        assert!(futures::poll!(std::pin::pin!(under_way.room())).is_pending());
        let mut taken = vec![0; UPDATE.len() + 3];
        far.read_exact(&mut taken).await.unwrap();
        under_way.room().await;
        drop(far);
        under_way.room().await;
        drop((sink, outbox));
        writing.await.unwrap();
    }
}
