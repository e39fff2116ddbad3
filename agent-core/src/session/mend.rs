//! What can be read of a damaged log, as a log again: renumbered, and with what balance demands where something is missing.
//!
//! What is in order comes out as it went in. Where a part is missing, the least is added that makes the rest mean what it
//! meant: a turn or a step that must have begun or ended, the answer that a call must have been in, a result that was lost.
//! What refers to something that is gone, and says nothing without it, is left out and counted.

use std::collections::HashMap;

use crate::model::{AssistantBlock, ToolArgs};
use crate::session::SessionHeader;
use crate::session::event::{Entry, Event, EventKind, Trigger, TurnEndReason};
use crate::session::standing::{BrokenOff, Standing};

/// What the model reads of a call whose result is gone.
const LOST_RESULT: &str =
    "The result of this call was lost when the session was damaged; the call may have run.";

/// What the model reads where a prompt must have been.
const LOST_PROMPT: &str = "(What was asked here was lost when the session was damaged.)";

/// A log that was mended.
#[derive(Debug, Clone, PartialEq)]
pub struct Mended {
    /// The events, numbered from 0 without gaps.
    pub events: Vec<Event>,
    /// Where the log stands: what its end owes is for [`repair`](super::repair::repair).
    pub standing: Standing,
    /// The former ids of calls by their new ones.
    pub former_ids: HashMap<String, String>,
    /// How many events were added.
    pub added: u64,
    /// How many events said nothing without what is missing.
    pub left_out: u64,
}

/// Mends what was read of a log, in order, each event under its old number. Pure.
pub fn mend(header: &SessionHeader, events: Vec<Event>) -> Mended {
    let mut mending = Mending {
        mended: Mended {
            events: Vec::with_capacity(events.len()),
            standing: Standing::new(header),
            former_ids: HashMap::new(),
            added: 0,
            left_out: 0,
        },
        at: header.created_at,
        names: HashMap::new(),
        last_number: 0,
        prompted: false,
        answer: None,
    };
    for event in events {
        mending.at = event.at;
        match event.what {
            Entry::Known(kind) => mending.next(kind),
            unknown @ Entry::Unknown(_) => mending.push(unknown),
        }
    }
    mending.claim_all();
    mending.mended
}

#[derive(Debug)]
struct Mending {
    mended: Mended,
    /// The time of the event that is looked at; what is added before it is as old.
    at: u64,
    /// The new ids of calls by their former ones. An id is told by the count of calls, so a missing call shifts those behind.
    names: HashMap<String, String>,
    /// The number in the former id of the last call.
    last_number: u64,
    /// The turn has the words that set it off.
    prompted: bool,
    /// The answer of the step.
    answer: Option<Answer>,
}

/// The model's answer in a step.
#[derive(Debug)]
struct Answer {
    /// The number that the former id of its first call has.
    first_number: u64,
    /// Calls in it that have no event yet, each with its place among the calls.
    unclaimed: Vec<(u64, Offered)>,
    /// It was added, as this event, since a call must have been in an answer.
    added_as: Option<usize>,
}

/// A call as it stands in an answer.
#[derive(Debug, Clone, PartialEq)]
struct Offered {
    provider_id: String,
    name: String,
    args: ToolArgs,
}

impl Mending {
    fn next(&mut self, kind: EventKind) {
        match kind {
            EventKind::TurnStart { .. } => {
                self.end_turn();
                self.keep(kind);
                self.prompted = false;
            }
            EventKind::TurnEnd { .. } => {
                if self.standing().turn_open {
                    self.end_step();
                    self.keep(kind);
                } else {
                    self.leave_out();
                }
            }
            EventKind::StepStart => {
                self.end_step();
                self.need_prompt();
                self.keep(kind);
            }
            EventKind::StepEnd => {
                if self.standing().step_open {
                    self.settle_calls();
                    self.answer = None;
                    self.keep(kind);
                } else {
                    self.leave_out();
                }
            }
            EventKind::UserMessage { .. } => {
                // One prompt a turn: the end of the turn before is missing.
                if self.prompted || self.standing().step_open {
                    self.end_turn();
                }
                self.need_turn(Trigger::Prompt);
                self.prompted = true;
                self.keep(kind);
            }
            EventKind::Injected { .. } => {
                self.need_turn(Trigger::Injection);
                self.prompted = true;
                self.keep(kind);
            }
            EventKind::AssistantMessage { blocks } => self.answers(blocks),
            EventKind::ToolCall { .. }
            | EventKind::PermissionDecision { .. }
            | EventKind::TerminalExit { .. }
            | EventKind::ToolResult { .. } => self.of_a_call(kind),
            // These stand where they stand.
            EventKind::AssistantChunk { .. }
            | EventKind::Plan { .. }
            | EventKind::Title { .. }
            | EventKind::Config { .. }
            | EventKind::Usage { .. }
            | EventKind::Notice { .. }
            | EventKind::Compaction { .. }
            | EventKind::Error { .. } => self.keep(kind),
        }
    }

