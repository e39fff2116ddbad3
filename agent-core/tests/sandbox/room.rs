//! A session's folder, a folder beside it, and commands between the two.

use std::path::{Path, PathBuf};

use agent_core::Environment;
use agent_core::shell::command::{Command, Ended, PrintsTo};
use agent_core::shell::environment::VariableRules;
use agent_core::shell::exit::Exit;
use agent_core::shell::handle::CommandHandle;
use agent_core::shell::sandbox::{Engine, Level, Sandbox, SandboxConfig, Support, policy};
use agent_core::shell::terminal::{TerminalOutput, TerminalSize};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Both engines: whatever one forbids, so does the other.
pub const ENGINES: [Engine; 2] = [Engine::Landlock, Engine::Bubblewrap];

/// A home with a session's folder `root` and a folder `outside` of it, none of them in a temporary folder, which every command
/// may write.
pub struct Room {
    _folder: TempDir,
    pub home: PathBuf,
    pub root: PathBuf,
    pub outside: PathBuf,
    extra: Vec<(&'static str, String)>,
}

/// What a command came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Run {
    pub exit: Exit,
    pub text: String,
}

impl Run {
    pub fn is_success(&self) -> bool {
        self.exit.is_success()
    }
}

impl Room {
    pub fn new() -> Self {
        let test = std::env::current_exe().unwrap();
        let folder = tempfile::tempdir_in(test.parent().unwrap()).unwrap();
        let home = folder.path().canonicalize().unwrap();
        let (root, outside) = (home.join("root"), home.join("outside"));
        for made in [&root, &outside] {
            std::fs::create_dir(made).unwrap();
        }
        std::fs::write(outside.join("kept"), "kept\n").unwrap();
        std::fs::write(root.join("inner"), "inner\n").unwrap();
        Self {
            _folder: folder,
            home,
            root,
            outside,
            extra: Vec::new(),
        }
    }

    /// A further variable of the person's.
    pub fn set(&mut self, name: &'static str, value: &Path) {
        self.extra.push((name, value.to_str().unwrap().to_owned()));
    }

    pub fn environment(&self) -> Environment {
        [
            ("PATH", std::env::var("PATH").unwrap()),
            ("HOME", self.home.to_str().unwrap().to_owned()),
            ("OUT", self.outside.to_str().unwrap().to_owned()),
        ]
        .into_iter()
        .chain(self.extra.iter().cloned())
        .collect()
    }

    /// The sandbox that a session in `root` would have.
    pub fn sandbox(&self, config: &SandboxConfig) -> Sandbox {
        self.sandbox_at(&self.root, config)
    }

    pub fn sandbox_at(&self, root: &Path, config: &SandboxConfig) -> Sandbox {
        let environment = self.environment();
        let support = Support::probe(&environment);
        policy(config, &[root.to_owned()], &environment, &support)
    }

    pub fn writing(&self, engine: Engine) -> Sandbox {
        self.sandbox(&at(Level::WorkspaceWrite, engine))
    }

    pub fn reading(&self, engine: Engine) -> Sandbox {
        self.sandbox(&at(Level::ReadOnly, engine))
    }

    /// Runs a line in `root`; `$OUT` is the folder outside. What it leaves running is ended.
    pub async fn run(&self, sandbox: &Sandbox, line: &str) -> Run {
        self.run_in(&self.root, sandbox, line).await
    }

    pub async fn run_in(&self, cwd: &Path, sandbox: &Sandbox, line: &str) -> Run {
        let output = TerminalOutput::new();
        let command = self.command(cwd, sandbox, line);
        let Ended { exit, left, .. } = command
            .run(
                &output,
                &CommandHandle::new(false),
                &CancellationToken::new(),
            )
            .await
            .unwrap();
        if let Some(left) = left {
            left.end().await;
        }
        Run {
            exit,
            text: output.kept_text().replace("\r\n", "\n"),
        }
    }

    pub fn command(&self, cwd: &Path, sandbox: &Sandbox, line: &str) -> Command {
        Command {
            supervisor: supervisor(),
            line: line.to_owned(),
            cwd: cwd.to_owned(),
            environment: self.environment(),
            variables: VariableRules {
                pass: Vec::new(),
                remove: Vec::new(),
                set: [("OUT".to_owned(), self.outside.to_str().unwrap().to_owned())].into(),
            },
            sandbox: Some(sandbox.clone()),
            time_limit: None,
            size: TerminalSize::default(),
            prints_to: PrintsTo::Terminal,
        }
    }
}

pub fn at(level: Level, engine: Engine) -> SandboxConfig {
    SandboxConfig {
        level: Some(level),
        engine,
        ..SandboxConfig::default()
    }
}

/// The example program of this crate that is nothing but the supervisor.
fn supervisor() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent()
        .and_then(Path::parent)
        .unwrap()
        .join("examples/supervisor")
}
