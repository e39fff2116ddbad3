//! What a crash left: which events close an interrupted log, and what the spill files still hold.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use xterm_rs_bridge::{KeptOutput, cut_text};

use crate::session::event::{EventKind, TurnEndReason};
use crate::session::standing::{BrokenOff, CALL, Standing, unknown_exit};
use crate::shell::exit::Exit;
use crate::store::Blob;
use crate::tool::bash;
use crate::tool::exit_marker::{self, ExitMarker, MarkedEnd};

/// What the model reads of a call that never came to run.
const NOT_BEGUN: &str = "The program ended before this call had a result; it may not have run.";

/// What the model reads behind the output of a command.
const INTERRUPTED: &str = "(The program ended while this command ran; it was ended with it.)";

/// What is appended to a log whose program died: nothing, when nothing is owed.
#[derive(Debug, Default, PartialEq)]
pub struct Repair {
    /// In this order.
    pub events: Vec<EventKind>,
    /// What they refer to.
    pub blobs: Vec<Blob>,
}

/// What an interrupted command had printed when its program died.
#[derive(Debug, Clone, PartialEq)]
pub struct Remains {
    /// As kept for a card.
    pub kept: Blob,
    /// As the model reads it.
    pub read: String,
}

/// The file that takes the output of a call while it comes; none for an id that is not of our own making. A log may come from
/// anywhere, and must not name a file elsewhere.
pub fn spill_file(outputs: &Path, call_id: &str) -> Option<PathBuf> {
    let number = call_id.strip_prefix(CALL)?;
    let ours = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    ours.then(|| outputs.join(format!("{call_id}.txt")))
}

/// Decides how an interrupted log is closed. Pure: the same log and the same remains give the same repair.
pub fn repair(standing: &Standing, remains: &BTreeMap<String, Remains>) -> Repair {
    let mut events: Vec<EventKind> = standing
        .background
        .iter()
        .map(|call_id| {
            let kept = remains
                .get(call_id)
                .map(|remains| remains.kept.id().clone());
            unknown_exit(call_id, kept)
        })
        .collect();
    events.extend(standing.closing(TurnEndReason::Interrupted, |open| {
        match remains.get(&open.call_id) {
            Some(remains) => BrokenOff {
                content: interrupted(&remains.read),
                output: Some(remains.kept.id().clone()),
            },
            None => BrokenOff::silent(NOT_BEGUN),
        }
    }));
    // In the order of their first mention, so that the same repair is the same bytes.
    let owed = standing.background.iter();
    let owed = owed.chain(standing.open.iter().map(|open| &open.call_id));
    let blobs = owed
        .filter_map(|call_id| remains.get(call_id))
        .map(|remains| remains.kept.clone())
        .collect();
    Repair { events, blobs }
}

fn interrupted(read: &str) -> String {
    let mut body = read.to_owned();
    if !body.is_empty() && !body.ends_with('\n') {
        body.push('\n');
    }
    body.push_str(INTERRUPTED);
    exit_marker::append(&body, &ExitMarker::Ended(MarkedEnd::plain(Exit::Unknown)))
}

/// Reads what the spill files hold of every command that owes its exit. Blocks.
pub fn read_remains(standing: &Standing, outputs: &Path) -> io::Result<BTreeMap<String, Remains>> {
    let open = standing.open.iter().filter(|open| open.owes_exit);
    let owing = open.map(|open| &open.call_id).chain(&standing.background);
    let mut remains = BTreeMap::new();
    for call_id in owing {
        let Some(file) = spill_file(outputs, call_id) else {
            continue;
        };
        match remains_of(&file) {
            Ok(Some(found)) => {
                remains.insert(call_id.clone(), found);
            }
            Ok(None) => {}
            // It printed nothing, or on another machine; or a link stands there, which is nothing of ours.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    || error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(remains)
}

fn remains_of(path: &Path) -> io::Result<Option<Remains>> {
    // Whatever was put in its place: no link is followed, and no pipe waited for.
    let only_it = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut file = File::options()
        .read(true)
        .custom_flags(only_it.bits().cast_signed())
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let mut output = KeptOutput::new();
    output.set_kept_in(path.display().to_string());
    let mut piece = vec![0; 64 * 1024];
    loop {
        match file.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => output.push(piece.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    output.finish();
    let kept = output.text();
    if kept.is_empty() {
        return Ok(None);
    }
    Ok(Some(Remains {
        read: cut_text(&output.plain_text(), bash::MODEL_TEXT),
        kept: Blob::new(kept.into_bytes()),
    }))
}
