//! A stored conversation as a person reads it: events in, text out, by the same looks as `placard run`.
//!
//! What is stored was written by others: it reaches the person as plain text, and no escape sequence with it.

use std::collections::VecDeque;
use std::path::PathBuf;

use agent_core::model::{AssistantBlock, ToolArgs};
use agent_core::session::event::{Decision, Event, EventKind, TurnEndReason};
use agent_core::session::shown::{ShownBody, ShownCall, ShownResult};
use agent_core::session::standing;
use agent_core::shell::exit::Exit;
use agent_core::store::BlobId;
use agent_core::tool::presentation::Circumstances;
use agent_core::tool::{bash, exit_marker};
use xterm_rs_bridge::plain_text;

use super::excerpt::{Excerpt, excerpt};
use super::viewer::{Viewer, one_line};
use crate::ink::{Tone, harmless};
use crate::times::{age_words, date_words, duration_words};

/// What is written so far, as far as the rest depends on it.
#[derive(Debug)]
pub(crate) struct Telling {
    viewer: Viewer,
    bound: Excerpt,
    /// How all of an output is seen.
    whole: String,
    out: String,
    begun: bool,
    /// Calls without a result, and commands in the background, in the order of their calls.
    open: VecDeque<OpenCall>,
    /// Events of a kind that this build does not know.
    unknown: u64,
}

/// A call that is not over.
#[derive(Debug)]
struct OpenCall {
    id: String,
    title: String,
    is_command: bool,
    /// The folder of a command, where the log tells it.
    folder: Option<PathBuf>,
    started: u64,
    refused: bool,
    exit: Option<(Exit, Circumstances, u64)>,
    printed: Printed,
    /// It was answered, and its command went on.
    background: bool,
}

/// What a command has printed, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Printed {
    /// Nothing is kept outside the log.
    Nothing,
    /// These bytes.
    Bytes(Vec<u8>),
    /// The log names bytes that the store does not have.
    Lost,
}

impl Telling {
    /// A clean sheet. `whole` is how all of an output is seen, said where one is cut.
    pub(crate) fn new(viewer: Viewer, bound: Excerpt, whole: String) -> Self {
        Self {
            viewer,
            bound,
            whole,
            out: String::new(),
            begun: false,
            open: VecDeque::new(),
            unknown: 0,
        }
    }

    /// The bytes that an event's text needs.
    pub(crate) fn needs(event: &Event) -> Option<BlobId> {
        match event.what.known() {
            Some(EventKind::TerminalExit { output_ref, .. }) => output_ref.as_ref()?.parse().ok(),
            _ => None,
        }
    }

    /// The next event, with what it [`needs`](Self::needs): what to print.
    pub(crate) fn event(&mut self, event: Event, printed: Printed) -> String {
        let at = event.at;
        match event.what {
            agent_core::session::event::Entry::Known(kind) => self.known(kind, at, printed),
            agent_core::session::event::Entry::Unknown(_) => self.unknown += 1,
        }
        std::mem::take(&mut self.out)
    }

    /// The log ends here: what to print.
    pub(crate) fn end(&mut self) -> String {
        for call in std::mem::take(&mut self.open) {
            if call.background {
                self.line(Tone::Quiet, &format!("… $ {}", one_line(&call.title)));
                self.line_below(Tone::Quiet, "its end is not known");
            } else {
                self.call(&call, "");
                self.line_below(Tone::Quiet, "no result yet");
            }
        }
        match self.unknown {
            0 => {}
            1 => self.line(
                Tone::Quiet,
                "1 event of a newer Placard is not shown; --events prints it",
            ),
            more => self.line(
                Tone::Quiet,
                &format!("{more} events of a newer Placard are not shown; --events prints them"),
            ),
        }
        std::mem::take(&mut self.out)
    }

    fn known(&mut self, kind: EventKind, at: u64, printed: Printed) {
        match kind {
            EventKind::UserMessage { text } => self.prompt(&text, at),
            EventKind::AssistantMessage { blocks } => {
                for block in blocks {
                    if let AssistantBlock::Text { text } = block {
                        self.words(&text);
                    }
                }
            }
            EventKind::ToolCall {
                call_id,
                name,
                args,
                shown,
                ..
            } => self
                .open
                .push_back(OpenCall::new(call_id, &name, &args, shown, at)),
            EventKind::PermissionDecision { call_id, decision } => {
                if let Some(call) = self.open.iter_mut().find(|call| call.id == call_id) {
                    call.refused = decision == Decision::RejectOnce;
                    // Waiting for a permission is no running.
                    call.started = at;
                }
            }
            EventKind::TerminalExit {
                call_id,
                exit,
                circumstances,
                ..
            } => self.exited(&call_id, (exit, circumstances, at), printed),
            EventKind::ToolResult {
                call_id,
                content,
                is_error,
                shown,
                ..
            } => self.answered(&call_id, &content, is_error, shown),
            EventKind::Notice { text } => self.line(Tone::Ask, &harmless(&text)),
            EventKind::Error { message } => self.line(Tone::Bad, &harmless(&message)),
            EventKind::Injected { text } => {
                self.line(Tone::Quiet, &format!("» {}", indented(&text)));
            }
            EventKind::Compaction { .. } => self.line(
                Tone::Quiet,
                "from here on the model has a summary of all that is above",
            ),
            EventKind::Config { option, value } => self.set(&option, value.as_str()),
            EventKind::TurnEnd { reason } => {
                if let Some(words) = end_words(reason) {
                    self.line(Tone::Quiet, words);
                }
            }
            EventKind::TurnStart { .. }
            | EventKind::StepStart
            | EventKind::AssistantChunk { .. }
            | EventKind::Plan { .. }
            | EventKind::Title { .. }
            | EventKind::Usage { .. }
            | EventKind::StepEnd => {}
        }
    }

