//! From what a session tells to the messages of the protocol: pure, and the only place that knows both vocabularies.

use agent_client_protocol::v1::schema::{
    Content, ContentBlock, ContentChunk, PermissionOption, PermissionOptionKind,
    RequestPermissionOutcome, RequestPermissionRequest, SessionId, SessionUpdate, Terminal,
    TextContent, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind,
};
use agent_core::session::event::Decision;
use agent_core::shell::exit::Exit;
use agent_core::tool::presentation::{
    CallPresentation, ResultBody, ResultPresentation, ToolCallKind,
};
use terminal_card::{Capability, TerminalExit, encode};

/// What a client asked for when it connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// Whether it draws terminal cards, and under which key it takes their output.
    pub(crate) capability: Capability,
    /// It wants a death by signal as `128+n` with the signal beside it (rule W7).
    pub(crate) signals_as_codes: bool,
}

impl Dialect {
    /// The dialect of a client that has not introduced itself: nothing of a card.
    pub(crate) fn plain() -> Self {
        Self {
            capability: Capability::None,
            signals_as_codes: false,
        }
    }

    /// Whether a call is shown as a terminal card.
    pub(crate) fn draws_card(self, call: &CallPresentation) -> bool {
        call.terminal.is_some() && self.capability != Capability::None
    }
}

const ALLOW_ONCE: &str = "allow-once";
const REJECT_ONCE: &str = "reject-once";

/// The terminal of a call. Derived, so that it is unique in its session and never used for another call (rule W5).
pub(crate) fn terminal_id(call_id: &str) -> String {
    format!("terminal-{call_id}")
}

/// More of the model's text.
pub(crate) fn text(text: String) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(ContentChunk::new(text_block(text)))
}

/// More of the model's reasoning.
pub(crate) fn reasoning(text: String) -> SessionUpdate {
    SessionUpdate::AgentThoughtChunk(ContentChunk::new(text_block(text)))
}

/// A call that was asked for and has not begun (rules W1, W3, W4, W6).
pub(crate) fn call(
    dialect: Dialect,
    call_id: &str,
    presentation: &CallPresentation,
) -> SessionUpdate {
    let mut content: Vec<ToolCallContent> = description(presentation);
    let mut call = ToolCall::new(call_id.to_owned(), presentation.title.clone())
        .kind(kind(presentation.kind))
        .status(ToolCallStatus::Pending)
        .locations(locations(presentation))
        .raw_input(presentation.arguments.clone());
    if let Some(terminal) = presentation
        .terminal
        .as_ref()
        .filter(|_| dialect.draws_card(presentation))
    {
        let id = terminal_id(call_id);
        content.push(ToolCallContent::Terminal(Terminal::new(id.clone())));
        call = call.meta(encode::info(&id, &terminal.cwd.to_string_lossy()));
    }
    SessionUpdate::ToolCall(call.content(content))
}

/// A call begins.
pub(crate) fn call_started(call_id: &str) -> SessionUpdate {
    let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call_id.to_owned(), fields))
}

/// A piece of a card's output (rules W2, W6); `None` for a client that draws no cards.
pub(crate) fn output(dialect: Dialect, call_id: &str, data: &str) -> Option<SessionUpdate> {
    let meta = encode::output(dialect.capability, &terminal_id(call_id), data)?;
    let update = ToolCallUpdate::new(call_id.to_owned(), ToolCallUpdateFields::new()).meta(meta);
    Some(SessionUpdate::ToolCallUpdate(update))
}

/// A call is over: for a card its exit and status and nothing else (rules W6, W7, W8), for any other call its content.
pub(crate) fn call_ended(
    dialect: Dialect,
    call_id: &str,
    presentation: &CallPresentation,
    result: &ResultPresentation,
) -> SessionUpdate {
    let status = if result.succeeded {
        ToolCallStatus::Completed
    } else {
        ToolCallStatus::Failed
    };
    let fields = ToolCallUpdateFields::new().status(status);
    let update = if dialect.draws_card(presentation) {
        let exit = terminal_exit(dialect, result.exit.as_ref().unwrap_or(&Exit::Unknown));
        ToolCallUpdate::new(call_id.to_owned(), fields)
            .meta(encode::exit(&terminal_id(call_id), &exit))
    } else {
        let mut content = description(presentation);
        match &result.body {
            ResultBody::Empty => {}
            ResultBody::Text(text) => content.push(text_content(text.clone())),
            ResultBody::Console(text) => content.push(text_content(encode::console_block(text))),
        }
        ToolCallUpdate::new(call_id.to_owned(), fields.content(content))
    };
    SessionUpdate::ToolCallUpdate(update)
}

/// The question whether a call may run. It carries no content: a client replaces the whole collection (rule W6).
pub(crate) fn permission(
    session: SessionId,
    call_id: &str,
    presentation: &CallPresentation,
) -> RequestPermissionRequest {
    let fields = ToolCallUpdateFields::new()
        .title(presentation.title.clone())
        .kind(kind(presentation.kind))
        .status(ToolCallStatus::Pending)
        .raw_input(presentation.arguments.clone());
    let options = vec![
        PermissionOption::new(ALLOW_ONCE, "Allow once", PermissionOptionKind::AllowOnce),
        PermissionOption::new(REJECT_ONCE, "Reject", PermissionOptionKind::RejectOnce),
    ];
    RequestPermissionRequest::new(
        session,
        ToolCallUpdate::new(call_id.to_owned(), fields),
        options,
    )
}

/// What an answer decides. What is not plainly a yes is a no; only a withdrawal is neither.
pub(crate) fn decision(outcome: &RequestPermissionOutcome) -> Decision {
    match outcome {
        RequestPermissionOutcome::Selected(selected) if &*selected.option_id.0 == ALLOW_ONCE => {
            Decision::AllowOnce
        }
        RequestPermissionOutcome::Cancelled => Decision::Cancelled,
        _ => Decision::RejectOnce,
    }
}

fn terminal_exit(dialect: Dialect, exit: &Exit) -> TerminalExit {
    match exit {
        Exit::Code(code) => TerminalExit {
            exit_code: Some(i64::from(*code)),
            signal: None,
        },
        Exit::Signal(name) => TerminalExit {
            exit_code: exit
                .signal_number()
                .filter(|_| dialect.signals_as_codes)
                .map(|number| i64::from(128 + number)),
            signal: Some(name.clone()),
        },
        Exit::Unknown => TerminalExit {
            exit_code: None,
            signal: None,
        },
    }
}

fn kind(kind: ToolCallKind) -> ToolKind {
    match kind {
        ToolCallKind::Execute => ToolKind::Execute,
        ToolCallKind::Read => ToolKind::Read,
        ToolCallKind::Other => ToolKind::Other,
    }
}

fn locations(presentation: &CallPresentation) -> Vec<ToolCallLocation> {
    presentation
        .locations
        .iter()
        .map(|location| ToolCallLocation::new(location.path.clone()).line(location.line))
        .collect()
}

fn description(presentation: &CallPresentation) -> Vec<ToolCallContent> {
    presentation
        .description
        .iter()
        .map(|text| text_content(text.clone()))
        .collect()
}

fn text_content(text: String) -> ToolCallContent {
    ToolCallContent::Content(Content::new(text_block(text)))
}

fn text_block(text: String) -> ContentBlock {
    ContentBlock::Text(TextContent::new(text))
}
