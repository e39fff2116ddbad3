//! `read_file`: a text file, or some of its lines.

use std::fmt::Write as _;
use std::path::Path;

use async_trait::async_trait;
use rustix::fs::OFlags;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

use super::presentation::{CallPresentation, Location, ToolCallKind};
use super::{Place, Tool, ToolContext, ToolOutcome};
use crate::model::ToolSchema;
use crate::platform;

const NAME: &str = "read_file";

/// Lines of one answer when the model names no number, and at most.
const LINES: usize = 2000;
/// Bytes of one answer, line numbers not counted.
const BYTES: usize = 128 * 1024;
/// Bytes of one line; the rest of a longer one is left out.
const LINE_BYTES: u64 = 4096;

/// Reads files.
#[derive(Debug)]
pub struct ReadFile;

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    #[serde(default)]
    offset: Option<usize>,
    #[serde(default)]
    limit: Option<usize>,
}

impl Arguments {
    fn read(args: &Value) -> Result<Self, String> {
        let arguments: Self = serde_json::from_value(args.clone()).map_err(|error| {
            format!("the arguments of {NAME} are wrong: {error}; `path` is required and a string")
        })?;
        if arguments.path.is_empty() {
            return Err(format!("the `path` of {NAME} is empty; give one"));
        }
        Ok(arguments)
    }

    fn first_line(&self) -> usize {
        self.offset.unwrap_or(1).max(1)
    }
}

#[async_trait]
impl Tool for ReadFile {
    fn schema(&self) -> ToolSchema {
        ToolSchema {
            name: NAME.to_owned(),
            description:
                "Reads a text file and returns its lines, each with its number and a tab before it."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file, absolute or relative to the session's folder."},
                    "offset": {"type": "integer", "description": "The first line to read, from 1."},
                    "limit": {"type": "integer", "description": "How many lines; 2000 when left out and at most."}
                },
                "required": ["path"]
            }),
        }
    }

    fn present(&self, args: &Value, place: &Place) -> CallPresentation {
        let Ok(arguments) = Arguments::read(args) else {
            return CallPresentation::plain(NAME, args.clone());
        };
        CallPresentation {
            kind: ToolCallKind::Read,
            title: format!("Read {}", arguments.path),
            description: None,
            locations: vec![Location {
                path: place.resolve(&arguments.path),
                line: arguments.offset.and_then(|line| u32::try_from(line).ok()),
            }],
            label: None,
            terminal: None,
            arguments: args.clone(),
        }
    }

    fn needs_permission(&self, args: &Value, place: &Place) -> bool {
        Arguments::read(args).is_ok_and(|arguments| {
            let path = place.resolve(&arguments.path);
            path.exists() && !place.holds(&path)
        })
    }

    async fn run(&self, args: &Value, context: ToolContext<'_>) -> ToolOutcome {
        let arguments = match Arguments::read(args) {
            Ok(arguments) => arguments,
            Err(message) => return ToolOutcome::failed(message),
        };
        let path = context.place.resolve(&arguments.path);
        let within = (!context.permitted).then_some(context.place);
        let reading = read_lines(
            &path,
            within,
            arguments.first_line(),
            arguments.limit.unwrap_or(LINES).clamp(1, LINES),
        );
        let result = tokio::select! {
            result = reading => result,
            () = context.cancel.cancelled() => Err("cancelled".to_owned()),
        };
        match result {
            Ok(text) => ToolOutcome::answered(text.clone(), text),
            Err(reason) => {
                ToolOutcome::failed(format!("{} could not be read: {reason}", path.display()))
            }
        }
    }
}

/// The asked lines with their numbers, and a last line that says what was left out and how to read on.
async fn read_lines(
    path: &Path,
    within: Option<&Place>,
    first: usize,
    limit: usize,
) -> Result<String, String> {
    let file = open(path, within).await?;
    let mut reader = BufReader::new(file);
    let mut text = String::new();
    let mut number = 0;
    let mut bytes = 0;
    loop {
        let mut line = Vec::new();
        let read = (&mut reader)
            .take(LINE_BYTES)
            .read_until(b'\n', &mut line)
            .await
            .map_err(|error| error.to_string())?;
        if read == 0 {
            break;
        }
        let left_out = if line.ends_with(b"\n") {
            0
        } else {
            skip_line(&mut reader).await?
        };
        number += 1;
        if line.contains(&0) {
            return Err(
                "it is not a text file; look at it with a command that suits its kind".to_owned(),
            );
        }
        if number < first {
            continue;
        }
        if number >= first + limit || bytes + line.len() > BYTES {
            // Writing to a string cannot fail.
            let _ = write!(text, "[there is more: read on with offset {number}]");
            return Ok(text);
        }
        bytes += line.len();
        let shown = String::from_utf8_lossy(&line);
        let shown = shown.trim_end_matches(['\n', '\r']);
        let _ = write!(text, "{number}\t{shown}");
        if left_out > 0 {
            let _ = write!(text, " [{left_out} bytes of this line left out]");
        }
        text.push('\n');
    }
    if number < first && number > 0 {
        return Err(format!(
            "it has {number} lines, so none from {first} on; ask for an earlier offset"
        ));
    }
    Ok(text)
}

