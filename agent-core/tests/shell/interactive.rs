//! Commands that wait for somebody, are typed into, or are stopped alone.

use std::time::Duration;

use agent_core::shell::command::{Cause, Ended, PrintsTo};
use agent_core::shell::exit::Exit;
use agent_core::shell::handle::{CommandHandle, CommandState, TerminalError, TerminalInput};
use agent_core::shell::terminal::{TerminalOutput, TerminalSize};
use pretty_assertions::assert_eq;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{command, run, run_command};

/// A command that runs while the test goes on.
struct Live {
    handle: CommandHandle,
    output: TerminalOutput,
    task: JoinHandle<Ended>,
    _folder: tempfile::TempDir,
}

impl Live {
    fn start(line: &str, keyboard: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (handle, output) = (CommandHandle::new(keyboard), TerminalOutput::new());
        let task = tokio::spawn({
            let (command, handle, output) =
                (command(line, folder.path()), handle.clone(), output.clone());
            async move {
                let cancel = CancellationToken::new();
                command.run(&output, &handle, &cancel).await.unwrap()
            }
        });
        Self {
            handle,
            output,
            task,
            _folder: folder,
        }
    }

    async fn waits(&self) {
        let mut states = self.handle.states();
        let waiting = states.wait_for(|state| *state == CommandState::Waiting);
        tokio::time::timeout(Duration::from_secs(20), waiting)
            .await
            .expect("it is seen to wait")
            .unwrap();
    }

    fn types(&self, text: &str) {
        self.handle
            .type_in(&TerminalInput::Text(text.to_owned()))
            .unwrap();
    }

    async fn end(self) -> (Exit, String) {
        let ended = self.task.await.unwrap();
        (ended.exit, self.output.kept_text())
    }
}

#[tokio::test]
async fn a_command_that_reads_is_seen_to_wait_and_goes_on_when_somebody_types() {
    let live = Live::start("echo name?; read name; echo hello $name", true);
    live.waits().await;
    live.types("Ada\r");
    let (exit, text) = live.end().await;
    assert_eq!(
        (exit, text.as_str()),
        (Exit::Code(0), "name?\r\nAda\r\nhello Ada\r\n")
    );
}

#[tokio::test]
async fn the_end_of_the_input_can_be_typed() {
    let live = Live::start("cat; echo over", true);
    live.waits().await;
    live.types("one\r");
    live.waits().await;
    live.handle.type_in(&TerminalInput::End).unwrap();
    let (exit, text) = live.end().await;
    assert_eq!(
        (exit, text.as_str()),
        (Exit::Code(0), "one\r\none\r\nover\r\n")
    );
}

#[tokio::test]
async fn the_end_of_the_input_is_its_end_on_a_begun_line_and_for_the_next_reader() {
    let live = Live::start("cat; echo between; cat; echo over", true);
    live.waits().await;
    live.types("abc");
    live.handle.type_in(&TerminalInput::End).unwrap();
    let (exit, text) = live.end().await;
    assert_eq!(
        (exit, text.as_str()),
        (Exit::Code(0), "abcabcbetween\r\nover\r\n")
    );
}

#[tokio::test]
async fn every_way_to_wait_for_a_key_is_seen() {
    for line in [
        // a line editor: pselect
        "read -e line",
        // a password: no echo
        "read -s -p 'Password: ' word",
        "exec 3</dev/tty; read -u 3 line",
        "python3 -c 'import select, sys; select.select([sys.stdin], [], [])'",
        "python3 -c 'import select, sys; p = select.poll(); p.register(0, select.POLLIN); p.poll()'",
        "python3 -c 'import select, sys; p = select.epoll(); p.register(0, select.EPOLLIN); p.poll()'",
        // a thread of its own
        "python3 -c 'import threading; t = threading.Thread(target=input); t.start(); t.join()'",
    ] {
        let live = Live::start(line, true);
        live.waits().await;
        live.types("x\r");
        assert_eq!((line, live.end().await.0), (line, Exit::Code(0)));
    }
}

#[tokio::test]
async fn a_command_that_works_or_serves_is_not_taken_for_one_that_waits() {
    let serves = "python3 -c '
import select, socket, sys
server = socket.create_server((\"127.0.0.1\", 0))
print(flush=True)
select.select([sys.stdin, server], [], [], 1.2)
'";
    for line in ["sleep 1.2", serves] {
        let live = Live::start(line, true);
        let states = live.handle.states();
        let mut watched = states.clone();
        watched
            .wait_for(|state| *state != CommandState::Running)
            .await
            .unwrap();
        assert_eq!((line, *states.borrow()), (line, CommandState::Over));
        assert_eq!((line, live.end().await.0), (line, Exit::Code(0)));
    }
}

#[tokio::test]
async fn where_nobody_can_type_a_reader_of_the_terminal_finds_its_end() {
    let run = run("read line </dev/tty; echo status $?").await;
    assert_eq!(run.text, "status 1\r\n");
    let live = Live::start("true", false);
    assert_eq!(
        live.handle.type_in(&TerminalInput::End),
        Err(TerminalError::NoKeyboard)
    );
}

#[tokio::test]
async fn where_nobody_can_type_a_program_that_waits_for_keys_is_stopped() {
    let keys = "stty -icanon -echo </dev/tty; echo page; read -n 1 key </dev/tty; echo never";
    let live = Live::start(keys, false);
    let ended = live.task.await.unwrap();
    assert_eq!(
        (ended.cause, ended.waited_for_input, ended.exit),
        (Cause::Stopped, true, Exit::Signal("SIGINT".into()))
    );
    assert_eq!(live.output.kept_text(), "page\r\n");
}

#[tokio::test]
async fn one_command_is_stopped_by_its_handle() {
    let live = Live::start("echo begun; sleep 99981", true);
    live.output.next().await.unwrap();
    live.handle.stop().unwrap();
    let ended = live.task.await.unwrap();
    assert_eq!(
        (ended.cause, ended.exit),
        (Cause::Stopped, Exit::Signal("SIGINT".into()))
    );
    assert_eq!(live.handle.stop(), Err(TerminalError::NotRunning));
}

#[tokio::test]
async fn a_time_limit_tells_that_it_waited() {
    let folder = tempfile::tempdir().unwrap();
    let mut limited = command("read line", folder.path());
    limited.time_limit = Some(Duration::from_secs(2));
    let ended = limited
        .run(
            &TerminalOutput::new(),
            &CommandHandle::new(true),
            &CancellationToken::new(),
        )
        .await
        .unwrap();
    assert_eq!(
        (ended.cause, ended.waited_for_input),
        (Cause::TimedOut, true)
    );
}

#[tokio::test]
async fn a_terminal_has_the_size_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut sized = command("stty size </dev/tty", folder.path());
    sized.size = TerminalSize {
        rows: 24,
        columns: 80,
    };
    assert_eq!(run_command(&sized).await.text, "24 80\r\n");
}

#[tokio::test]
async fn through_a_pipe_a_program_prints_as_it_does_for_another() {
    let folder = tempfile::tempdir().unwrap();
    let mut piped = command(
        "test -t 1 || echo pipe; echo error >&2; (sleep 0.1; echo late); echo asked >/dev/tty",
        folder.path(),
    );
    piped.prints_to = PrintsTo::Pipe;
    let run = run_command(&piped).await;
    let mut lines: Vec<&str> = run.text.lines().collect();
    // The terminal is another way than the pipe: the order between the two is not kept.
    lines.sort_unstable();
    assert_eq!(lines, ["asked", "error", "late", "pipe"]);
    assert_eq!(run.ended.exit, Exit::Code(0));
}
