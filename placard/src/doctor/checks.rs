//! What is looked at.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use agent_core::config::{Config, ConfigError};
use agent_core::shell::environment;
use agent_core::shell::sandbox::{self, Engine, Level, Sandbox, Support};
use agent_core::{Environment, Surroundings};
use tokio::process::Command;
use tokio::time::timeout;

use super::finding::{Finding, State};

/// A program that only has to start and end takes no longer, unless it hangs.
const TRIAL: Duration = Duration::from_secs(3);

pub(super) fn configuration(
    surroundings: &Surroundings,
    loaded: &Result<Config, ConfigError>,
) -> Finding {
    let topic = "configuration";
    match loaded {
        Ok(config) if config.file.exists() => Finding::new(
            topic,
            State::Ok,
            format!("{} is read", config.file.display()),
        ),
        Ok(_) => {
            let folder = surroundings.config_dir.display();
            Finding::new(
                topic,
                State::Ok,
                format!("there is no config.toml in {folder}, so the defaults hold"),
            )
        }
        Err(error) => Finding::new(topic, State::Wrong, error.to_string()),
    }
}

pub(super) fn model(config: &Config, environment: &Environment) -> Finding {
    match agent_core::model::open(&config.model, config, environment) {
        Ok(_) => Finding::new(
            "model",
            State::Ok,
            format!("{}; what it needs is set", config.model),
        ),
        Err(error) => Finding::new("model", State::Wrong, error.to_string()),
    }
}

pub(super) fn sessions(folder: &Path) -> Finding {
    let topic = "sessions";
    let shown = folder.display();
    // It is made with the first session; until then the nearest folder that exists decides.
    let existing = folder.ancestors().find(|part| part.exists());
    let existing = existing.unwrap_or(Path::new("/"));
    match takes_folders(existing) {
        Ok(()) if existing == folder => {
            Finding::new(topic, State::Ok, format!("their files are kept in {shown}"))
        }
        Ok(()) => Finding::new(
            topic,
            State::Ok,
            format!("their files will be kept in {shown}, which the first one makes"),
        ),
        Err(error) => Finding::new(
            topic,
            State::Wrong,
            format!(
                "their files cannot be kept in {shown}: no folder can be made in {}: {error}. Mend that, or set XDG_DATA_HOME to a folder that you can write",
                existing.display()
            ),
        ),
    }
}

/// Whether folders can be made in this one. Only a trial tells: rights say nothing of a file system that is made by the kernel, and
/// nothing to root.
fn takes_folders(folder: &Path) -> io::Result<()> {
    let trial = folder.join(format!(".placard-doctor-{}", uuid::Uuid::new_v4().simple()));
    std::fs::create_dir(&trial)?;
    std::fs::remove_dir(&trial)
}

pub(super) fn bash(environment: &Environment) -> Finding {
    let path = environment.get("PATH").unwrap_or_default();
    let found = std::env::split_paths(path)
        .map(|folder| folder.join("bash"))
        .find(|program| program.is_absolute() && program.is_file());
    match found {
        Some(program) => Finding::new("bash", State::Ok, program.display().to_string()),
        None => Finding::new(
            "bash",
            State::Note,
            "is not on the PATH; commands run with /bin/bash where it is there, else with /bin/sh",
        ),
    }
}

pub(super) fn kernel() -> Finding {
    // Another system than Linux does not tell it there.
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let words = [std::env::consts::OS, release.trim(), std::env::consts::ARCH];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    Finding::new("system", State::Ok, words.join(" "))
}

pub(super) fn landlock(support: &Support) -> Finding {
    let Some(version) = support.landlock else {
        return Finding::new(
            "landlock",
            State::Note,
            "the kernel has none, or it is switched off: nothing keeps commands from writing elsewhere",
        );
    };
    let gaps = support.gaps(Level::ReadOnly);
    if gaps.is_empty() {
        let text =
            format!("version {version}: commands are kept to the folders that they may write");
        Finding::new("landlock", State::Ok, text)
    } else {
        let text = format!("version {version}, which does not keep commands from:");
        Finding::new("landlock", State::Note, text).with(gaps.into_iter().map(str::to_owned))
    }
}

