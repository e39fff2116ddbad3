//! A turn as text, as it goes: what the agent says, and its cards.
//!
//! Everything is decided from what was heard and its time; the text comes back as strings for whoever prints them.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use terminal_card::{Board, Card, CardStatus, Change, ChangeKind, Note};

use super::ink::{CardInk, Tone, ends_line};
pub(crate) use super::ink::{Ink, harmless};
use super::words::closing_words;

/// What is written so far, as far as the rest depends on it.
#[derive(Debug)]
pub(crate) struct Painting {
    ink: Ink,
    out: String,
    board: Board,
    cards: HashMap<CardKey, Painted>,
    calls: Vec<OtherCall>,
    refused: HashSet<String>,
    timed_out: HashSet<String>,
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
            refused: HashSet::new(),
            timed_out: HashSet::new(),
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
                if update["_meta"]["placard"]["timed_out"] == true {
                    self.timed_out.insert(call.to_owned());
                }
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
        (std::mem::take(&mut self.out), subject)
    }

    /// The person, or their rule, has refused a call.
    pub(crate) fn refused(&mut self, call: &str) {
        self.refused.insert(call.to_owned());
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
                && !painted.printed
            {
                // Waiting for a permission is no running.
                painted.started = t;
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
        let Some(card) = self.card(session, key) else {
            return;
        };
        let (refused, timed_out) = (
            self.refused.contains(&key.0),
            self.timed_out.contains(&key.0),
        );
        let Some(painted) = self.cards.get(key) else {
            return;
        };
        let elapsed = t.saturating_sub(painted.started);
        let (tone, words) = closing_words(card, refused, timed_out, elapsed);
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
        let Some(call) = self.calls.iter_mut().find(|call| call.id == id) else {
            return;
        };
        if let Some(title) = update["title"].as_str() {
            title.clone_into(&mut call.title);
        }
        let end = match update["status"].as_str() {
            Some("completed") => "",
            Some("failed") if self.refused.contains(id) => " · refused",
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
            ink: CardInk::new(ink),
        }
    }
}

