//! Paths in JSON: as text where they are text, else byte by byte. A folder's name need not be UTF-8.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&Path> for Stored {
    fn from(path: &Path) -> Self {
        path.to_str().map_or_else(
            || Self::Bytes(path.as_os_str().as_bytes().to_vec()),
            |text| Self::Text(text.to_owned()),
        )
    }
}

impl From<Stored> for PathBuf {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Text(text) => text.into(),
            Stored::Bytes(bytes) => OsString::from_vec(bytes).into(),
        }
    }
}

/// For a list of paths.
pub(super) mod list {
    use std::path::{Path, PathBuf};

    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::Stored;

    pub(in super::super) fn serialize<S: Serializer>(
        paths: &[PathBuf],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| Stored::from(Path::new(path))))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let stored = Vec::<Stored>::deserialize(deserializer)?;
        Ok(stored.into_iter().map(PathBuf::from).collect())
    }
}

/// For a path that need not be there.
pub(super) mod perhaps {
    use std::path::PathBuf;

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::Stored;

    #[expect(
        clippy::ref_option,
        reason = "serde hands over a reference to the field"
    )]
    pub(in super::super) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        path.as_deref().map(Stored::from).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<Stored>::deserialize(deserializer)?.map(PathBuf::from))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use pretty_assertions::assert_eq;

    use super::super::{Engine, Level, Sandbox};

    #[test]
    fn a_sandbox_survives_its_way_to_the_launcher() {
        let sandbox = Sandbox {
            level: Level::WorkspaceWrite,
            network: false,
            writable: vec![
                "/work/a b".into(),
                OsStr::from_bytes(b"/work/caf\xe9").into(),
            ],
            engine: Engine::Bubblewrap,
            bubblewrap: Some("/usr/bin/bwrap".into()),
            given_up: false,
        };
        let json = serde_json::to_string(&sandbox).unwrap();
        assert_eq!(
            json,
            r#"{"level":"workspace-write","network":false,"writable":["/work/a b",[47,119,111,114,107,47,99,97,102,233]],"engine":"bubblewrap","bubblewrap":"/usr/bin/bwrap","given_up":false}"#
        );
        assert_eq!(serde_json::from_str::<Sandbox>(&json).unwrap(), sandbox);
    }
}
