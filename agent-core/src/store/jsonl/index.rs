//! A cache of what every log tells, so that lists open no logs but those that changed.
//!
//! The index is a file of lines, each of which replaces what earlier ones told of a session. Every line bears the state of
//! the log (or sidecar) that it is of, and counts for nothing once that has changed: the index may be stale, torn or gone, and
//! the lists stay right.

use std::collections::{HashMap, HashSet};
use std::fs::OpenOptions;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::beside::{self, Beside};
use super::durable::{self, Stamp, absent, fault};
use super::facts::{self, Facts};
use super::lines::Unreadable;
use super::names::{self, Meaning, Names};
use super::removing;
use super::right::FolderRight;
use crate::session::SessionId;
use crate::store::{Damage, SessionSummary, StoreError};

/// A line of the index.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct IndexLine {
    id: SessionId,
    /// The state that it is of.
    stamp: Stamp,
    #[serde(flatten)]
    told: Told,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Told {
    /// By the log.
    Log(Facts),
    /// By the sidecar.
    Beside(Beside),
}

impl IndexLine {
    /// What a log tells.
    pub(super) fn log(stamp: Stamp, facts: Facts) -> Self {
        Self {
            id: facts.header().id.clone(),
            stamp,
            told: Told::Log(facts),
        }
    }
}

/// Adds lines to the index. It is only a cache: what fails here is found out again.
pub(super) fn add(names: &Names, lines: &[IndexLine]) {
    let write = || -> io::Result<()> {
        let mut text = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut text, line)?;
            text.push(b'\n');
        }
        let no_link = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
        OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .custom_flags(no_link)
            .open(names.index())?
            .write_all(&text)
    };
    if let Err(error) = write() {
        tracing::debug!(path = %names.index().display(), %error, "the index of sessions was not written");
    }
}

/// The index as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Index {
    sessions: HashMap<SessionId, Known>,
    /// Which file was read, and how far in bytes.
    file: Option<(u64, u64)>,
    /// How many lines that file has.
    lines: usize,
}

#[derive(Debug, Default)]
struct Known {
    log: Option<(Stamp, Facts)>,
    beside: Option<(Stamp, Beside)>,
}

/// A session that was looked up.
#[derive(Debug)]
pub(super) struct Entry<'i> {
    pub(super) facts: &'i Facts,
    pub(super) beside: Option<&'i Beside>,
}

impl Entry<'_> {
    pub(super) fn summary(&self) -> SessionSummary {
        self.facts.with(self.beside)
    }

    /// Put away by the person.
    pub(super) fn archived(&self) -> bool {
        self.beside.is_some_and(|beside| beside.archived)
    }
}

/// All sessions of a folder.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) sessions: Vec<SessionId>,
    /// Logs without a readable header.
    pub(super) damaged: Vec<Damage>,
}

