//! The calls and cards of one session.

use std::collections::HashMap;

use crate::call::{Call, Entry};
use crate::card::{Card, CardStatus, Change, ChangeKind};
use crate::reading::{CallUpdate, TerminalInfo};

/// The calls and cards of one session, and whose each terminal is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Session {
    calls: HashMap<String, Call>,
    cards: Vec<Entry>,
    terminals: HashMap<String, usize>,
}

impl Session {
    /// The cards in the order in which they appeared.
    pub(crate) fn cards(&self) -> impl Iterator<Item = &Card> {
        self.cards.iter().map(|entry| &entry.card)
    }

    pub(crate) fn card(&self, terminal_id: &str) -> Option<&Card> {
        self.terminals
            .get(terminal_id)
            .map(|&at| &self.cards[at].card)
    }

    pub(crate) fn cards_of_call(&self, call_id: &str) -> impl Iterator<Item = &Card> {
        self.calls
            .get(call_id)
            .into_iter()
            .flat_map(|call| call.cards.iter().map(|&at| &self.cards[at].card))
    }

    pub(crate) fn fold(&mut self, update: &CallUpdate<'_>) -> Vec<Change> {
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

    pub(crate) fn turn_ended(&mut self) -> Vec<Change> {
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
