//! A PostgreSQL server of a test's own: in a private folder, behind a socket in that folder and nowhere else, gone with the
//! process that asked for it, however that ends.
//!
//! [`Cluster::shared`] is one server for all tests of a process, with a [`Database`] for each; a test that stops its server
//! takes [`Cluster::start`].
//!
//! PostgreSQL refuses to run as root. Tests that do so run it as `postgres` or `nobody`.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test harness reports a fault by failing its test"
)]

mod system;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The script that keeps the server. It holds no longer than the pipe to this process.
const KEEPER: &str = include_str!("keeper.sh");

/// How long a server may take to start: generous, because tests share their machine.
const START: Duration = Duration::from_mins(1);

/// Settings of every server: nothing outside its folder, little memory, many clients.
const SETTINGS: [&str; 6] = [
    "listen_addresses = ''",
    "max_connections = 200",
    "shared_buffers = '32MB'",
    "dynamic_shared_memory_type = mmap",
    "log_min_messages = warning",
    "jit = off",
];

/// Settings of servers whose data need not survive the machine.
const IN_A_HURRY: [&str; 3] = [
    "fsync = off",
    "full_page_writes = off",
    "synchronous_commit = on",
];

/// What a server's promises are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// It survives its own crash, and not the machine's: fast.
    Process,
    /// It writes through to the disk.
    Machine,
}

/// A server and its folder.
#[derive(Debug)]
pub struct Cluster {
    folder: PathBuf,
    keeper: Mutex<Keeper>,
    databases: AtomicU32,
}

#[derive(Debug)]
struct Keeper {
    process: Child,
    words: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// An empty database on a server, for one test. It goes with this.
#[derive(Debug)]
pub struct Database<'c> {
    cluster: &'c Cluster,
    name: String,
}

impl Cluster {
    /// The server of this process, started when it is first asked for.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(Durability::Process, &[]))
    }

    /// A server of one test's own, with these lines in its configuration.
    pub fn start(durability: Durability, settings: &[&str]) -> Self {
        let user = system::user();
        let folder = system::private_folder(user.as_ref());
        let socket = format!("unix_socket_directories = '{}'", folder.display());
        let hurry = match durability {
            Durability::Process => &IN_A_HURRY[..],
            Durability::Machine => &[],
        };
        let mut command = match &user {
            Some(user) => user.command("sh"),
            None => Command::new("sh"),
        };
        let mut process = command
            .args(["-c", KEEPER, "keeper"])
            .args([&system::programs(), &folder])
            .args(SETTINGS.iter().chain(hurry).chain(settings))
            .arg(&socket)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("LC_ALL", "C")
            // A Ctrl C that ends the tests ends this by its pipe, in order.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell starts");
        let words = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().expect("stdout is a pipe"));
        let cluster = Self {
            folder,
            keeper: Mutex::new(Keeper {
                process,
                words,
                answers,
            }),
            databases: AtomicU32::default(),
        };
        let made = cluster.keeper().answer();
        assert_eq!(made, "made", "initdb failed; see `scripts/setup test`");
        cluster.start_again();
        cluster
    }

    /// Starts a server that was stopped.
    pub fn start_again(&self) {
        self.keeper().ask("start", "started");
        let begun = Instant::now();
        while !self.is_ready() {
            assert!(
                begun.elapsed() < START,
                "PostgreSQL does not start:\n{}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stops the server at once, as a crash does: what it acknowledged is there again after [`start_again`](Self::start_again).
    pub fn stop(&self) {
        self.keeper().ask("stop", "stopped");
    }

    /// A new database.
    pub fn database(&self) -> Database<'_> {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{number}");
        self.tell("postgres", &format!("CREATE DATABASE {name}"));
        Database {
            cluster: self,
            name,
        }
    }

    /// The folder with the server's socket.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the server has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn keeper(&self) -> MutexGuard<'_, Keeper> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server says so itself, in the eighth line of its file.
    fn is_ready(&self) -> bool {
        let state = fs::read_to_string(self.folder.join("data/postmaster.pid"));
        state.is_ok_and(|state| state.lines().nth(7).map(str::trim) == Some("ready"))
    }

    /// Has a database run this and gives what it answers: rows as lines, their fields separated by `|`.
    fn tell(&self, database: &str, sql: &str) -> String {
        let output = Command::new(system::programs().join("psql"))
            .args([
                "-X",
                "-q",
                "-A",
                "-t",
                "-v",
                "ON_ERROR_STOP=1",
                "-U",
                "placard",
            ])
            .args(["-d", database, "-c", sql, "-h"])
            .arg(&self.folder)
            .env_clear()
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .expect("psql starts");
        assert!(
            output.status.success(),
            "{sql}: {}{}",
            String::from_utf8_lossy(&output.stderr),
            self.log()
        );
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let mut keeper = self.keeper();
        // The end of its input is its end, and the server's.
        keeper.words = None;
        let _ = keeper.process.wait();
    }
}

impl Keeper {
    fn ask(&mut self, word: &str, answer: &str) {
        let words = self.words.as_mut().expect("the keeper was not let go");
        writeln!(words, "{word}").expect("the keeper listens");
        assert_eq!(self.answer(), answer, "the keeper of PostgreSQL");
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers
            .read_line(&mut line)
            .expect("the keeper answers");
        line.trim_end().to_owned()
    }
}

impl Database<'_> {
    /// Its address, as it is written into `[store] url`.
    pub fn url(&self) -> String {
        let (name, folder) = (&self.name, self.cluster.folder.display());
        format!("postgres:///{name}?host={folder}&user=placard")
    }

    /// What an error calls it.
    pub fn shown(&self) -> String {
        format!("{} (database {})", self.cluster.folder.display(), self.name)
    }

    /// Has it run a statement behind the program's back, and gives what it answers: rows as lines, their fields separated by
    /// `|`.
    pub fn tell(&self, sql: &str) -> String {
        self.cluster.tell(&self.name, sql)
    }
}

impl Drop for Database<'_> {
    fn drop(&mut self) {
        // A server that the test stopped has nobody who would miss the space.
        if self.cluster.is_ready() && !std::thread::panicking() {
            let sql = format!("DROP DATABASE {} WITH (FORCE)", self.name);
            self.cluster.tell("postgres", &sql);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_stops_and_starts_and_goes() {
        let cluster = Cluster::start(Durability::Machine, &[]);
        let folder = cluster.folder().to_owned();
        let database = cluster.database();
        database.tell("CREATE TABLE kept AS SELECT 7 AS number");
        cluster.stop();
        assert!(!cluster.is_ready());
        cluster.start_again();
        assert_eq!(database.tell("SELECT number FROM kept"), "7");
        assert_eq!(database.tell("SHOW fsync"), "on");
        drop(database);
        assert_eq!(
            cluster.tell("postgres", "SELECT count(*) FROM pg_database"),
            "3"
        );
        let server = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap();
        let server = PathBuf::from(format!("/proc/{}", server.lines().next().unwrap()));
        assert!(server.exists());
        drop(cluster);
        assert!(!folder.exists());
        assert!(!server.exists());
    }
}
