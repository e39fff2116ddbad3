//! `placard sessions recover`: a new session from what can be read of a damaged one, which stays as it is.

use std::collections::{BTreeMap, BTreeSet};

use agent_core::Agent;
use agent_core::session::event::{Entry, Event, EventKind};
use agent_core::session::mend::{Mended, mend};
use agent_core::session::repair::{Remains, Repair, read_remains, repair};
use agent_core::session::standing::{self, Standing};
use agent_core::session::{SCHEMA_VERSION, SessionHeader, SessionId};
use agent_core::store::interchange::referred;
use agent_core::store::{
    Blob, BlobId, Change, Damage, Salvage, SessionStore, SessionSummary, StoreError,
};
use serde_json::json;

use super::viewer::{Viewer, one_line};
use super::{Answer, json};
use crate::error::ProgramError;

/// So many events are appended at once, with what they refer to.
const AT_ONCE: usize = 256;

/// So many places of damage are named in the new session.
const NAMED: usize = 5;

/// Said of a model that nobody knows any more, so that whichever goes on is another.
const UNKNOWN_MODEL: &str = "unknown";

/// What was lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Lost {
    damage: Vec<Damage>,
    /// Numbers of events that are not there: first and last.
    missing: Vec<(u64, u64)>,
    /// Events that said nothing without those.
    left_out: u64,
    /// Outputs that are referred to and cannot be read.
    outputs: usize,
}

/// Writes a new session from what can be read of a damaged one, and tells what was lost.
pub(crate) async fn recover(
    agent: &Agent,
    store: &dyn SessionStore,
    id: &SessionId,
    as_json: bool,
    viewer: &Viewer,
) -> Result<Answer, ProgramError> {
    let Salvage {
        header,
        events,
        damage,
    } = store.salvage(id).await?;
    let mut lost = Lost {
        missing: missing(&events),
        damage,
        ..Lost::default()
    };
    if lost == Lost::default() {
        return Ok(in_order(id, as_json));
    }
    if events.is_empty() {
        return Err(ProgramError::NothingReadable {
            id: id.clone(),
            damage: one_line(&damage_words(&lost.damage)),
        });
    }
    // What is known of a damaged session beside its log, if that can be read.
    let summary = store.summary(id).await.ok().flatten();
    let original = header.or_else(|| summary.as_ref().map(|summary| summary.header.clone()));
    let original = match original {
        Some(header) => header,
        None => header_of(id, &events)?,
    };
    let copy = SessionHeader {
        id: SessionId::fresh(),
        created_at: viewer.now,
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        schema_version: SCHEMA_VERSION,
        forked_from: Some(id.clone()),
        ..original
    };
    let mut mended = mend(&copy, events);
    lost.left_out = mended.left_out;
    let remains = remains(agent, id, &mended).await?;
    let Repair { events, blobs } = repair(&mended.standing, &remains);
    for kind in events {
        push(&mut mended, kind, viewer.now);
    }
    let writing = Writing {
        store,
        original: id,
        header: &copy,
        repaired: blobs,
    };
    writing.all(mended, &mut lost, viewer.now).await?;
    if let Some(change) = summary.and_then(|summary| kept_beside(&summary)) {
        store.update(&copy.id, &change).await?;
    }
    Ok(told(id, &copy.id, &lost, as_json))
}

/// Ranges of numbers that no event has.
fn missing(events: &[Event]) -> Vec<(u64, u64)> {
    let mut next = 0;
    let mut missing = Vec::new();
    for event in events {
        if event.seq > next {
            missing.push((next, event.seq - 1));
        }
        next = event.seq + 1;
    }
    missing
}

/// A header for a log that has none: as far as its events tell.
fn header_of(id: &SessionId, events: &[Event]) -> Result<SessionHeader, ProgramError> {
    let mut header = SessionHeader {
        id: id.clone(),
        cwd: std::env::current_dir().map_err(ProgramError::NoCurrentFolder)?,
        additional_directories: Vec::new(),
        created_at: events.first().map_or(0, |event| event.at),
        program_version: String::new(),
        model: UNKNOWN_MODEL.to_owned(),
        schema_version: SCHEMA_VERSION,
        forked_from: None,
    };
    // Where it went is known only from where it was told to go.
    for event in events {
        if let Some(EventKind::Config { option, value }) = event.what.known()
            && option == standing::CWD
            && let Some(cwd) = value.as_str()
        {
            header.cwd = cwd.into();
            break;
        }
    }
    Ok(header)
}

/// What the commands that were interrupted had printed, under the new ids of their calls.
async fn remains(
    agent: &Agent,
    id: &SessionId,
    mended: &Mended,
) -> Result<BTreeMap<String, Remains>, ProgramError> {
    let outputs = agent.outputs(id);
    let former = former(&mended.standing, mended);
    let reading = {
        let outputs = outputs.clone();
        tokio::task::spawn_blocking(move || read_remains(&former, &outputs))
    };
    let read = reading
        .await
        .unwrap_or_else(|fault| Err(std::io::Error::other(fault)));
    let mut found = read.map_err(|source| ProgramError::File {
        path: outputs,
        source,
    })?;
    let named = |(name, former): (&String, &String)| Some((name.clone(), found.remove(former)?));
    Ok(mended.former_ids.iter().filter_map(named).collect())
}

/// Where the log stands, under the former ids of its calls.
fn former(standing: &Standing, mended: &Mended) -> Standing {
    let former = |name: &String| mended.former_ids.get(name).cloned();
    let mut standing = standing.clone();
    standing.background = standing.background.iter().filter_map(former).collect();
    standing
        .open
        .retain_mut(|open| match former(&open.call_id) {
            Some(name) => {
                open.call_id = name;
                true
            }
            // It was added: nobody has run it under this name.
            None => false,
        });
    standing
}

