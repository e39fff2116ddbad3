//! One JSON-RPC message, read no deeper than routing needs.
//!
//! The fields keep their exact text: what an agent or a page wrote reaches the other side unchanged, whatever it holds,
//! except where the hub puts an id of its own.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A JSON object whose fields are raw text, in their order.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    fields: Vec<(String, Box<RawValue>)>,
}

/// What a frame is to JSON-RPC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It has a method and wants an answer.
    Request {
        /// The sender's id.
        id: Id,
        /// The method's name.
        method: String,
    },
    /// It has a method and no id (or a null one).
    Notification {
        /// The method's name.
        method: String,
    },
    /// It answers the request with this id.
    Response {
        /// The id of the request.
        id: Id,
    },
    /// None of these: an answer to no request, or no JSON-RPC at all.
    Other,
}

/// A request id as its sender wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Id(String);

impl Id {
    /// The id in a form that is equal for equal ids: escapes and a fraction of zero do not matter.
    pub(crate) fn key(&self) -> String {
        match serde_json::from_str::<serde_json::Value>(&self.0) {
            Ok(serde_json::Value::Number(number)) if number.is_f64() => match number.as_f64() {
                Some(float) if float.fract() == 0.0 => format!("{float:.0}"),
                _ => number.to_string(),
            },
            Ok(value) => value.to_string(),
            Err(_) => self.0.clone(),
        }
    }

    /// The number that this id stands for, also where an agent gives it back as a string.
    pub(crate) fn number(&self) -> Option<u64> {
        self.key().trim_matches('"').parse().ok()
    }

    /// The id's JSON text.
    pub(crate) fn as_json(&self) -> &str {
        &self.0
    }
}

impl From<u64> for Id {
    fn from(number: u64) -> Self {
        Self(number.to_string())
    }
}

impl From<&RawValue> for Id {
    fn from(raw: &RawValue) -> Self {
        Self(raw.get().to_owned())
    }
}

impl Frame {
    /// Reads a JSON object; `None` for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// What the frame is.
    pub(crate) fn kind(&self) -> Kind {
        let id = self
            .get("id")
            .filter(|raw| raw.get() != "null")
            .map(Id::from);
        let method = self
            .get("method")
            .and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
        match (id, method) {
            (Some(id), Some(method)) => Kind::Request { id, method },
            (None, Some(method)) => Kind::Notification { method },
            (Some(id), None) if self.get("result").is_some() || self.get("error").is_some() => {
                Kind::Response { id }
            }
            _ => Kind::Other,
        }
    }

    /// The text of a field; of the last one where it is repeated, as JSON readers do.
    pub(crate) fn get(&self, name: &str) -> Option<&RawValue> {
        self.fields
            .iter()
            .rev()
            .find(|(field, _)| field == name)
            .map(|(_, raw)| &**raw)
    }

    /// The same frame under another id.
    pub(crate) fn with_id(&self, id: &Id) -> Self {
        self.with("id", id.as_json())
    }

    /// The same frame with `name` replaced by the JSON text `json` (unchanged where that is no JSON).
    pub(crate) fn with(&self, name: &str, json: &str) -> Self {
        let mut changed = self.clone();
        if let Ok(raw) = RawValue::from_string(json.to_owned()) {
            for (field, value) in &mut changed.fields {
                if field == name {
                    value.clone_from(&raw);
                }
            }
        }
        changed
    }

    /// The frame as one line: line ends inside it are only white space between tokens, since a JSON string cannot hold
    /// a bare one.
    pub(crate) fn to_line(&self) -> String {
        let mut line = String::with_capacity(
            2 + self
                .fields
                .iter()
                .map(|(name, raw)| name.len() + raw.get().len() + 4)
                .sum::<usize>(),
        );
        line.push('{');
        for (index, (name, raw)) in self.fields.iter().enumerate() {
            if index > 0 {
                line.push(',');
            }
            line.push_str(&quoted(name));
            line.push(':');
            line.push_str(raw.get());
        }
        line.push('}');
        if line.contains(['\n', '\r']) {
            line.replace(['\n', '\r'], " ")
        } else {
            line
        }
    }
}

/// A string as JSON text.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// An error answer as one line. `data` is JSON text.
pub(crate) fn error_line(id: &str, code: i32, message: &str, data: Option<&str>) -> String {
    let message = quoted(message);
    let data = data
        .map(|data| format!(r#","data":{data}"#))
        .unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}{data}}}}}"#)
}

/// An answer as one line. `result` is JSON text.
pub(crate) fn result_line(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

impl From<Vec<(String, Box<RawValue>)>> for Frame {
    fn from(fields: Vec<(String, Box<RawValue>)>) -> Self {
        Self { fields }
    }
}

impl<'de> Deserialize<'de> for Frame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Frame;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Frame, A::Error> {
                let mut fields = Vec::with_capacity(4);
                while let Some(field) = map.next_entry::<String, Box<RawValue>>()? {
                    fields.push(field);
                }
                Ok(Frame { fields })
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn kind(text: &str) -> Option<Kind> {
        Frame::parse(text).map(|frame| frame.kind())
    }

    #[test]
    fn kinds_of_frames() {
        let id = |text: &str| Id(text.to_owned());
        let table = [
            (
                r#"{"jsonrpc":"2.0","id":"a","method":"m"}"#,
                Some(Kind::Request {
                    id: id("\"a\""),
                    method: "m".into(),
                }),
            ),
            (
                r#"{"id":null,"method":"m"}"#,
                Some(Kind::Notification { method: "m".into() }),
            ),
            (
                r#"{"method":"m"}"#,
                Some(Kind::Notification { method: "m".into() }),
            ),
            (
                r#"{"id":3,"result":null}"#,
                Some(Kind::Response { id: id("3") }),
            ),
            (
                r#"{"id":3,"error":{}}"#,
                Some(Kind::Response { id: id("3") }),
            ),
            (r#"{"id":null,"error":{}}"#, Some(Kind::Other)),
            (r#"{"id":3,"method":7}"#, Some(Kind::Other)),
            ("[]", None),
            ("3", None),
            ("starting up...", None),
            (r#"{"id":3} trailing"#, None),
        ];
        for (text, expected) in table {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn a_changed_id_leaves_everything_else_as_written() {
        let frame = Frame::parse(
            "{\"jsonrpc\": \"2.0\", \"id\": \"x\",\n \"params\": {\"n\": 1.50, \"s\": \"\\u00e9\"}}",
        );
        assert_eq!(
            frame.map(|frame| frame.with_id(&Id::from(7)).to_line()),
            Some(r#"{"jsonrpc":"2.0","id":7,"params":{"n": 1.50, "s": "\u00e9"}}"#.to_owned())
        );
    }

    #[test]
    fn equal_ids_have_equal_keys() {
        let table = [
            ("1", "1"),
            ("1.0", "1"),
            (r#""\u00e9""#, "\"é\""),
            ("1.5", "1.5"),
        ];
        for (text, key) in table {
            assert_eq!(Id(text.to_owned()).key(), key);
        }
        assert_eq!(Id("\"12\"".to_owned()).number(), Some(12));
        assert_eq!(Id("\"x\"".to_owned()).number(), None);
    }
}
