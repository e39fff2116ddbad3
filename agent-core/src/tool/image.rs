//! A command that prints a picture, such as `cat icon.png`: the picture itself instead of its bytes as text.
//!
//! Only an output that is one picture from its first byte to its last is one; a picture with anything before or behind it is
//! output like any other. The terminal's driver puts a CR before every LF and changes nothing else, so leaving these out
//! again gives the file's own bytes exactly.

use std::path::Path;

use tokio::io::AsyncReadExt as _;

use super::presentation::{Image, ResultBody};
use super::{ToolOutcome, exit_marker};
use crate::shell::terminal::TerminalOutput;

/// The largest picture that is shown, in bytes.
const LARGEST: usize = 2 * 1024 * 1024;

/// The picture that a command printed, once it is over. `through_terminal` tells whether its output came through a terminal
/// and not through a pipe. `None` where it is no picture, too large, or no longer whole.
async fn printed(output: &TerminalOutput, through_terminal: bool) -> Option<Image> {
    let beginning = printed_bytes(output.first_bytes(), through_terminal);
    Kind::of(&beginning)?;
    // What waits is written before the file is read.
    output.finish();
    let file = output
        .spilled_in()
        .filter(|_| output.spill_error().is_none())?;
    let bytes = printed_bytes(read(&file).await?, through_terminal);
    let kind = Kind::of(&bytes).filter(|kind| kind.is_whole(&bytes))?;
    (bytes.len() <= LARGEST).then(|| Image {
        mime_type: kind.mime_type().into(),
        bytes,
    })
}

/// The outcome of a command, with the picture that it printed if it is one. A picture of bytes takes the place of what they would
/// be as text, for the model and for viewers that draw no terminal; one that is text stands beside it.
pub async fn with_picture(
    mut outcome: ToolOutcome,
    output: &TerminalOutput,
    through_terminal: bool,
) -> ToolOutcome {
    let Some(image) = printed(output, through_terminal).await else {
        return outcome;
    };
    if let Some(words) = in_words(&image) {
        outcome.presentation.body = ResultBody::Empty;
        if let Some((_, marker)) = exit_marker::parse(&outcome.content) {
            outcome.content = exit_marker::append(&words, &marker);
        }
    }
    outcome.presentation.image = Some(image);
    outcome
}

/// What a model reads in place of bytes that are no text; `None` for a picture that is text.
fn in_words(image: &Image) -> Option<String> {
    let name = match image.mime_type.as_ref() {
        "image/png" => "PNG",
        "image/jpeg" => "JPEG",
        "image/gif" => "GIF",
        "image/webp" => "WebP",
        _ => return None,
    };
    Some(format!(
        "[a {name} picture of {} bytes was printed; the person sees it, here it is left out]",
        image.bytes.len()
    ))
}

/// At most as much as the largest picture can take on its way through a terminal; `None` where there is more.
async fn read(file: &Path) -> Option<Vec<u8>> {
    let most = 2 * LARGEST as u64;
    let mut bytes = Vec::new();
    let file = tokio::fs::File::open(file).await.ok()?;
    file.take(most + 1).read_to_end(&mut bytes).await.ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}

