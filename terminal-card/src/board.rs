//! The board: every card of every session, folded from updates.

use std::collections::HashMap;

use serde_json::Value;

use crate::TerminalExit;
use crate::card::{Card, CardStatus, Change, ChangeKind, Note};
use crate::reading::{CallUpdate, TerminalInfo};

/// Every card of the sessions of one connection.
///
/// Updates are folded in the order in which they arrive. An item that makes no sense is passed over and its neighbours apply; nothing
/// that an agent sends is an error here.
#[derive(Debug, Clone, Default)]
pub struct Board {
    sessions: HashMap<String, Session>,
    order: Vec<String>,
}

impl Board {
    /// A board without cards.
    pub fn new() -> Self {
        Self::default()
    }

    /// Folds one `update` object of a `session/update` notification and tells what it changed. Anything but a `tool_call` and a
    /// `tool_call_update` changes nothing.
    pub fn apply(&mut self, session_id: &str, update: &Value) -> Vec<Change> {
        match update.get("sessionUpdate").and_then(Value::as_str) {
            Some("tool_call" | "tool_call_update") => self.fold(session_id, update, true),
            _ => Vec::new(),
        }
    }

    /// Folds the `toolCall` of a `session/request_permission`: some agents announce a call nowhere else. Texts in its content are
    /// addressed to whoever decides and are no output.
    pub fn apply_permission(&mut self, session_id: &str, tool_call: &Value) -> Vec<Change> {
        self.fold(session_id, tool_call, false)
    }

    fn fold(&mut self, session_id: &str, update: &Value, content_is_output: bool) -> Vec<Change> {
        let Some(mut update) = CallUpdate::read(update) else {
            return Vec::new();
        };
        if !content_is_output && let Some(content) = &mut update.content {
            content.text.clear();
        }
        self.session(session_id).fold(&update)
    }

    /// Tells the board that the session's turn ended: calls that are still open get the status [`CardStatus::NoResult`], which a later
    /// update may still change.
    pub fn turn_ended(&mut self, session_id: &str) -> Vec<Change> {
        self.sessions
            .get_mut(session_id)
            .map(Session::turn_ended)
            .unwrap_or_default()
    }

    /// Drops a session's cards, as before its history is loaded again.
    pub fn forget_session(&mut self, session_id: &str) {
        self.sessions.remove(session_id);
        self.order.retain(|known| known != session_id);
    }

    /// All cards, by session and then in the order in which they appeared.
    pub fn cards(&self) -> impl Iterator<Item = (&str, &Card)> {
        self.order
            .iter()
            .filter_map(|id| Some((id.as_str(), self.sessions.get(id)?)))
            .flat_map(|(id, session)| session.cards.iter().map(move |entry| (id, &entry.card)))
    }

    /// The card of a terminal.
    pub fn card(&self, session_id: &str, terminal_id: &str) -> Option<&Card> {
        let session = self.sessions.get(session_id)?;
        session
            .terminals
            .get(terminal_id)
            .map(|&at| &session.cards[at].card)
    }

    /// The cards of a tool call: one, as a rule.
    pub fn cards_of_call(
        &self,
        session_id: &str,
        tool_call_id: &str,
    ) -> impl Iterator<Item = &Card> {
        let session = self.sessions.get(session_id);
        session
            .and_then(|session| Some((session, session.calls.get(tool_call_id)?)))
            .into_iter()
            .flat_map(|(session, call)| call.cards.iter().map(|&at| &session.cards[at].card))
    }

    fn session(&mut self, session_id: &str) -> &mut Session {
        if !self.sessions.contains_key(session_id) {
            self.order.push(session_id.to_owned());
        }
        self.sessions.entry(session_id.to_owned()).or_default()
    }
}

#[derive(Debug, Clone, Default)]
struct Session {
    calls: HashMap<String, Call>,
    cards: Vec<Entry>,
    terminals: HashMap<String, usize>,
}

/// What is known of a tool call; its cards show it.
#[derive(Debug, Clone, Default)]
struct Call {
    title: Option<String>,
    command: Option<String>,
    cwd: Option<String>,
    is_execute: bool,
    status: CardStatus,
    result_text: Option<String>,
    result_exit: Option<i64>,
    content_text: String,
    cards: Vec<usize>,
}

/// A card, and what decides about its fields.
#[derive(Debug, Clone, Default)]
struct Entry {
    card: Card,
    /// A `terminal_info` named the terminal.
    announced: bool,
    /// A call laid claim to the terminal; until then it stands in the call that brought its first output.
    claimed: bool,
    /// Something came through the terminal: texts found elsewhere repeat it.
    streamed: bool,
    info_cwd: Option<String>,
    terminal_exit: Option<TerminalExit>,
    left_out: u64,
}

