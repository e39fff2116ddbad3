//! Output as a fenced block of text, for clients that draw no cards.

const INFO_STRING: &str = "console";

/// A Markdown block that shows `text` as console output. However many backticks stand together in the text, the fence has
/// one more, so nothing in it ends the block.
pub fn console_block(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let line_end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{fence}{INFO_STRING}\n{text}{line_end}{fence}")
}

/// The output in a text that is one `console` block and nothing else; the line end before the closing fence belongs to the fence.
pub fn console_text(block: &str) -> Option<&str> {
    let block = block.trim_end_matches(['\r', '\n']);
    let fence = &block[..block.len() - block.trim_start_matches('`').len()];
    if fence.len() < 3 {
        return None;
    }
    let (info, inside) = block[fence.len()..].split_once('\n')?;
    let inside = inside.strip_suffix(fence)?;
    let text = if inside.is_empty() {
        inside
    } else {
        inside.strip_suffix('\n')?
    };
    (info.trim() == INFO_STRING).then(|| text.strip_suffix('\r').unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_fence_is_longer_than_any_run_of_backticks() {
        let table = [
            ("", "```console\n```", ""),
            ("ok", "```console\nok\n```", "ok"),
            ("ok\n", "```console\nok\n```", "ok"),
            (
                "a `b` ``c``\n",
                "```console\na `b` ``c``\n```",
                "a `b` ``c``",
            ),
            (
                "```\nx\n````",
                "`````console\n```\nx\n````\n`````",
                "```\nx\n````",
            ),
        ];
        for (text, block, read) in table {
            assert_eq!(console_block(text), block);
            assert_eq!(console_text(block), Some(read));
        }
    }

    #[test]
    fn other_texts_are_no_console_blocks() {
        for text in [
            "",
            "plain",
            "```\nx\n```",
            "```console\nx",
            "```rust\nx\n```",
            "see:\n```console\nx\n```",
            "``console\nx\n``",
        ] {
            assert_eq!(console_text(text), None, "{text:?}");
        }
    }
}
