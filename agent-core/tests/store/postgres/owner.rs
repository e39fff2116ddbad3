//! Another program that writes to a session: this very one, started again as a test that nobody asks for.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use agent_core::store::SessionStore as _;
use agent_core::store::postgres::PostgresStore;
use agent_core::store::postgres::address::ServerAddress;
use rustix::process::{Pid, Signal, kill_process};
use test_postgres::Database;

use crate::samples::*;

/// What the other program is told, in its environment: where the store is, and the name of the session.
const URL: &str = "PLACARD_TEST_OWNER_URL";
const NAME: &str = "PLACARD_TEST_OWNER_SESSION";

/// What its lines begin with: the test runner says things, too.
const MARK: &str = "owner: ";

/// A running program that has the right to write to a session. It ends with the test.
pub struct Owner {
    process: Child,
    words: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Owner {
    /// Starts it, and waits until it has the right to write.
    pub fn of(database: &Database<'_>, name: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "postgres::owner::owner",
                "--ignored",
                "--nocapture",
            ])
            .env(URL, database.url())
            .env(NAME, name)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let words = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        let mut owner = Self {
            process,
            words,
            answers,
        };
        assert_eq!(owner.answer(), "ready");
        owner
    }

    /// Tells it to append the prompt of this number.
    pub fn tell_to_append(&mut self, seq: u64) {
        writeln!(self.words, "{seq}").unwrap();
    }

    /// What became of what it was told: `stored`, or the error.
    pub fn answer(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(
                self.answers.read_line(&mut line).unwrap() > 0,
                "it has ended"
            );
            // The runner's own words may stand on the same line.
            if let Some((_, answer)) = line.trim_end().split_once(MARK) {
                return answer.to_owned();
            }
        }
    }

    /// Stops it where it is, as a suspended machine does.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// Kills it; nothing of it is heard any more.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    fn signal(&self, signal: Signal) {
        let id = Pid::from_child(&self.process);
        kill_process(id, signal).unwrap();
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the program that other tests start"]
async fn owner() {
    let (Ok(url), Ok(name)) = (std::env::var(URL), std::env::var(NAME)) else {
        return;
    };
    let address = ServerAddress::parse(&url).unwrap();
    let store = PostgresStore::open(&address).await.unwrap();
    let mut writer = store.writer(&id(&name)).await.unwrap();
    println!("{MARK}ready");
    let mut words = std::io::stdin().lines();
    // What waits here keeps no task from renewing the lease.
    while let Some(Ok(word)) = tokio::task::block_in_place(|| words.next()) {
        let events = prompts(word.parse().unwrap(), 1);
        match writer.append(&header(&name), &events, &[]).await {
            Ok(()) => println!("{MARK}stored"),
            Err(error) => println!("{MARK}{error}"),
        }
    }
}