fn key_of(card: &Card) -> CardKey {
    (card.tool_call_id.clone(), card.terminal_id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;
    use terminal_card::{Capability, TerminalExit, encode};

    /// A session drawn in one go: updates with their times.
    fn drawn(ink: Ink, updates: &[(u64, Value)]) -> String {
        let mut painting = Painting::new(ink);
        let mut text = String::new();
        for (t, update) in updates {
            text.push_str(&painting.update("s", update, *t));
        }
        let end = updates.last().map_or(0, |(t, _)| *t);
        text + &painting.turn_ended("s", end)
    }

    fn says(text: &str) -> Value {
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
    }

    fn opens(id: &str, command: &str) -> Value {
        json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": command, "kind": "execute",
            "status": "in_progress", "rawInput": {"command": command},
            "content": [encode::content(id)], "_meta": encode::info(id, "/work")})
    }

    fn prints(id: &str, data: &str) -> Value {
        json!({"sessionUpdate": "tool_call_update", "toolCallId": id,
            "_meta": encode::output(Capability::Output, id, data)})
    }

    fn exits(id: &str, status: &str, code: Option<i64>, signal: Option<&str>) -> Value {
        let exit = TerminalExit {
            exit_code: code,
            signal: signal.map(str::to_owned),
        };
        json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status,
            "_meta": encode::exit(id, &exit)})
    }

    #[test]
    fn a_turn_with_text_and_a_card() {
        let updates = [
            (0, says("I will ")),
            (1, says("look.\n")),
            (1_000, opens("c", "ls -l\nwc -l *")),
            (1_100, prints("c", "10%\r99%\r\n\u{1b}[31ma\u{1b}[0m\r\nb")),
            (1_400, exits("c", "completed", Some(0), None)),
            (1_500, says("Two lines.")),
        ];
        assert_eq!(
            drawn(Ink::Plain, &updates),
            "I will look.\n\n$ ls -l\n  wc -l *\n  /work\n99%\na\nb\nok · 0.4 s\n\nTwo lines.\n"
        );
        assert_eq!(
            drawn(Ink::Colour, &updates),
            "I will look.\n\n\u{1b}[0;1m$ ls -l\n  wc -l *\u{1b}[0m\n\u{1b}[0;2m  /work\u{1b}[0m\n\
             10%\r99%\r\n\u{1b}[31ma\u{1b}[0m\r\nb\u{1b}[0m\n\u{1b}[0;32mok · 0.4 s\u{1b}[0m\n\n\
             Two lines.\u{1b}[0m\n"
        );
    }

    #[test]
    fn output_is_printed_as_it_comes() {
        let mut painting = Painting::new(Ink::Plain);
        let pieces = [
            opens("c", "count"),
            prints("c", "1\r\n2"),
            prints("c", "\r\n3\r\n"),
        ]
        .map(|update| painting.update("s", &update, 0));
        assert_eq!(pieces, ["$ count\n  /work\n", "1\n", "2\n3\n"]);
    }

    #[test]
    fn two_cards_at_once_are_told_apart() {
        let updates = [
            (0, opens("a", "first")),
            (0, opens("b", "second")),
            (0, prints("a", "from a\r\n")),
            (0, prints("b", "from b\r\n")),
            (0, exits("b", "failed", Some(3), None)),
            (2_000, exits("a", "failed", None, Some("SIGKILL"))),
        ];
        assert_eq!(
            drawn(Ink::Plain, &updates),
            "$ first\n  /work\n\n$ second\n  /work\n\n… $ first\nfrom a\n\n… $ second\nfrom b\nexit 3 · 0.0 s\n\
             \n… $ first\nkilled by SIGKILL · 2 s\n"
        );
    }

    #[test]
    fn agents_that_send_no_cards_are_drawn_too() {
        let updates = [
            (
                0,
                json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "sh", "kind": "execute",
                "rawInput": {"command": ["bash", "-lc", "ls"]}}),
            ),
            (
                5,
                json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed",
                "rawOutput": {"output": "a\nb\n"}}),
            ),
            (
                6,
                json!({"sessionUpdate": "tool_call", "toolCallId": "r", "title": "Read", "kind": "read"}),
            ),
            (
                7,
                json!({"sessionUpdate": "tool_call_update", "toolCallId": "r", "title": "Read a.rs",
                "status": "completed"}),
            ),
            (
                8,
                json!({"sessionUpdate": "tool_call", "toolCallId": "w", "title": "Write b.rs", "kind": "edit",
                "status": "failed"}),
            ),
            (
                9,
                json!({"sessionUpdate": "tool_call", "toolCallId": "x", "title": "Lost", "kind": "fetch"}),
            ),
        ];
        assert_eq!(
            drawn(Ink::Plain, &updates),
            "$ ls\na\nb\nended · no exit code\n\n· Read a.rs\n· Write b.rs · failed\n· Lost · no result\n"
        );
    }

    #[test]
    fn a_card_whose_command_comes_late_is_headed_by_it() {
        let updates = [
            (
                0,
                json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Terminal", "kind": "execute",
                "rawInput": {}, "content": [encode::content("t")],
                "_meta": {"terminal_info": {"terminal_id": "t"}}}),
            ),
            (
                1,
                json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "title": "`true`",
                "rawInput": {"command": "true"}}),
            ),
            (
                2,
                json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed",
                "_meta": {"terminal_exit": {"terminal_id": "t", "exit_code": 0, "signal": null}}}),
            ),
        ];
        assert_eq!(drawn(Ink::Plain, &updates), "$ true\nok · 0.0 s\n");
    }

    #[test]
    fn a_refused_call_is_closed_as_refused() {
        let mut painting = Painting::new(Ink::Plain);
        let call = json!({"toolCallId": "c", "title": "rm x", "kind": "execute", "rawInput": {"command": "rm x"}});
        let (text, subject) = painting.asks("s", &call, 0);
        assert_eq!((text.as_str(), subject.as_str()), ("$ rm x\n", "rm x"));
        painting.refused("c");
        let failed =
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "failed"});
        assert_eq!(painting.update("s", &failed, 900), "refused\n");
        assert_eq!(painting.turn_ended("s", 901), "");
    }

    #[test]
    fn what_never_ended_is_told_at_the_turns_end() {
        assert_eq!(
            drawn(
                Ink::Plain,
                &[(0, opens("c", "sleep 9")), (1, prints("c", "half a line"))]
            ),
            "$ sleep 9\n  /work\nhalf a line\nno result\n"
        );
    }
}