/// The bytes that a command printed, out of those that its terminal passed on.
fn printed_bytes(passed_on: Vec<u8>, through_terminal: bool) -> Vec<u8> {
    if !through_terminal {
        return passed_on;
    }
    let mut printed = Vec::with_capacity(passed_on.len());
    for byte in passed_on {
        if byte == b'\n' && printed.last() == Some(&b'\r') {
            printed.pop();
        }
        printed.push(byte);
    }
    printed
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Png,
    Jpeg,
    Gif,
    WebP,
    Svg,
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

impl Kind {
    /// What the first bytes say.
    fn of(beginning: &[u8]) -> Option<Self> {
        if beginning.starts_with(PNG) {
            Some(Self::Png)
        } else if beginning.starts_with(b"\xff\xd8\xff") {
            Some(Self::Jpeg)
        } else if beginning.starts_with(b"GIF87a") || beginning.starts_with(b"GIF89a") {
            Some(Self::Gif)
        } else if beginning.starts_with(b"RIFF") && beginning.get(8..12) == Some(b"WEBP") {
            Some(Self::WebP)
        } else {
            svg_begins(beginning).then_some(Self::Svg)
        }
    }

    /// Whether the bytes are one such picture and nothing else.
    fn is_whole(self, bytes: &[u8]) -> bool {
        match self {
            Self::Png => png_is_whole(bytes),
            Self::Jpeg => bytes.ends_with(b"\xff\xd9"),
            Self::Gif => bytes.ends_with(b";"),
            // The length in front leaves out itself and the four bytes before it; an odd one is padded.
            Self::WebP => bytes
                .get(4..8)
                .and_then(|length| Some(u32::from_le_bytes(length.try_into().ok()?)))
                .and_then(|length| usize::try_from(length).ok())
                .is_some_and(|length| {
                    length.next_multiple_of(2).checked_add(8) == Some(bytes.len())
                }),
            Self::Svg => std::str::from_utf8(bytes)
                .is_ok_and(|text| text.trim_end().ends_with("</svg>") && !text.contains('\0')),
        }
    }

    fn mime_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
            Self::Svg => "image/svg+xml",
        }
    }
}

/// Chunk by chunk to the last one, which ends the file.
fn png_is_whole(bytes: &[u8]) -> bool {
    let mut rest = &bytes[PNG.len()..];
    while let Some((head, body)) = rest.split_first_chunk::<8>() {
        let [a, b, c, d, kind @ ..] = head;
        let length = u32::from_be_bytes([*a, *b, *c, *d]);
        // The data and its check sum.
        let Some(end) = usize::try_from(length)
            .ok()
            .and_then(|length| length.checked_add(4))
        else {
            return false;
        };
        if kind == b"IEND" {
            return body.len() == end;
        }
        let Some(next) = body.get(end..) else {
            return false;
        };
        rest = next;
    }
    false
}

