//! Real commands in a real terminal under the real supervisor.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of a test fail it as its body does"
)]

mod interactive;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agent_core::Environment;
use agent_core::shell::command::{Cause, Command, CommandError, Ended, PrintsTo};
use agent_core::shell::environment::VariableRules;
use agent_core::shell::exit::Exit;
use agent_core::shell::handle::CommandHandle;
use agent_core::shell::terminal::{TerminalOutput, TerminalSize};
use pretty_assertions::assert_eq;
use tokio_util::sync::CancellationToken;

/// The example program of this crate that is nothing but the supervisor.
fn supervisor() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent()
        .and_then(Path::parent)
        .unwrap()
        .join("examples/supervisor")
}

fn command(line: &str, cwd: &Path) -> Command {
    Command {
        supervisor: supervisor(),
        line: line.to_owned(),
        cwd: cwd.to_owned(),
        environment: [
            ("PATH", std::env::var("PATH").unwrap()),
            ("HOME", "/nowhere".to_owned()),
        ]
        .into_iter()
        .collect::<Environment>(),
        variables: VariableRules::default(),
        sandbox: None,
        time_limit: None,
        size: TerminalSize::default(),
        prints_to: PrintsTo::Terminal,
    }
}

/// A command that nobody types into.
fn deaf() -> CommandHandle {
    CommandHandle::new(false)
}

struct Run {
    ended: Ended,
    text: String,
}

async fn run(line: &str) -> Run {
    let folder = tempfile::tempdir().unwrap();
    run_command(&command(line, folder.path())).await
}

async fn run_command(command: &Command) -> Run {
    let output = TerminalOutput::new();
    let ended = command
        .run(&output, &deaf(), &CancellationToken::new())
        .await
        .unwrap();
    Run {
        ended,
        text: output.kept_text(),
    }
}

/// Runs until `marker` is printed, then cancels.
async fn cancelled_at(line: &str, marker: &str) -> (Run, Duration) {
    let folder = tempfile::tempdir().unwrap();
    let output = TerminalOutput::new();
    let cancel = CancellationToken::new();
    let task = tokio::spawn({
        let (command, output, cancel) =
            (command(line, folder.path()), output.clone(), cancel.clone());
        async move { command.run(&output, &deaf(), &cancel).await.unwrap() }
    });
    let mut seen = String::new();
    while !seen.contains(marker) {
        seen.push_str(&output.next().await.expect("the command ended too early"));
    }
    let begun = Instant::now();
    cancel.cancel();
    let ended = task.await.unwrap();
    (
        Run {
            ended,
            text: output.kept_text(),
        },
        begun.elapsed(),
    )
}

/// Processes whose command line holds `needle`.
fn living(needle: &str) -> Vec<String> {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " "))
        .filter(|line| line.contains(needle) && !line.contains("bash -c"))
        .collect()
}

#[tokio::test]
async fn every_exit_is_told_as_it_was() {
    for (line, exit) in [
        ("true", Exit::Code(0)),
        ("exit 3", Exit::Code(3)),
        ("exit 300", Exit::Code(44)),
        ("exit 255", Exit::Code(255)),
        ("no-such-command-here", Exit::Code(127)),
        ("kill -9 $$", Exit::Signal("SIGKILL".into())),
        ("kill -TERM $$", Exit::Signal("SIGTERM".into())),
        ("kill -9 0", Exit::Signal("SIGKILL".into())),
        ("(exit 137)", Exit::Code(137)),
    ] {
        let run = run(line).await;
        assert_eq!(
            (line, run.ended.exit, run.ended.cause),
            (line, exit, Cause::Itself)
        );
    }
}

#[tokio::test]
async fn output_is_whole_with_its_colours_and_the_terminals_line_ends() {
    let colours = run(r"printf '\033[31mred\033[0m\n'; echo ok").await;
    assert_eq!(colours.text, "\u{1b}[31mred\u{1b}[0m\r\nok\r\n");
    let many = run("seq 1 20000").await;
    let expected: String =
        (1..=20000).fold(String::new(), |all, number| all + &format!("{number}\r\n"));
    assert_eq!(many.text, expected);
}

#[tokio::test]
async fn a_command_sees_a_terminal_of_its_own_and_can_use_it() {
    let run = run("test -t 1 && test -t 2 && stty size </dev/tty && echo yes").await;
    assert_eq!(run.text, "40 120\r\nyes\r\n");
}

#[tokio::test]
async fn a_reader_of_the_terminal_is_in_the_foreground() {
    // A background process that reads its terminal would be stopped for ever.
    let run = run("read -t 0.05 line </dev/tty; echo status $?").await;
    assert_eq!(run.text, "status 142\r\n");
}

#[tokio::test]
async fn the_folder_is_the_sessions_under_the_name_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    std::fs::create_dir(folder.path().join("real")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("real"), &link).unwrap();
    let run = run_command(&command("pwd", &link)).await;
    assert_eq!(run.text, format!("{}\r\n", link.display()));
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_said_before_anything_runs() {
    let output = TerminalOutput::new();
    let error = command("touch /tmp/never", Path::new("/no/such/folder"))
        .run(&output, &deaf(), &CancellationToken::new())
        .await
        .unwrap_err();
    assert!(matches!(error, CommandError::Folder { .. }), "{error}");
    // Whoever tells of the error on the card finishes the output.
    output.finish();
    assert_eq!(output.next().await, None);
}

