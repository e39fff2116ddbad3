//! The `PATH` of the person's login shell: a program that was started from a menu has not got it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::Environment;

/// How long a shell may take over its profile. One that takes longer is taken for hanging.
const LIMIT: Duration = Duration::from_secs(3);

/// How much a profile may print before the value is given up.
const NOISE: usize = 1024 * 1024;

/// What the login shell says `PATH` is: asked once, when first needed, and known from then on. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LoginPath {
    asked: Arc<Asked>,
}

#[derive(Debug)]
struct Asked {
    environment: Environment,
    path: OnceCell<Option<String>>,
}

impl LoginPath {
    /// Of the shell that this environment names. Nothing is started yet.
    pub fn of(environment: Environment) -> Self {
        Self {
            asked: Arc::new(Asked {
                environment,
                path: OnceCell::new(),
            }),
        }
    }

    /// The shell's `PATH`, after at most three seconds; none where there is no shell, or it hangs, fails or says nothing. Why
    /// is in the log.
    pub async fn get(&self) -> Option<&str> {
        let asked = &self.asked;
        let path = asked.path.get_or_init(|| async {
            let shell = PathBuf::from(asked.environment.get("SHELL")?);
            match timeout(LIMIT, ask(&shell, &asked.environment)).await {
                Ok(Ok(Some(path))) => Some(path),
                Ok(Ok(None)) => {
                    tracing::warn!(shell = %shell.display(), "the login shell told no PATH; that of this program stays");
                    None
                }
                Ok(Err(error)) => {
                    tracing::warn!(shell = %shell.display(), %error, "the login shell did not start; the PATH of this program stays");
                    None
                }
                Err(_) => {
                    tracing::warn!(shell = %shell.display(), "the login shell took longer than {LIMIT:?}; the PATH of this program stays");
                    None
                }
            }
        });
        path.await.as_deref()
    }
}

/// A shell with everything that its profile started, which ends with this.
struct Asking(Child);

impl Drop for Asking {
    fn drop(&mut self) {
        // Not waited for yet, so the number is still its own; it leads the group.
        let group = self.0.id().and_then(|id| i32::try_from(id).ok());
        if let Some(group) = group.and_then(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

async fn ask(shell: &Path, environment: &Environment) -> std::io::Result<Option<String>> {
    let mark = uuid::Uuid::new_v4().to_string();
    // The same words in every shell; a profile may print whatever it likes before and after.
    let line = format!("echo; echo {mark}; printenv PATH; echo {mark}");
    let child = Command::new(shell)
        .args(["-l", "-i", "-c", &line])
        .env_clear()
        .envs(environment.iter())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let mut asking = Asking(child);
    let Some(mut stdout) = asking.0.stdout.take() else {
        return Ok(None);
    };
    let mut said = Vec::new();
    let mut buffer = [0; 4096];
    // Not to the end: what a profile left running keeps the pipe open.
    while said.len() < NOISE {
        let count = stdout.read(&mut buffer).await?;
        said.extend_from_slice(&buffer[..count]);
        if let Some(path) = between(&String::from_utf8_lossy(&said), &mark) {
            return Ok(Some(path));
        }
        if count == 0 {
            break;
        }
    }
    Ok(None)
}

/// The line between two lines that are the mark, if there is something on it.
fn between(said: &str, mark: &str) -> Option<String> {
    let mut lines = said.lines().skip_while(|line| *line != mark).skip(1);
    let path = lines
        .next()
        .filter(|line| !line.is_empty() && *line != mark)?;
    (lines.next() == Some(mark)).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use pretty_assertions::assert_eq;

    use super::*;

    /// What is found with a login shell of these lines.
    async fn found(shell: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("shell");
        // Written by another process: a child of another test could hold a file of this one open for writing, and then it
        // could not be executed.
        let written = std::process::Command::new("sh")
            .args([
                "-c",
                r#"printf '#!/bin/sh\n%s\n' "$1" > "$2" && chmod 700 "$2""#,
                "sh",
                shell,
            ])
            .arg(&file)
            .status();
        assert!(written.unwrap().success());
        let environment = [("SHELL", file.to_str().unwrap()), ("PATH", "/usr/bin:/bin")];
        let login = LoginPath::of(environment.into_iter().collect());
        let first = login.get().await.map(str::to_owned);
        // Without the file a second shell could not be asked.
        drop(folder);
        assert_eq!(login.get().await, first.as_deref());
        first
    }

    #[tokio::test]
    async fn f20_the_path_of_the_login_shell_is_found_through_what_its_profile_prints() {
        let shell = r#"echo 'Welcome!'; printf 'no line end'; sleep 20 & export PATH="/opt/tools:$PATH"; shift 3 2>/dev/null; [ "$1" ] || exit; eval "$1""#;
        assert_eq!(
            found(shell).await.as_deref(),
            Some("/opt/tools:/usr/bin:/bin")
        );
    }

    #[tokio::test]
    async fn f20_a_shell_that_fails_says_nothing_or_hangs_changes_nothing() {
        for shell in ["exit 1", "true", "exec sleep 20"] {
            let begun = Instant::now();
            assert_eq!(found(shell).await, None, "{shell}");
            assert!(begun.elapsed() < LIMIT * 3, "{shell}");
        }
        let nowhere = [("SHELL", "/no/such/shell")];
        assert_eq!(
            LoginPath::of(nowhere.into_iter().collect()).get().await,
            None
        );
        assert_eq!(LoginPath::of(Environment::default()).get().await, None);
    }
}
