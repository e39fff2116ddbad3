//! From what a session tells to the messages of the protocol: pure, and the only place that knows both vocabularies.

use std::borrow::Cow;

use agent_client_protocol::v1::schema::{
    Content, ContentBlock, ContentChunk, ImageContent, PermissionOption, PermissionOptionKind,
    RequestPermissionOutcome, RequestPermissionRequest, SessionId, SessionInfoUpdate,
    SessionUpdate, Terminal, TextContent, ToolCall, ToolCallContent, ToolCallLocation,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use agent_core::session::event::Decision;
use agent_core::shell::exit::Exit;
use agent_core::tool::presentation::{
    CallPresentation, Circumstances, Image, ResultBody, ResultPresentation, ToolCallKind,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};
use terminal_card::{Capability, TerminalExit, encode};

/// What a client asked for when it connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// Whether it draws terminal cards, and under which key it takes their output.
    pub(crate) capability: Capability,
    /// It wants a death by signal as `128+n` with the signal beside it (rule W7).
    pub(crate) signals_as_codes: bool,
    /// It asked to be told when a command waits for input.
    pub(crate) hears_states: bool,
}

impl Dialect {
    /// The dialect of a client that has not introduced itself: nothing of a card.
    pub(crate) fn plain() -> Self {
        Self {
            capability: Capability::None,
            signals_as_codes: false,
            hears_states: false,
        }
    }

    /// Whether a call is shown as a terminal card.
    pub(crate) fn draws_card(self, call: &CallPresentation) -> bool {
        call.terminal.is_some() && self.capability != Capability::None
    }
}

/// What the terminals of our calls begin with.
const TERMINAL: &str = "terminal-";

const ALLOW_ONCE: &str = "allow-once";
const REJECT_ONCE: &str = "reject-once";

/// The terminal of a call. Derived, so that it is unique in its session and never used for another call (rule W5).
pub(crate) fn terminal_id(call_id: &str) -> String {
    format!("{TERMINAL}{call_id}")
}

/// The call of a terminal of ours.
pub(crate) fn call_id(terminal_id: &str) -> Option<&str> {
    terminal_id.strip_prefix(TERMINAL)
}

/// What the person said, in a replay.
pub(crate) fn user(text: String) -> SessionUpdate {
    SessionUpdate::UserMessageChunk(ContentChunk::new(text_block(text)))
}

/// What the session is called from now on.
pub(crate) fn title(title: String) -> SessionUpdate {
    SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title))
}

/// More of the model's text.
pub(crate) fn text(text: String) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(ContentChunk::new(text_block(text)))
}

/// More of the model's reasoning.
pub(crate) fn reasoning(text: String) -> SessionUpdate {
    SessionUpdate::AgentThoughtChunk(ContentChunk::new(text_block(text)))
}

/// How far a call has come when it is announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It has not begun.
    Pending,
    /// It runs.
    Running,
    /// It is over, and its command goes on in the background.
    InBackground,
}

impl Stage {
    fn status(self) -> ToolCallStatus {
        match self {
            Self::Pending => ToolCallStatus::Pending,
            Self::Running => ToolCallStatus::InProgress,
            Self::InBackground => ToolCallStatus::Completed,
        }
    }
}

