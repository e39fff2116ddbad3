//! Which sandbox a session's commands get: from the configuration, the session's folders, the person's environment and
//! what the system can.

use std::path::{Path, PathBuf};

use super::links::{self, Way};
use super::support::Support;
use super::{Engine, Level, Sandbox, worktree};
use crate::surroundings::Environment;

/// The `[sandbox]` table of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxConfig {
    /// How far commands may write. When left out: the session's folders where the system can enforce that, else everywhere.
    pub level: Option<Level>,
    /// Whether they may use the network. When left out: yes, unless they may only read.
    pub network: Option<bool>,
    /// Further files and folders to write: absolute, or from the home folder on by `~/`.
    pub writable: Vec<PathBuf>,
    /// What enforces it.
    pub engine: Engine,
}

/// What programs write to that are no files: no terminal works without them, and nothing written there stays.
pub(super) const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// Memory that processes share under a name.
const SHARED_MEMORY: &str = "/dev/shm";

/// Where anybody may leave what need not last.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// Works the sandbox out. `roots` are the session's folders without symbolic links, as they were when it began. Reads the disk to
/// find what exists; changes nothing.
pub fn policy(
    config: &SandboxConfig,
    roots: &[PathBuf],
    environment: &Environment,
    support: &Support,
) -> Sandbox {
    let level = config.level.unwrap_or({
        if support.enforces(config.engine) {
            Level::WorkspaceWrite
        } else {
            Level::Off
        }
    });
    let writable = match level {
        Level::Off => Vec::new(),
        Level::ReadOnly => devices(),
        Level::WorkspaceWrite => workspace(config, roots, environment),
    };
    let bubblewrap = match config.engine {
        Engine::Landlock => None,
        // One that a sandboxed command may have put there would be no sandbox.
        Engine::Bubblewrap => support
            .bubblewrap
            .iter()
            .find(|program| !lies_in(program, &writable))
            .cloned(),
    };
    Sandbox {
        level,
        network: config.network.unwrap_or(level != Level::ReadOnly),
        writable,
        engine: config.engine,
        bubblewrap,
        given_up: config.level.is_none() && level == Level::Off,
    }
}

impl Sandbox {
    /// The same without what another command has meanwhile put a link in the place of.
    #[must_use]
    pub(crate) fn without_moved(&self) -> Self {
        let writable = self.writable.iter().filter(|path| is_unmoved(path));
        Self {
            writable: writable.cloned().collect(),
            ..self.clone()
        }
    }

    /// Whether it keeps the command from anything at all.
    pub fn restricts(&self) -> bool {
        self.level != Level::Off || !self.network
    }

    /// Whether a command may write at `path`, which is absolute and without symbolic links.
    pub fn may_write(&self, path: &Path) -> bool {
        self.level == Level::Off || lies_in(path, &self.writable)
    }
}

