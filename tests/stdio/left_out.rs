//! A long output on a card: what was shown, and what the markers between say was left out.

/// A part of the output as the card showed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown<'a> {
    /// Where it stands in the whole output, in bytes of text.
    pub place: usize,
    pub text: &'a str,
}

/// Reads a card's text. Gives its parts with their places, and how long the whole output was.
pub fn read(card: &str) -> (Vec<Shown<'_>>, usize) {
    let mut parts = Vec::new();
    let (mut place, mut rest) = (0, card);
    loop {
        let marker = rest
            .match_indices("\x1b[0m")
            .find_map(|(at, _)| marker(&rest[at..]).map(|(bytes, length)| (at, bytes, length)));
        let (at, bytes, length) = marker.unwrap_or((rest.len(), 0, 0));
        if at > 0 {
            let text = &rest[..at];
            parts.push(Shown { place, text });
        }
        place += at + bytes;
        rest = &rest[at + length..];
        if marker.is_none() {
            return (parts, place);
        }
    }
}

/// A marker at the beginning of a text: the bytes that it says, and its own length.
fn marker(text: &str) -> Option<(usize, usize)> {
    let words = text.strip_prefix("\x1b[0m")?;
    let words = words.strip_prefix("\r\n").unwrap_or(words);
    let (inner, rest) = words.strip_prefix('[')?.split_once("]\r\n")?;
    let (count, said) = inner.split_once(' ')?;
    let said = said.strip_prefix("bytes").or(said.strip_prefix("byte"))?;
    // The place of the file that holds more may follow.
    if said != " left out" && !said.starts_with(" left out; see ") {
        return None;
    }
    Some((count.parse().ok()?, text.len() - rest.len()))
}

/// Checks that a card shows an output whose text is known: each part is what was printed there, and the markers count
/// the rest to the last byte. Gives how much was left out.
pub fn check(card: &str, printed: &str) -> usize {
    if card == printed {
        return 0;
    }
    let (parts, length) = read(card);
    assert_eq!(length, printed.len(), "shown and left out add up");
    let mut shown = 0;
    for Shown { place, text } in parts {
        // A difference may be half a megabyte long: not for printing.
        let as_printed = printed.get(place..place + text.len()) == Some(text);
        assert!(as_printed, "{} bytes at {place} differ", text.len());
        shown += text.len();
    }
    length - shown
}

#[test]
fn parts_and_markers_are_told_apart() {
    let card = "\x1b[0mab\x1b[0m\r\n[70 bytes left out]\r\ncd\r\n\x1b[0m[1 byte left out; see /tmp/o]\r\n[3 bytes left out]\r\n";
    let shown = |place, text| Shown { place, text };
    assert_eq!(
        read(card),
        (
            vec![
                shown(0, "\x1b[0mab"),
                shown(76, "cd\r\n"),
                shown(81, "[3 bytes left out]\r\n"),
            ],
            101
        )
    );
}
