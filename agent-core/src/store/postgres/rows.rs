//! Rows of the schema as what they stand for, and the other way round.

use std::borrow::Cow;
use std::fmt::Display;

use serde_json::{Map, Value};

use crate::session::event::Event;
use crate::session::{SessionHeader, SessionId};
use crate::store::{Cursor, Damage, DamagedAt, SessionSummary, StoreError};

/// The columns of a [`SummaryRow`].
macro_rules! summary_columns {
    () => {
        "sessions.id, header, title, archived, config, updated_at, sessions.events"
    };
}
pub(super) use summary_columns;

/// Where events are, for a message.
const EVENTS: &str = "the table of events";

/// What the table of sessions knows of one.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct SummaryRow {
    pub(super) id: String,
    header: String,
    title: Option<String>,
    archived: bool,
    config: String,
    updated_at: i64,
    pub(super) events: i64,
}

impl SummaryRow {
    /// Its place in a list.
    pub(super) fn cursor(&self) -> Cursor {
        Cursor {
            updated_at: self.updated_at.cast_unsigned(),
            id: SessionId::from(self.id.clone()),
        }
    }

    /// The header alone, where it can be read.
    pub(super) fn header(&self) -> Option<SessionHeader> {
        serde_json::from_str(&self.header).ok()
    }

    /// What it says, or what is wrong with it.
    pub(super) fn read(self) -> Result<SessionSummary, Damage> {
        let damaged = |what: &str, reason: &dyn Display| damaged_row(&self.id, what, reason);
        let title = self.title.as_deref().map(serde_json::from_str::<String>);
        let header: SessionHeader =
            serde_json::from_str(&self.header).map_err(|error| damaged("header", &error))?;
        if header.id.as_str() != self.id {
            return Err(damaged("header", &"it is another session's"));
        }
        Ok(SessionSummary {
            header,
            title: title
                .transpose()
                .map_err(|error| damaged("title", &error))?,
            archived: self.archived,
            config: read_config(&self.id, &self.config)?,
            updated_at: self.updated_at.cast_unsigned(),
            events: self.events.cast_unsigned(),
        })
    }
}

/// The options of a session.
pub(super) fn read_config(id: &str, config: &str) -> Result<Map<String, Value>, Damage> {
    serde_json::from_str(config).map_err(|error| damaged_row(id, "config", &error))
}

fn damaged_row(id: &str, what: &str, reason: &dyn Display) -> Damage {
    Damage {
        place: format!("the table of sessions, {what} of {id}"),
        at: None,
        reason: reason.to_string(),
    }
}

/// An event.
pub(super) fn read_event(seq: i64, at: i64, what: &str) -> Result<Event, Damage> {
    Ok(Event {
        seq: seq.cast_unsigned(),
        at: at.cast_unsigned(),
        what: serde_json::from_str(what).map_err(|error| Damage {
            place: EVENTS.to_owned(),
            at: Some(DamagedAt::Event(seq.cast_unsigned())),
            reason: error.to_string(),
        })?,
    })
}

/// An event that should be there.
pub(super) fn missing_event(seq: u64) -> Damage {
    Damage {
        place: EVENTS.to_owned(),
        at: Some(DamagedAt::Event(seq)),
        reason: "it is missing".to_owned(),
    }
}

/// Of a session whose log has not all its events.
pub(super) fn damaged_log(id: &SessionId, said: i64, there: i64) -> StoreError {
    StoreError::Damaged {
        id: id.clone(),
        damage: Damage {
            place: EVENTS.to_owned(),
            at: None,
            reason: format!("{said} events were stored, and {there} of them are there"),
        },
    }
}

/// Whether there can be a session of this name: PostgreSQL's text holds no NUL.
pub(super) fn can_be(id: &SessionId) -> bool {
    !id.as_str().contains('\0')
}

/// A text that is only compared, with something else for what PostgreSQL's text does not hold.
pub(super) fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// PostgreSQL's integers are signed. Numbers of events and places in lists stay far below the limit.
pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn what_is_wrong_with_a_row_is_told_with_its_place() {
        let row = |header: &str, title: Option<&str>, config: &str| SummaryRow {
            id: "s".to_owned(),
            header: header.to_owned(),
            title: title.map(str::to_owned),
            archived: false,
            config: config.to_owned(),
            updated_at: 1,
            events: 1,
        };
        let header = r#"{"id":"s","cwd":"/","created_at":1,"program_version":"","model":"","schema_version":1}"#;
        assert!(row(header, Some("\"a\\u0000b\""), "{}").read().is_ok());
        for (row, place) in [
            (row("{}", None, "{}"), "header"),
            (row(header, Some("bare"), "{}"), "title"),
            (row(header, None, "[]"), "config"),
            (row(&header.replace("\"s\"", "\"t\""), None, "{}"), "header"),
        ] {
            let damage = row.read().unwrap_err();
            assert_eq!(damage.place, format!("the table of sessions, {place} of s"));
        }
    }
}