#[tokio::test]
async fn the_first_line_is_there_long_before_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let output = TerminalOutput::new();
    let cancel = CancellationToken::new();
    let begun = Instant::now();
    let task = tokio::spawn({
        let (command, output, cancel) = (
            command("echo 1; sleep 30", folder.path()),
            output.clone(),
            cancel.clone(),
        );
        async move { command.run(&output, &deaf(), &cancel).await }
    });
    assert_eq!(output.next().await.as_deref(), Some("1\r\n"));
    assert!(begun.elapsed() < Duration::from_secs(5));
    cancel.cancel();
    task.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_cancel_ends_everything_whatever_it_did_to_escape() {
    // The odd numbers make the processes recognisable.
    let line = "setsid sleep 99911 & nohup sleep 99912 >/dev/null 2>&1 & (sleep 99913 &); echo ready; sleep 99914";
    let (run, took) = cancelled_at(line, "ready").await;
    assert_eq!(run.ended.cause, Cause::Cancelled);
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_eq!(living("sleep 9991"), Vec::<String>::new());
    assert!(run.text.starts_with("ready\r\n"), "{:?}", run.text);
}

#[tokio::test]
async fn a_command_that_ignores_gentle_signals_is_killed_and_that_is_said() {
    let (run, took) = cancelled_at(
        "trap '' TERM INT; echo ready; while :; do sleep 0.05; done",
        "ready",
    )
    .await;
    assert_eq!(run.ended.exit, Exit::Signal("SIGKILL".into()));
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[tokio::test]
async fn what_is_printed_while_it_ends_is_kept() {
    // `wait` is interrupted at any moment; a shell that is just starting a child would let the signal pass.
    let (run, _) = cancelled_at(
        "trap 'echo bye; exit 7' INT; sleep 99921 & echo ready; wait",
        "ready",
    )
    .await;
    assert_eq!(run.ended.exit, Exit::Code(7));
    assert!(run.text.ends_with("bye\r\n"), "{:?}", run.text);
}

#[tokio::test]
async fn a_time_limit_ends_it_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut limited = command("echo begun; sleep 99931", folder.path());
    limited.time_limit = Some(Duration::from_millis(300));
    let run = run_command(&limited).await;
    assert_eq!(run.ended.cause, Cause::TimedOut);
    assert_eq!(living("sleep 99931"), Vec::<String>::new());
    assert!(run.text.starts_with("begun"), "{:?}", run.text);
}

#[tokio::test]
async fn what_is_left_running_is_said_at_once_and_ended_when_asked() {
    let begun = Instant::now();
    let run = run("sleep 99941 & echo done").await;
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(run.ended.exit, Exit::Code(0));
    assert_eq!(run.text, "done\r\n");
    let left = run.ended.left.expect("something is left");
    assert_eq!(left.count(), 1);
    assert_eq!(living("sleep 99941").len(), 1);
    left.end().await;
    assert_eq!(living("sleep 99941"), Vec::<String>::new());
}

#[tokio::test]
async fn secrets_of_the_person_stay_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(
        "env | sort | grep -c -e SECRET -e XYZZY; echo $TERM $GIT_PAGER; $EDITOR file",
        folder.path(),
    );
    command.environment = [
        ("PATH", std::env::var("PATH").unwrap()),
        ("MY_SECRET_KEY", "XYZZY".to_owned()),
        ("UNLISTED", "XYZZY".to_owned()),
    ]
    .into_iter()
    .collect();
    let run = run_command(&command).await;
    assert!(
        run.text.starts_with("0\r\nxterm-256color cat\r\n"),
        "{:?}",
        run.text
    );
}

#[tokio::test]
async fn a_cancel_before_the_command_has_begun_is_as_quick_as_any() {
    let folder = tempfile::tempdir().unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    for _ in 0..10 {
        let begun = Instant::now();
        let output = TerminalOutput::new();
        let ended = command("sleep 99951", folder.path())
            .run(&output, &deaf(), &cancel)
            .await
            .unwrap();
        assert_eq!(ended.cause, Cause::Cancelled);
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{:?}",
            begun.elapsed()
        );
    }
    assert_eq!(living("sleep 99951"), Vec::<String>::new());
}

#[tokio::test]
async fn a_command_that_kills_its_supervisor_does_not_outlive_it() {
    let run = run("setsid sleep 99961 & trap '' HUP TERM; kill -9 $PPID; sleep 99962").await;
    assert_eq!(run.ended.exit, Exit::Unknown);
    assert_eq!(living("sleep 9996"), Vec::<String>::new());
}

#[tokio::test]
async fn a_supervisor_that_was_stopped_does_not_keep_a_cancel_waiting() {
    let (run, took) = cancelled_at("kill -STOP $PPID; echo ready; sleep 99971", "ready").await;
    assert_eq!(run.ended.cause, Cause::Cancelled);
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_eq!(living("sleep 99971"), Vec::<String>::new());
}

#[tokio::test]
async fn what_was_left_running_and_ended_by_itself_is_known_to_be_over() {
    let run = run("sleep 0.1 & true").await;
    let left = run.ended.left.expect("something is left");
    while !left.is_over() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_reads_finds_the_end_at_once() {
    let begun = Instant::now();
    let run = run("cat; read line; echo status $?").await;
    assert_eq!(run.text, "status 1\r\n");
    assert!(begun.elapsed() < Duration::from_secs(10));
}
