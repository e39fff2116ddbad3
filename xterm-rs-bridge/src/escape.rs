//! Where escape sequences begin and end, so that nothing is ever cut inside one.

/// A string sequence (a title, a hyperlink, an image) that runs on for longer than this is taken for output whose terminator got
/// lost: cuts are allowed again after it, or one stray byte could hold back everything that follows.
const LONGEST_SEQUENCE: usize = 32 * 1024;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Plain text.
    #[default]
    Ground,
    /// Plain text by our reckoning after a sequence that never ended; a terminal may still be swallowing it.
    GivenUp,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate byte, as in `ESC ( B`.
    Intermediate,
    /// In a control sequence: `ESC [ … m`.
    Control,
    /// In an operating system command, which a BEL may end too.
    Command,
    /// In a device control string, or one of the other strings that only ST ends.
    Text,
}

/// Follows escape sequences through text that arrives in pieces.
///
/// A *boundary* is a place between two characters that lies in no escape sequence: text may be cut there.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct EscapeScanner {
    state: State,
    /// Bytes of the current sequence so far; 0 in plain text.
    length: usize,
}

impl EscapeScanner {
    /// A scanner at the beginning of an output.
    pub fn new() -> Self {
        Self::default()
    }

    /// Is the place after all the text seen so far a boundary?
    pub fn at_boundary(self) -> bool {
        matches!(self.state, State::Ground | State::GivenUp)
    }

    /// Did a sequence run on for so long that it was given up, so that a terminal may still wait for its end?
    pub(crate) fn gave_up(self) -> bool {
        self.state == State::GivenUp
    }

    /// Follows `text` and returns the last boundary in it as a byte offset (its length when it ends in plain text). `None` when the
    /// whole of it lies inside one sequence that an earlier piece began.
    pub fn advance(&mut self, text: &str) -> Option<usize> {
        let bytes = text.as_bytes();
        let mut boundary = self.at_boundary().then_some(0);
        let mut at = 0;
        while at < bytes.len() {
            if self.at_boundary() {
                let Some(skip) = introducer(&bytes[at..], self.gave_up()) else {
                    return Some(bytes.len());
                };
                at += skip;
                boundary = Some(at);
                if let Some(length) = whole_control(&bytes[at..]) {
                    self.state = State::Ground;
                    at += length;
                    boundary = Some(at);
                    continue;
                }
            }
            let first = at;
            self.step(bytes[at], bytes.get(at + 1).copied());
            at += 1;
            while !text.is_char_boundary(at) {
                at += 1;
            }
            if self.at_boundary() {
                self.length = 0;
                boundary = Some(at);
            } else {
                self.length += at - first;
                if self.length > LONGEST_SEQUENCE {
                    self.state = State::GivenUp;
                    self.length = 0;
                    boundary = Some(at);
                }
            }
        }
        boundary
    }

    fn step(&mut self, byte: u8, next: Option<u8>) {
        self.state = match (self.state, byte) {
            // ESC starts a sequence from anywhere; CAN and SUB end one from anywhere.
            (_, 0x1b) => State::Escape,
            (_, 0x18 | 0x1a) => State::Ground,
            (state, C1_LEAD) => match next {
                Some(0x9b) => State::Control,
                Some(0x9d) => State::Command,
                Some(0x90 | 0x98 | 0x9e | 0x9f) => State::Text,
                Some(0x9c) => State::Ground,
                _ => after_other(state),
            },
            (State::Escape, b'[') => State::Control,
            (State::Escape, b']') => State::Command,
            (State::Escape, b'P' | b'X' | b'^' | b'_') => State::Text,
            (State::Escape | State::Intermediate, 0x20..=0x2f) => State::Intermediate,
            (State::Escape | State::Intermediate, 0x30..=0x7e)
            | (State::Control, 0x40..=0x7e)
            | (State::Command | State::GivenUp, 0x07) => State::Ground,
            (state, 0x80..) => after_other(state),
            (state, _) => state,
        };
    }
}

/// The first byte of U+0080 to U+00BF, among which the one-character forms of the introducers are.
const C1_LEAD: u8 = 0xc2;

