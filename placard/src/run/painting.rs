//! A turn as text, as it goes: what the agent says, and its cards.
//!
//! Everything is decided from what was heard and its time; the text comes back as strings for whoever prints them.

use std::collections::HashMap;

use serde_json::Value;
use terminal_card::{Board, Card, CardStatus, Change, ChangeKind, Note};

use super::words::{Fact, closing_words};
use crate::ink::{CardInk, Ink, Tone, ends_line, harmless};

/// What is written so far, as far as the rest depends on it.
#[derive(Debug)]
pub(crate) struct Painting {
    ink: Ink,
    out: String,
    board: Board,
    cards: HashMap<CardKey, Painted>,
    calls: Vec<OtherCall>,
    facts: HashMap<String, Vec<Fact>>,
    /// What the person should know of a call, until it is told.
    notices: HashMap<String, String>,
    block: Block,
    at_line_start: bool,
}

/// A card: its call and its terminal.
type CardKey = (String, Option<String>);

/// What of a card is on paper.
#[derive(Debug)]
struct Painted {
    started: u64,
    headed: bool,
    closed: bool,
    printed: bool,
    /// When it was first said to run.
    begun: Option<u64>,
    ink: CardInk,
}

/// A call that is no command: one line, when it is over.
#[derive(Debug)]
struct OtherCall {
    id: String,
    title: String,
    over: bool,
}

/// What was written last; between two blocks is an empty line.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Block {
    Nothing,
    Text(Option<String>),
    Card(CardKey),
    Calls,
}

impl Painting {
    /// Clean paper.
    pub(crate) fn new(ink: Ink) -> Self {
        Self {
            ink,
            out: String::new(),
            board: Board::new(),
            cards: HashMap::new(),
            calls: Vec::new(),
            facts: HashMap::new(),
            notices: HashMap::new(),
            block: Block::Nothing,
            at_line_start: true,
        }
    }