fn lies_in(path: &Path, folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

fn devices() -> Vec<PathBuf> {
    existing(DEVICES.map(PathBuf::from))
}

/// The folders of [`SandboxConfig::writable`] that do not exist, as they are written there. They open nothing.
pub fn not_there(config: &SandboxConfig, environment: &Environment) -> Vec<PathBuf> {
    let home = environment.get("HOME").map(Path::new);
    let lacks = |path: &&PathBuf| existing(meant(path, home)).is_empty();
    config.writable.iter().filter(lacks).cloned().collect()
}

/// The path that the configuration means; none below a home folder that is not known.
fn meant(path: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match path.strip_prefix("~") {
        Ok(below) => home.map(|home| home.join(below)),
        Err(_) => Some(path.to_owned()),
    }
}

fn workspace(config: &SandboxConfig, roots: &[PathBuf], environment: &Environment) -> Vec<PathBuf> {
    let home = environment.get("HOME").map(PathBuf::from);
    let home_is = |path: &Path| {
        home.as_deref()
            .and_then(|home| home.canonicalize().ok())
            .is_some_and(|home| home.starts_with(path))
    };
    let wanted = config
        .writable
        .iter()
        .filter_map(|path| meant(path, home.as_deref()));
    // What a person names is theirs to name; what a variable names must not hand over the whole home folder by a slip.
    let named = wanted.filter_map(|path| links::follow(&path));
    let found = DEVICES
        .into_iter()
        .chain([SHARED_MEMORY])
        .chain(TEMPORARY)
        .map(PathBuf::from)
        .chain(environment.get("TMPDIR").map(PathBuf::from))
        .chain(caches(environment))
        .filter_map(|path| links::follow(&path))
        .filter(|way| !home_is(&way.real));
    let ways: Vec<Way> = named.chain(found).collect();
    let unmoved = roots.iter().filter(|root| is_unmoved(root)).cloned();
    let mut writable: Vec<PathBuf> = unmoved.collect();
    // A link that stands where commands may write may be one's work, and leads wherever it likes.
    let planted: Vec<PathBuf> = writable
        .iter()
        .cloned()
        .chain(ways.iter().map(|way| way.real.clone()))
        .collect();
    let honest = ways
        .into_iter()
        .filter(|way| !way.holders.iter().any(|holder| lies_in(holder, &planted)));
    writable.extend(honest.map(|way| way.real));
    // Last, because a repository's claim on folders elsewhere counts only from outside of what is writable anyway.
    let administration: Vec<PathBuf> = roots
        .iter()
        .flat_map(|root| worktree::administration(root, &writable))
        .collect();
    writable.extend(administration);
    outermost(writable)
}

/// Whether a folder of the session is still where it was when the session began, when it was free of symbolic links.
fn is_unmoved(root: &Path) -> bool {
    links::follow(root).is_some_and(|way| way.real == root)
}

/// The paths that exist, absolute and without symbolic links.
fn existing(paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    paths
        .into_iter()
        .filter(|path| path.is_absolute())
        .filter_map(|path| path.canonicalize().ok())
        .collect()
}

/// Sorted, and without what lies in another of them.
fn outermost(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort();
    let mut kept: Vec<PathBuf> = Vec::with_capacity(paths.len());
    for path in paths {
        if !lies_in(&path, &kept) {
            kept.push(path);
        }
    }
    kept
}

/// Where tools keep what they can fetch or make again. Never a folder that a person's shell looks for programs in, and never
/// one with settings that run something.
fn caches(environment: &Environment) -> Vec<PathBuf> {
    let variable = |name: &str| environment.get(name).map(PathBuf::from);
    let Some(home) = variable("HOME") else {
        return Vec::new();
    };
    let or_home = |name: &str, below: &str| variable(name).unwrap_or_else(|| home.join(below));
    let data = or_home("XDG_DATA_HOME", ".local/share");
    let gradle = or_home("GRADLE_USER_HOME", ".gradle");
    let gradle = [
        "caches",
        "daemon",
        "native",
        "notifications",
        "workers",
        "wrapper",
        ".tmp",
    ]
    .map(|name| gradle.join(name));
    let go = environment.get("GOPATH").map_or_else(
        || vec![home.join("go")],
        |path| std::env::split_paths(path).collect(),
    );
    let fixed = [
        or_home("XDG_CACHE_HOME", ".cache"),
        home.join(".npm"),
        home.join(".pnpm-store"),
        or_home("PNPM_HOME", ".local/share/pnpm").join("store"),
        data.join("pnpm/store"),
        home.join(".yarn/berry"),
        or_home("BUN_INSTALL", ".bun").join("install/cache"),
        home.join(".m2/repository"),
        home.join(".ivy2/cache"),
        home.join(".nuget/packages"),
        data.join("NuGet"),
        home.join(".composer/cache"),
        home.join(".bundle/cache"),
        or_home("CCACHE_DIR", ".ccache"),
        home.join("Library/Caches"),
    ];
    let named = [
        "DENO_DIR",
        "GOMODCACHE",
        "GOCACHE",
        "PIP_CACHE_DIR",
        "UV_CACHE_DIR",
        "SCCACHE_DIR",
    ]
    .into_iter()
    .filter_map(variable);
    fixed
        .into_iter()
        .chain(gradle)
        .chain(go.into_iter().map(|folder| folder.join("pkg")))
        .chain(named)
        .chain(of_cargo(&or_home("CARGO_HOME", ".cargo")))
        .collect()
}

/// What cargo keeps beside the programs that it installed and the settings that it obeys: those would run at the person's next
/// `cargo`, outside of any sandbox.
fn of_cargo(folder: &Path) -> Vec<PathBuf> {
    const OBEYED: [&str; 4] = ["bin", "config", "credentials", "env"];
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            // `config.toml`, `env.fish`
            let stem = name.split('.').next().unwrap_or_default();
            !OBEYED.contains(&stem)
        })
        .map(|entry| entry.path())
        .collect()
}

#[cfg(test)]
mod tests;
