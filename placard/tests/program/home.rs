//! Where the program runs in a test.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// Nothing here takes longer, unless it hangs.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Starts a program in a terminal.
const TERMINAL: &str =
    "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

/// A home of its own, with an agent in it.
pub struct Home(TempDir);

impl Home {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// The command line of an agent in Python, and what it tells.
    pub fn agent(&self, script: &str) -> (String, Lines<BufReader<pipe::Receiver>>) {
        let (program, told) = (self.path("agent.py"), self.pipe("told"));
        std::fs::write(&program, script).unwrap();
        let receiver = pipe::OpenOptions::new()
            .read_write(true)
            .open_receiver(&told)
            .unwrap();
        (
            format!("python3 {program} {told}"),
            BufReader::new(receiver).lines(),
        )
    }

    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// A pipe with a name.
    pub fn pipe(&self, name: &str) -> String {
        let path = self.path(name);
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        path
    }

    /// Starts `placard` in a terminal of its own: what is typed comes through a pipe, what it shows goes to one.
    pub fn terminal(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new("python3");
        command
            .args(["-c", TERMINAL, env!("CARGO_BIN_EXE_placard")])
            .args(arguments);
        self.start(command.env_clear().env("TERM", "dumb"))
    }

    /// The same in a terminal with colours.
    pub fn colour_terminal(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new("python3");
        command
            .args(["-c", TERMINAL, env!("CARGO_BIN_EXE_placard")])
            .args(arguments);
        self.start(command.env_clear().env("TERM", "xterm-256color"))
    }

    /// Starts `placard run` with pipes that nobody reads or writes.
    pub fn run(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_placard"));
        command.arg("run").args(arguments);
        self.start(command.env_clear())
    }

    /// Runs `placard` with nothing on stdin, to its end.
    pub async fn placard(&self, arguments: &[&str]) -> Answer {
        self.placard_with(arguments, &[]).await
    }

    /// The same with further variables.
    pub async fn placard_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Answer {
        let mut command = Command::new(env!("CARGO_BIN_EXE_placard"));
        command.args(arguments);
        command.env_clear().envs(variables.iter().copied());
        let mut program = self.start(&mut command);
        drop(program.stdin.take());
        let output = timeout(PATIENCE, program.wait_with_output())
            .await
            .expect("the program ends")
            .unwrap();
        Answer {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn start(&self, command: &mut Command) -> Child {
        command
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.0.path())
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap()
    }
}

/// What a program came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    /// As text, where all went well and nothing was said beside it.
    pub fn text(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""));
        self.stdout
    }

    /// As JSON, where all went well.
    pub fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.text()).unwrap()
    }

    /// What was said on stderr, where it came to this and printed nothing.
    pub fn words(self, code: i32) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""));
        self.stderr
    }
}

pub async fn end_of(program: &mut Child) -> ExitStatus {
    timeout(PATIENCE, program.wait())
        .await
        .expect("the program ends")
        .unwrap()
}

pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}
