//! The exchange: what happens to each frame of a page or of the agent. No I/O but the spool's.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use crate::delivery::{AgentNews, Delivery, Next};
use crate::envelope::{AgentPhase, AgentState};
use crate::frame::{Frame, Id, Kind, error_line, result_line};
use crate::greeting::{PageAbilities, initialize_params};
use crate::ids::{Asker, OpenRequests, PageId};
use crate::reading::Unreadable;
use crate::spool::{Direction, Spool, Spooled};
use crate::typed::without_typed;

const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INTERNAL_ERROR: i32 = -32603;

/// The way to the agent of one life: lines for its input.
pub(crate) type Link = mpsc::Sender<String>;

/// What the reader of the agent's output is to do after a frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Read on.
    Nothing,
    /// Send this line to the agent.
    Reply(String),
    /// The agent has answered `initialize`: no time limit runs any more.
    Initialized,
    /// It will not talk to us: this is why.
    Refused(String),
    /// The frame was dropped: this is why.
    Dropped(String),
}

/// How the agent's life ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    /// What happened, in one sentence.
    pub(crate) what: String,
    /// The last that it wrote to stderr; may be empty.
    pub(crate) stderr: String,
}

impl End {
    /// The whole for a person.
    pub(crate) fn message(&self) -> String {
        let stderr = self.stderr.trim_end();
        if stderr.is_empty() {
            self.what.clone()
        } else {
            format!("{}\nThe last that it wrote to stderr:\n{stderr}", self.what)
        }
    }
}

/// All state of a hub.
#[derive(Debug)]
pub(crate) struct Exchange {
    cwd: String,
    abilities: PageAbilities,
    spool: Spool,
    requests: OpenRequests,
    /// Requests of the agent without an answer, by the key of their id.
    questions: BTreeMap<String, Id>,
    pages: BTreeMap<PageId, Delivery>,
    pages_ever: u64,
    news: AgentNews,
    link: Option<Link>,
    initialized: Option<Box<RawValue>>,
    waiting_for_initialize: Vec<(PageId, Id)>,
    closed: bool,
}

impl Exchange {
    /// An exchange whose agent is about to start.
    pub(crate) fn new(cwd: String, abilities: PageAbilities, spool: Spool, name: String) -> Self {
        let state = AgentState {
            state: AgentPhase::Starting,
            name,
            message: None,
        };
        Self {
            cwd,
            abilities,
            spool,
            requests: OpenRequests::default(),
            questions: BTreeMap::new(),
            pages: BTreeMap::new(),
            pages_ever: 0,
            news: AgentNews {
                version: 1,
                after: 0,
                state,
            },
            link: None,
            initialized: None,
            waiting_for_initialize: Vec::new(),
            closed: false,
        }
    }

    /// The agent's state.
    pub(crate) fn agent(&self) -> &AgentState {
        &self.news.state
    }

    /// The way to the agent, where there is one.
    pub(crate) fn link(&self) -> Option<&Link> {
        self.link.as_ref()
    }

    // ---- pages -------------------------------------------------------------------------------------------------

    /// A new page, which has not attached yet.
    pub(crate) fn open_page(&mut self, woken: Arc<Notify>) -> PageId {
        self.pages_ever += 1;
        let id = PageId(self.pages_ever);
        self.pages.insert(id, Delivery::new(id, woken));
        id
    }

    /// The page is gone. What it asked goes on; the answers are for whoever comes later.
    pub(crate) fn close_page(&mut self, page: PageId) {
        self.pages.remove(&page);
        self.waiting_for_initialize
            .retain(|(waiting, _)| *waiting != page);
    }

    /// The page's delivery, while it is there.
    pub(crate) fn page(&mut self, page: PageId) -> Option<&mut Delivery> {
        self.pages.get_mut(&page)
    }

    /// What comes next for a page.
    pub(crate) fn next(&mut self, page: PageId, now: Instant) -> Next {
        if self.closed {
            return Next::Close;
        }
        match self.pages.get_mut(&page) {
            Some(delivery) => delivery.next(&mut self.spool, &self.news, &self.cwd, now),
            None => Next::Close,
        }
    }

    /// Ends every page.
    pub(crate) fn close(&mut self) {
        self.closed = true;
        self.wake_pages();
    }

    // ---- from a page -------------------------------------------------------------------------------------------

