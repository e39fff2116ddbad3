//! What is set beside a log: the only thing of a session that its log does not tell.

use std::io::{self, Read as _};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::durable::{self, Stamp};
use super::names::Names;
use crate::session::SessionId;
use crate::store::Change;

/// The content of a sidecar.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Beside {
    /// A title that was set by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<SetTitle>,
    #[serde(default)]
    pub(super) archived: bool,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) config: Map<String, Value>,
}

/// A title, and when it was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SetTitle {
    pub(super) text: String,
    /// How many events the log had: a `title` event of a later number counts more.
    pub(super) after: u64,
}

impl Beside {
    /// Takes in a change that is made when the log has so many events.
    pub(super) fn change(&mut self, change: &Change, events: u64) {
        if let Some(title) = &change.title {
            self.title = Some(SetTitle {
                text: title.clone(),
                after: events,
            });
        }
        self.archived = change.archived.unwrap_or(self.archived);
        for (option, value) in &change.config {
            self.config.insert(option.clone(), value.clone());
        }
    }
}

/// Reads a sidecar. One that is missing says nothing, and one that cannot be understood is taken for missing: what it told is
/// lost, but the session is in its log. A fault of the system is an error.
pub(super) fn read(names: &Names, id: &SessionId) -> io::Result<(Beside, Option<Stamp>)> {
    let path = names.beside(id);
    let Some(there) = durable::absent(path.symlink_metadata())? else {
        return Ok((Beside::default(), None));
    };
    if !there.is_file() {
        tracing::warn!(path = %path.display(), "what was set of a session is no file, and is left out");
        return Ok((Beside::default(), Some(Stamp::of(&there))));
    }
    let Some((mut file, stamp)) = durable::absent(durable::open(&path))? else {
        return Ok((Beside::default(), None));
    };
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let beside = serde_json::from_slice(&text).unwrap_or_else(|error| {
        tracing::warn!(path = %path.display(), %error, "what was set of a session is damaged, and is left out");
        Beside::default()
    });
    Ok((beside, Some(stamp)))
}

/// Replaces a sidecar; durable when this returns. The caller keeps others from doing the same.
pub(super) fn write(names: &Names, id: &SessionId, beside: &Beside) -> io::Result<()> {
    let draft = names.beside_draft(id);
    let mut text = serde_json::to_vec(beside).map_err(io::Error::other)?;
    text.push(b'\n');
    let published = durable::write_draft(&draft, &text)
        .and_then(|()| std::fs::rename(&draft, names.beside(id)))
        .and_then(|()| durable::sync_folder(names.root()));
    if published.is_err() {
        let _ = durable::remove(&draft);
    }
    published
}