    /// What belongs to a call.
    fn of_a_call(&mut self, mut kind: EventKind) {
        let placed = match &mut kind {
            EventKind::ToolCall {
                call_id,
                provider_id,
                name,
                args,
                ..
            } => {
                let offered = Offered {
                    provider_id: provider_id.clone(),
                    name: name.clone(),
                    args: args.clone(),
                };
                self.need_answer_with(&offered, number_of(call_id));
                *call_id = self.rename(call_id);
                true
            }
            EventKind::PermissionDecision { call_id, .. }
            | EventKind::ToolResult { call_id, .. } => {
                let known = self.known(call_id).filter(|id| self.is_open(id));
                known.map(|known| *call_id = known).is_some()
            }
            EventKind::TerminalExit { call_id, .. } => {
                let known = self.known(call_id).filter(|id| self.may_end(id));
                known.map(|known| *call_id = known).is_some()
            }
            _ => true,
        };
        if placed {
            self.keep(kind);
        } else {
            self.leave_out();
        }
    }

    // ---- turns and steps ---------------------------------------------------------------------------------------

    fn end_turn(&mut self) {
        self.end_step();
        if self.standing().turn_open {
            self.add(EventKind::TurnEnd {
                reason: TurnEndReason::Interrupted,
            });
        }
    }

    fn end_step(&mut self) {
        self.settle_calls();
        self.answer = None;
        if self.standing().step_open {
            self.add(EventKind::StepEnd);
        }
    }

    fn need_turn(&mut self, trigger: Trigger) {
        if !self.standing().turn_open {
            self.add(EventKind::TurnStart { trigger });
            self.prompted = false;
        }
    }

    fn need_prompt(&mut self) {
        self.need_turn(Trigger::Prompt);
        if !self.prompted {
            self.prompted = true;
            self.add(EventKind::Injected {
                text: LOST_PROMPT.to_owned(),
            });
        }
    }

    /// A step whose answer is still to come.
    fn need_unanswered_step(&mut self) {
        self.need_prompt();
        if self.answer.is_some() {
            self.end_step();
        }
        if !self.standing().step_open {
            self.add(EventKind::StepStart);
        }
    }

    // ---- answers and calls -------------------------------------------------------------------------------------

    fn answers(&mut self, blocks: Vec<AssistantBlock>) {
        self.need_unanswered_step();
        let offered = blocks.iter().filter_map(|block| match block {
            AssistantBlock::ToolCall {
                provider_id,
                name,
                args,
            } => Some(Offered {
                provider_id: provider_id.clone(),
                name: name.clone(),
                args: args.clone(),
            }),
            _ => None,
        });
        self.answer = Some(Answer {
            first_number: self.last_number + 1,
            unclaimed: (0..).zip(offered).collect(),
            added_as: None,
        });
        self.keep(EventKind::AssistantMessage { blocks });
    }