/// A call (rules W1, W3, W4, W6): as a rule one that was asked for and has not begun.
pub(crate) fn call(
    dialect: Dialect,
    call_id: &str,
    presentation: &CallPresentation,
    stage: Stage,
) -> SessionUpdate {
    let mut content: Vec<ToolCallContent> = words(presentation);
    let mut call = ToolCall::new(call_id.to_owned(), presentation.title.clone())
        .kind(kind(presentation.kind))
        .status(stage.status())
        .locations(locations(presentation))
        .raw_input(presentation.arguments.clone());
    if let Some(terminal) = presentation
        .terminal
        .as_ref()
        .filter(|_| dialect.draws_card(presentation))
    {
        let id = terminal_id(call_id);
        content.push(ToolCallContent::Terminal(Terminal::new(id.clone())));
        let mut meta = encode::info(&id, &terminal.cwd.to_string_lossy());
        meta.extend(looks(presentation, stage));
        call = call.meta(meta);
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

/// A call is over: for a card its exit and status (rules W6, W7, W8), for any other call its content. A card whose command
/// goes on in the background gets its status alone; the exit comes with [`terminal_ended`].
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
    if result.goes_on && dialect.draws_card(presentation) {
        let meta = ours([("background", Some(Value::Bool(true)))]);
        let update = ToolCallUpdate::new(call_id.to_owned(), fields).meta(Map::from_iter(meta));
        return SessionUpdate::ToolCallUpdate(update);
    }
    ended(dialect, call_id, presentation, result, fields)
}

/// The command of a call that was over before has ended too. That changes no status (rule W8).
pub(crate) fn terminal_ended(
    dialect: Dialect,
    call_id: &str,
    presentation: &CallPresentation,
    result: &ResultPresentation,
) -> SessionUpdate {
    let fields = ToolCallUpdateFields::new();
    ended(dialect, call_id, presentation, result, fields)
}

fn ended(
    dialect: Dialect,
    call_id: &str,
    presentation: &CallPresentation,
    result: &ResultPresentation,
    mut fields: ToolCallUpdateFields,
) -> SessionUpdate {
    let image = result.image.as_ref().map(image_content);
    let update = if dialect.draws_card(presentation) {
        let id = terminal_id(call_id);
        let exit = terminal_exit(dialect, result.exit.as_ref().unwrap_or(&Exit::Unknown));
        let mut meta = encode::exit(&id, &exit);
        meta.extend(circumstances(result));
        if let Some(image) = image {
            // The collection is replaced, so the terminal has to be in it again.
            fields = fields.content(vec![ToolCallContent::Terminal(Terminal::new(id)), image]);
        }
        ToolCallUpdate::new(call_id.to_owned(), fields).meta(meta)
    } else {
        let mut content = words(presentation);
        match &result.body {
            ResultBody::Empty => {}
            ResultBody::Text(text) => content.push(text_content(text.clone())),
            ResultBody::Console(text) => {
                let text = with_exit(presentation, result, text);
                content.push(text_content(encode::console_block(&text)));
            }
        }
        content.extend(image);
        content.extend(result.notice.clone().map(text_content));
        ToolCallUpdate::new(call_id.to_owned(), fields.content(content))
    };
    SessionUpdate::ToolCallUpdate(update)
}

/// What a command printed, for a viewer that draws no terminal. A command that is shown as something else has no other place to
/// say how it failed.
fn with_exit<'t>(
    presentation: &CallPresentation,
    result: &ResultPresentation,
    text: &'t str,
) -> Cow<'t, str> {
    let Some(exit) = &result.exit else {
        return text.into();
    };
    if result.succeeded || presentation.kind == ToolCallKind::Execute {
        return text.into();
    }
    let line_end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let cause = match result.circumstances {
        Circumstances {
            timed_out: true, ..
        } => "timed out; ",
        Circumstances { stopped: true, .. } => "stopped; ",
        _ => "",
    };
    format!("{text}{line_end}[{cause}{exit}]").into()
}

/// The command of a call that is shown as what it certainly does: whoever is to allow it sees what would run.
fn exact_command(presentation: &CallPresentation) -> Option<&str> {
    let reads = matches!(presentation.kind, ToolCallKind::Read | ToolCallKind::Search);
    let command = presentation.arguments.get("command")?.as_str()?;
    (reads && presentation.terminal.is_none()).then_some(command)
}

/// The question whether a call may run. That of a card carries no content: a client replaces the whole collection (rule W6).
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
    let fields = match exact_command(presentation) {
        Some(command) => fields.content(vec![text_content(encode::console_block(command))]),
        None => fields,
    };
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

