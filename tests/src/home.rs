//! A home for one test: folders that nothing else uses, and the environment that leads programs there.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::binaries::screenshots;
use crate::patience::eventually;
use crate::processes::Process;

/// The folders and the environment of one test. They go with it, and so does everything started with them.
#[derive(Debug)]
pub struct Home {
    folder: TempDir,
    extra: Vec<(String, String)>,
    /// Shared by ordinary tests and exclusive for one that measures time, across processes and test runners.
    _turn: File,
}

impl Home {
    /// A home for a test that may run beside others.
    pub fn new() -> Self {
        let turn = turn_file();
        turn.lock_shared()
            .expect("the lock that keeps others from tests that run alone");
        Self::with_turn(turn)
    }

    /// A home for a test that asserts a limit of time: no other test that has a home runs meanwhile. A test has one
    /// home only, or it would wait for itself.
    pub fn alone() -> Self {
        let turn = turn_file();
        turn.lock().expect("the lock that keeps other tests away");
        Self::with_turn(turn)
    }

    fn with_turn(turn: File) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("placard-test-")
            .tempdir()
            .expect("a temporary folder");
        let home = Self {
            folder,
            extra: Vec::new(),
            _turn: turn,
        };
        for name in ["config/placard", "data", "cache", "state", "tmp", "work"] {
            fs::create_dir_all(home.path().join(name)).expect("a folder in the temporary folder");
        }
        // Programs refuse a runtime folder that others can enter.
        DirBuilder::new()
            .mode(0o700)
            .create(home.path().join("run"))
            .expect("the runtime folder");
        home
    }

    /// The home folder itself.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// `$XDG_CONFIG_HOME/placard`, where `config.toml` goes.
    pub fn config_folder(&self) -> PathBuf {
        self.path().join("config/placard")
    }

    /// `$XDG_DATA_HOME/placard`, where sessions are kept. It does not exist until the program makes it.
    pub fn data_folder(&self) -> PathBuf {
        self.path().join("data/placard")
    }

    /// The folder that programs are started in.
    pub fn work_folder(&self) -> PathBuf {
        self.path().join("work")
    }

    /// A further folder of the given name, empty, for a session of its own.
    pub fn folder(&self, name: &str) -> PathBuf {
        let folder = self.path().join(name);
        fs::create_dir_all(&folder)
            .unwrap_or_else(|fault| panic!("cannot make {}: {fault}", folder.display()));
        folder
    }

    /// Adds a variable to the environment of what is started from now on, or replaces it.
    pub fn set(&mut self, name: &str, value: &str) {
        self.extra.retain(|(known, _)| known != name);
        self.extra.push((name.to_owned(), value.to_owned()));
    }

    /// The whole environment of a program in this home: nothing of the caller's own but `PATH`, so that neither a
    /// key nor a setting of the person who runs the tests reaches them. The model is the offline one.
    pub fn environment(&self) -> Vec<(String, String)> {
        let at = |name: &str| self.path().join(name).display().to_string();
        let mut environment = vec![
            (
                "PATH".to_owned(),
                std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ),
            ("HOME".to_owned(), self.path().display().to_string()),
            ("XDG_CONFIG_HOME".to_owned(), at("config")),
            ("XDG_DATA_HOME".to_owned(), at("data")),
            ("XDG_CACHE_HOME".to_owned(), at("cache")),
            ("XDG_STATE_HOME".to_owned(), at("state")),
            ("XDG_RUNTIME_DIR".to_owned(), at("run")),
            ("TMPDIR".to_owned(), at("tmp")),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("PLACARD_MODEL".to_owned(), "offline".to_owned()),
        ];
        environment.retain(|(name, _)| self.extra.iter().all(|(extra, _)| extra != name));
        environment.extend(self.extra.iter().cloned());
        environment
    }

    /// What runs of all that was started in this home, descendants included, whoever their parent is by now.
    pub fn left_running(&self) -> Vec<Process> {
        Process::started_with("HOME", self.path())
    }

    /// Waits until nothing that was started in this home runs any more.
    ///
    /// # Panics
    /// When something still runs after the time.
    pub async fn quiet(&self, within: Duration) {
        let mut left = Vec::new();
        let quiet = eventually(within, async || {
            left = self.left_running();
            left.is_empty().then_some(())
        })
        .await;
        assert!(quiet.is_some(), "still running {within:?} later: {left:#?}");
    }
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        for process in self.left_running() {
            process.kill();
        }
    }
}

/// The file whose lock tells tests that run alone from those that do not; beside the screenshots, as it has to be the
/// same for every test program.
fn turn_file() -> File {
    let path = screenshots().with_file_name("tests-alone.lock");
    File::create(&path).unwrap_or_else(|fault| panic!("cannot open {}: {fault}", path.display()))
}