fn push(mended: &mut Mended, kind: EventKind, at: u64) {
    let seq = mended.standing.events;
    mended.standing.note(Some(&kind));
    mended.events.push(Event {
        seq,
        at,
        what: Entry::Known(kind),
    });
}

/// A title, options and the like that no event tells.
fn kept_beside(summary: &SessionSummary) -> Option<Change> {
    let change = Change {
        title: summary.title.clone(),
        archived: summary.archived.then_some(true),
        config: summary.config.clone(),
    };
    (change != Change::default()).then_some(change)
}

/// Writing the new session.
struct Writing<'w> {
    store: &'w dyn SessionStore,
    original: &'w SessionId,
    header: &'w SessionHeader,
    /// What the repair has found.
    repaired: Vec<Blob>,
}

impl Writing<'_> {
    /// Writes all events, and at the end what was lost; nothing stays of a session that cannot be written whole.
    async fn all(&self, mut mended: Mended, lost: &mut Lost, now: u64) -> Result<(), StoreError> {
        let id = &self.header.id;
        let mut writer = self.store.writer(id).await?;
        let mut unread = BTreeSet::new();
        let writing = async {
            for events in mended.events.chunks(AT_ONCE) {
                let blobs = self.blobs(events, &mut unread).await?;
                writer.append(self.header, events, &blobs).await?;
            }
            lost.outputs = unread.len();
            let from = mended.events.len();
            let text = notice(self.original, lost);
            push(&mut mended, EventKind::Notice { text }, now);
            let notice = mended.events.get(from..).unwrap_or_default();
            writer.append(self.header, notice, &[]).await
        };
        let written = writing.await;
        writer.release().await;
        if written.is_err()
            && let Err(fault) = self.store.delete(id).await
        {
            tracing::error!(session = %id, %fault, "a session that was not written whole stays");
        }
        written
    }

    async fn blobs(
        &self,
        events: &[Event],
        unread: &mut BTreeSet<BlobId>,
    ) -> Result<Vec<Blob>, StoreError> {
        let mut blobs = Vec::new();
        for wanted in events.iter().flat_map(referred) {
            if let Some(found) = self.repaired.iter().find(|blob| *blob.id() == wanted) {
                blobs.push(found.clone());
                continue;
            }
            let read = match self.store.blob(self.original, &wanted).await {
                Ok(bytes) => bytes.map(Blob::new),
                // Whatever else is damaged.
                Err(StoreError::Damaged { .. } | StoreError::Corrupt { .. }) => None,
                Err(fault) => return Err(fault),
            };
            match read.filter(|blob| *blob.id() == wanted) {
                Some(blob) => blobs.push(blob),
                None => _ = unread.insert(wanted),
            }
        }
        Ok(blobs)
    }
}

// ---- words -----------------------------------------------------------------------------------------------------

fn in_order(id: &SessionId, as_json: bool) -> Answer {
    if as_json {
        let nothing = json!({"id": null, "recovered_from": id, "damage": [], "missing": [], "left_out": 0, "lost_outputs": 0});
        return Answer::text(json::line(&nothing));
    }
    Answer {
        notes: vec![format!(
            "session {id} is in order: there is nothing to recover"
        )],
        ..Answer::default()
    }
}

fn told(original: &SessionId, copy: &SessionId, lost: &Lost, as_json: bool) -> Answer {
    if as_json {
        return Answer::text(json::line(&json!({
            "id": copy,
            "recovered_from": original,
            "damage": lost.damage.iter().map(json::damage).collect::<Vec<_>>(),
            "missing": lost.missing,
            "left_out": lost.left_out,
            "lost_outputs": lost.outputs,
        })));
    }
    let mut notes = vec![format!(
        "session {original} was left as it is; what could be read of it is in the new session"
    )];
    notes.extend(lost_lines(lost));
    Answer {
        text: format!("{copy}\n"),
        notes,
        faults: Vec::new(),
    }
}

/// What the new session says of its origin.
fn notice(original: &SessionId, lost: &Lost) -> String {
    format!(
        "This session is what could be read of session {original}. {}.",
        lost_lines(lost).join("; ")
    )
}

fn lost_lines(lost: &Lost) -> Vec<String> {
    let mut lines: Vec<String> = lost
        .damage
        .iter()
        .take(NAMED)
        .map(|damage| format!("damaged: {}", one_line(&damage.to_string())))
        .collect();
    if lost.damage.len() > NAMED {
        lines.push(format!(
            "and {} more places are damaged",
            lost.damage.len() - NAMED
        ));
    }
    lines.extend(lost.missing.iter().map(|(first, last)| {
        if first == last {
            format!("lost: event {first}")
        } else {
            format!("lost: events {first} to {last}")
        }
    }));
    match lost.left_out {
        0 => {}
        1 => lines.push("left out: 1 event that says nothing without what is lost".to_owned()),
        more => lines.push(format!(
            "left out: {more} events that say nothing without what is lost"
        )),
    }
    match lost.outputs {
        0 => {}
        1 => lines.push("lost: 1 output".to_owned()),
        more => lines.push(format!("lost: {more} outputs")),
    }
    lines
}

fn damage_words(damage: &[Damage]) -> String {
    let words: Vec<String> = damage.iter().take(NAMED).map(ToString::to_string).collect();
    words.join("; ")
}

#[cfg(test)]
mod tests;
