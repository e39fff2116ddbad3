//! A tool call and the cards in it.

use crate::TerminalExit;
use crate::card::{Card, CardStatus, Change, ChangeKind, Note};
use crate::reading::CallUpdate;

/// What is known of a tool call; its cards show it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Call {
    pub(crate) title: Option<String>,
    pub(crate) command: Option<String>,
    pub(crate) cwd: Option<String>,
    pub(crate) is_execute: bool,
    pub(crate) status: CardStatus,
    pub(crate) result_text: Option<String>,
    pub(crate) result_exit: Option<i64>,
    pub(crate) content_text: String,
    pub(crate) cards: Vec<usize>,
}

impl Call {
    pub(crate) fn describe(&mut self, update: &CallUpdate<'_>) {
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
        if let Some(text) = update
            .content
            .as_ref()
            .and_then(|content| content.text.as_ref())
        {
            self.content_text.clone_from(text);
        }
    }

    /// The command's output as far as it is known from elsewhere than a terminal.
    fn text_found(&self) -> &str {
        self.result_text.as_deref().unwrap_or(&self.content_text)
    }
}

/// A card, and what decides about its fields.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entry {
    pub(crate) card: Card,
    /// A `terminal_info` named the terminal.
    pub(crate) announced: bool,
    /// A call laid claim to the terminal; until then it stands in the call that brought its first output.
    pub(crate) claimed: bool,
    /// Something came through the terminal: texts found elsewhere repeat it.
    pub(crate) streamed: bool,
    pub(crate) info_cwd: Option<String>,
    pub(crate) terminal_exit: Option<TerminalExit>,
    pub(crate) left_out: u64,
}

impl Entry {
    pub(crate) fn stream(&mut self, data: &str, changes: &mut Vec<Change>) {
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

    pub(crate) fn show(&mut self, call: &Call, only: bool, changes: &mut Vec<Change>) {
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
    pub(crate) fn change(&self, kind: ChangeKind) -> Change {
        Change {
            tool_call_id: self.tool_call_id.clone(),
            terminal_id: self.terminal_id.clone(),
            kind,
        }
    }
}
