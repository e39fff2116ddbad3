//! A program under test, its lines, and its end.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use crate::home::Home;

/// A running program whose pipes the test holds. It is killed when the test drops it.
#[derive(Debug)]
pub struct Program {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Lines<BufReader<ChildStdout>>,
    /// Read all the time, so that a program with much to say does not wait for the test.
    stderr: JoinHandle<String>,
}

impl Program {
    /// Starts the program in the home's work folder, with the home's environment and nothing else.
    pub fn start(home: &Home, program: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(home.environment())
            .current_dir(home.work_folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|fault| panic!("cannot start {}: {fault}", program.display()));
        let mut stderr = child.stderr.take().expect("stderr is a pipe");
        Self {
            name: format!("{} {}", program.display(), arguments.join(" ")),
            stdin: child.stdin.take(),
            stdout: BufReader::new(child.stdout.take().expect("stdout is a pipe")).lines(),
            stderr: tokio::spawn(async move {
                let mut bytes = Vec::new();
                // What was read before a fault is still worth showing.
                let _ = stderr.read_to_end(&mut bytes).await;
                String::from_utf8_lossy(&bytes).into_owned()
            }),
            child,
        }
    }

    /// Its process id while it was not waited for.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Writes one line to its stdin.
    pub async fn send_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("stdin was not closed yet");
        let written = async {
            stdin.write_all(line.as_bytes()).await?;
            stdin.write_all(b"\n").await?;
            stdin.flush().await
        };
        written
            .await
            .unwrap_or_else(|fault| panic!("{} does not take a line: {fault}", self.name));
    }

    /// The next line of its stdout without the line's end; none once stdout is closed.
    pub async fn next_line(&mut self, within: Duration) -> Option<String> {
        tokio::time::timeout(within, self.stdout.next_line())
            .await
            .unwrap_or_else(|_| panic!("{} printed no line for {within:?}", self.name))
            .unwrap_or_else(|fault| panic!("cannot read what {} prints: {fault}", self.name))
    }

    /// Closes its stdin.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it still runs after the time.
    pub async fn ended(&mut self, within: Duration) -> ExitStatus {
        tokio::time::timeout(within, self.child.wait())
            .await
            .unwrap_or_else(|_| panic!("{} still runs after {within:?}", self.name))
            .unwrap_or_else(|fault| panic!("cannot wait for {}: {fault}", self.name))
    }

    /// Ends it by SIGKILL, in the middle of whatever it does, and waits for that.
    pub async fn kill(&mut self) {
        self.child
            .kill()
            .await
            .unwrap_or_else(|fault| panic!("cannot kill {}: {fault}", self.name));
    }

    /// All that it wrote to its stderr, which must be closed: the program and what it started have ended.
    pub async fn stderr(self, within: Duration) -> String {
        tokio::time::timeout(within, self.stderr)
            .await
            .unwrap_or_else(|_| {
                panic!("the stderr of {} is still open after {within:?}", self.name)
            })
            .expect("reading a pipe does not panic")
    }
}
