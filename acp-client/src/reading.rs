//! What of a message can be read by whoever gets it.
//!
//! Readers differ in what they take for JSON: one lets half a character (a lone surrogate) pass, another refuses the
//! whole text for it, and with it every frame of the same batch. So what cannot be read by all is mended or kept out
//! here, before anybody has seen it, and costs only itself.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::frame::{Frame, Kind};

/// Objects and lists in each other. Readers stop at 128, and an envelope adds some of its own.
const NESTING_LIMIT: u8 = 100;

/// A message that everybody can read.
#[derive(Debug)]
pub(crate) struct Readable {
    /// The message.
    pub(crate) frame: Frame,
    /// False when it had half characters in it.
    pub(crate) as_written: bool,
}

/// A message that not everybody can read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    /// What it would have been, as far as its beginning tells.
    pub(crate) kind: Kind,
    /// What is wrong with it.
    pub(crate) why: String,
}

/// Reads a message.
pub(crate) fn read(text: &str) -> Result<Readable, Unreadable> {
    let fault = match check(text) {
        Ok(()) => return readable(text, true),
        Err(fault) => fault,
    };
    let mended = with_whole_characters(text);
    if mended != text && check(&mended).is_ok() {
        return readable(&mended, false);
    }
    Err(Unreadable {
        kind: beginning(&mended).kind(),
        why: fault.to_string(),
    })
}

/// What a message would have been of which only this beginning is known.
pub(crate) fn kind_of_beginning(text: &str) -> Kind {
    beginning(&with_whole_characters(text)).kind()
}

fn readable(text: &str, as_written: bool) -> Result<Readable, Unreadable> {
    match Frame::parse(text) {
        Some(frame) => Ok(Readable { frame, as_written }),
        None => Err(Unreadable {
            kind: Kind::Other,
            why: "it is no JSON object".to_owned(),
        }),
    }
}

/// Reads all of `text` as the strictest reader does, and keeps nothing.
fn check(text: &str) -> serde_json::Result<()> {
    let mut reader = serde_json::Deserializer::from_str(text);
    Strict {
        room: NESTING_LIMIT,
    }
    .deserialize(&mut reader)?;
    reader.end()
}

/// A value of any kind, whose lists and objects may nest so deep.
#[derive(Clone, Copy)]
struct Strict {
    room: u8,
}

impl Strict {
    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        match self.room.checked_sub(1) {
            Some(room) => Ok(Self { room }),
            None => Err(E::custom(format_args!(
                "lists and objects in more than {NESTING_LIMIT} others"
            ))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        while items.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        while fields.next_key_seed(inner)?.is_some() {
            fields.next_value_seed(inner)?;
        }
        Ok(())
    }
}

/// The text with U+FFFD for each escaped half of a character that has no other half.
fn with_whole_characters(text: &str) -> String {
    let mut mended = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        mended.push_str(&rest[..at]);
        rest = &rest[at..];
        let escape = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                mended.push_str(r"\ufffd");
                rest = &rest[6..];
                continue;
            }
            (Some(_), _) => 6,
            // The character after a backslash is no backslash of its own.
            (None, _) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        mended.push_str(&rest[..escape]);
        rest = &rest[escape..];
    }
    mended.push_str(rest);
    mended
}

/// The UTF-16 unit that `text` begins with as an escape.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix(r"\u")?.get(..4)?;
    let all_digits = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    all_digits.then(|| u16::from_str_radix(digits, 16).ok())?
}

/// The fields of an object up to its first fault; the one that has it is there, without its value.
fn beginning(text: &str) -> Frame {
    let mut fields = Fields::default();
    // The fault is known already.
    let _ = serde_json::Deserializer::from_str(text).deserialize_map(&mut fields);
    if let Some(name) = fields.begun {
        fields.read.push((name, RawValue::NULL.to_owned()));
    }
    Frame::from(fields.read)
}

#[derive(Default)]
struct Fields {
    read: Vec<(String, Box<RawValue>)>,
    begun: Option<String>,
}

impl<'de> Visitor<'de> for &mut Fields {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value::<Box<RawValue>>();
            match value {
                Ok(value) => self.read.push((name, value)),
                Err(fault) => {
                    self.begun = Some(name);
                    return Err(fault);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Id;
    use pretty_assertions::assert_eq;

    fn outcome(text: &str) -> Result<(String, bool), (Kind, String)> {
        read(text)
            .map(|readable| (readable.frame.to_line(), readable.as_written))
            .map_err(|unreadable| (unreadable.kind, unreadable.why))
    }

    fn nested(levels: usize) -> String {
        format!(
            r#"{{"id":2,"result":{}{}}}"#,
            "[".repeat(levels - 1),
            "]".repeat(levels - 1)
        )
    }

    #[test]
    fn half_characters_are_replaced_and_whole_ones_left() {
        let table = [
            (
                r#"{"a":"\ud83d\ude00 \u00e9"}"#,
                r#"{"a":"\ud83d\ude00 \u00e9"}"#,
                true,
            ),
            (r#"{"a":"\ud83d"}"#, r#"{"a":"\ufffd"}"#, false),
            (r#"{"a":"\uDE00x"}"#, r#"{"a":"\ufffdx"}"#, false),
            (
                r#"{"a":"\ud83d\ud83d\ude00"}"#,
                r#"{"a":"\ufffd\ud83d\ude00"}"#,
                false,
            ),
            (r#"{"a":"\ud83d\u0041"}"#, r#"{"a":"\ufffd\u0041"}"#, false),
            // An escaped backslash before a "u" is no half of anything.
            (
                r#"{"a":"\\ud83d \ude00"}"#,
                r#"{"a":"\\ud83d \ufffd"}"#,
                false,
            ),
            (
                r#"{"a":{"\ud83d":["\ud83d"]}}"#,
                r#"{"a":{"\ufffd":["\ufffd"]}}"#,
                false,
            ),
        ];
        for (text, line, as_written) in table {
            assert_eq!(outcome(text), Ok((line.to_owned(), as_written)), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_still_says_what_it_would_have_been() {
        let id = |number: u64| Id::from(number);
        let table = [
            (
                r#"{"jsonrpc":"2.0","id":2,"result":{"x":NaN}}"#,
                Kind::Response { id: id(2) },
            ),
            (r#"{"id":3,"result":1e999}"#, Kind::Response { id: id(3) }),
            (
                r#"{"id":4,"method":"m","params":{"x":Infinity}}"#,
                Kind::Request {
                    id: id(4),
                    method: "m".to_owned(),
                },
            ),
            (
                r#"{"method":"m","params":"cut"#,
                Kind::Notification {
                    method: "m".to_owned(),
                },
            ),
            (r#"{"result":NaN,"id":5}"#, Kind::Other),
            ("[1,2]", Kind::Other),
            ("Welcome!", Kind::Other),
        ];
        for (text, kind) in table {
            assert_eq!(read(text).map_err(|it| it.kind).err(), Some(kind), "{text}");
        }
    }

    #[test]
    fn nesting_ends_before_readers_give_up() {
        assert_eq!(outcome(&nested(100)), Ok((nested(100), true)));
        let (kind, why) = outcome(&nested(101)).unwrap_err();
        assert_eq!(kind, Kind::Response { id: Id::from(2) });
        assert_eq!(
            why,
            "lists and objects in more than 100 others at line 1 column 118"
        );
        assert!(outcome(&nested(100_000)).is_err());
    }
}
