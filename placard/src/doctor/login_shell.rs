//! The PATH of the person's login shell, beside the one that commands get.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use agent_core::Environment;
use tokio::process::Command;
use tokio::time::timeout;

use super::finding::{Finding, State};

/// A login shell that takes longer waits for something.
const LIMIT: Duration = Duration::from_secs(3);

/// Around the PATH: what else is printed when a shell starts is none of our business.
const MARK: &str = "<placard-path>";

/// What a login shell knows of a person before it reads its files.
const KNOWN: [&str; 7] = ["HOME", "USER", "LOGNAME", "SHELL", "LANG", "PATH", "TMPDIR"];

pub(super) async fn compare(environment: &Environment) -> Finding {
    let topic = "PATH";
    let own = environment.get("PATH").unwrap_or_default();
    let Some(shell) = environment.get("SHELL") else {
        return Finding::new(
            topic,
            State::Ok,
            "commands find the programs that placard itself finds; whether a terminal of yours finds more is not known, because SHELL, which names your login shell, is not set",
        );
    };
    let Some(path) = ask(shell, environment).await else {
        return Finding::new(
            topic,
            State::Note,
            format!(
                "the login shell {shell} does not tell its PATH within {} s",
                LIMIT.as_secs()
            ),
        );
    };
    let missing = missing(own, &path);
    if missing.is_empty() {
        Finding::new(
            topic,
            State::Ok,
            format!("commands find what the login shell {shell} finds"),
        )
    } else {
        Finding::new(
            topic,
            State::Note,
            format!("the login shell {shell} looks in folders where commands do not; start placard from a terminal, or set PATH in [shell.env.set]:"),
        )
        .with(missing.into_iter().map(|folder| folder.display().to_string()))
    }
}

/// The PATH of the login shell, where it tells it in time.
async fn ask(shell: &str, environment: &Environment) -> Option<String> {
    let known = KNOWN
        .into_iter()
        .filter_map(|name| environment.get(name).map(|value| (name, value)));
    let asked = Command::new(shell)
        .args(["-l", "-c", &format!("printf '{MARK}%s{MARK}' \"$PATH\"")])
        .env_clear()
        .envs(known)
        .env("TERM", "dumb")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let printed = timeout(LIMIT, asked).await.ok()?.ok()?.stdout;
    let printed = String::from_utf8_lossy(&printed);
    let (_, rest) = printed.split_once(MARK)?;
    let (path, _) = rest.split_once(MARK)?;
    Some(path.to_owned())
}

/// The folders of the login shell's PATH that the own one lacks, in their order.
fn missing(own: &str, login: &str) -> Vec<PathBuf> {
    let own: Vec<PathBuf> = std::env::split_paths(own).collect();
    let mut missing = Vec::new();
    for folder in std::env::split_paths(login) {
        if folder.is_dir() && !own.contains(&folder) && !missing.contains(&folder) {
            missing.push(folder);
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn only_folders_that_exist_and_are_not_there_are_missing() {
        let nothing = Vec::<PathBuf>::new();
        assert_eq!(missing("/usr:/", "/:/usr:/no/such/folder"), nothing);
        assert_eq!(missing("/usr", "/:/usr:/"), [PathBuf::from("/")]);
    }

    #[tokio::test]
    async fn a_shell_is_asked_and_what_else_it_prints_is_passed_over() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("bin");
        std::fs::create_dir(&path).unwrap();
        std::fs::write(
            home.path().join(".profile"),
            "echo welcome\nPATH=\"$HOME/bin:$PATH\"\n",
        )
        .unwrap();
        let environment = |shell: &str| -> Environment {
            [
                ("HOME", home.path().to_str().unwrap()),
                ("PATH", "/usr/bin:/bin"),
                ("SHELL", shell),
            ]
            .into_iter()
            .collect()
        };
        let found = compare(&environment("/bin/bash")).await;
        assert_eq!(found.state, State::Note);
        assert!(
            found.details.contains(&path.display().to_string()),
            "{found:?}"
        );
        assert_eq!(compare(&environment("/bin/false")).await.state, State::Note);
        assert_eq!(compare(&Environment::default()).await.state, State::Ok);
    }
}