/// Opens the file, and looks at what was opened, not at what the name meant a moment before: a command may change it
/// in between.
async fn open(path: &Path, within: Option<&Place>) -> Result<tokio::fs::File, String> {
    let file = tokio::fs::OpenOptions::new()
        .read(true)
        // A pipe without a writer would keep the reader waiting.
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .await
        .map_err(|error| error.to_string())?;
    let metadata = file.metadata().await.map_err(|error| error.to_string())?;
    if metadata.is_dir() {
        return Err("it is a folder; list it with a command".to_owned());
    }
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    // Where it really lies: a link on the way may have been changed since it was allowed.
    let opened = platform::path_of(&file);
    if within.is_some_and(|place| !opened.is_ok_and(|opened| place.holds(&opened))) {
        return Err(
            "it leads out of the session's folders; ask for it again by its real path".to_owned(),
        );
    }
    Ok(file)
}

/// Passes over the rest of a line that is too long, and says how long the rest was, without its end.
async fn skip_line(reader: &mut BufReader<tokio::fs::File>) -> Result<usize, String> {
    let mut skipped = 0;
    loop {
        let buffer = reader.fill_buf().await.map_err(|error| error.to_string())?;
        if buffer.is_empty() {
            return Ok(skipped);
        }
        if let Some(at) = buffer.iter().position(|byte| *byte == b'\n') {
            reader.consume(at + 1);
            return Ok(skipped + at);
        }
        let all = buffer.len();
        skipped += all;
        reader.consume(all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    async fn read(content: &[u8], first: usize, limit: usize) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, content).unwrap();
        read_lines(&path, None, first, limit).await
    }

    #[tokio::test]
    async fn lines_come_with_their_numbers() {
        assert_eq!(
            read(b"a\r\nb\nc", 1, 10).await.unwrap(),
            "1\ta\n2\tb\n3\tc\n"
        );
        assert_eq!(
            read(b"a\nb\nc\nd\n", 2, 2).await.unwrap(),
            "2\tb\n3\tc\n[there is more: read on with offset 4]"
        );
        assert_eq!(read(b"", 1, 2).await.unwrap(), "");
    }

    #[tokio::test]
    async fn what_cannot_be_shown_is_said() {
        assert_eq!(
            read(b"a\0b", 1, 9).await.unwrap_err(),
            "it is not a text file; look at it with a command that suits its kind"
        );
        assert_eq!(
            read(b"a\n", 5, 9).await.unwrap_err(),
            "it has 1 lines, so none from 5 on; ask for an earlier offset"
        );
        assert_eq!(
            read_lines(Path::new("/"), None, 1, 9).await.unwrap_err(),
            "it is a folder; list it with a command"
        );
    }

    #[tokio::test]
    async fn a_very_long_line_is_cut_and_the_next_one_stands() {
        let mut content = vec![b'x'; 10_000];
        content.extend_from_slice(b"\nnext\n");
        let text = read(&content, 1, 9).await.unwrap();
        assert_eq!(
            text,
            format!(
                "1\t{} [5904 bytes of this line left out]\n2\tnext\n",
                "x".repeat(4096)
            )
        );
    }

    #[tokio::test]
    async fn what_leads_out_of_the_session_is_judged_by_what_was_opened() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("in"), folder.path().join("out"));
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(&outside, "secret\n").unwrap();
        std::fs::write(inside.join("own"), "mine\n").unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
        let place = Place::new(inside.clone(), vec![inside.clone()]);
        let read = async |name: &str| read_lines(&inside.join(name), Some(&place), 1, 9).await;
        assert_eq!(read("own").await.unwrap(), "1\tmine\n");
        assert_eq!(
            read("link").await.unwrap_err(),
            "it leads out of the session's folders; ask for it again by its real path"
        );
    }
}
