//! One card: what a client needs in order to draw it.

use serde::{Deserialize, Serialize};

use crate::TerminalExit;

/// What a card's text keeps of its beginning when there is too much.
const HEAD_BYTES: usize = 512 * 1024;
/// What it keeps of its end.
const TAIL_BYTES: usize = 448 * 1024;
/// Text is cut only when this much can go at once.
const SLACK_BYTES: usize = 64 * 1024;

/// The most text that a card holds, in bytes.
pub const CARD_TEXT_BYTES: usize = HEAD_BYTES + TAIL_BYTES + SLACK_BYTES;

/// A command and what is known of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The terminal; none for an `execute` call of an agent that sends no cards.
    pub terminal_id: Option<String>,
    /// The tool call that the card stands in.
    pub tool_call_id: String,
    /// The call's title as the agent last gave it.
    pub title: Option<String>,
    /// The command, where the call's raw input tells it; to be shown rather than a title that differs from it.
    pub command: Option<String>,
    /// The folder that the command runs in.
    pub cwd: Option<String>,
    /// What it printed, raw: escape sequences and line ends as they came.
    pub text: String,
    /// How it ended, once it has.
    pub exit: Option<TerminalExit>,
    /// The state of the call, which no output and no exit changes.
    pub status: CardStatus,
    /// What a reader should be told about this card, in the order of [`Note`].
    pub notes: Vec<Note>,
}

impl Card {
    /// The line that names the card: the command if it is known, else the title.
    pub fn heading(&self) -> &str {
        self.command
            .as_deref()
            .or(self.title.as_deref())
            .unwrap_or_default()
    }

    /// Adds to the text, and cuts its middle out when it has grown past its bound. Returns how many bytes went.
    pub(crate) fn append(&mut self, text: &str) -> usize {
        // The head is kept from what came first, so a text that is far too long is added in pieces.
        let mut gone = 0;
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(SLACK_BYTES));
            self.text.push_str(piece);
            rest = after;
            if self.text.len() > CARD_TEXT_BYTES {
                let from = self.text.floor_char_boundary(HEAD_BYTES);
                let to = self.text.ceil_char_boundary(self.text.len() - TAIL_BYTES);
                self.text.drain(from..to);
                gone += to - from;
            }
        }
        gone
    }

    /// Where the text was cut, if it was.
    pub(crate) fn cut_place(&self) -> usize {
        self.text.floor_char_boundary(HEAD_BYTES)
    }
}

/// The state of a card's tool call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CardStatus {
    /// Not started, or waiting for a permission.
    #[default]
    Pending,
    /// Under way.
    InProgress,
    /// Ended well, or went on in the background.
    Completed,
    /// Ended badly.
    Failed,
    /// The turn ended and the agent never said what became of the call.
    NoResult,
}

impl CardStatus {
    /// A status on the v1 wire; an unknown one is none.
    pub(crate) fn read(word: &str) -> Option<Self> {
        match word {
            "pending" => Some(Self::Pending),
            "in_progress" => Some(Self::InProgress),
            "completed" => Some(Self::Completed),
            "failed" => Some(Self::Failed),
            _ => None,
        }
    }

    /// The call has not ended.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::InProgress)
    }
}

/// Something about a card that a reader should be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// The terminal was used without having been announced by a `terminal_info`.
    Unannounced,
    /// The text is not what a terminal printed: it was found in the call's result or content.
    NotStreamed,
    /// It ended, and nobody said with which code or signal.
    NoExitCode,
    /// The text was cut to its bound: so many bytes are missing at this byte offset.
    LeftOut {
        /// Where in the text.
        at: usize,
        /// How many.
        bytes: u64,
    },
}

/// What an update did to a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The call that the card stands in.
    pub tool_call_id: String,
    /// The card's terminal, if it has one (by now).
    pub terminal_id: Option<String>,
    /// What happened.
    pub kind: ChangeKind,
}

/// The ways in which a card changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// There is a new card.
    Opened,
    /// Title, command, folder, terminal, call or notes are not what they were.
    Described,
    /// This was added to the text.
    Output(String),
    /// The text is now this, and what was there before is not part of it.
    Replaced(String),
    /// It ended. Told once, unless a result's exit code is overruled by the terminal's own.
    Exited(TerminalExit),
    /// The call's state is now this.
    StatusChanged(CardStatus),
}
