//! One life of an agent: started, initialized, read until it ends or is to end.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, split};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::exchange::{End, Then};
use crate::frame::Kind;
use crate::hub::Shared;
use crate::process::AgentProcess;
use crate::reading::{Unreadable, kind_of_beginning, read as read_message};
use crate::source::{AgentSource, ServeResult};
use crate::wire::{LINE_LIMIT, Line, LineReader, WireSide, WireTap};

/// Lines that may wait for the agent to read them; then the pages wait.
const WAITING_LINES: usize = 64;
/// An agent that has closed its output, or was asked to end, is given so long to end by itself.
const END_GRACE: Duration = Duration::from_secs(1);
/// The agent inside this program saves its sessions and ends its commands first.
const EMBEDDED_END_GRACE: Duration = Duration::from_secs(5);
/// What an ended agent has written is read for so long: a child that it left behind may hold the pipe open.
const DRAIN: Duration = Duration::from_millis(300);
/// Bytes under way between this program and the agent inside it.
const EMBEDDED_PIPE: usize = 64 * 1024;

type Input = Box<dyn AsyncWrite + Send + Unpin>;
type Output = Box<dyn AsyncRead + Send + Unpin>;

/// What is alive.
enum Body {
    Process(Box<AgentProcess>),
    Task(JoinHandle<ServeResult>),
}

impl Body {
    fn start(source: &AgentSource, tap: &WireTap) -> Result<(Self, Input, Output), String> {
        match source {
            AgentSource::Command(command) => {
                let (process, stdin, stdout) = AgentProcess::start(command, tap)?;
                Ok((
                    Self::Process(Box::new(process)),
                    Box::new(stdin),
                    Box::new(stdout),
                ))
            }
            AgentSource::Embedded(agent) => {
                let (ours, theirs) = tokio::io::duplex(EMBEDDED_PIPE);
                let task = tokio::spawn((agent.serve)(theirs));
                let (output, input) = split(ours);
                Ok((Self::Task(task), Box::new(input), Box::new(output)))
            }
        }
    }

    /// Waits for the end. For a task the end of its output says it all, so this never comes first.
    async fn ended(&mut self) {
        match self {
            Self::Process(process) => {
                process.ended().await;
            }
            Self::Task(_) => std::future::pending().await,
        }
    }

    async fn end(self) -> End {
        match self {
            Self::Process(process) => {
                let (what, stderr) = process.end(END_GRACE).await;
                End { what, stderr }
            }
            Self::Task(mut task) => {
                let what = match timeout(EMBEDDED_END_GRACE, &mut task).await {
                    Ok(Ok(Ok(()))) => "the agent ended".to_owned(),
                    Ok(Ok(Err(error))) => format!("the agent ended: {error}"),
                    Ok(Err(fault)) => format!("the agent failed: {fault}"),
                    Err(_) => {
                        task.abort();
                        "the agent did not end and was stopped".to_owned()
                    }
                };
                End {
                    what,
                    stderr: String::new(),
                }
            }
        }
    }
}

/// Why reading stopped.
enum Cause {
    /// We want it to end.
    Stopped,
    /// It never answered `initialize`.
    Silent,
    /// It answered, but not what we can live with.
    Refused(String),
    /// It has closed its input and lives on.
    Deaf,
    /// Its output ended, or it did.
    Gone,
}

/// Lives one life and tells how it ended. The exchange has been told too, except of the end.
pub(crate) async fn live(shared: &Arc<Shared>, stop: &CancellationToken) -> End {
    let (mut body, input, output) = match Body::start(&shared.source, &shared.tap) {
        Ok(started) => started,
        Err(what) => {
            return End {
                what,
                stderr: String::new(),
            };
        }
    };
    let (to_agent, lines) = mpsc::channel(WAITING_LINES);
    let finish = CancellationToken::new();
    let mut writer = tokio::spawn(write_lines(
        input,
        lines,
        finish.clone(),
        shared.tap.clone(),
    ));
    let initialize = shared.exchange().begin(to_agent.clone(), shared.now());
    // The channel is empty and the writer may at worst be gone already, which `read` will see.
    let _ = to_agent.send(initialize).await;

    let mut reader = LineReader::new(output, LINE_LIMIT);
    let cause = read(
        shared,
        &mut body,
        &mut reader,
        (&to_agent, &mut writer),
        stop,
    )
    .await;
    shared.exchange().unlink();
    finish.cancel();
    // What it still writes is read: an agent that cannot write cannot end.
    let mut end = tokio::select! {
        end = body.end() => end,
        never = read_forever(shared, &mut reader) => match never {},
    };
    writer.abort();
    let limit = shared.initialize_limit.as_secs_f32();
    let name = shared.source.name();
    match cause {
        Cause::Gone => {}
        Cause::Stopped => "the agent was stopped".clone_into(&mut end.what),
        Cause::Deaf => {
            end.what = format!(
                "`{name}` closed its input, so that nothing more can be said to it, and was stopped"
            );
        }
        Cause::Refused(why) => end.what = format!("`{name}` was stopped: {why}"),
        Cause::Silent => {
            end.what = format!(
                "`{name}` did not answer `initialize` within {limit} s and was stopped. \
                 Is it an ACP agent? Many need a flag for it, such as --acp."
            );
        }
    }
    end
}

