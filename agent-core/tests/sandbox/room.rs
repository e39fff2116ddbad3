//! A session's folder, a folder beside it, and commands between the two.

use std::path::{Path, PathBuf};
use std::process::{Command as Program, Stdio};
use std::sync::OnceLock;

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
    /// Requires that a line does what it is about where nothing keeps it from that, or its failure in a sandbox would mean nothing. It has a
    /// room of its own; what lay outside of the session's folder has to be different afterwards, if the line is to change it.
    pub async fn control(line: &str, changes_outside: bool) {
        let room = Self::new();
        let before = room.state_outside();
        let run = room.run(&room.off(), line).await;
        assert!(run.is_success(), "without a sandbox: {line}: {run:?}");
        if changes_outside {
            assert_ne!(room.state_outside(), before, "without a sandbox: {line}");
        }
    }

    pub fn new() -> Self {
        let test = std::env::current_exe().unwrap();
        let folder = tempfile::tempdir_in(test.parent().unwrap()).unwrap();
        let home = folder.path().canonicalize().unwrap();
        let (root, outside) = (home.join("root"), home.join("outside"));
        for made in [&root, &outside, &outside.join("empty")] {
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
        let sandbox = policy(config, &[root.to_owned()], &environment, &support);
        if sandbox.restricts()
            && let Some(obstacle) = obstacle(config.engine, &support)
        {
            panic!("{obstacle}");
        }
        sandbox
    }

    /// No sandbox at all.
    pub fn off(&self) -> Sandbox {
        self.sandbox(&at(Level::Off, Engine::Landlock))
    }

    /// What lies outside of the session's folder.
    pub fn state_outside(&self) -> Vec<(String, String)> {
        state(&self.outside)
    }

    /// What lies in the session's folder.
    pub fn state_inside(&self) -> Vec<(String, String)> {
        state(&self.root)
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

/// What of a folder could have been changed: names and contents.
fn state(folder: &Path) -> Vec<(String, String)> {
    let mut state: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            // A pipe that was made there would be read for ever.
            let text = if entry.file_type().unwrap().is_file() {
                std::fs::read_to_string(entry.path()).unwrap()
            } else {
                String::new()
            };
            (name, text)
        })
        .collect();
    state.sort();
    state
}

/// Why an engine cannot be tried out on this machine. Without it every test of it would fail, each for a reason that is none of its
/// own.
fn obstacle(engine: Engine, support: &Support) -> Option<String> {
    static BUBBLEWRAP: OnceLock<Option<String>> = OnceLock::new();
    match engine {
        Engine::Landlock => support.landlock.is_none().then(|| {
            "this kernel has no Landlock, or it is switched off: run the tests of the sandbox on one that has it".to_owned()
        }),
        Engine::Bubblewrap => BUBBLEWRAP
            .get_or_init(|| {
                let Some(program) = support.bubblewrap.first() else {
                    return Some("bwrap is not on the PATH: scripts/setup test installs it".to_owned());
                };
                let tried = Program::new(program)
                    .args(["--ro-bind", "/", "/", "--dev", "/dev", "--", "true"])
                    .stdin(Stdio::null())
                    .output();
                let said = match tried {
                    Ok(tried) if tried.status.success() => return None,
                    Ok(tried) => String::from_utf8_lossy(&tried.stderr).trim().to_owned(),
                    Err(error) => error.to_string(),
                };
                Some(format!(
                    "{} puts up no sandbox on this machine ({said}): allow user namespaces to the person who runs the tests",
                    program.display()
                ))
            })
            .clone(),
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
