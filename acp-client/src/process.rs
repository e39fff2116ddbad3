//! An agent that is a program of its own: started, watched, and ended with everything below it.

use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::source::AgentCommand;
use crate::stray::{MARK, kill_marked};
use crate::wire::{Line, LineReader, WireSide, WireTap};

/// So much of what an agent wrote to stderr is kept.
const STDERR_KEPT: usize = 4 * 1024;
/// A line of stderr beyond this is skipped: it is no message for people.
const STDERR_LINE: usize = 64 * 1024;
/// After a SIGTERM an agent is given so long; then SIGKILL.
const TERM_GRACE: Duration = Duration::from_millis(500);
/// After the agent has ended, what is still in its stderr is waited for so long.
const STDERR_GRACE: Duration = Duration::from_millis(200);

/// A running agent. Dropping it ends its processes.
#[derive(Debug)]
pub(crate) struct AgentProcess {
    program: String,
    child: Child,
    below: Below,
    tail: Arc<Mutex<String>>,
    stderr: JoinHandle<()>,
}

impl AgentProcess {
    /// Starts the command; the error is for people.
    pub(crate) fn start(
        command: &AgentCommand,
        tap: &WireTap,
    ) -> Result<(Self, ChildStdin, ChildStdout), String> {
        let program = &command.program;
        let mark = uuid::Uuid::new_v4().simple().to_string();
        let mut child = Command::new(program)
            .args(&command.args)
            .env_clear()
            .envs(
                command
                    .environment
                    .iter()
                    .map(|(name, value)| (name, value)),
            )
            .env(MARK, &mark)
            .current_dir(&command.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                let folder = command.cwd.display();
                format!(
                    "the agent `{program}` could not be started in {folder}: {error}. \
                     Check that the program is installed and on PATH, and that the folder exists."
                )
            })?;
        let group = child
            .id()
            .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let below = Below { group, mark };
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(format!("the agent `{program}` was started without pipes"));
        };
        let tail = Arc::new(Mutex::new(String::new()));
        let stderr = tokio::spawn(read_stderr(stderr, Arc::clone(&tail), tap.clone()));
        let program = program.clone();
        Ok((
            Self {
                program,
                child,
                below,
                tail,
                stderr,
            },
            stdin,
            stdout,
        ))
    }

    /// Waits for the end of the program: what happened, in a sentence. Cancel-safe.
    pub(crate) async fn ended(&mut self) -> String {
        let program = &self.program;
        match self.child.wait().await {
            Ok(status) => format!("the agent `{program}` {}", exit_words(status)),
            Err(error) => format!("the agent `{program}` could not be waited for: {error}"),
        }
    }

    /// Gives the program `grace` to end by itself, then ends it. What it left behind is killed: its process group, and
    /// what has gone into sessions of its own as far as it is found (`stray`).
    pub(crate) async fn end(mut self, grace: Duration) -> (String, String) {
        let mut what = timeout(grace, self.ended()).await.ok();
        if what.is_none() {
            self.below.ask_to_end();
            what = timeout(TERM_GRACE, self.ended()).await.ok();
        }
        let what = if let Some(what) = what {
            what
        } else {
            self.below.kill_group();
            self.ended().await
        };
        let below = self.below;
        if let Err(fault) = tokio::task::spawn_blocking(move || drop(below)).await {
            tracing::error!(%fault, "what the agent left behind could not be ended");
        }
        if timeout(STDERR_GRACE, &mut self.stderr).await.is_err() {
            self.stderr.abort();
        }
        (
            what,
            self.tail
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
        )
    }
}

/// The agent's processes, killed when dropped: the group that it was started as, and whoever bears its mark.
#[derive(Debug)]
struct Below {
    group: Option<Pid>,
    mark: String,
}

impl Below {
    fn ask_to_end(&self) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::TERM);
        }
    }

    fn kill_group(&self) {
        if let Some(group) = self.group {
            // It fails when nobody is left in the group, which is what is wanted.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Below {
    fn drop(&mut self) {
        self.kill_group();
        kill_marked(&self.mark);
    }
}

fn exit_words(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

async fn read_stderr(stderr: ChildStderr, tail: Arc<Mutex<String>>, tap: WireTap) {
    let mut lines = LineReader::new(stderr, STDERR_LINE);
    while let Ok(Some(line)) = lines.next().await {
        let line = match line {
            Line::Text(text) | Line::NotUtf8(text) => text,
            Line::TooLong { bytes, .. } => format!("[a line of {bytes} bytes]"),
        };
        tap.see(WireSide::Stderr, &line);
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.push_str(&line);
        tail.push('\n');
        keep_end(&mut tail, STDERR_KEPT);
    }
}

/// Cuts `text` from the front to at most `limit` bytes, at a line's start where there is one.
fn keep_end(text: &mut String, limit: usize) {
    if text.len() <= limit {
        return;
    }
    let least = text.len() - limit;
    let cut = match text.as_bytes()[least..text.len() - 1]
        .iter()
        .position(|byte| *byte == b'\n')
    {
        Some(end) => least + end + 1,
        None => (least..text.len())
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(text.len()),
    };
    text.drain(..cut);
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_tail_is_cut_at_lines_and_never_inside_a_character() {
        let table = [
            ("ab\ncd\n", 6, "ab\ncd\n"),
            ("ab\ncd\n", 4, "cd\n"),
            ("éééé\n", 4, "é\n"),
        ];
        for (text, limit, expected) in table {
            let mut kept = text.to_owned();
            keep_end(&mut kept, limit);
            assert_eq!(kept, expected);
        }
    }
}
