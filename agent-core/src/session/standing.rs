//! Where a log stands: what is still owed, what its next names are, and what was last set.
//!
//! Everything that is decided from a log is read off this fold of its events, so that a log need not be held in memory,
//! and no flag beside it can be wrong.

use std::path::PathBuf;

use serde_json::Value;

use crate::session::SessionHeader;
use crate::session::event::{EventKind, TurnEndReason};
use crate::session::shown::{ShownBody, ShownResult};
use crate::shell::exit::Exit;
use crate::store::BlobId;
use crate::tool::bash;
use crate::tool::exit_marker::{self, ExitMarker};
use crate::tool::presentation::Circumstances;

/// The option of a `config` event that tells the session's folder.
pub const CWD: &str = "cwd";
/// The option of a `config` event that tells the further roots.
pub const ADDITIONAL_DIRECTORIES: &str = "additional_directories";
/// The option of a `config` event that tells the model.
pub const MODEL: &str = "model";

/// What the ids of our calls begin with; a number follows.
pub const CALL: &str = "call-";

/// The fold of a log's events.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// How many events there are; the number of the next one.
    pub events: u64,
    /// How many prompts there were.
    pub prompts: u64,
    /// How many calls there were.
    pub calls: u64,
    /// Calls without a result.
    pub open: Vec<OpenCall>,
    /// Commands that went on when their call was answered, and whose end is not known.
    pub background: Vec<String>,
    /// A step has no end.
    pub step_open: bool,
    /// A turn has no end.
    pub turn_open: bool,
    /// The last title.
    pub title: Option<String>,
    /// The folder that commands ran in last.
    pub cwd: PathBuf,
    /// The further roots of then.
    pub additional_directories: Vec<PathBuf>,
    /// The model that answered last.
    pub model: String,
}

/// A call without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCall {
    /// Its id.
    pub call_id: String,
    /// It is a command whose exit is not in the log.
    pub owes_exit: bool,
}

/// What is written of a call that never got a result.
#[derive(Debug, Clone, PartialEq)]
pub struct BrokenOff {
    /// What the model reads.
    pub content: String,
    /// What its command has printed.
    pub output: Option<BlobId>,
}

impl BrokenOff {
    /// A call of which there is nothing but these words.
    pub fn silent(words: &str) -> Self {
        Self {
            content: words.to_owned(),
            output: None,
        }
    }
}

impl Standing {
    /// A log without events.
    pub fn new(header: &SessionHeader) -> Self {
        Self {
            events: 0,
            prompts: 0,
            calls: 0,
            open: Vec::new(),
            background: Vec::new(),
            step_open: false,
            turn_open: false,
            title: None,
            cwd: header.cwd.clone(),
            additional_directories: header.additional_directories.clone(),
            model: header.model.clone(),
        }
    }

    /// Takes in the next event; `None` for one of a newer build.
    pub fn note(&mut self, kind: Option<&EventKind>) {
        self.events += 1;
        let Some(kind) = kind else {
            return;
        };
        match kind {
            EventKind::TurnStart { .. } => self.turn_open = true,
            EventKind::UserMessage { .. } => self.prompts += 1,
            EventKind::StepStart => self.step_open = true,
            EventKind::ToolCall { call_id, name, .. } => {
                self.calls += 1;
                self.open.push(OpenCall {
                    call_id: call_id.clone(),
                    owes_exit: name == bash::NAME,
                });
            }
            EventKind::TerminalExit { call_id, .. } => {
                self.background.retain(|running| running != call_id);
                // Its exit is known, only its result is not.
                self.open
                    .iter_mut()
                    .filter(|open| open.call_id == *call_id)
                    .for_each(|open| open.owes_exit = false);
            }
            EventKind::ToolResult {
                call_id,
                content,
                shown,
                ..
            } => {
                let was_open = self.open.iter().position(|open| open.call_id == *call_id);
                let owed_exit = was_open.is_some_and(|at| self.open.remove(at).owes_exit);
                if owed_exit && goes_on(shown.as_deref(), content) {
                    self.background.push(call_id.clone());
                }
            }
            EventKind::StepEnd => self.step_open = false,
            EventKind::TurnEnd { .. } => self.turn_open = false,
            EventKind::Title { title } => self.title = Some(title.clone()),
            EventKind::Config { option, value } => self.set(option, value),
            _ => {}
        }
    }

    fn set(&mut self, option: &str, value: &Value) {
        match option {
            CWD => {
                if let Some(cwd) = value.as_str() {
                    self.cwd = cwd.into();
                }
            }
            ADDITIONAL_DIRECTORIES => {
                if let Ok(folders) = serde_json::from_value(value.clone()) {
                    self.additional_directories = folders;
                }
            }
            MODEL => {
                if let Some(model) = value.as_str() {
                    model.clone_into(&mut self.model);
                }
            }
            _ => {}
        }
    }

    /// The id of the next call but `ahead`: ours, since a provider's may repeat.
    pub fn call_id(&self, ahead: u64) -> String {
        format!("{CALL}{}", self.calls + 1 + ahead)
    }

