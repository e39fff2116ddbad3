//! The line that stands where output was left out.

use std::fmt::Write as _;

/// A longer file name is left out of the marker, which must stay small beside the output that it stands in.
const LONGEST_NAME: usize = 512;

/// The words that stand for `left_out` bytes, without a line end. `kept_in` names the file that holds more of the output, if one does.
pub(crate) fn gap_words(left_out: u64, kept_in: Option<&str>) -> String {
    let mut words = format!(
        "[{left_out} {} left out",
        if left_out == 1 { "byte" } else { "bytes" }
    );
    if let Some(place) = kept_in.filter(|place| place.len() <= LONGEST_NAME) {
        let _ = write!(words, "; see ");
        // A file name may hold anything, and these words go to terminals.
        words.extend(place.chars().map(|c| {
            if c.is_control() {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        }));
    }
    words.push(']');
    words
}

/// The marker line of a cut, ready for a terminal: it starts on a line of its own (`line_open` tells that the text before it does not
/// end one), and colours that were on before the cut are off after it, so that what follows is not drawn in them.
pub fn gap_line(left_out: u64, kept_in: Option<&str>, line_open: bool) -> String {
    let line_end = if line_open { "\r\n" } else { "" };
    format!("\x1b[0m{line_end}{}\r\n", gap_words(left_out, kept_in))
}

/// The longest that a marker line for `kept_in` can be, in bytes.
pub(crate) fn longest_gap_line(kept_in: Option<&str>) -> usize {
    gap_line(u64::MAX, kept_in, true).len()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_marker_states_the_bytes_and_where_the_whole_is() {
        assert_eq!(gap_line(1, None, false), "\x1b[0m[1 byte left out]\r\n");
        assert_eq!(
            gap_line(70, Some("/tmp/a\x1b[2Jb"), true),
            "\x1b[0m\r\n[70 bytes left out; see /tmp/a\u{fffd}[2Jb]\r\n"
        );
    }
}