/// What a character beyond ASCII does: strings contain it, anything shorter is broken off by it.
fn after_other(state: State) -> State {
    match state {
        State::Escape | State::Intermediate | State::Control => State::Ground,
        state => state,
    }
}

/// The length of a control sequence that begins `bytes` and is all there, as nearly every one is. Longer ones are left to the steps.
fn whole_control(bytes: &[u8]) -> Option<usize> {
    const LONGEST: usize = 64;
    let parameters = bytes.strip_prefix(b"\x1b[")?;
    let end = parameters
        .iter()
        .take(LONGEST)
        .position(|byte| !matches!(byte, 0x20..=0x3f))?;
    matches!(parameters[end], 0x40..=0x7e).then_some(end + 3)
}

/// The offset of the first byte that may begin a sequence (or end a given-up one).
fn introducer(bytes: &[u8], gave_up: bool) -> Option<usize> {
    /// Where sequences are dense, a search is over before one for long runs has begun.
    const NEAR: usize = 16;
    if gave_up {
        let begins = memchr::memchr2(0x1b, C1_LEAD, bytes);
        let before = begins.map_or(bytes, |at| &bytes[..at]);
        return memchr::memchr3(0x07, 0x18, 0x1a, before).or(begins);
    }
    let begins = |byte: &u8| *byte == 0x1b || *byte == C1_LEAD;
    let (near, far) = bytes.split_at(bytes.len().min(NEAR));
    near.iter()
        .position(begins)
        .or_else(|| memchr::memchr2(0x1b, C1_LEAD, far).map(|at| NEAR + at))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// Every boundary of `text`, found by feeding it one character at a time.
    fn boundaries(text: &str) -> Vec<usize> {
        let mut scanner = EscapeScanner::new();
        let mut found = vec![0];
        for (at, character) in text.char_indices() {
            scanner.advance(&text[at..at + character.len_utf8()]);
            if scanner.at_boundary() {
                found.push(at + character.len_utf8());
            }
        }
        found
    }

    #[test]
    fn boundaries_lie_outside_of_sequences() {
        let table: &[(&str, &[usize])] = &[
            ("ab", &[0, 1, 2]),
            ("a\x1b[31mb", &[0, 1, 6, 7]),
            ("\x1b(Bx", &[0, 3, 4]),
            ("\x1b7x", &[0, 2, 3]),
            ("\x1b]0;t\x07x", &[0, 6, 7]),
            ("\x1b]0;t\x1b\\x", &[0, 7, 8]),
            ("\x1bPq\x07#\x1b\\x", &[0, 7, 8]),
            ("\x1b[3\x18x", &[0, 4, 5]),
            ("\x1b[3\x1b[1mx", &[0, 7, 8]),
            ("\u{9b}1mx", &[0, 4, 5]),
            ("\u{9d}0;é\u{9c}x", &[0, 8, 9]),
            ("°€", &[0, 2, 5]),
            ("\x1b[€x", &[0, 5, 6]),
            ("\x1b[1\nmx", &[0, 5, 6]),
        ];
        for (text, expected) in table {
            assert_eq!(boundaries(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn the_last_boundary_does_not_depend_on_the_pieces() {
        let text =
            "plain \x1b[1;31mred\x1b[0m é \x1b]8;;https://example.org/\x1b\\link\x1b]8;;\x07 \x1b[";
        for cut in (0..=text.len()).filter(|&cut| text.is_char_boundary(cut)) {
            let mut scanner = EscapeScanner::new();
            let first = scanner.advance(&text[..cut]);
            let second = scanner.advance(&text[cut..]).map(|at| at + cut);
            let whole = EscapeScanner::new().advance(text);
            assert_eq!(second.or(first), whole, "cut at {cut}");
        }
    }

    #[test]
    fn a_string_that_never_ends_is_given_up() {
        let mut scanner = EscapeScanner::new();
        assert_eq!(scanner.advance("a\x1b]0;"), Some(1));
        let swallowed = "x".repeat(2 * LONGEST_SEQUENCE);
        assert_eq!(scanner.advance(&swallowed), Some(swallowed.len()));
        assert!(scanner.gave_up());
        assert_eq!(scanner.advance("\x07"), Some(1));
        assert_eq!(scanner, EscapeScanner::new());
    }
}