    /// What must be appended, in order, so that every command of a turn has its exit, every call its result, every step and
    /// turn its end. Empty when nothing is owed. Commands in the background are not asked for.
    pub fn closing(
        &self,
        reason: TurnEndReason,
        mut broken_off: impl FnMut(&OpenCall) -> BrokenOff,
    ) -> Vec<EventKind> {
        let mut owed = Vec::new();
        for open in &self.open {
            let BrokenOff { content, output } = broken_off(open);
            let shown = output.is_some().then(|| {
                Box::new(ShownResult {
                    succeeded: false,
                    body: ShownBody::Terminal,
                    image: None,
                    notice: None,
                    goes_on: false,
                })
            });
            if open.owes_exit {
                owed.push(unknown_exit(&open.call_id, output));
            }
            owed.push(EventKind::ToolResult {
                call_id: open.call_id.clone(),
                content,
                is_error: true,
                output_ref: None,
                shown,
            });
        }
        owed.extend(self.step_open.then_some(EventKind::StepEnd));
        owed.extend(self.turn_open.then_some(EventKind::TurnEnd { reason }));
        owed
    }
}

/// The end of a command of which nobody knows how it ended.
pub fn unknown_exit(call_id: &str, output: Option<BlobId>) -> EventKind {
    EventKind::TerminalExit {
        call_id: call_id.to_owned(),
        exit: Exit::Unknown,
        circumstances: Circumstances::default(),
        output_ref: output.map(String::from),
    }
}

/// Whether a call was answered while its command goes on; logs that do not tell have it in the words for the model.
fn goes_on(shown: Option<&ShownResult>, content: &str) -> bool {
    shown.map_or_else(
        || {
            let marker = exit_marker::parse(content).map(|(_, marker)| marker);
            matches!(marker, Some(ExitMarker::Running { .. }))
        },
        |shown| shown.goes_on,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ToolArgs;
    use crate::session::SessionId;
    use crate::session::event::Trigger;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn header() -> SessionHeader {
        SessionHeader {
            id: SessionId::from("s".to_owned()),
            cwd: "/a".into(),
            additional_directories: vec![],
            created_at: 0,
            program_version: "0".into(),
            model: "offline".into(),
            schema_version: 1,
            forked_from: None,
        }
    }

    fn fold(log: &[EventKind]) -> Standing {
        let mut standing = Standing::new(&header());
        for kind in log {
            standing.note(Some(kind));
        }
        standing
    }

    fn call(id: &str) -> EventKind {
        EventKind::ToolCall {
            call_id: id.into(),
            provider_id: id.into(),
            name: bash::NAME.into(),
            args: ToolArgs::Malformed(String::new()),
            shown: None,
        }
    }

    fn result(id: &str, content: &str) -> EventKind {
        EventKind::ToolResult {
            call_id: id.into(),
            content: content.into(),
            is_error: true,
            output_ref: None,
            shown: None,
        }
    }

    #[test]
    fn what_is_owed_is_read_from_the_log() {
        let start = EventKind::TurnStart {
            trigger: Trigger::Prompt,
        };
        let end = EventKind::TurnEnd {
            reason: TurnEndReason::Interrupted,
        };
        let exit = |id: &str| unknown_exit(id, None);
        let cases = [
            (vec![], vec![]),
            (vec![start.clone()], vec![end.clone()]),
            (
                vec![
                    start.clone(),
                    EventKind::StepStart,
                    call("a"),
                    call("b"),
                    result("a", "done"),
                ],
                vec![
                    exit("b"),
                    result("b", "lost"),
                    EventKind::StepEnd,
                    end.clone(),
                ],
            ),
            (
                vec![start.clone(), EventKind::StepStart, call("a"), exit("a")],
                vec![result("a", "lost"), EventKind::StepEnd, end.clone()],
            ),
            (
                vec![start, EventKind::StepStart, EventKind::StepEnd, end],
                vec![],
            ),
        ];
        let close = |standing: &Standing| {
            standing.closing(TurnEndReason::Interrupted, |_| BrokenOff::silent("lost"))
        };
        for (mut log, owed) in cases {
            assert_eq!(close(&fold(&log)), owed);
            log.extend(owed);
            assert_eq!(close(&fold(&log)), vec![]);
        }
    }

    #[test]
    fn a_command_in_the_background_is_owed_until_its_exit() {
        let mut log = vec![
            call("a"),
            result("a", "Started.\n[running]"),
            call("b"),
            unknown_exit("b", None),
            result("b", "[exit 0]"),
        ];
        assert_eq!(fold(&log).background, ["a"]);
        assert_eq!(fold(&log).open, []);
        log.push(unknown_exit("a", None));
        assert_eq!(fold(&log).background, Vec::<String>::new());
    }

    #[test]
    fn the_last_word_on_an_option_counts() {
        let set = |option: &str, value: Value| EventKind::Config {
            option: option.into(),
            value,
        };
        let standing = fold(&[
            set(CWD, json!("/b")),
            set(MODEL, json!("openai/x")),
            set(ADDITIONAL_DIRECTORIES, json!(["/c"])),
            set("hologram", json!(7)),
            call("call-1"),
        ]);
        assert_eq!(
            standing,
            Standing {
                events: 5,
                calls: 1,
                open: vec![OpenCall {
                    call_id: "call-1".into(),
                    owes_exit: true
                }],
                cwd: "/b".into(),
                additional_directories: vec!["/c".into()],
                model: "openai/x".into(),
                ..Standing::new(&header())
            }
        );
        assert_eq!(standing.call_id(0), "call-2");
    }
}
