//! The past of a session, told again in the words of the live one.
//!
//! Read from the store a page at a time: however long a log is, what is held is a page and the calls that are not over.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use crate::model::{AssistantBlock, ToolArgs};
use crate::session::SessionId;
use crate::session::event::{Entry, Event, EventKind};
use crate::session::log::PAGE;
use crate::session::shown::{ShownBody, ShownCall, ShownResult};
use crate::session::update::Update;
use crate::shell::exit::Exit;
use crate::shell::terminal::TerminalOutput;
use crate::store::{BlobId, SessionStore, StoreError};
use crate::tool::exit_marker::{self, ExitMarker};
use crate::tool::presentation::{CallPresentation, Circumstances, ResultBody, ResultPresentation};

/// The past of a session, update by update, as far as it was stored when it was asked for.
#[derive(Debug)]
pub struct History {
    store: Arc<dyn SessionStore>,
    id: SessionId,
    /// The next event to read.
    next: u64,
    /// The first one that is not told.
    end: u64,
    told: Told,
    /// Events that were read and not told.
    page: VecDeque<EventKind>,
    /// What the events before them have to tell.
    ready: VecDeque<Update>,
    /// Nobody listens.
    silent: bool,
}

impl History {
    pub(crate) fn new(store: Arc<dyn SessionStore>, id: SessionId, end: u64) -> Self {
        Self {
            store,
            id,
            next: 0,
            end,
            told: Told::default(),
            page: VecDeque::new(),
            ready: VecDeque::new(),
            silent: false,
        }
    }

    /// The next update; `None` when all was told. A call whose command still runs is told as far as its announcement, and its
    /// card is shown by who shows the live session.
    pub async fn next(&mut self) -> Result<Option<Update>, StoreError> {
        self.next_noting(|_| {}).await
    }

    pub(crate) fn id(&self) -> &SessionId {
        &self.id
    }

    /// From here on nothing is told; events are still noted.
    pub(crate) fn fall_silent(&mut self) {
        self.silent = true;
        self.page.clear();
        self.ready.clear();
    }

    /// Goes on to a later end: events that have been stored since.
    pub(crate) fn go_on_to(&mut self, end: u64) {
        self.end = end;
    }

    /// As [`next`](Self::next), for whoever reads the same events on the way.
    pub(crate) async fn next_noting(
        &mut self,
        mut note: impl FnMut(&Event),
    ) -> Result<Option<Update>, StoreError> {
        loop {
            if let Some(update) = self.ready.pop_front() {
                return Ok(Some(update));
            }
            if !self.page.is_empty() {
                self.tell_some().await?;
                continue;
            }
            if self.next >= self.end {
                return Ok(None);
            }
            let left = usize::try_from(self.end - self.next).unwrap_or(usize::MAX);
            let page = self.store.read(&self.id, self.next, PAGE.min(left)).await?;
            if page.is_empty() {
                if self.end != u64::MAX {
                    return Err(StoreError::OutOfOrder {
                        id: self.id.clone(),
                        seq: self.next,
                    });
                }
                // The end of the log, where that was not known.
                self.end = self.next;
            }
            for event in page {
                self.next = event.seq + 1;
                note(&event);
                if let Entry::Known(kind) = event.what
                    && !self.silent
                {
                    self.page.push_back(kind);
                }
            }
        }
    }

    /// Has some events told, with the bytes that they refer to: a few blobs at a time, since each may be a megabyte.
    async fn tell_some(&mut self) -> Result<(), StoreError> {
        let mut needed: Vec<BlobId> = Vec::new();
        let mut some = 0;
        for kind in &self.page {
            needed.extend(shown_blobs(kind));
            some += 1;
            if needed.len() >= MOST_BLOBS {
                break;
            }
        }
        let found = self.found(&needed).await?;
        for kind in self.page.drain(..some) {
            self.told.note(kind, &found, &mut self.ready);
        }
        Ok(())
    }
}