    // ---- words -------------------------------------------------------------------------------------------------

    fn prompt(&mut self, text: &str, at: u64) {
        let when = format!("{} · {}", date_words(at), age_words(at, self.viewer.now));
        self.line(Tone::Quiet, &when);
        self.line_below(Tone::Headline, &format!("> {}", indented(text.trim_end())));
    }

    fn words(&mut self, text: &str) {
        let text = harmless(text);
        let text = text.trim_matches('\n');
        if !text.is_empty() {
            self.begin();
            self.out.push_str(text);
            self.out.push('\n');
        }
    }

    fn set(&mut self, option: &str, value: Option<&str>) {
        let Some(value) = value else {
            return;
        };
        let words = match option {
            standing::CWD => format!("from here on in {}", self.viewer.folder(value.as_ref())),
            standing::MODEL => format!("from here on by {}", one_line(value)),
            _ => return,
        };
        self.line(Tone::Quiet, &words);
    }

    // ---- calls -------------------------------------------------------------------------------------------------

    fn exited(&mut self, call_id: &str, exit: (Exit, Circumstances, u64), printed: Printed) {
        let Some(at) = self.open.iter().position(|call| call.id == call_id) else {
            return;
        };
        if let Some(call) = self.open.get_mut(at) {
            call.exit = Some(exit);
            call.printed = printed;
            if !call.background {
                return;
            }
        }
        if let Some(call) = self.open.remove(at) {
            self.line(Tone::Quiet, &format!("… $ {}", one_line(&call.title)));
            self.output(&call.printed, None);
            self.closing(&call, true);
        }
    }

    fn answered(
        &mut self,
        call_id: &str,
        content: &str,
        is_error: bool,
        shown: Option<Box<ShownResult>>,
    ) {
        let Some(at) = self.open.iter().position(|call| call.id == call_id) else {
            return;
        };
        let Some(mut call) = self.open.remove(at) else {
            return;
        };
        let succeeded = shown.as_ref().map_or(!is_error, |shown| shown.succeeded);
        let goes_on = shown.as_ref().map_or_else(
            || {
                matches!(
                    exit_marker::parse(content),
                    Some((_, exit_marker::ExitMarker::Running { .. }))
                )
            },
            |shown| shown.goes_on,
        );
        let notice = shown.as_ref().and_then(|shown| shown.notice.clone());
        if call.is_command {
            self.call(&call, "");
            let text = spoken(content, shown);
            self.output(&call.printed, text.as_deref());
            if goes_on && call.exit.is_none() {
                self.line_below(Tone::Quiet, "went on in the background");
                call.background = true;
                self.open.insert(at, call);
            } else {
                self.closing(&call, succeeded);
            }
        } else {
            let end = match (succeeded, call.refused) {
                (true, _) => "",
                (false, true) => " · refused",
                (false, false) => " · failed",
            };
            self.call(&call, end);
        }
        if let Some(notice) = notice {
            self.line_below(Tone::Ask, &harmless(&notice));
        }
    }

    /// The head of a call.
    fn call(&mut self, call: &OpenCall, end: &str) {
        if !call.is_command {
            self.line(Tone::Quiet, &format!("· {}{end}", one_line(&call.title)));
            return;
        }
        self.line(Tone::Headline, &format!("$ {}", indented(&call.title)));
        if let Some(folder) = &call.folder {
            let folder = self.viewer.folder(folder);
            self.line_below(Tone::Quiet, &format!("  {folder}"));
        }
    }