impl Session {
    fn fold(&mut self, update: &CallUpdate<'_>) -> Vec<Change> {
        let mut changes = Vec::new();
        let id = update.tool_call_id;
        self.calls
            .entry(id.to_owned())
            .or_default()
            .describe(update);

        for terminal_id in update.content.iter().flat_map(|content| &content.terminals) {
            self.claim(id, terminal_id, &mut changes);
        }
        if let Some(info) = &update.info {
            self.announce(id, info, &mut changes);
        }
        if self
            .calls
            .get(id)
            .is_some_and(|call| call.is_execute && call.cards.is_empty())
        {
            self.open(id, None, &mut changes);
        }
        let mut elsewhere = Vec::new();
        if let Some(output) = &update.output
            && let Some(at) = self.addressed(id, output.terminal_id, &mut changes)
        {
            self.cards[at].stream(output.data, &mut changes);
            elsewhere.push(at);
        }
        if let Some((terminal_id, exit)) = &update.exit
            && let Some(at) = self.addressed(id, *terminal_id, &mut changes)
        {
            // The first exit is the true one.
            self.cards[at]
                .terminal_exit
                .get_or_insert_with(|| exit.clone());
            elsewhere.push(at);
        }
        self.show(id, &mut changes);
        for at in elsewhere {
            let owner = self.cards[at].card.tool_call_id.clone();
            if owner != id {
                self.show(&owner, &mut changes);
            }
        }
        changes
    }

    fn turn_ended(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        for at in 0..self.cards.len() {
            let id = self.cards[at].card.tool_call_id.clone();
            if let Some(call) = self.calls.get_mut(&id)
                && call.status.is_open()
            {
                call.status = CardStatus::NoResult;
                self.show(&id, &mut changes);
            }
        }
        changes
    }

    /// Makes a card in a call.
    fn open(
        &mut self,
        call_id: &str,
        terminal_id: Option<&str>,
        changes: &mut Vec<Change>,
    ) -> usize {
        let at = self.cards.len();
        let card = Card {
            tool_call_id: call_id.to_owned(),
            terminal_id: terminal_id.map(str::to_owned),
            ..Card::default()
        };
        changes.push(card.change(ChangeKind::Opened));
        self.cards.push(Entry {
            card,
            ..Entry::default()
        });
        if let Some(terminal_id) = terminal_id {
            self.terminals.insert(terminal_id.to_owned(), at);
        }
        self.calls
            .entry(call_id.to_owned())
            .or_default()
            .cards
            .push(at);
        at
    }

    /// Finds the terminal's card or makes one: a card of the call that has no terminal yet becomes it.
    fn find_or_open(
        &mut self,
        call_id: &str,
        terminal_id: &str,
        changes: &mut Vec<Change>,
    ) -> usize {
        if let Some(&at) = self.terminals.get(terminal_id) {
            return at;
        }
        let cards = self
            .calls
            .get(call_id)
            .map(|call| call.cards.clone())
            .unwrap_or_default();
        let Some(at) = cards
            .into_iter()
            .find(|&at| self.cards[at].card.terminal_id.is_none())
        else {
            return self.open(call_id, Some(terminal_id), changes);
        };
        self.cards[at].card.terminal_id = Some(terminal_id.to_owned());
        self.terminals.insert(terminal_id.to_owned(), at);
        changes.push(self.cards[at].card.change(ChangeKind::Described));
        at
    }

    /// Puts the terminal into the call that names it as its own, unless another one did before.
    fn claim(&mut self, call_id: &str, terminal_id: &str, changes: &mut Vec<Change>) -> usize {
        let at = self.find_or_open(call_id, terminal_id, changes);
        let entry = &mut self.cards[at];
        if !entry.claimed {
            entry.claimed = true;
            if entry.card.tool_call_id != call_id {
                let former = std::mem::replace(&mut entry.card.tool_call_id, call_id.to_owned());
                changes.push(entry.card.change(ChangeKind::Described));
                if let Some(call) = self.calls.get_mut(&former) {
                    call.cards.retain(|&card| card != at);
                }
                self.calls
                    .entry(call_id.to_owned())
                    .or_default()
                    .cards
                    .push(at);
            }
        }
        at
    }

    fn announce(&mut self, call_id: &str, info: &TerminalInfo<'_>, changes: &mut Vec<Change>) {
        let at = match info.terminal_id {
            Some(terminal_id) => Some(self.claim(call_id, terminal_id, changes)),
            None => self.addressed(call_id, None, changes),
        };
        if let Some(at) = at {
            let entry = &mut self.cards[at];
            entry.announced = true;
            if let Some(cwd) = info.cwd {
                entry.info_cwd = Some(cwd.to_owned());
            }
        }
    }