impl Index {
    /// What is known of a session; `None` without a log. The log is opened only if it has changed.
    pub(super) fn look_up(
        &mut self,
        names: &Names,
        id: &SessionId,
    ) -> Result<Option<Entry<'_>>, StoreError> {
        if !self.knows(names, id)? {
            self.read_file(names);
        }
        let mut news = Vec::new();
        let found = self.bring_up_to_date(names, id, true, &mut news);
        if !news.is_empty() {
            add(names, &news);
        }
        Ok(found?.then(|| self.entry(id)).flatten())
    }

    /// What was last found out of a session.
    pub(super) fn entry(&self, id: &SessionId) -> Option<Entry<'_>> {
        let known = self.sessions.get(id)?;
        Some(Entry {
            facts: &known.log.as_ref()?.1,
            beside: known.beside.as_ref().map(|(_, beside)| beside),
        })
    }

    /// Looks at every log's state and reads those that have changed.
    pub(super) fn survey(&mut self, names: &Names) -> Result<Survey, StoreError> {
        self.read_file(names);
        let root = names.root();
        let mut survey = Survey::default();
        let Some(folder) = absent(std::fs::read_dir(root)).map_err(fault(root, "listed"))? else {
            self.sessions.clear();
            return Ok(survey);
        };
        let mut logs = Vec::new();
        let mut set_beside = HashSet::new();
        for file in folder {
            let file = file.map_err(fault(root, "listed"))?.file_name();
            match names::meaning(&file) {
                Some(Meaning::Log(id)) => logs.push(id),
                Some(Meaning::Beside(id)) => _ = set_beside.insert(id),
                Some(Meaning::Draft(id)) => removing::sweep(names, &id),
                None => {}
            }
        }
        let mut news = Vec::new();
        for id in logs {
            let beside = set_beside.contains(&id);
            match self.bring_up_to_date(names, &id, beside, &mut news) {
                Ok(true) => survey.sessions.push(id),
                Ok(false) => {}
                Err(StoreError::Damaged { damage, .. }) => survey.damaged.push(damage),
                Err(error @ StoreError::Newer { .. }) => survey.damaged.push(Damage {
                    place: names.log(&id).display().to_string(),
                    at: None,
                    reason: error.to_string(),
                }),
                Err(error) => return Err(error),
            }
        }
        let there: HashSet<&SessionId> = survey.sessions.iter().collect();
        self.sessions.retain(|id, _| there.contains(id));
        self.write_file(names, &news);
        Ok(survey)
    }

    /// Whether what is known is still true.
    fn knows(&self, names: &Names, id: &SessionId) -> Result<bool, StoreError> {
        let path = names.log(id);
        let there = absent(path.symlink_metadata()).map_err(fault(&path, "read"))?;
        let known = self.sessions.get(id).and_then(|known| known.log.as_ref());
        Ok(there.is_some_and(|there| known.is_some_and(|(stamp, _)| *stamp == Stamp::of(&there))))
    }

    /// Looks at the states of log and sidecar, and reads what has changed. False without a log. Where there is no sidecar
    /// for sure, none is looked for.
    fn bring_up_to_date(
        &mut self,
        names: &Names,
        id: &SessionId,
        beside: bool,
        news: &mut Vec<IndexLine>,
    ) -> Result<bool, StoreError> {
        let path = names.log(id);
        let wrong = |why| facts::unreadable(&path, id, why);
        let there = absent(path.symlink_metadata()).map_err(fault(&path, "read"))?;
        let Some(there) = there else {
            self.sessions.remove(id);
            return Ok(false);
        };
        if !there.is_file() {
            return Err(not_a_log(names, id, &there));
        }
        let known = self.sessions.entry(id.clone()).or_default();
        let stamp = Stamp::of(&there);
        if known
            .log
            .as_ref()
            .is_none_or(|(before, _)| *before != stamp)
        {
            let open = || Ok(durable::open(&path)?.0);
            let before = known.log.as_ref().map(|(stamp, facts)| (stamp, facts));
            match Facts::read(&open, stamp, id, before) {
                Ok(facts) => {
                    news.push(IndexLine::log(stamp, facts.clone()));
                    known.log = Some((stamp, facts));
                }
                // It was deleted since it was looked at.
                Err(Unreadable::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                    self.sessions.remove(id);
                    return Ok(false);
                }
                Err(why) => {
                    self.sessions.remove(id);
                    return Err(wrong(why));
                }
            }
        }
        if !beside {
            known.beside = None;
            return Ok(true);
        }
        let path = names.beside(id);
        let there = absent(path.symlink_metadata()).map_err(fault(&path, "read"))?;
        match there.map(|there| Stamp::of(&there)) {
            None => known.beside = None,
            Some(stamp)
                if stamp.is_settled() && known.beside.as_ref().is_some_and(|it| it.0 == stamp) => {}
            Some(_) => {
                let (beside, stamp) = beside::read(names, id).map_err(fault(&path, "read"))?;
                known.beside = stamp.map(|stamp| (stamp, beside));
                if let Some((stamp, beside)) = &known.beside
                    && stamp.is_settled()
                {
                    news.push(IndexLine {
                        id: id.clone(),
                        stamp: *stamp,
                        told: Told::Beside(beside.clone()),
                    });
                }
            }
        }
        Ok(true)
    }

    /// Takes in the lines that were added to the file since it was last read.
    fn read_file(&mut self, names: &Names) {
        if let Err(error) = self.try_read_file(names) {
            tracing::debug!(path = %names.index().display(), %error, "the index of sessions was not read");
        }
    }

    fn try_read_file(&mut self, names: &Names) -> io::Result<()> {
        let Some((mut file, stamp)) = absent(durable::open(&names.index()))? else {
            return Ok(());
        };
        let mut from = match self.file {
            Some((inode, read)) if inode == stamp.inode && read <= stamp.length => read,
            _ => {
                self.lines = 0;
                0
            }
        };
        let mut text = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        file.read_to_end(&mut text)?;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            if line.last() != Some(&b'\n') {
                break;
            }
            from += line.len() as u64;
            self.lines += 1;
            let Ok(line) = serde_json::from_slice::<IndexLine>(line) else {
                continue;
            };
            let known = self.sessions.entry(line.id).or_default();
            match line.told {
                Told::Log(facts) => known.log = Some((line.stamp, facts)),
                Told::Beside(beside) => known.beside = Some((line.stamp, beside)),
            }
        }
        self.file = Some((stamp.inode, from));
        Ok(())
    }

    /// Adds what was found out; writes the file anew when most of its lines are outdated.
    fn write_file(&mut self, names: &Names, news: &[IndexLine]) {
        let needed = self.sessions.len();
        if self.lines + news.len() <= 3 * needed + 100 {
            if !news.is_empty() {
                add(names, news);
            }
            return;
        }
        let Some(_right) = FolderRight::if_free(names) else {
            return;
        };
        let mut text = Vec::new();
        for (id, known) in &self.sessions {
            let log = known.log.clone().map(|(stamp, it)| (stamp, Told::Log(it)));
            let beside = known.beside.clone();
            let beside = beside.map(|(stamp, it)| (stamp, Told::Beside(it)));
            for (stamp, told) in log.into_iter().chain(beside) {
                let id = id.clone();
                if serde_json::to_writer(&mut text, &IndexLine { id, stamp, told }).is_err() {
                    return;
                }
                text.push(b'\n');
            }
        }
        // Not synced: an index that a power cut has torn is as good as none.
        let draft = names.index_draft();
        let written = durable::draft(&draft)
            .and_then(|mut file| file.write_all(&text))
            .and_then(|()| std::fs::rename(&draft, names.index()));
        if let Err(error) = written {
            let _ = durable::remove(&draft);
            tracing::debug!(path = %names.index().display(), %error, "the index of sessions was not written");
        }
    }
}

/// The error of what stands in the place of a log.
fn not_a_log(names: &Names, id: &SessionId, there: &std::fs::Metadata) -> StoreError {
    let reason = durable::regular(there).err().map(|error| error.to_string());
    StoreError::Damaged {
        id: id.clone(),
        damage: Damage {
            place: names.log(id).display().to_string(),
            at: None,
            reason: reason.unwrap_or_default(),
        },
    }
}