    /// What a command has printed, or else what there was to read of its result.
    fn output(&mut self, printed: &Printed, spoken: Option<&str>) {
        let text = match printed {
            Printed::Bytes(bytes) => plain_text(&String::from_utf8_lossy(bytes)),
            Printed::Nothing => spoken.map(harmless).unwrap_or_default(),
            Printed::Lost => {
                self.line_below(Tone::Quiet, "(what it printed is not kept any more)");
                return;
            }
        };
        let text = excerpt(&text, self.bound, |left_out| {
            let words = format!("… {left_out} left out; all of it: {}", self.whole);
            self.viewer.ink.paint(Tone::Quiet, &words)
        });
        self.out.push_str(&text);
        if !text.is_empty() && !text.ends_with('\n') {
            self.out.push('\n');
        }
    }

    fn closing(&mut self, call: &OpenCall, succeeded: bool) {
        let (tone, words) = match &call.exit {
            _ if call.refused => (Tone::Quiet, "refused".to_owned()),
            Some((exit, circumstances, at)) => {
                let time = duration_words(at.saturating_sub(call.started));
                closing_words(exit, *circumstances, succeeded, &time)
            }
            None if succeeded => (Tone::Quiet, "ended · no exit code".to_owned()),
            None => (Tone::Quiet, "not run".to_owned()),
        };
        self.line_below(tone, &words);
    }

    // ---- the sheet ---------------------------------------------------------------------------------------------

    /// A new paragraph.
    fn begin(&mut self) {
        if std::mem::replace(&mut self.begun, true) {
            self.out.push('\n');
        }
    }

    fn line(&mut self, tone: Tone, text: &str) {
        self.begin();
        self.line_below(tone, text);
    }

    fn line_below(&mut self, tone: Tone, text: &str) {
        self.out.push_str(&self.viewer.ink.paint(tone, text));
        self.out.push('\n');
    }
}

impl OpenCall {
    fn new(
        id: String,
        tool: &str,
        args: &ToolArgs,
        shown: Option<Box<ShownCall>>,
        started: u64,
    ) -> Self {
        let command = match args {
            ToolArgs::Json(args) => args.get("command").and_then(serde_json::Value::as_str),
            ToolArgs::Malformed(_) => None,
        };
        let (title, is_command, folder) = match shown.map(|shown| *shown) {
            Some(shown) => {
                let folder = shown.terminal.map(|terminal| terminal.cwd);
                (shown.title, folder.is_some(), folder)
            }
            None => (None, tool == bash::NAME, None),
        };
        // A command is told by its own line, whatever it was called.
        let line = command.filter(|_| is_command).map(str::to_owned);
        let title = line.or(title).or_else(|| command.map(str::to_owned));
        Self {
            id,
            title: title.unwrap_or_else(|| tool.to_owned()),
            is_command,
            folder,
            started,
            refused: false,
            exit: None,
            printed: Printed::Nothing,
            background: false,
        }
    }
}

/// What there was to read of a result beside what was printed.
fn spoken(content: &str, shown: Option<Box<ShownResult>>) -> Option<String> {
    match shown.map(|shown| shown.body) {
        Some(ShownBody::Text(text) | ShownBody::Console(text)) => Some(text),
        Some(ShownBody::Empty | ShownBody::Terminal) => None,
        None => Some(
            exit_marker::parse(content)
                .map_or(content, |(body, _)| body)
                .to_owned(),
        ),
    }
}

fn closing_words(
    exit: &Exit,
    circumstances: Circumstances,
    succeeded: bool,
    time: &str,
) -> (Tone, String) {
    if circumstances.timed_out {
        return (Tone::Bad, format!("timed out · {time}"));
    }
    let stopped = if circumstances.stopped {
        "stopped, "
    } else {
        ""
    };
    let left = if circumstances.left_running {
        " · left running, ended with its session"
    } else {
        ""
    };
    match exit {
        Exit::Code(0) if succeeded && !circumstances.stopped => {
            (Tone::Good, format!("ok · {time}{left}"))
        }
        Exit::Code(code) => (Tone::Bad, format!("{stopped}exit {code} · {time}{left}")),
        Exit::Signal(signal) => (
            Tone::Bad,
            format!("{stopped}killed by {} · {time}{left}", harmless(signal)),
        ),
        Exit::Unknown => (Tone::Quiet, format!("{stopped}ended · no exit code")),
    }
}

/// What is said of a turn that did not simply end.
fn end_words(reason: TurnEndReason) -> Option<&'static str> {
    match reason {
        TurnEndReason::Completed | TurnEndReason::Error => None,
        TurnEndReason::MaxTokens => Some("the turn ended: the model's token limit was reached"),
        TurnEndReason::MaxSteps => Some("the turn ended: the limit of steps in a turn was reached"),
        TurnEndReason::Refusal => Some("the turn ended: the model refused"),
        TurnEndReason::Cancelled => Some("cancelled"),
        TurnEndReason::Disposed => Some("the turn ended with its session"),
        TurnEndReason::Interrupted => Some("the turn was broken off when the program ended"),
    }
}

/// Text under a sign of two columns.
fn indented(text: &str) -> String {
    harmless(text).replace('\n', "\n  ")
}

#[cfg(test)]
mod tests;