    /// An update of the session, heard at `t`: what to print.
    pub(crate) fn update(&mut self, session: &str, update: &Value, t: u64) -> String {
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => self.text(update),
            Some("tool_call" | "tool_call_update") => {
                let call = update["toolCallId"].as_str().unwrap_or_default();
                self.learn(call, &update["_meta"]["placard"]);
                let changes = self.board.apply(session, update);
                self.changed(session, &changes, t);
                if self.board.cards_of_call(session, call).next().is_none() {
                    self.other_call(call, update);
                }
            }
            _ => {}
        }
        std::mem::take(&mut self.out)
    }

    /// The agent asks for permission for a call: what to print, and what the call is called.
    pub(crate) fn asks(&mut self, session: &str, call: &Value, t: u64) -> (String, String) {
        let changes = self.board.apply_permission(session, call);
        self.changed(session, &changes, t);
        let id = call["toolCallId"].as_str().unwrap_or_default();
        let card = self.board.cards_of_call(session, id).next();
        let subject = card
            .map(Card::heading)
            .filter(|heading| !heading.is_empty());
        let title = || {
            self.calls
                .iter()
                .find(|other| other.id == id)
                .map(|other| other.title.as_str())
        };
        let subject = subject
            .or_else(|| call["title"].as_str())
            .or_else(title)
            .unwrap_or("a tool call");
        let subject = subject.to_owned();
        self.end_line();
        self.tell_notice(id);
        (std::mem::take(&mut self.out), subject)
    }

    /// The person, or their rule, has refused a call.
    pub(crate) fn refused(&mut self, call: &str) {
        self.facts
            .entry(call.to_owned())
            .or_default()
            .push(Fact::Refused);
    }

    fn facts_of(&self, call: &str) -> &[Fact] {
        self.facts.get(call).map_or(&[], Vec::as_slice)
    }

    /// What our own agent says of a call beside the convention.
    fn learn(&mut self, call: &str, ours: &Value) {
        if let Some(notice) = ours["notice"].as_str() {
            self.notices.insert(call.to_owned(), notice.to_owned());
        }
        let facts = Fact::NAMED
            .into_iter()
            .filter(|(name, _)| ours[name] == true)
            .map(|(_, fact)| fact);
        self.facts.entry(call.to_owned()).or_default().extend(facts);
    }

    /// The turn ended at `t`: what to print.
    pub(crate) fn turn_ended(&mut self, session: &str, t: u64) -> String {
        let changes = self.board.turn_ended(session);
        self.changed(session, &changes, t);
        let open: Vec<CardKey> = self
            .board
            .cards()
            .filter(|(owner, _)| *owner == session)
            .map(|(_, card)| key_of(card))
            .filter(|key| self.cards.get(key).is_some_and(|painted| !painted.closed))
            .collect();
        for key in open {
            self.close(session, &key, t);
        }
        for call in std::mem::take(&mut self.calls) {
            if !call.over {
                self.call_line(&call.title, " · no result");
            }
        }
        self.end_line();
        std::mem::take(&mut self.out)
    }

    // ---- text --------------------------------------------------------------------------------------------------

    fn text(&mut self, update: &Value) {
        let content = &update["content"];
        let text = match (content["type"].as_str(), content["text"].as_str()) {
            (Some("text"), Some(text)) => harmless(text),
            (Some(kind), _) => format!("[{}]", harmless(kind)),
            _ => return,
        };
        self.begin(&Block::Text(
            update["messageId"].as_str().map(str::to_owned),
        ));
        self.put(&text);
    }

    // ---- cards -------------------------------------------------------------------------------------------------

    fn changed(&mut self, session: &str, changes: &[Change], t: u64) {
        let mut touched: Vec<CardKey> = Vec::new();
        for change in changes {
            let key = (change.tool_call_id.clone(), change.terminal_id.clone());
            self.find_or_add(&key, t);
            if let (ChangeKind::StatusChanged(CardStatus::InProgress), Some(painted)) =
                (&change.kind, self.cards.get_mut(&key))
            {
                painted.begun.get_or_insert(t);
                if !painted.printed {
                    // Waiting for a permission is no running.
                    painted.started = t;
                }
            }
            if let ChangeKind::Output(text) | ChangeKind::Replaced(text) = &change.kind
                && self
                    .card(session, &key)
                    .is_some_and(|card| !card.notes.contains(&Note::NotStreamed))
            {
                self.print_output(session, &key, text);
            }
            if !touched.contains(&key) {
                touched.push(key);
            }
        }
        for key in touched {
            let Some(card) = self.card(session, &key) else {
                continue;
            };
            let over = matches!(card.status, CardStatus::Completed | CardStatus::Failed);
            let command_known = card.command.is_some();
            if card.exit.is_some() || (over && card.terminal_id.is_none()) {
                self.close(session, &key, t);
            } else if command_known {
                self.begin_card(session, &key);
            }
        }
    }

    /// A card may learn its terminal, or its call, after it was opened: it is the same one.
    fn find_or_add(&mut self, key: &CardKey, t: u64) {
        if self.cards.contains_key(key) {
            return;
        }
        let is_former = |known: &&CardKey| {
            key.1.is_some() && (known.1 == key.1 || (known.0 == key.0 && known.1.is_none()))
        };
        let former = self.cards.keys().find(is_former).cloned();
        let painted = former.as_ref().and_then(|former| self.cards.remove(former));
        if former.is_some_and(|former| self.block == Block::Card(former)) {
            self.block = Block::Card(key.clone());
        }
        self.cards.insert(
            key.clone(),
            painted.unwrap_or_else(|| Painted::new(self.ink, t)),
        );
    }

    fn card(&self, session: &str, key: &CardKey) -> Option<&Card> {
        self.board
            .cards_of_call(session, &key.0)
            .find(|card| card.terminal_id == key.1)
    }

    fn print_output(&mut self, session: &str, key: &CardKey, text: &str) {
        self.begin_card(session, key);
        let Some(painted) = self.cards.get_mut(key) else {
            return;
        };
        painted.printed = true;
        let shown = painted.ink.output(text);
        self.put(&shown);
    }

    fn begin_card(&mut self, session: &str, key: &CardKey) {
        let block = Block::Card(key.clone());
        if self.block == block {
            return;
        }
        let Some(card) = self.card(session, key) else {
            return;
        };
        let heading = harmless(card.heading()).replace('\n', "\n  ");
        let folder = card.cwd.as_deref().map(harmless);
        let headed = self
            .cards
            .get_mut(key)
            .is_some_and(|painted| std::mem::replace(&mut painted.headed, true));
        self.begin(&block);
        if headed {
            let line = heading.lines().next().unwrap_or_default();
            let line = self.ink.paint(Tone::Quiet, &format!("… $ {line}"));
            self.put(&format!("{line}\n"));
            return;
        }
        let heading = self.ink.paint(Tone::Headline, &format!("$ {heading}"));
        self.put(&format!("{heading}\n"));
        if let Some(folder) = folder {
            let folder = self.ink.paint(Tone::Quiet, &format!("  {folder}"));
            self.put(&format!("{folder}\n"));
        }
    }

    fn close(&mut self, session: &str, key: &CardKey, t: u64) {
        if self.cards.get(key).is_none_or(|painted| painted.closed) {
            return;
        }
        self.begin_card(session, key);
        let begun = self
            .cards
            .get(key)
            .is_some_and(|painted| painted.begun.is_some() || painted.printed);
        if !begun && !self.facts_of(&key.0).contains(&Fact::Refused) {
            self.facts
                .entry(key.0.clone())
                .or_default()
                .push(Fact::NotBegun);
        }
        let Some(card) = self.card(session, key) else {
            return;
        };
        let facts = self.facts_of(&key.0);
        let Some(painted) = self.cards.get(key) else {
            return;
        };
        let elapsed = t.saturating_sub(painted.started);
        let (tone, words) = closing_words(card, facts, elapsed);
        let found = card
            .notes
            .contains(&Note::NotStreamed)
            .then(|| card.text.clone());
        if let Some(text) = found {
            self.print_output(session, key, &text);
        }
        if let Some(painted) = self.cards.get_mut(key) {
            painted.closed = true;
            let rest = painted.ink.finish();
            self.put(&rest);
        }
        self.end_line();
        let line = self.ink.paint(tone, &words);
        self.put(&format!("{line}\n"));
        self.tell_notice(&key.0);
    }

    /// What the person should know of a call, once: before they are asked, or at its end.
    fn tell_notice(&mut self, call: &str) {
        if let Some(notice) = self.notices.remove(call) {
            let line = self.ink.paint(Tone::Ask, &harmless(&notice));
            self.put(&format!("{line}\n"));
        }
    }

    // ---- calls without a card ----------------------------------------------------------------------------------

    fn other_call(&mut self, id: &str, update: &Value) {
        if !self.calls.iter().any(|call| call.id == id) {
            self.calls.push(OtherCall {
                id: id.to_owned(),
                title: String::new(),
                over: false,
            });
        }
        let refused = self.facts_of(id).contains(&Fact::Refused);
        let Some(call) = self.calls.iter_mut().find(|call| call.id == id) else {
            return;
        };
        if let Some(title) = update["title"].as_str() {
            title.clone_into(&mut call.title);
        }
        let end = match update["status"].as_str() {
            Some("completed") => "",
            Some("failed") if refused => " · refused",
            Some("failed") => " · failed",
            _ => return,
        };
        if !std::mem::replace(&mut call.over, true) {
            let title = call.title.clone();
            self.call_line(&title, end);
        }
    }

    fn call_line(&mut self, title: &str, end: &str) {
        self.begin(&Block::Calls);
        let title = harmless(title).replace('\n', " ");
        let line = self.ink.paint(Tone::Quiet, &format!("· {title}{end}"));
        self.put(&format!("{line}\n"));
    }

    // ---- paper -------------------------------------------------------------------------------------------------

    fn begin(&mut self, block: &Block) {
        if self.block == *block {
            return;
        }
        self.end_line();
        if self.block != Block::Nothing {
            self.put("\n");
        }
        self.block = block.clone();
    }

    fn end_line(&mut self) {
        if !self.at_line_start {
            let end = self.ink.line_end();
            self.put(end);
        }
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
        self.at_line_start = ends_line(text).unwrap_or(self.at_line_start);
    }
}

impl Painted {
    fn new(ink: Ink, t: u64) -> Self {
        Self {
            started: t,
            headed: false,
            closed: false,
            printed: false,
            begun: None,
            ink: CardInk::new(ink),
        }
    }
}

fn key_of(card: &Card) -> CardKey {
    (card.tool_call_id.clone(), card.terminal_id.clone())
}

#[cfg(test)]
mod tests;