async fn read(
    shared: &Arc<Shared>,
    body: &mut Body,
    reader: &mut LineReader<Output>,
    (to_agent, writer): (&mpsc::Sender<String>, &mut JoinHandle<()>),
    stop: &CancellationToken,
) -> Cause {
    let silence = sleep(shared.initialize_limit);
    tokio::pin!(silence);
    let mut initialized = false;
    let last_words = sleep(Duration::MAX);
    tokio::pin!(last_words);
    let mut deaf = false;
    loop {
        let line = tokio::select! {
            () = stop.cancelled() => return Cause::Stopped,
            () = &mut silence, if !initialized => return Cause::Silent,
            _ = &mut *writer, if !deaf => {
                // It may be about to end, and its end says more than that it cannot be written to.
                deaf = true;
                shared.exchange().unlink();
                last_words.as_mut().reset(Instant::now() + END_GRACE);
                continue;
            }
            () = &mut last_words, if deaf => return Cause::Deaf,
            () = body.ended() => {
                drain(shared, reader).await;
                return Cause::Gone;
            }
            line = reader.next() => line,
        };
        match line {
            Ok(Some(line)) => match take_line(shared, line) {
                Then::Initialized => {
                    initialized = true;
                    shared.changed.notify_waiters();
                }
                Then::Refused(why) => return Cause::Refused(why),
                Then::Reply(reply) => {
                    // The writer's end is seen above.
                    tokio::select! {
                        () = stop.cancelled() => return Cause::Stopped,
                        _ = to_agent.send(reply) => {}
                    }
                }
                Then::Nothing | Then::Dropped(_) => {}
            },
            Ok(None) => return Cause::Gone,
            Err(error) => {
                shared.tap.see(
                    WireSide::Note,
                    &format!("the agent's output failed: {error}"),
                );
                return Cause::Gone;
            }
        }
    }
}

async fn read_forever(shared: &Arc<Shared>, reader: &mut LineReader<Output>) -> Infallible {
    while let Ok(Some(line)) = reader.next().await {
        take_line(shared, line);
    }
    std::future::pending().await
}

/// Reads what a program wrote before it ended.
async fn drain(shared: &Arc<Shared>, reader: &mut LineReader<Output>) {
    let _ = timeout(DRAIN, async {
        while let Ok(Some(line)) = reader.next().await {
            take_line(shared, line);
        }
    })
    .await;
}

fn take_line(shared: &Shared, line: Line) -> Then {
    let text = match line {
        Line::Text(text) if text.trim().is_empty() => return Then::Nothing,
        Line::Text(text) => text,
        Line::NotUtf8(text) => {
            shared.tap.see(WireSide::FromAgent, &text);
            note(
                shared,
                "the line above is not UTF-8: U+FFFD is where it is not",
            );
            return take_text(shared, &text);
        }
        Line::TooLong { bytes, head } => {
            let why = format!("it has {bytes} bytes and {LINE_LIMIT} are read");
            note(shared, &format!("a line was left out: {why}"));
            let kind = kind_of_beginning(&head);
            return take_unreadable(shared, &Unreadable { kind, why });
        }
    };
    shared.tap.see(WireSide::FromAgent, &text);
    take_text(shared, &text)
}

fn take_text(shared: &Shared, text: &str) -> Then {
    match read_message(text) {
        Ok(message) => {
            if !message.as_written {
                note(
                    shared,
                    "the line above has half characters (lone surrogates): U+FFFD is in their place",
                );
            }
            let then = shared
                .exchange()
                .take_from_agent(&message.frame, shared.now());
            if let Then::Dropped(why) = &then {
                note(shared, &format!("the line above was left out: {why}"));
            }
            then
        }
        Err(unreadable) => {
            if unreadable.kind == Kind::Other {
                note(
                    shared,
                    "the line above is no JSON-RPC message and was left out",
                );
            } else {
                let why = &unreadable.why;
                note(shared, &format!("the line above was left out: {why}"));
            }
            take_unreadable(shared, &unreadable)
        }
    }
}

/// Nobody waits for ever for what was left out.
fn take_unreadable(shared: &Shared, unreadable: &Unreadable) -> Then {
    shared.exchange().take_unreadable(unreadable, shared.now())
}

fn note(shared: &Shared, what: &str) {
    tracing::debug!(agent = shared.source.name(), "{what}");
    shared.tap.see(WireSide::Note, what);
}

/// The one writer: lines in the order in which they were spooled. Ends the agent's input when told to finish.
async fn write_lines(
    mut input: Input,
    mut lines: mpsc::Receiver<String>,
    finish: CancellationToken,
    tap: WireTap,
) {
    loop {
        let line = tokio::select! {
            biased;
            line = lines.recv() => line,
            () = finish.cancelled() => {
                lines.close();
                match lines.recv().await {
                    Some(line) => Some(line),
                    None => break,
                }
            }
        };
        let Some(mut line) = line else { break };
        tap.see(WireSide::ToAgent, &line);
        line.push('\n');
        if input.write_all(line.as_bytes()).await.is_err() || input.flush().await.is_err() {
            break;
        }
    }
    let _ = input.shutdown().await;
}