    /// Takes what needs no agent: a frame that is no JSON-RPC, or the page's `initialize`. Gives back what does.
    pub(crate) fn screen(&mut self, page: PageId, frame: Frame, t: u64) -> Option<Frame> {
        let version_is_right = frame
            .get("jsonrpc")
            .is_some_and(|version| version.get() == r#""2.0""#);
        match frame.kind() {
            Kind::Other => self.refuse(page, &frame, t),
            _ if !version_is_right => self.refuse(page, &frame, t),
            Kind::Request { id, method } if method == "initialize" => {
                self.answer_initialize(page, id, t);
            }
            _ => return Some(frame),
        }
        None
    }

    /// Answers what not everybody can read.
    pub(crate) fn refuse_text(&mut self, page: PageId, unreadable: &Unreadable, t: u64) {
        let id = match &unreadable.kind {
            Kind::Request { id, .. } | Kind::Response { id } => id.as_json(),
            Kind::Notification { .. } | Kind::Other => "null",
        };
        let message = format!("this is no JSON-RPC message: {}", unreadable.why);
        self.answer(page, t, error_line(id, INVALID_REQUEST, &message, None));
    }

    fn refuse(&mut self, page: PageId, frame: &Frame, t: u64) {
        let id = frame.get("id").map_or("null", RawValue::get);
        let message = r#"not a JSON-RPC 2.0 message: it needs "jsonrpc":"2.0" and a method, a result or an error"#;
        self.answer(page, t, error_line(id, INVALID_REQUEST, message, None));
    }

    fn answer_initialize(&mut self, page: PageId, id: Id, t: u64) {
        match (&self.initialized, self.news.state.state) {
            (Some(result), AgentPhase::Running) => {
                let line = result_line(id.as_json(), result.get());
                self.answer(page, t, line);
            }
            (_, AgentPhase::Ended) => self.answer_ended(page, &id, t),
            _ => self.waiting_for_initialize.push((page, id)),
        }
    }

    /// Tells a page that nobody is there to answer.
    pub(crate) fn answer_ended(&mut self, page: PageId, id: &Id, t: u64) {
        let why = self
            .news
            .state
            .message
            .as_deref()
            .unwrap_or("it was stopped");
        let line = error_line(
            id.as_json(),
            INTERNAL_ERROR,
            &format!("the agent is not running: {why}"),
            None,
        );
        self.answer(page, t, line);
    }

    fn answer(&mut self, page: PageId, t: u64, line: String) {
        if let Some(delivery) = self.pages.get_mut(&page) {
            delivery.answer(t, line);
        }
    }

    /// Takes a page's frame for the agent: the line to send, where there is one. Call it with room for that line.
    pub(crate) fn take_from_page(&mut self, page: PageId, frame: &Frame, t: u64) -> Option<String> {
        let (line, owner) = match frame.kind() {
            Kind::Request { id, .. } => {
                let number = self.requests.issue(Asker::Page(page, id.clone()));
                (
                    frame.with_id(&Id::from(number)).to_line(),
                    (page, Some(id.as_json().to_owned())),
                )
            }
            Kind::Notification { method } if method == "$/cancel_request" => (
                self.with_cancelled_number(page, frame).to_line(),
                (page, None),
            ),
            Kind::Notification { .. } => (frame.to_line(), (page, None)),
            Kind::Response { id } => {
                // Another page was first, or the agent has withdrawn the question by ending.
                let theirs = self.questions.remove(&id.key())?;
                (frame.with_id(&theirs).to_line(), (page, None))
            }
            Kind::Other => return None,
        };
        let kept = without_typed(frame, line.clone());
        self.spool(t, Direction::ToAgent, Some(owner), kept);
        Some(line)
    }

    /// `$/cancel_request` names a request by its id: the page's id becomes ours.
    fn with_cancelled_number(&self, page: PageId, frame: &Frame) -> Frame {
        let number = frame
            .get("params")
            .and_then(|params| Frame::parse(params.get()))
            .and_then(|params| {
                let number = self
                    .requests
                    .number_of(page, &Id::from(params.get("requestId")?))?;
                Some(params.with("requestId", &number.to_string()).to_line())
            });
        match number {
            Some(params) => frame.with("params", &params),
            None => frame.clone(),
        }
    }

    // ---- the agent's life --------------------------------------------------------------------------------------

    /// A life begins: the line of the hub's `initialize`.
    pub(crate) fn begin(&mut self, to_agent: Link, t: u64) -> String {
        self.link = Some(to_agent);
        let number = self.requests.issue(Asker::Hub);
        let params = initialize_params(self.abilities);
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"initialize","params":{params}}}"#);
        self.spool(t, Direction::ToAgent, None, line.clone());
        line
    }

    /// Takes a frame of the agent.
    pub(crate) fn take_from_agent(&mut self, frame: &Frame, t: u64) -> Then {
        match frame.kind() {
            Kind::Request { id, method } => {
                self.spool(t, Direction::FromAgent, None, frame.to_line());
                if method.starts_with("fs/") || method.starts_with("terminal/") {
                    let message =
                        format!("{method} is not offered (see clientCapabilities of initialize)");
                    let line = error_line(id.as_json(), METHOD_NOT_FOUND, &message, None);
                    self.spool(t, Direction::ToAgent, None, line.clone());
                    return Then::Reply(line);
                }
                self.questions.insert(id.key(), id);
                Then::Nothing
            }
            Kind::Notification { .. } | Kind::Other => {
                self.spool(t, Direction::FromAgent, None, frame.to_line());
                Then::Nothing
            }
            Kind::Response { id } => match self.requests.settle(&id) {
                None => Then::Dropped(format!("it answers no open request (id {})", id.as_json())),
                Some((number, asker)) => {
                    let line = frame.with_id(&Id::from(number)).to_line();
                    match asker {
                        Asker::Hub => {
                            self.spool(t, Direction::FromAgent, None, line);
                            self.initialize_answered(frame, t)
                        }
                        Asker::Page(page, id) => {
                            let owner = (page, Some(id.as_json().to_owned()));
                            self.spool(t, Direction::FromAgent, Some(owner), line);
                            Then::Nothing
                        }
                    }
                }
            },
        }
    }

    /// Takes what the agent said and nobody can read: whoever waits for it is told so.
    pub(crate) fn take_unreadable(&mut self, unreadable: &Unreadable, t: u64) -> Then {
        let why = &unreadable.why;
        match &unreadable.kind {
            Kind::Response { id } => {
                let message = format!("the agent's answer cannot be read: {why}");
                let line = error_line(id.as_json(), INTERNAL_ERROR, &message, None);
                match Frame::parse(&line) {
                    Some(frame) => self.take_from_agent(&frame, t),
                    None => Then::Nothing,
                }
            }
            Kind::Request { id, .. } => {
                let message = format!("this request cannot be read: {why}");
                let line = error_line(id.as_json(), INVALID_REQUEST, &message, None);
                Then::Reply(line)
            }
            Kind::Notification { .. } | Kind::Other => Then::Nothing,
        }
    }

    fn initialize_answered(&mut self, frame: &Frame, t: u64) -> Then {
        let Some(result) = frame.get("result") else {
            let error = frame.get("error").map_or("{}", RawValue::get);
            return Then::Refused(format!("it answered `initialize` with an error: {error}"));
        };
        let answer: serde_json::Value = serde_json::from_str(result.get()).unwrap_or_default();
        // Some agents write the version as a string; one that says nothing is taken at its word in all else.
        let version = &answer["protocolVersion"];
        let version_is_ours = match version {
            serde_json::Value::Null => true,
            serde_json::Value::String(text) => text == "1",
            other => other.as_u64() == Some(1),
        };
        if !version_is_ours {
            return Then::Refused(format!(
                "it speaks version {version} of the protocol, Placard speaks 1"
            ));
        }
        self.initialized = RawValue::from_string(result.get().to_owned()).ok();
        let info = &answer["agentInfo"];
        let name = ["title", "name"].into_iter().find_map(|field| {
            info[field]
                .as_str()
                .map(str::trim)
                .filter(|name| !name.is_empty())
        });
        let name = name.map_or_else(|| self.news.state.name.clone(), str::to_owned);
        self.set_agent(AgentState {
            state: AgentPhase::Running,
            name,
            message: None,
        });
        for (page, id) in std::mem::take(&mut self.waiting_for_initialize) {
            self.answer_initialize(page, id, t);
        }
        Then::Initialized
    }

    /// No more lines for the agent.
    pub(crate) fn unlink(&mut self) {
        self.link = None;
    }

    /// No more lines along this way, which may be an earlier life's.
    pub(crate) fn unlink_from(&mut self, dead: &Link) {
        self.link.take_if(|link| link.same_channel(dead));
    }

    /// A life has ended: whatever is open in either direction is closed in the spool, so that no page waits for it.
    pub(crate) fn end(&mut self, end: &End, t: u64) {
        self.link = None;
        self.initialized = None;
        let data = serde_json::json!({ "reason": end.what, "stderr": end.stderr }).to_string();
        let message = format!("the agent ended before it answered: {}", end.message());
        for (number, asker) in self.requests.take_all() {
            let owner = match asker {
                Asker::Hub => None,
                Asker::Page(page, id) => Some((page, Some(id.as_json().to_owned()))),
            };
            let line = error_line(&number.to_string(), INTERNAL_ERROR, &message, Some(&data));
            self.spool(t, Direction::FromAgent, owner, line);
        }
        for (_, id) in std::mem::take(&mut self.questions) {
            let line = error_line(
                id.as_json(),
                INTERNAL_ERROR,
                "the agent ended before an answer",
                None,
            );
            self.spool(t, Direction::ToAgent, None, line);
        }
        let name = self.news.state.name.clone();
        self.set_agent(AgentState {
            state: AgentPhase::Ended,
            name,
            message: Some(end.message()),
        });
        for (page, id) in std::mem::take(&mut self.waiting_for_initialize) {
            self.answer_ended(page, &id, t);
        }
    }

    /// An ended agent is about to start again; false when it has not ended.
    pub(crate) fn restart(&mut self) -> bool {
        let ended = self.news.state.state == AgentPhase::Ended;
        if ended {
            let name = self.news.state.name.clone();
            self.set_agent(AgentState {
                state: AgentPhase::Starting,
                name,
                message: None,
            });
        }
        ended
    }

    fn set_agent(&mut self, state: AgentState) {
        self.news = AgentNews {
            version: self.news.version + 1,
            after: self.spool.last(),
            state,
        };
        self.wake_pages();
    }

    fn spool(
        &mut self,
        t: u64,
        direction: Direction,
        owner: Option<(PageId, Option<String>)>,
        frame: String,
    ) {
        self.spool.append(Spooled {
            t,
            direction,
            owner,
            frame,
        });
        self.wake_pages();
    }

    fn wake_pages(&self) {
        for delivery in self.pages.values() {
            delivery.wake();
        }
    }
}
