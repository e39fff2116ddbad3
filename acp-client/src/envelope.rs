//! The thin envelope between a hub and its pages: `docs/hub.md` in the repository's root is its contract.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::frame::quoted;
use crate::ids::PageId;
use crate::spool::Spooled;

/// What a page says to the hub.
#[derive(Debug)]
pub(crate) enum FromPage {
    /// Wants the frames after this number, then live ones.
    Attach {
        /// 0 for all frames.
        after: u64,
    },
    /// A JSON-RPC message for the agent, unread.
    Frame(Box<RawValue>),
    /// Has processed the frames up to this number.
    Ack(u64),
    /// Wants an ended agent back.
    Restart,
}

impl FromPage {
    /// Reads an envelope; the error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Envelope {
            #[serde(rename = "type")]
            kind: String,
            after: Option<u64>,
            frame: Option<Box<RawValue>>,
            n: Option<u64>,
        }
        let envelope: Envelope =
            serde_json::from_str(text).map_err(|error| format!("it is no envelope: {error}"))?;
        match (
            envelope.kind.as_str(),
            envelope.after,
            envelope.frame,
            envelope.n,
        ) {
            ("attach", Some(after), _, _) => Ok(Self::Attach { after }),
            ("frame", _, Some(frame), _) => Ok(Self::Frame(frame)),
            ("ack", _, _, Some(n)) => Ok(Self::Ack(n)),
            ("restart", ..) => Ok(Self::Restart),
            ("attach", ..) => Err("`attach` needs `after`, a number".to_owned()),
            ("frame", ..) => Err("`frame` needs `frame`, a JSON-RPC message".to_owned()),
            ("ack", ..) => Err("`ack` needs `n`, a number".to_owned()),
            (kind, ..) => Err(format!(
                "`type` is attach, frame, ack or restart, not {kind:?}"
            )),
        }
    }
}

/// Whether the agent can be spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentPhase {
    /// It was started and has not answered `initialize` yet.
    Starting,
    /// It has answered `initialize`.
    Running,
    /// It is gone: it ended, could not be started, or refused `initialize`.
    Ended,
}

/// The agent as pages are told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentState {
    /// Whether it can be spoken to.
    pub state: AgentPhase,
    /// What it calls itself, else the program's name.
    pub name: String,
    /// When ended: why, with the tail of its stderr.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl AgentState {
    fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The answer to `attach`.
pub(crate) fn attached(after: u64, last: u64, cwd: &str, agent: &AgentState) -> String {
    let (cwd, agent) = (quoted(cwd), agent.json());
    format!(r#"{{"type":"attached","after":{after},"last":{last},"cwd":{cwd},"agent":{agent}}}"#)
}

/// Tells of the agent's state.
pub(crate) fn agent(agent: &AgentState) -> String {
    format!(r#"{{"type":"agent","agent":{}}}"#, agent.json())
}

/// A batch under construction.
#[derive(Debug)]
pub(crate) struct Batch {
    text: String,
    empty: bool,
}

impl Batch {
    /// An empty batch.
    pub(crate) fn new() -> Self {
        Self {
            text: r#"{"type":"frames","frames":["#.to_owned(),
            empty: true,
        }
    }

    /// Adds a frame of the spool as `page` sees it.
    pub(crate) fn push(&mut self, number: u64, spooled: &Spooled, page: PageId) {
        let direction = spooled.direction.word();
        match &spooled.owner {
            Some((owner, id)) if *owner == page => {
                let theirs = id.as_ref().and_then(|id| with_id(&spooled.frame, id));
                let frame = theirs.as_deref().unwrap_or(&spooled.frame);
                self.push_text(number, spooled.t, direction, true, frame);
            }
            _ => self.push_text(number, spooled.t, direction, false, &spooled.frame),
        }
    }

    /// Adds an answer of the hub itself, which is in no spool.
    pub(crate) fn push_answer(&mut self, t: u64, frame: &str) {
        self.push_text(0, t, "a2c", true, frame);
    }

    fn push_text(&mut self, number: u64, t: u64, direction: &str, own: bool, frame: &str) {
        if !std::mem::replace(&mut self.empty, false) {
            self.text.push(',');
        }
        let own = if own { r#","own":true"# } else { "" };
        let _ = write!(
            self.text,
            r#"{{"n":{number},"t":{t},"dir":"{direction}"{own},"frame":"#
        );
        self.text.push_str(frame);
        self.text.push('}');
    }

    /// The batch as one message.
    pub(crate) fn finish(mut self) -> String {
        self.text.push_str("]}");
        self.text
    }
}

fn with_id(frame: &str, id: &str) -> Option<String> {
    crate::frame::Frame::parse(frame).map(|frame| frame.with("id", id).to_line())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::Direction;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_wrong_envelope_is_told_what_is_wrong() {
        let table = [
            (
                "{",
                "it is no envelope: EOF while parsing an object at line 1 column 1",
            ),
            (
                "{}",
                "it is no envelope: missing field `type` at line 1 column 2",
            ),
            (r#"{"type":"attach"}"#, "`attach` needs `after`, a number"),
            (
                r#"{"type":"frame"}"#,
                "`frame` needs `frame`, a JSON-RPC message",
            ),
            (r#"{"type":"ack"}"#, "`ack` needs `n`, a number"),
            (
                r#"{"type":"dance"}"#,
                "`type` is attach, frame, ack or restart, not \"dance\"",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(
                FromPage::parse(text)
                    .map_err(|error| error.clone())
                    .err()
                    .as_deref(),
                Some(expected)
            );
        }
    }

    #[test]
    fn each_page_sees_a_frame_its_own_way() {
        let spooled = Spooled {
            t: 5,
            direction: Direction::FromAgent,
            owner: Some((PageId(1), Some("\"mine\"".to_owned()))),
            frame: r#"{"jsonrpc":"2.0","id":9,"result":{}}"#.to_owned(),
        };
        let seen_by = |page| {
            let mut batch = Batch::new();
            batch.push(2, &spooled, PageId(page));
            batch.push_answer(6, "{}");
            batch.finish()
        };
        assert_eq!(
            [seen_by(1), seen_by(2)],
            [
                concat!(
                    r#"{"type":"frames","frames":["#,
                    r#"{"n":2,"t":5,"dir":"a2c","own":true,"frame":{"jsonrpc":"2.0","id":"mine","result":{}}},"#,
                    r#"{"n":0,"t":6,"dir":"a2c","own":true,"frame":{}}]}"#
                ),
                concat!(
                    r#"{"type":"frames","frames":["#,
                    r#"{"n":2,"t":5,"dir":"a2c","frame":{"jsonrpc":"2.0","id":9,"result":{}}},"#,
                    r#"{"n":0,"t":6,"dir":"a2c","own":true,"frame":{}}]}"#
                ),
            ]
            .map(str::to_owned)
        );
    }
}
