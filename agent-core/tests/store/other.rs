//! A second process: this test program again, in one of the parts below.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use agent_core::store::SessionStore;
use agent_core::store::jsonl::JsonlStore;
use agent_core::store::sqlite::SqliteStore;
use tempfile::TempDir;

use crate::{processes, small_disk};

/// The variable that tells a process its part, its store, and the folder: `PART:STORE:FOLDER`.
const PART: &str = "STORE_TEST_PART";

/// A word with which another process says how far it is.
pub const READY: &str = "the other process is ready";

/// A store of which all processes of one machine may have a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Jsonl,
    Sqlite,
}

/// A store in a folder.
#[derive(Debug)]
pub struct Shared {
    pub kind: Kind,
    pub folder: PathBuf,
    /// In the process that made it.
    _made: Option<TempDir>,
}

impl Shared {
    pub fn new(kind: Kind) -> Self {
        let made = tempfile::tempdir().unwrap();
        Self {
            kind,
            folder: made.path().to_owned(),
            _made: Some(made),
        }
    }

    pub async fn open(&self) -> Arc<dyn SessionStore> {
        match self.kind {
            Kind::Jsonl => Arc::new(JsonlStore::new(self.folder.join("sessions"))),
            Kind::Sqlite => {
                let path = self.folder.join("sessions.sqlite");
                Arc::new(SqliteStore::open(&path).await.unwrap())
            }
        }
    }

    /// Starts another process with this store.
    pub fn start(&self, part: &str) -> Other {
        let kind = match self.kind {
            Kind::Jsonl => "jsonl",
            Kind::Sqlite => "sqlite",
        };
        // A limit on the size of files is an error for a process that ignores this signal, as it is on a full disk.
        let mut process = Command::new("/bin/bash")
            .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "other::part", "--ignored", "--nocapture"])
            .env(PART, format!("{part}:{kind}:{}", self.folder.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Other { process, output }
    }
}

/// Another process. It ends with the test.
pub struct Other {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Other {
    /// Waits until it says that it is ready.
    pub fn ready(&mut self) {
        let mut all = String::new();
        while !all.ends_with(&format!("{READY}\n")) {
            let read = self.output.read_line(&mut all).unwrap();
            assert!(read > 0, "the other process ended early: {all}");
        }
    }

    /// Kills it, and waits for its end.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Waits for the good end of its part.
    pub fn succeeds(mut self) {
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.output, &mut rest).unwrap();
        assert!(self.process.wait().unwrap().success(), "{rest}");
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Says that this process is ready.
pub fn say_ready() {
    let mut output = std::io::stdout();
    writeln!(output, "\n{READY}").unwrap();
    output.flush().unwrap();
}

/// Waits until this process is killed, or its parent is gone.
pub fn wait_for_the_end() {
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the part of another process in the tests of `processes` and `small_disk`, which start it"]
async fn part() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    let [part, kind, folder] = part.splitn(3, ':').collect::<Vec<_>>()[..] else {
        panic!("{part}");
    };
    let shared = Shared {
        kind: if kind == "jsonl" {
            Kind::Jsonl
        } else {
            Kind::Sqlite
        },
        folder: Path::new(folder).to_owned(),
        _made: None,
    };
    match part {
        "append" => processes::append_as_the_other(&shared).await,
        "hold" => processes::hold_as_the_other(&shared).await,
        "small-disk" => small_disk::everything_on_it(&shared).await,
        other => panic!("{other}"),
    }
}