/// What our own window says beside the exit; others do not look there. Nothing when there is nothing to say.
fn circumstances(result: &ResultPresentation) -> Option<(String, Value)> {
    let Circumstances {
        timed_out,
        stopped,
        left_running,
    } = result.circumstances;
    let holds = |it: bool| it.then_some(Value::Bool(true));
    ours([
        ("timed_out", holds(timed_out)),
        ("stopped", holds(stopped)),
        ("left_running", holds(left_running)),
        ("notice", result.notice.clone().map(Value::String)),
    ])
}

/// How our own window draws a card: small under a label, and with what the person should know.
fn looks(presentation: &CallPresentation, stage: Stage) -> Option<(String, Value)> {
    let notice = presentation
        .terminal
        .as_ref()
        .and_then(|terminal| terminal.notice.clone());
    ours([
        ("label", presentation.label.clone().map(Value::String)),
        ("notice", notice.map(Value::String)),
        (
            "background",
            (stage == Stage::InBackground).then_some(Value::Bool(true)),
        ),
    ])
}

/// Our own part of a `_meta`.
fn ours<const N: usize>(told: [(&str, Option<Value>); N]) -> Option<(String, Value)> {
    let told: Map<String, Value> = told
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect();
    (!told.is_empty()).then(|| ("placard".to_owned(), Value::Object(told)))
}

