//! Bytes to text, whatever the places where the reads happened to cut them.

use std::str;

/// An incremental UTF-8 decoder.
///
/// A character that is split between two reads is held back and delivered whole. Each invalid sequence becomes one U+FFFD, in
/// exactly the way of [`String::from_utf8_lossy`], so the decoded text does not depend on where the input was cut.
#[derive(Debug, Default, Clone)]
pub struct Utf8Decoder {
    /// The beginning of a character whose rest has not arrived. Always a valid prefix, so at most three bytes.
    held: [u8; 4],
    held_len: usize,
}

impl Utf8Decoder {
    /// A decoder that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes `bytes` and appends the text to `out`.
    pub fn decode(&mut self, bytes: &[u8], out: &mut String) {
        let rest = self.complete_held(bytes, out);
        let rest = self.hold_unfinished(rest);
        match str::from_utf8(rest) {
            Ok(text) => out.push_str(text),
            Err(_) => decode_lossy(rest, out),
        }
    }

    /// Decodes `bytes` and gives the text to `take` in pieces, which are lent from `bytes` itself where these are sound: what most
    /// commands print is then read once and copied nowhere. `scratch` is the room for what has to be put together.
    pub(crate) fn decode_to(
        &mut self,
        bytes: &[u8],
        scratch: &mut String,
        mut take: impl FnMut(&str),
    ) {
        scratch.clear();
        let rest = self.complete_held(bytes, scratch);
        let rest = self.hold_unfinished(rest);
        if let Ok(text) = str::from_utf8(rest) {
            if !scratch.is_empty() {
                take(scratch);
            }
            take(text);
        } else {
            decode_lossy(rest, scratch);
            take(scratch);
        }
    }

    /// Holds back the beginning of a character at the end of `bytes`, and returns what is before it.
    fn hold_unfinished<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let (whole, unfinished) = split_unfinished(bytes);
        if !unfinished.is_empty() {
            self.held[..unfinished.len()].copy_from_slice(unfinished);
            self.held_len = unfinished.len();
        }
        whole
    }

    /// How many bytes are held back: the beginning of a character, at most three.
    pub(crate) fn held(&self) -> usize {
        self.held_len
    }

    /// Tells the decoder that nothing follows: a character that never got its rest becomes U+FFFD.
    pub fn finish(&mut self, out: &mut String) {
        if self.held_len > 0 {
            self.held_len = 0;
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }

    /// Feeds the held character from the front of `bytes` and returns what is left of them.
    fn complete_held<'b>(&mut self, bytes: &'b [u8], out: &mut String) -> &'b [u8] {
        let mut rest = bytes;
        while self.held_len > 0 {
            let Some((&next, after)) = rest.split_first() else {
                break;
            };
            self.held[self.held_len] = next;
            match str::from_utf8(&self.held[..=self.held_len]) {
                Ok(character) => {
                    out.push_str(character);
                    self.held_len = 0;
                    rest = after;
                }
                Err(error) if error.error_len().is_none() => {
                    self.held_len += 1;
                    rest = after;
                }
                Err(_) => {
                    // What was held is the whole invalid sequence; `next` may start a good one, so it is not consumed.
                    out.push(char::REPLACEMENT_CHARACTER);
                    self.held_len = 0;
                }
            }
        }
        rest
    }
}

/// Splits off the beginning of a character at the end of `bytes`, to which some following bytes could still make a whole one.
fn split_unfinished(bytes: &[u8]) -> (&[u8], &[u8]) {
    for len in 1..=bytes.len().min(3) {
        let (whole, end) = bytes.split_at(bytes.len() - len);
        if end[0] & 0xc0 != 0x80 {
            let unfinished = matches!(str::from_utf8(end), Err(error) if error.valid_up_to() == 0 && error.error_len().is_none());
            return if unfinished {
                (whole, end)
            } else {
                (bytes, &[])
            };
        }
    }
    (bytes, &[])
}

/// Decodes bytes of which some are invalid and which do not end within a character.
fn decode_lossy(bytes: &[u8], out: &mut String) {
    /// One invalid byte is seldom alone, and a search for the next costs more than to look at each.
    const NEAR: usize = 256;
    let mut rest = bytes;
    while let Err(error) = str::from_utf8(rest) {
        let (valid, after) = rest.split_at(error.valid_up_to());
        // Checked a second time because the unchecked conversion is unsafe; only input with a fault pays for it.
        out.push_str(str::from_utf8(valid).unwrap_or_default());
        let near = if after.len() > NEAR {
            split_unfinished(&after[..NEAR]).0
        } else {
            after
        };
        for chunk in near.utf8_chunks() {
            out.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                out.push(char::REPLACEMENT_CHARACTER);
            }
        }
        rest = &after[near.len()..];
    }
    out.push_str(str::from_utf8(rest).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn decode_pieces<'b>(pieces: impl IntoIterator<Item = &'b [u8]>) -> String {
        let mut decoder = Utf8Decoder::new();
        let mut out = String::new();
        for piece in pieces {
            decoder.decode(piece, &mut out);
        }
        decoder.finish(&mut out);
        out
    }

    #[test]
    fn a_split_character_is_held_back_and_delivered_whole() {
        let mut decoder = Utf8Decoder::new();
        let mut seen = Vec::new();
        for byte in "aé€😀".as_bytes() {
            let mut out = String::new();
            decoder.decode(&[*byte], &mut out);
            seen.push(out);
        }
        assert_eq!(seen, ["a", "", "é", "", "", "€", "", "", "", "😀"]);
    }

    #[test]
    fn an_unfinished_character_at_the_end_is_one_replacement() {
        assert_eq!(decode_pieces([&b"ok \xf0\x9f\x98"[..]]), "ok \u{fffd}");
        assert_eq!(decode_pieces([&b""[..]]), "");
    }

    /// Bytes that are rich in the interesting cases: lead bytes, continuation bytes, whole characters, plain text.
    fn byte_soup() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            any::<u8>().prop_map(|byte| vec![byte]),
            (0x80u8..=0xff).prop_map(|byte| vec![byte]),
            any::<char>().prop_map(|c| c.to_string().into_bytes()),
            "[a-z\r\n]{0,9}".prop_map(String::into_bytes),
        ];
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn cuts_never_change_the_text(bytes in byte_soup(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20)) {
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let pieces = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            let expected = String::from_utf8_lossy(&bytes);
            let (mut decoder, mut scratch, mut lent) = (Utf8Decoder::new(), String::new(), String::new());
            pieces.clone().for_each(|piece| decoder.decode_to(piece, &mut scratch, |text| lent.push_str(text)));
            decoder.finish(&mut lent);
            prop_assert_eq!(lent, expected.as_ref());
            prop_assert_eq!(decode_pieces(pieces), expected);
        }
    }
}
