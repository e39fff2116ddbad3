//! A command that prints a picture.

use std::fs;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use placard_tests::Home;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::editor::{Editor, draws_cards};

/// A PNG with every byte in it, and all that a terminal could change: CR, LF, both, many of them, sequences, a tab.
pub fn picture() -> Vec<u8> {
    let mut data: Vec<u8> = (0..=255).collect();
    data.extend(b"\r\n\n\r\r\r\n\r\r\n\n\n\t\x1b[31m\x1b]0;x\x07\x03\x04\x11\x13\x1a\x1c");
    data.extend((0..40_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()));
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    let header = b"\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0".to_vec();
    for (kind, data) in [(b"IHDR", header), (b"IDAT", data), (b"IEND", Vec::new())] {
        bytes.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
        bytes.extend(kind);
        bytes.extend(data);
        bytes.extend([0; 4]);
    }
    bytes
}

/// The end of the call of one command, in a folder that holds the file.
async fn end_of(name: &str, bytes: &[u8], capabilities: Value, command: &str) -> Value {
    let home = Home::new();
    let folder = home.work_folder();
    fs::write(folder.join(name), bytes).unwrap();
    let mut editor = Editor::connect(&home, capabilities).await;
    let session = editor.session(&folder).await;
    editor.turn(&session, &format!("$ {command}")).await;
    let calls = editor.calls(&session);
    editor.close(Duration::from_secs(10)).await;
    calls.last().unwrap().clone()
}

fn image_block(mime_type: &str, bytes: &[u8]) -> Value {
    let data = BASE64_STANDARD.encode(bytes);
    json!({"type": "content", "content": {"type": "image", "mimeType": mime_type, "data": data}})
}

#[tokio::test]
async fn a_picture_stands_beside_its_terminal_byte_for_byte() {
    let picture = picture();
    let end = end_of("a.png", &picture, draws_cards(), "cat a.png").await;
    let expected = json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": "call-1",
        "status": "completed",
        "content": [
            {"type": "terminal", "terminalId": "terminal-call-1"},
            image_block("image/png", &picture),
        ],
        "_meta": {"terminal_exit": {"terminal_id": "terminal-call-1", "exit_code": 0, "signal": null}},
    });
    // A difference would be a megabyte long.
    assert!(end == expected, "{:.2000}", end.to_string());
}

#[tokio::test]
async fn without_cards_the_picture_takes_the_place_of_its_bytes() {
    let picture = picture();
    let end = end_of("a.png", &picture, json!({}), "cat a.png").await;
    let expected = json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": "call-1",
        "status": "completed",
        "content": [image_block("image/png", &picture)],
    });
    assert!(end == expected, "{:.2000}", end.to_string());
}

#[tokio::test]
async fn a_picture_that_is_text_stands_beside_its_text() {
    let svg = b"<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\">\n</svg>\n";
    let end = end_of("a.svg", svg, json!({}), "cat a.svg").await;
    let text = format!("```console\n{}```", String::from_utf8_lossy(svg));
    assert_eq!(
        end["content"],
        json!([
            {"type": "content", "content": {"type": "text", "text": text}},
            image_block("image/svg+xml", svg),
        ])
    );
}

#[tokio::test]
async fn a_picture_with_anything_around_it_is_output() {
    for command in [
        "cat a.png; echo done",
        "echo first; cat a.png",
        "head -c 100 a.png",
    ] {
        let end = end_of("a.png", &picture(), draws_cards(), command).await;
        assert_eq!(
            (end.get("content"), &end["status"]),
            (None, &json!("completed")),
            "{command}"
        );
    }
}