pub(super) fn seccomp(support: &Support) -> Finding {
    if support.seccomp {
        Finding::new("seccomp", State::Ok, "the network can be cut off")
    } else {
        Finding::new(
            "seccomp",
            State::Note,
            "the kernel takes no filter here: the network cannot be cut off",
        )
    }
}

pub(super) async fn bubblewrap(support: &Support) -> Finding {
    let topic = "bubblewrap";
    let Some(program) = support.bubblewrap.first() else {
        return Finding::new(
            topic,
            State::Ok,
            "bwrap is not on the PATH; only [sandbox] engine = \"bubblewrap\" needs it",
        );
    };
    let shown = program.display();
    let trial = Command::new(program)
        .args(["--ro-bind", "/", "/", "--dev", "/dev", "--", "/bin/true"])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    match timeout(TRIAL, trial).await {
        Ok(Ok(done)) if done.status.success() => {
            Finding::new(topic, State::Ok, format!("{shown} works"))
        }
        Ok(Ok(done)) => {
            let words = String::from_utf8_lossy(&done.stderr);
            Finding::new(topic, State::Note, format!("{shown} does not work here:"))
                .with(words.lines().map(str::to_owned))
        }
        Ok(Err(error)) => Finding::new(
            topic,
            State::Note,
            format!("{shown} does not start: {error}"),
        ),
        Err(_) => Finding::new(topic, State::Note, format!("{shown} does not answer")),
    }
}

/// What a session in `cwd` would get.
pub(super) fn sandbox(
    config: &Config,
    surroundings: &Surroundings,
    support: &Support,
    cwd: &Path,
) -> Finding {
    let topic = "sandbox";
    let roots = [cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned())];
    let planned = sandbox::policy(&config.sandbox, &roots, &surroundings.environment, support);
    let text = format!("{}, in {}", in_words(&planned), cwd.display());
    let mut finding = Finding::new(topic, State::Ok, text);
    if let Some(notice) = sandbox::notice(&planned, support) {
        finding.state = if sandbox::can_run(&planned, support) {
            State::Note
        } else {
            State::Wrong
        };
        finding.details.push(notice);
    }
    // A configuration that is not there yet is made in its folder.
    let configuration = surroundings
        .config_dir
        .ancestors()
        .find_map(|part| part.canonicalize().ok());
    let open = configuration.is_some_and(|folder| planned.may_write(&folder));
    if planned.level != Level::Off && open {
        finding.state = finding.state.max(State::Note);
        let words = "Commands can change Placard's own configuration: it lies in a folder that they may write.";
        finding.details.push(words.to_owned());
    }
    if planned.level == Level::WorkspaceWrite {
        for path in sandbox::not_there(&config.sandbox, &surroundings.environment) {
            finding.state = finding.state.max(State::Note);
            let words = format!("not there: {}", path.display());
            finding.details.push(words);
        }
    }
    let writable = planned.writable.iter();
    finding.with(writable.map(|path| format!("writable: {}", path.display())))
}

fn in_words(planned: &Sandbox) -> String {
    let engine = match (planned.engine, planned.level) {
        (Engine::Bubblewrap, _) => "bubblewrap",
        (Engine::Landlock, Level::Off) => "seccomp",
        (Engine::Landlock, _) => "landlock",
    };
    match (planned.level, planned.network) {
        (Level::Off, true) => {
            "off: commands write wherever you can, with the network on".to_owned()
        }
        (Level::Off, false) => {
            format!("off: commands write wherever you can, with no network, by {engine}")
        }
        (level, true) => format!("{}, network on, by {engine}", level.name()),
        (level, false) => format!("{}, no network, by {engine}", level.name()),
    }
}

pub(super) fn variables(config: &Config, person: &Environment) -> Finding {
    let names = environment::names(person, &config.shell.env);
    let set: Vec<&str> = config.shell.env.set.keys().map(String::as_str).collect();
    let lines = [
        ("passed", names.passed.join(" ")),
        ("held back", names.held_back.join(" ")),
        ("set by you", set.join(" ")),
        ("set by Placard", names.fixed.join(" ")),
    ];
    Finding::new(
        "variables",
        State::Ok,
        format!(
            "{} of yours reach commands, {} do not",
            names.passed.len(),
            names.held_back.len()
        ),
    )
    .with(
        lines
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(what, names)| format!("{what}: {names}")),
    )
}