    /// An answer with this call in it, which is claimed.
    fn need_answer_with(&mut self, call: &Offered, number: Option<u64>) {
        self.last_number = number.unwrap_or(self.last_number + 1);
        if self.standing().step_open
            && let Some(answer) = &mut self.answer
        {
            let place = answer
                .unclaimed
                .iter()
                .position(|(_, offered)| offered.provider_id == call.provider_id);
            if let Some(place) = place {
                let (among, _) = answer.unclaimed.remove(place);
                answer.first_number = self.last_number.saturating_sub(among);
                return;
            }
            if let Some(at) = answer.added_as {
                let added = self.mended.events.get_mut(at).map(|event| &mut event.what);
                if let Some(Entry::Known(EventKind::AssistantMessage { blocks })) = added {
                    blocks.push(block(call));
                    return;
                }
            }
        }
        self.need_unanswered_step();
        self.answer = Some(Answer {
            first_number: self.last_number,
            unclaimed: Vec::new(),
            added_as: Some(self.mended.events.len()),
        });
        self.add(EventKind::AssistantMessage {
            blocks: vec![block(call)],
        });
    }

    /// The new id of a call. One whose own event is missing is made from the answer that it stands in, if its number says
    /// which it is.
    fn known(&mut self, former: &str) -> Option<String> {
        if let Some(name) = self.names.get(former) {
            return Some(name.clone());
        }
        let number = number_of(former)?;
        let answer = self.answer.as_mut()?;
        let among = number.checked_sub(answer.first_number)?;
        let place = answer.unclaimed.iter().position(|(at, _)| *at == among)?;
        let (_, offered) = answer.unclaimed.remove(place);
        self.last_number = self.last_number.max(number);
        let name = self.rename(former);
        self.add(offered.called(name.clone()));
        Some(name)
    }

    fn rename(&mut self, former: &str) -> String {
        let name = self.standing().call_id(0);
        self.names.insert(former.to_owned(), name.clone());
        self.mended
            .former_ids
            .insert(name.clone(), former.to_owned());
        name
    }

    /// Gives every call of the answer its event.
    fn claim_all(&mut self) {
        let unclaimed = self
            .answer
            .as_mut()
            .map(|answer| std::mem::take(&mut answer.unclaimed));
        for (_, offered) in unclaimed.unwrap_or_default() {
            let name = self.standing().call_id(0);
            self.add(offered.called(name));
        }
    }

    /// Gives every call of the step its event and its result.
    fn settle_calls(&mut self) {
        self.claim_all();
        let owed = self.standing().closing(TurnEndReason::Interrupted, |_| {
            BrokenOff::silent(LOST_RESULT)
        });
        for kind in owed {
            if matches!(
                kind,
                EventKind::TerminalExit { .. } | EventKind::ToolResult { .. }
            ) {
                self.add(kind);
            }
        }
    }

    fn is_open(&self, call_id: &str) -> bool {
        let mut open = self.standing().open.iter();
        open.any(|open| open.call_id == call_id)
    }

    /// Whether the exit of a command is still to come.
    fn may_end(&self, call_id: &str) -> bool {
        let mut background = self.standing().background.iter();
        self.is_open(call_id) || background.any(|running| running == call_id)
    }

    // ---- the log -----------------------------------------------------------------------------------------------

    fn standing(&self) -> &Standing {
        &self.mended.standing
    }

    fn keep(&mut self, kind: EventKind) {
        self.push(Entry::Known(kind));
    }

    fn add(&mut self, kind: EventKind) {
        self.mended.added += 1;
        self.keep(kind);
    }

    fn leave_out(&mut self) {
        self.mended.left_out += 1;
    }

    fn push(&mut self, what: Entry) {
        let seq = self.mended.standing.events;
        self.mended.standing.note(what.known());
        self.mended.events.push(Event {
            seq,
            at: self.at,
            what,
        });
    }
}

impl Offered {
    /// Its event, with plain looks: how it was shown is not known.
    fn called(self, call_id: String) -> EventKind {
        EventKind::ToolCall {
            call_id,
            provider_id: self.provider_id,
            name: self.name,
            args: self.args,
            shown: None,
        }
    }
}

fn block(call: &Offered) -> AssistantBlock {
    AssistantBlock::ToolCall {
        provider_id: call.provider_id.clone(),
        name: call.name.clone(),
        args: call.args.clone(),
    }
}

/// The number in an id of ours.
fn number_of(call_id: &str) -> Option<u64> {
    call_id.strip_prefix("call-")?.parse().ok()
}

#[cfg(test)]
mod tests;