/// `<svg`, behind a declaration, a document type and comments if there are any. In the beginning of a file it may be cut off.
fn svg_begins(beginning: &[u8]) -> bool {
    let text = match std::str::from_utf8(beginning) {
        Ok(text) => text,
        // A character that the cut has torn.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&beginning[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        let end = if rest.starts_with("<?xml") {
            "?>"
        } else if rest.starts_with("<!--") {
            "-->"
        } else if rest.starts_with("<!DOCTYPE svg") {
            ">"
        } else {
            return rest.strip_prefix("<svg").is_some_and(|rest| {
                rest.starts_with(|c: char| c.is_ascii_whitespace() || c == '>')
            });
        };
        let Some((_, behind)) = rest.split_once(end) else {
            return false;
        };
        rest = behind.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    /// A picture of one pixel.
    fn png() -> Vec<u8> {
        let mut bytes = PNG.to_vec();
        bytes.extend(b"\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89");
        bytes.extend(b"\0\0\0\x0cIDATx\x9cc\xf8\xff\xff?\0\x05\xfe\x02\xfe\r\n\r\n");
        bytes.extend(b"\0\0\0\0IEND\xaeB`\x82");
        bytes
    }

    fn seen(bytes: &[u8]) -> Option<&'static str> {
        Kind::of(bytes)
            .filter(|kind| kind.is_whole(bytes))
            .map(Kind::mime_type)
    }

    #[test]
    fn a_picture_is_known_by_its_bytes_from_the_first_to_the_last() {
        let with = |bytes: &[u8], more: &[u8]| [bytes, more].concat();
        let png = png();
        let webp = b"RIFF\x0c\0\0\0WEBPVP8 \0\0\0\0";
        let cases: &[(&[u8], Option<&str>)] = &[
            (&png, Some("image/png")),
            (&with(&png, b"\n"), None),
            (&with(b"\n", &png), None),
            (&png[..png.len() - 1], None),
            (PNG, None),
            (b"\xff\xd8\xff\xe0data\xff\xd9", Some("image/jpeg")),
            (b"\xff\xd8\xff\xe0data\xff\xd9\n", None),
            (b"GIF89a...;", Some("image/gif")),
            (b"GIF87a...;", Some("image/gif")),
            (b"GIF89a...", None),
            (b"GIF88a...;", None),
            (webp, Some("image/webp")),
            (&with(webp, b"x"), None),
            (b"<svg></svg>", Some("image/svg+xml")),
            (
                b"<?xml version=\"1.0\"?>\n<!-- a > b -->\n<!DOCTYPE svg PUBLIC \"a\">\n<svg width=\"1\">\n</svg>\n",
                Some("image/svg+xml"),
            ),
            (b"<svg></svg> and more", None),
            (b"<svgx></svgx></svg>", None),
            (b"see <svg></svg>", None),
            (b"<svg>\xff</svg>", None),
            (b"", None),
            (b"text\n", None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(seen(bytes), *expected, "{}", bytes.escape_ascii());
        }
    }

    #[tokio::test]
    async fn a_picture_comes_back_as_it_was_printed() {
        let home = tempfile::tempdir().unwrap();
        let picture = png();
        let passed_on: Vec<u8> = picture
            .iter()
            .flat_map(|byte| match byte {
                b'\n' => vec![b'\r', b'\n'],
                byte => vec![*byte],
            })
            .collect();
        for (number, (bytes, through_terminal)) in [(&passed_on, true), (&picture, false)]
            .into_iter()
            .enumerate()
        {
            let output = TerminalOutput::with_spill(home.path().join(number.to_string()), 1 << 20);
            output.push(bytes);
            let image = printed(&output, through_terminal).await;
            assert_eq!(
                image,
                Some(Image {
                    mime_type: "image/png".into(),
                    bytes: picture.clone()
                })
            );
        }
        // Without a file, what is kept is text and no longer the picture.
        let output = TerminalOutput::new();
        output.push(&passed_on);
        assert_eq!(printed(&output, true).await, None);
    }

    #[tokio::test]
    async fn a_picture_that_is_too_large_stays_output() {
        let home = tempfile::tempdir().unwrap();
        for (name, length, expected) in [
            ("most", LARGEST, true),
            ("more", LARGEST + 1, false),
            ("far", 5 * LARGEST, false),
        ] {
            let mut bytes = b"GIF89a".to_vec();
            bytes.resize(length - 1, b'x');
            bytes.push(b';');
            let output = TerminalOutput::with_spill(home.path().join(name), 64 << 20);
            output.push(&bytes);
            assert_eq!(printed(&output, true).await.is_some(), expected, "{name}");
        }
    }

    #[tokio::test]
    async fn models_are_told_of_bytes_and_read_text() {
        let home = tempfile::tempdir().unwrap();
        let svg = b"<svg>\r\n</svg>".to_vec();
        let picture = png();
        let words = format!(
            "[a PNG picture of {} bytes was printed; the person sees it, here it is left out]\n[exit 0]",
            picture.len()
        );
        let text = "what stands there\n[exit 0]".to_owned();
        let console = ResultBody::Console("what stands there".to_owned());
        let cases = [
            (picture, words, ResultBody::Empty),
            (svg, text.clone(), console.clone()),
        ];
        for (index, (bytes, content, body)) in cases.into_iter().enumerate() {
            let output = TerminalOutput::with_spill(home.path().join(index.to_string()), 1 << 20);
            output.push(&bytes);
            let mut outcome = ToolOutcome::failed(text.clone());
            outcome.presentation.body = console.clone();
            let outcome = with_picture(outcome, &output, false).await;
            assert_eq!(
                (outcome.content, outcome.presentation.body),
                (content, body)
            );
            assert_eq!(
                outcome.presentation.image.map(|image| image.bytes),
                Some(bytes)
            );
        }
    }

    proptest! {
        #[test]
        fn any_bytes_come_back_from_a_terminal(bytes in prop::collection::vec(
            prop_oneof![Just(b'\r'), Just(b'\n'), any::<u8>()],
            0..80,
        )) {
            let passed_on = bytes.iter().flat_map(|byte| match byte {
                b'\n' => vec![b'\r', b'\n'],
                byte => vec![*byte],
            });
            prop_assert_eq!(printed_bytes(passed_on.collect(), true), bytes);
        }
    }
}
