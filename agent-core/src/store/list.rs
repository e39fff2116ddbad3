//! What is known of sessions without opening their logs.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Damage, SessionStore, StoreError};
use crate::session::event::{Event, EventKind};
use crate::session::{SessionHeader, SessionId};

/// A session as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// Its header.
    pub header: SessionHeader,
    /// Its title: that of the last `title` event or of a later [`Change`].
    #[serde(default)]
    pub title: Option<String>,
    /// Put away by the person: not listed unless asked for.
    #[serde(default)]
    pub archived: bool,
    /// Options of the session, by name.
    #[serde(default)]
    pub config: Map<String, Value>,
    /// When it was begun or forked, or its last event happened, whichever is later: milliseconds of Unix time.
    pub updated_at: u64,
    /// How many events it has; the number of the next one.
    pub events: u64,
}

impl SessionSummary {
    /// A session before its first event.
    pub fn new(header: SessionHeader) -> Self {
        Self {
            updated_at: header.created_at,
            header,
            title: None,
            archived: false,
            config: Map::new(),
            events: 0,
        }
    }

    /// Takes in what an event that was appended changes.
    pub fn note(&mut self, event: &Event) {
        self.events = event.seq + 1;
        self.updated_at = self.updated_at.max(event.at);
        if let Some(EventKind::Title { title }) = event.what.known() {
            self.title = Some(title.clone());
        }
    }

    /// Takes in a change.
    pub fn change(&mut self, change: &Change) {
        if let Some(title) = &change.title {
            self.title = Some(title.clone());
        }
        if let Some(archived) = change.archived {
            self.archived = archived;
        }
        for (option, value) in &change.config {
            self.config.insert(option.clone(), value.clone());
        }
    }

    /// Its place in a list.
    pub fn cursor(&self) -> Cursor {
        Cursor {
            updated_at: self.updated_at,
            id: self.header.id.clone(),
        }
    }
}

/// What is changed beside the log; what is left out stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change {
    /// Another title.
    pub title: Option<String>,
    /// Put away, or taken out again.
    pub archived: Option<bool>,
    /// Options to set.
    pub config: Map<String, Value>,
}

/// Which sessions are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListRequest {
    /// Only those of this very folder.
    pub cwd: Option<PathBuf>,
    /// Those put away, too.
    pub archived: bool,
    /// Behind this place: [`SessionPage::next`] of the page before.
    pub after: Option<Cursor>,
    /// At most so many; 0 counts as 1.
    pub limit: usize,
}

/// A page of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionPage {
    /// Newest change first; of the same time, the later id first.
    pub sessions: Vec<SessionSummary>,
    /// Where the next page begins; none on the last one.
    pub next: Option<Cursor>,
    /// On the first page: sessions of the store of which not even a summary can be read, so that they stand in no list.
    /// They hide no other session, and are not hidden.
    pub damaged: Vec<Damage>,
}

/// A place in a list: behind the session that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// When that session was changed.
    pub updated_at: u64,
    /// Its id.
    pub id: SessionId,
}

impl Cursor {
    /// Whether a session stands behind this place.
    pub fn precedes(&self, session: &SessionSummary) -> bool {
        (session.updated_at, &session.header.id) < (self.updated_at, &self.id)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.updated_at, self.id)
    }
}

impl FromStr for Cursor {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let read = || {
            let (updated_at, id) = text.split_once('.')?;
            let canonical = !id.is_empty() && updated_at.bytes().all(|byte| byte.is_ascii_digit());
            canonical.then_some(Self {
                updated_at: updated_at.parse().ok()?,
                id: SessionId::from(id.to_owned()),
            })
        };
        read().ok_or_else(|| StoreError::UnknownCursor {
            cursor: text.to_owned(),
        })
    }
}

/// How many sessions are looked at together when a store has no index of ids.
const PAGE: usize = 500;

/// The answer to [`SessionStore::ids`] of a store that has no quicker way: every page of its list is looked through.
pub(super) async fn ids_of_pages<S: SessionStore + ?Sized>(
    store: &S,
    beginning: &str,
    limit: usize,
) -> Result<Vec<SessionId>, StoreError> {
    let mut request = ListRequest {
        archived: true,
        limit: PAGE,
        ..ListRequest::default()
    };
    let mut found = Vec::new();
    loop {
        let page = store.list(&request).await?;
        let ids = page.sessions.into_iter().map(|session| session.header.id);
        found.extend(ids.filter(|id| id.as_str().starts_with(beginning)));
        match page.next {
            Some(next) => request.after = Some(next),
            None => break,
        }
    }
    found.sort();
    found.truncate(limit);
    Ok(found)
}
