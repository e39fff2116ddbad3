//! What is too large for a log: the bytes of a terminal card, a picture. Named by their content.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// What the names begin with.
const SCHEME: &str = "sha256:";

/// The name of some bytes: `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlobId(String);

impl BlobId {
    /// The name of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        use fmt::Write as _;
        let mut name = String::from(SCHEME);
        for byte in Sha256::digest(bytes) {
            // Writing to a string does not fail.
            let _ = write!(name, "{byte:02x}");
        }
        Self(name)
    }

    /// The name as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The digits alone: fit for a file's name.
    pub fn digits(&self) -> &str {
        self.0.strip_prefix(SCHEME).unwrap_or(&self.0)
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A text that is no name of a blob.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no blob's name: sha256: and 64 hexadecimal digits are")]
pub struct NoBlobId(String);

impl FromStr for BlobId {
    type Err = NoBlobId;

    fn from_str(text: &str) -> Result<Self, NoBlobId> {
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match text.strip_prefix(SCHEME) {
            Some(digits) if digits.len() == 64 && digits.bytes().all(digit) => {
                Ok(Self(text.to_owned()))
            }
            _ => Err(NoBlobId(text.to_owned())),
        }
    }
}

impl TryFrom<String> for BlobId {
    type Error = NoBlobId;

    fn try_from(text: String) -> Result<Self, NoBlobId> {
        text.parse()
    }
}

impl From<BlobId> for String {
    fn from(id: BlobId) -> Self {
        id.0
    }
}

/// Bytes under the name of their content. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Blob {
    id: BlobId,
    bytes: Arc<[u8]>,
}

impl Blob {
    /// These bytes.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        Self {
            id: BlobId::of(&bytes),
            bytes,
        }
    }

    /// The name.
    pub fn id(&self) -> &BlobId {
        &self.id
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Blob({}, {} bytes)", self.id, self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_named_by_their_content() {
        let name = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Blob::new([]).id().as_str(), name);
        assert_eq!(name.parse::<BlobId>().unwrap(), BlobId::of(b""));
        for wrong in [
            "",
            "sha256:",
            "sha256:E3B0",
            &name[1..],
            &format!("{name}0"),
        ] {
            assert!(wrong.parse::<BlobId>().is_err(), "{wrong}");
        }
        assert!(serde_json::from_str::<BlobId>("\"/etc/passwd\"").is_err());
    }
}