impl History {
    /// The bytes of these blobs. One that is not what was stored is as good as gone: the rest of the past is told all the same.
    async fn found(&self, needed: &[BlobId]) -> Result<HashMap<BlobId, Vec<u8>>, StoreError> {
        if needed.is_empty() {
            return Ok(HashMap::new());
        }
        match self.store.blobs(&self.id, needed).await {
            Err(StoreError::Damaged { .. }) => {}
            found => return found,
        }
        let mut found = HashMap::new();
        for blob in needed {
            match self.store.blob(&self.id, blob).await {
                Ok(Some(bytes)) => {
                    found.insert(blob.clone(), bytes);
                }
                Ok(None) => {}
                Err(error @ StoreError::Damaged { .. }) => {
                    tracing::warn!(session = %self.id, %error, "what a command printed is lost");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }
}

/// What a card of the past shows whose output is not kept any more.
const LOST: &str = "[what this command printed is not kept any more]\r\n";

/// How many blobs are fetched at a time.
const MOST_BLOBS: usize = 8;

/// What was told so far of calls that are not over. Pure: events and bytes in, updates out.
#[derive(Debug, Default)]
struct Told {
    open: HashMap<String, OpenCall>,
}

#[derive(Debug)]
struct OpenCall {
    output: TerminalOutput,
    exit: Option<(Exit, Circumstances)>,
    /// What its command has printed, once that is known.
    printed: String,
    answered: bool,
}

impl Told {
    fn note(
        &mut self,
        kind: EventKind,
        blobs: &HashMap<BlobId, Vec<u8>>,
        updates: &mut VecDeque<Update>,
    ) {
        match kind {
            EventKind::UserMessage { text } => updates.push_back(Update::User(text)),
            EventKind::AssistantMessage { blocks } => {
                updates.extend(blocks.into_iter().filter_map(said));
            }
            EventKind::ToolCall {
                call_id,
                name,
                args,
                shown,
                ..
            } => updates.push_back(self.called(call_id, &name, args, shown)),
            EventKind::TerminalExit {
                call_id,
                exit,
                circumstances,
                output_ref,
            } => {
                let named = output_ref.and_then(|name| name.parse().ok());
                let kept = named.map(|name: BlobId| {
                    let kept = blobs.get(&name).cloned();
                    kept.unwrap_or_else(|| LOST.as_bytes().to_owned())
                });
                updates.extend(self.exited(call_id, (exit, circumstances), kept));
            }
            EventKind::ToolResult {
                call_id,
                content,
                is_error,
                shown,
                ..
            } => {
                let picture = shown
                    .as_ref()
                    .and_then(|shown| shown.image.as_ref())
                    .and_then(|image| blobs.get(&image.blob).cloned());
                let looks = match shown {
                    Some(shown) => Looks::Kept(*shown, picture),
                    None => Looks::Plain { content, is_error },
                };
                updates.extend(self.answered(call_id, looks));
            }
            EventKind::Title { title } => updates.push_back(Update::Title(title)),
            // Bookkeeping, what only the model read, and notices, which were for their own time.
            EventKind::TurnStart { .. }
            | EventKind::StepStart
            | EventKind::AssistantChunk { .. }
            | EventKind::PermissionDecision { .. }
            | EventKind::Plan { .. }
            | EventKind::Config { .. }
            | EventKind::Usage { .. }
            | EventKind::Notice { .. }
            | EventKind::Injected { .. }
            | EventKind::Compaction { .. }
            | EventKind::Error { .. }
            | EventKind::StepEnd
            | EventKind::TurnEnd { .. } => {}
        }
    }
}

/// How a result is to look.
enum Looks {
    /// As it was shown, with the bytes of its picture.
    Kept(ShownResult, Option<Vec<u8>>),
    /// Of a result that was broken off, or that an older build has written.
    Plain { content: String, is_error: bool },
}

impl Told {
    fn called(
        &mut self,
        call_id: String,
        name: &str,
        args: ToolArgs,
        shown: Option<Box<ShownCall>>,
    ) -> Update {
        let output = TerminalOutput::new();
        let arguments = match args {
            ToolArgs::Json(value) => value,
            ToolArgs::Malformed(text) => Value::String(text),
        };
        let presentation = match shown {
            Some(shown) => shown.again(name, arguments, output.clone()),
            None => CallPresentation::plain(name, arguments),
        };
        self.open.insert(
            call_id.clone(),
            OpenCall {
                output,
                exit: None,
                printed: String::new(),
                answered: false,
            },
        );
        Update::Call {
            call_id,
            presentation: Box::new(presentation),
        }
    }

    fn exited(
        &mut self,
        call_id: String,
        exit: (Exit, Circumstances),
        kept: Option<Vec<u8>>,
    ) -> Option<Update> {
        let call = self.open.get_mut(&call_id)?;
        call.printed = kept
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default();
        call.output.recall(call.printed.clone());
        if !call.answered {
            call.exit = Some(exit);
            return None;
        }
        let presentation = ended_in_background(exit, &call.printed);
        self.open.remove(&call_id);
        Some(Update::TerminalEnded {
            call_id,
            presentation: Box::new(presentation),
        })
    }

    fn answered(&mut self, call_id: String, looks: Looks) -> Option<Update> {
        let call = self.open.get_mut(&call_id)?;
        let exit = call.exit.take();
        let presentation = match looks {
            Looks::Kept(shown, picture) => shown.again(exit, &call.printed, picture),
            Looks::Plain { content, is_error } => plain_result(&content, is_error, exit),
        };
        if presentation.goes_on {
            call.answered = true;
        } else {
            self.open.remove(&call_id);
        }
        Some(Update::CallEnded {
            call_id,
            presentation: Box::new(presentation),
        })
    }
}

/// The bytes that an event refers to and that are shown.
fn shown_blobs(kind: &EventKind) -> Vec<BlobId> {
    match kind {
        EventKind::TerminalExit { output_ref, .. } => output_ref
            .iter()
            .filter_map(|name| name.parse().ok())
            .collect(),
        EventKind::ToolResult { shown, .. } => shown
            .iter()
            .filter_map(|shown| shown.image.as_ref())
            .map(|image| image.blob.clone())
            .collect(),
        _ => Vec::new(),
    }
}

fn said(block: AssistantBlock) -> Option<Update> {
    match block {
        AssistantBlock::Text { text } => Some(Update::Text(text)),
        AssistantBlock::Reasoning { text, .. } => {
            (!text.is_empty()).then_some(Update::Reasoning(text))
        }
        // Each has an event of its own.
        AssistantBlock::ToolCall { .. } => None,
    }
}

fn ended_in_background(exit: (Exit, Circumstances), printed: &str) -> ResultPresentation {
    let shown = ShownResult {
        succeeded: exit.0.is_success() && exit.1.is_ordinary(),
        body: ShownBody::Terminal,
        image: None,
        notice: None,
        goes_on: false,
    };
    shown.again(Some(exit), printed, None)
}

/// The looks of a result that was broken off, or that an older build has written.
fn plain_result(
    content: &str,
    is_error: bool,
    exit: Option<(Exit, Circumstances)>,
) -> ResultPresentation {
    let (words, marker) = exit_marker::parse(content).unzip();
    let words = words.unwrap_or(content);
    let (exit, circumstances) = exit.unzip();
    ResultPresentation {
        succeeded: !is_error,
        circumstances: circumstances.unwrap_or_default(),
        body: ResultBody::Text(words.to_owned()),
        exit,
        image: None,
        notice: None,
        goes_on: matches!(marker, Some(ExitMarker::Running { .. })),
    }
}
