//! The requests that came in, as tests look at them.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, Uri};
use serde_json::Value;

/// The headers that hold keys.
const SECRETS: [&str; 4] = [
    "authorization",
    "x-api-key",
    "x-goog-api-key",
    "proxy-authorization",
];

/// What stands for a key.
const PRESENT: &str = "(present)";

/// A request that came in.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRequest {
    /// The path, with the query where there is one.
    pub path: String,
    /// The headers by name. Keys are not kept: `(present)` stands for them.
    pub headers: BTreeMap<String, String>,
    /// The body; `null` where it is no JSON.
    pub body: Value,
}

impl RecordedRequest {
    pub(super) fn new(uri: &Uri, headers: &HeaderMap, body: Value) -> Self {
        let shown = |name: &str, value: &axum::http::HeaderValue| {
            if SECRETS.contains(&name) {
                PRESENT.to_owned()
            } else {
                String::from_utf8_lossy(value.as_bytes()).into_owned()
            }
        };
        Self {
            path: uri
                .path_and_query()
                .map_or_else(String::new, ToString::to_string),
            headers: headers
                .iter()
                .map(|(name, value)| (name.to_string(), shown(name.as_str(), value)))
                .collect(),
            body,
        }
    }
}

/// The key of a request, in whichever way it is borne.
pub(super) fn key(headers: &HeaderMap) -> Option<&str> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    text("x-api-key")
        .or_else(|| text("authorization").and_then(|value| value.strip_prefix("Bearer ")))
}
