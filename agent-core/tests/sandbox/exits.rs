//! The end of a command is told as it was, whatever stands between it and its supervisor.

use std::time::{Duration, Instant};

use agent_core::shell::command::Cause;
use agent_core::shell::exit::Exit;
use agent_core::shell::handle::CommandHandle;
use agent_core::shell::sandbox::{Engine, Level, Sandbox};
use agent_core::shell::terminal::TerminalOutput;
use pretty_assertions::assert_eq;
use tokio_util::sync::CancellationToken;

use crate::room::{ENGINES, Room};

#[tokio::test]
async fn every_exit_is_told_as_it_was() {
    for engine in ENGINES {
        let room = Room::new();
        let sandbox = room.writing(engine);
        for (line, exit) in [
            ("true", Exit::Code(0)),
            ("exit 3", Exit::Code(3)),
            ("exit 255", Exit::Code(255)),
            ("exit 137", Exit::Code(137)),
            ("no-such-command-here", Exit::Code(127)),
            ("kill -9 $$", Exit::Signal("SIGKILL".into())),
            ("kill -TERM $$", Exit::Signal("SIGTERM".into())),
            ("kill -SEGV $$", Exit::Signal("SIGSEGV".into())),
            ("kill -USR1 $$", Exit::Signal("SIGUSR1".into())),
            ("kill -35 $$", Exit::Signal("SIGRTMIN+1".into())),
            ("kill -9 0", Exit::Signal("SIGKILL".into())),
            ("trap '' USR1; kill -USR1 0; exit 5", Exit::Code(5)),
            ("sleep 99811 & exit 4", Exit::Code(4)),
        ] {
            let run = room.run(&sandbox, line).await;
            assert_eq!((line, run.exit), (line, exit), "{engine:?}");
        }
    }
}

#[tokio::test]
async fn the_terminal_is_the_commands_and_its_folder_keeps_its_name() {
    for engine in ENGINES {
        let room = Room::new();
        let link = room.home.join("link");
        std::os::unix::fs::symlink(&room.root, &link).unwrap();
        let run = room
            .run_in(
                &link,
                &room.writing(engine),
                "pwd; read -t 0.05 x </dev/tty; echo status $?; ps -o stat= -p $$ | grep -c +",
            )
            .await;
        assert_eq!(
            run.text,
            format!("{}\nstatus 142\n1\n", link.display()),
            "{engine:?}"
        );
    }
}

/// Runs until `ready` is printed, then cancels.
async fn cancelled(room: &Room, sandbox: &Sandbox, line: &str) -> (Cause, Exit, String) {
    let output = TerminalOutput::new();
    let cancel = CancellationToken::new();
    let command = room.command(&room.root, sandbox, line);
    let task = tokio::spawn({
        let (output, cancel) = (output.clone(), cancel.clone());
        async move {
            command
                .run(&output, &CommandHandle::new(false), &cancel)
                .await
                .unwrap()
        }
    });
    let mut seen = String::new();
    while !seen.contains("ready") {
        seen.push_str(&output.next().await.expect("the command ended too early"));
    }
    let begun = Instant::now();
    cancel.cancel();
    let ended = task.await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10));
    (ended.cause, ended.exit, output.kept_text())
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
async fn a_cancel_reaches_the_command_first_and_then_everything() {
    for engine in ENGINES {
        let room = Room::new();
        let sandbox = room.writing(engine);
        let line =
            "trap 'echo bye; exit 7' INT; sleep 99821 & setsid sleep 99822 & echo ready; wait";
        let (cause, exit, text) = cancelled(&room, &sandbox, line).await;
        assert_eq!(
            (cause, exit),
            (Cause::Cancelled, Exit::Code(7)),
            "{engine:?}"
        );
        assert!(text.ends_with("bye\r\n"), "{engine:?} {text:?}");
        assert_eq!(living("sleep 9982"), Vec::<String>::new(), "{engine:?}");
        let line = "trap '' INT TERM; echo ready; while :; do sleep 0.05; done";
        let (_, exit, _) = cancelled(&room, &sandbox, line).await;
        assert_eq!(exit, Exit::Signal("SIGKILL".into()), "{engine:?}");
    }
}

#[tokio::test]
async fn a_command_whose_sandbox_cannot_be_put_up_does_not_run() {
    let room = Room::new();
    let lost = Sandbox {
        bubblewrap: None,
        ..room.writing(Engine::Bubblewrap)
    };
    let broken = Sandbox {
        bubblewrap: Some("/bin/false".into()),
        ..room.writing(Engine::Bubblewrap)
    };
    let gone = Sandbox {
        bubblewrap: Some("/no/such/bwrap".into()),
        ..room.writing(Engine::Bubblewrap)
    };
    for (sandbox, words) in [
        (
            lost,
            "the program bwrap is not on the PATH: install the package bubblewrap",
        ),
        (broken, "/bin/false"),
        (gone, "/no/such/bwrap"),
    ] {
        let run = room.run(&sandbox, "touch ran").await;
        assert_eq!(run.exit, Exit::Code(126), "{run:?}");
        assert!(
            run.text.starts_with(
                "placard: the command did not run, because its sandbox cannot be put up: "
            ),
            "{run:?}"
        );
        assert!(run.text.contains(words), "{run:?}");
        assert!(!room.root.join("ran").exists());
    }
    assert_eq!(room.writing(Engine::Landlock).level, Level::WorkspaceWrite);
}
