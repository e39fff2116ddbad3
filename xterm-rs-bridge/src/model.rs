//! Output cut to what a model is given.

use crate::gap::gap_words;
use crate::plain_text;

/// The [`plain_text`] of `raw`, at most `max_bytes` long: from a longer one the first third and the last two thirds stay, cut between
/// lines where lines are short enough, around a marker line that states the bytes left out of the plain text.
pub fn model_text(raw: &str, max_bytes: usize) -> String {
    cut_text(&plain_text(raw), max_bytes)
}

/// The same of text that is plain already.
pub fn cut_text(plain: &str, max_bytes: usize) -> String {
    if plain.len() <= max_bytes {
        return plain.to_owned();
    }
    // The longest marker: no count is longer than that of the whole text; two newlines stand around it.
    let marker_bytes = gap_words(plain.len() as u64, None).len() + 2;
    let Some(room) = max_bytes.checked_sub(marker_bytes) else {
        return plain[..plain.floor_char_boundary(max_bytes)].to_owned();
    };
    let head = head_of(plain, room / 3);
    let tail = tail_of(plain, room - room / 3);
    let left_out = gap_words((plain.len() - head.len() - tail.len()) as u64, None);
    let line_end = if head.is_empty() || head.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{head}{line_end}{left_out}\n{tail}")
}

/// At most `bytes` from the beginning, up to the end of a line unless that would give up more than half.
fn head_of(text: &str, bytes: usize) -> &str {
    let head = &text[..text.floor_char_boundary(bytes)];
    match head.rfind('\n') {
        Some(at) if at >= head.len() / 2 => &head[..=at],
        _ => head,
    }
}

/// At most `bytes` from the end, from the beginning of a line unless that would give up more than half.
fn tail_of(text: &str, bytes: usize) -> &str {
    let from = text.len() - bytes;
    let tail = &text[text.ceil_char_boundary(from)..];
    if text.as_bytes()[..from].ends_with(b"\n") {
        return tail;
    }
    match tail.find('\n') {
        Some(at) if at < tail.len() / 2 => &tail[at + 1..],
        _ => tail,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_output_is_given_whole() {
        assert_eq!(model_text("\x1b[32mok\x1b[0m\r\n", 3), "ok\n");
    }

    #[test]
    fn a_long_output_loses_whole_lines_from_its_middle() {
        let lines = (0..100)
            .map(|n| format!("line {n:02}\n"))
            .collect::<Vec<_>>()
            .concat();
        assert_eq!(
            model_text(&lines, 100),
            "line 00\nline 01\nline 02\n[728 bytes left out]\nline 94\nline 95\nline 96\nline 97\nline 98\nline 99\n"
        );
    }

    #[test]
    fn one_long_line_is_cut_within() {
        assert_eq!(
            model_text(&"é".repeat(500), 50),
            "éééé\n[974 bytes left out]\nééééééééé"
        );
        assert_eq!(model_text("abcdefgh", 3), "abc");
    }

    proptest! {
        #[test]
        fn the_bound_holds_and_the_count_is_true(text in "([a-zé]{0,20}\n?){0,60}", max in 0usize..400) {
            let cut = model_text(&text, max);
            prop_assert!(cut.len() <= max);
            if let Some((head, rest)) = cut.split_once('[') {
                let (count, tail) = rest.split_once(" byte").unwrap();
                let (_, tail) = tail.split_once("]\n").unwrap();
                let count: usize = count.parse().unwrap();
                let kept = text.len() - count - tail.len();
                prop_assert!(head == &text[..kept] || head.strip_suffix('\n') == Some(&text[..kept]));
                prop_assert!(text.ends_with(tail));
            }
        }
    }
}