fn kind(kind: ToolCallKind) -> ToolKind {
    match kind {
        ToolCallKind::Execute => ToolKind::Execute,
        ToolCallKind::Read => ToolKind::Read,
        ToolCallKind::Search => ToolKind::Search,
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

/// What stands before the terminal or the result (rule W4): the model's words on why, and what the person should know.
fn words(presentation: &CallPresentation) -> Vec<ToolCallContent> {
    let notice = presentation
        .terminal
        .as_ref()
        .and_then(|terminal| terminal.notice.as_ref());
    presentation
        .description
        .iter()
        .chain(notice)
        .map(|text| text_content(text.clone()))
        .collect()
}

fn image_content(image: &Image) -> ToolCallContent {
    let data = BASE64.encode(&image.bytes);
    let image = ImageContent::new(data, image.mime_type.clone());
    ToolCallContent::Content(Content::new(ContentBlock::Image(image)))
}

fn text_content(text: String) -> ToolCallContent {
    ToolCallContent::Content(Content::new(text_block(text)))
}

fn text_block(text: String) -> ContentBlock {
    ContentBlock::Text(TextContent::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_core::shell::terminal::TerminalOutput;
    use agent_core::tool::presentation::TerminalPresentation;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn dialect(capability: Capability, signals_as_codes: bool) -> Dialect {
        Dialect {
            capability,
            signals_as_codes,
            hears_states: false,
        }
    }

    fn command() -> CallPresentation {
        CallPresentation {
            kind: ToolCallKind::Execute,
            title: "sleep 9".into(),
            description: Some("Waits".into()),
            locations: Vec::new(),
            label: None,
            terminal: Some(TerminalPresentation {
                cwd: "/work".into(),
                output: TerminalOutput::new(),
                notice: None,
            }),
            arguments: json!({"command": "sleep 9"}),
        }
    }

    fn killed() -> ResultPresentation {
        ResultPresentation {
            succeeded: false,
            exit: Some(Exit::Signal("SIGTERM".into())),
            circumstances: Circumstances {
                timed_out: true,
                stopped: false,
                left_running: false,
            },
            body: ResultBody::Console("tick\n".into()),
            image: None,
            notice: None,
            goes_on: false,
        }
    }

    fn ended(dialect: Dialect) -> Value {
        serde_json::to_value(call_ended(dialect, "call-1", &command(), &killed())).unwrap()
    }

    #[test]
    fn a_death_by_signal_is_told_as_the_client_wants_it() {
        let card = |exit_code: Value| {
            json!({
                "sessionUpdate": "tool_call_update",
                "toolCallId": "call-1",
                "status": "failed",
                "_meta": {
                    "terminal_exit": {"terminal_id": "terminal-call-1", "exit_code": exit_code, "signal": "SIGTERM"},
                    "placard": {"timed_out": true},
                },
            })
        };
        assert_eq!(ended(dialect(Capability::Output, false)), card(Value::Null));
        assert_eq!(ended(dialect(Capability::Delta, true)), card(json!(143)));
    }

    #[test]
    fn a_client_without_cards_gets_description_and_output_as_text() {
        let text =
            |text: &str| json!({"type": "content", "content": {"type": "text", "text": text}});
        assert_eq!(
            ended(Dialect::plain()),
            json!({
                "sessionUpdate": "tool_call_update",
                "toolCallId": "call-1",
                "status": "failed",
                "content": [text("Waits"), text("```console\ntick\n```")],
            })
        );
    }

    #[test]
    fn label_and_notice_are_told_to_our_window_and_the_notice_to_everybody() {
        let mut labelled = command();
        labelled.label = Some("Read src/a.rs".into());
        if let Some(terminal) = &mut labelled.terminal {
            terminal.notice = Some("no sandbox on this system".into());
        }
        let text =
            |text: &str| json!({"type": "content", "content": {"type": "text", "text": text}});
        let told = |dialect| {
            serde_json::to_value(call(dialect, "call-1", &labelled, Stage::Pending)).unwrap()
        };
        let plain = json!({
            "sessionUpdate": "tool_call",
            "toolCallId": "call-1",
            "title": "sleep 9",
            "kind": "execute",
            "content": [text("Waits"), text("no sandbox on this system")],
            "rawInput": {"command": "sleep 9"},
        });
        assert_eq!(told(Dialect::plain()), plain);
        let mut card = plain;
        card["content"]
            .as_array_mut()
            .unwrap()
            .push(json!({"type": "terminal", "terminalId": "terminal-call-1"}));
        card["_meta"] = json!({
            "terminal_info": {"terminal_id": "terminal-call-1", "cwd": "/work"},
            "placard": {"label": "Read src/a.rs", "notice": "no sandbox on this system"},
        });
        assert_eq!(told(dialect(Capability::Output, false)), card);
    }

    #[test]
    fn an_image_stands_beside_the_terminal_or_after_the_text() {
        let mut drawn = killed();
        drawn.image = Some(Image {
            mime_type: "image/png".into(),
            bytes: b"\x89PNG".to_vec(),
        });
        let image = json!({"type": "content", "content": {"type": "image", "data": "iVBORw==", "mimeType": "image/png"}});
        let content = |dialect| {
            serde_json::to_value(call_ended(dialect, "call-1", &command(), &drawn)).unwrap()
                ["content"]
                .clone()
        };
        assert_eq!(
            content(dialect(Capability::Delta, false)),
            json!([{"type": "terminal", "terminalId": "terminal-call-1"}, image])
        );
        let text =
            |text: &str| json!({"type": "content", "content": {"type": "text", "text": text}});
        assert_eq!(
            content(Dialect::plain()),
            json!([text("Waits"), text("```console\ntick\n```"), image])
        );
    }

    #[test]
    fn only_a_plain_yes_is_a_yes() {
        let outcome = |value: Value| decision(&serde_json::from_value(value).unwrap());
        assert_eq!(
            outcome(json!({"outcome": "selected", "optionId": "allow-once"})),
            Decision::AllowOnce
        );
        assert_eq!(
            outcome(json!({"outcome": "selected", "optionId": "reject-once"})),
            Decision::RejectOnce
        );
        assert_eq!(
            outcome(json!({"outcome": "selected", "optionId": "allow-always"})),
            Decision::RejectOnce
        );
        assert_eq!(
            outcome(json!({"outcome": "cancelled"})),
            Decision::Cancelled
        );
    }
}