    /// The card that output or an exit is meant for: that of its terminal, or without an id the call's only one.
    fn addressed(
        &mut self,
        call_id: &str,
        terminal_id: Option<&str>,
        changes: &mut Vec<Change>,
    ) -> Option<usize> {
        if let Some(terminal_id) = terminal_id {
            return Some(self.find_or_open(call_id, terminal_id, changes));
        }
        let cards = self
            .calls
            .get(call_id)
            .map(|call| call.cards.clone())
            .unwrap_or_default();
        match cards[..] {
            [] => Some(self.open(call_id, None, changes)),
            [only] => Some(only),
            _ => None,
        }
    }

    /// Brings the cards of a call up to date with it.
    fn show(&mut self, call_id: &str, changes: &mut Vec<Change>) {
        if let Some(call) = self.calls.get(call_id) {
            let only = call.cards.len() == 1;
            for &at in &call.cards {
                self.cards[at].show(call, only, changes);
            }
        }
    }
}

impl Call {
    fn describe(&mut self, update: &CallUpdate<'_>) {
        if let Some(title) = update.title {
            self.title = Some(title.to_owned());
        }
        if let Some(command) = &update.command {
            self.command = Some(command.clone());
        }
        if let Some(cwd) = update.cwd {
            self.cwd = Some(cwd.to_owned());
        }
        if let Some(kind) = update.kind {
            self.is_execute = kind == "execute";
        }
        if let Some(status) = update.status {
            self.status = status;
        }
        if let Some(result) = &update.result {
            if result.text.is_some() {
                self.result_text.clone_from(&result.text);
            }
            self.result_exit = result.exit_code.or(self.result_exit);
        }
        if let Some(content) = &update.content {
            self.content_text.clone_from(&content.text);
        }
    }

    /// The command's output as far as it is known from elsewhere than a terminal.
    fn text_found(&self) -> &str {
        self.result_text.as_deref().unwrap_or(&self.content_text)
    }
}

impl Entry {
    fn stream(&mut self, data: &str, changes: &mut Vec<Change>) {
        if data.is_empty() {
            return;
        }
        if !self.streamed {
            self.streamed = true;
            if !self.card.text.is_empty() {
                // What was found elsewhere gives way to the real thing.
                self.replace(data, changes);
                return;
            }
        }
        self.left_out += self.card.append(data) as u64;
        changes.push(self.card.change(ChangeKind::Output(data.to_owned())));
    }

    fn replace(&mut self, text: &str, changes: &mut Vec<Change>) {
        let added = text
            .strip_prefix(self.card.text.as_str())
            .filter(|_| self.left_out == 0);
        let kind = match added {
            Some("") => return,
            Some(added) => ChangeKind::Output(added.to_owned()),
            None => ChangeKind::Replaced(text.to_owned()),
        };
        self.card.text.clear();
        self.left_out = self.card.append(text) as u64;
        changes.push(self.card.change(kind));
    }

    fn show(&mut self, call: &Call, only: bool, changes: &mut Vec<Change>) {
        // One text cannot be divided among several terminals.
        if !self.streamed && only {
            self.replace(call.text_found(), changes);
        }
        let result_exit = call.result_exit.map(|code| TerminalExit {
            exit_code: Some(code),
            signal: None,
        });
        let exit = self.terminal_exit.clone().or(result_exit.filter(|_| only));
        if let Some(exit) = exit
            && self.card.exit.as_ref() != Some(&exit)
        {
            self.card.exit = Some(exit.clone());
            changes.push(self.card.change(ChangeKind::Exited(exit)));
        }
        if self.card.status != call.status {
            self.card.status = call.status;
            changes.push(self.card.change(ChangeKind::StatusChanged(call.status)));
        }
        let cwd = self.info_cwd.as_ref().or(call.cwd.as_ref());
        let notes = self.notes();
        let card = &mut self.card;
        if card.title != call.title
            || card.command != call.command
            || card.cwd.as_ref() != cwd
            || card.notes != notes
        {
            card.title.clone_from(&call.title);
            card.command.clone_from(&call.command);
            card.cwd = cwd.cloned();
            card.notes = notes;
            changes.push(card.change(ChangeKind::Described));
        }
    }

    fn notes(&self) -> Vec<Note> {
        let card = &self.card;
        let ended = matches!(card.status, CardStatus::Completed | CardStatus::Failed);
        let no_exit_code = card.exit.as_ref().map_or(ended, TerminalExit::is_unknown);
        let left_out = Note::LeftOut {
            at: card.cut_place(),
            bytes: self.left_out,
        };
        [
            (
                card.terminal_id.is_some() && !self.announced,
                Note::Unannounced,
            ),
            (!self.streamed && !card.text.is_empty(), Note::NotStreamed),
            (no_exit_code, Note::NoExitCode),
            (self.left_out > 0, left_out),
        ]
        .into_iter()
        .filter_map(|(holds, note)| holds.then_some(note))
        .collect()
    }
}

impl Card {
    fn change(&self, kind: ChangeKind) -> Change {
        Change {
            tool_call_id: self.tool_call_id.clone(),
            terminal_id: self.terminal_id.clone(),
            kind,
        }
    }
}
