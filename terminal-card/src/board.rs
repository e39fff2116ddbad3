//! The board: every card of every session, folded from updates.

use std::collections::HashMap;

use serde_json::Value;

use crate::card::{Card, Change};
use crate::reading::CallUpdate;
use crate::session::Session;

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
            content.text = None;
        }
        self.session(session_id).fold(&update)
    }

    /// Tells the board that the session's turn ended: calls that are still open get the status [`CardStatus::NoResult`](crate::CardStatus::NoResult), which a later
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
            .flat_map(|(id, session)| session.cards().map(move |card| (id, card)))
    }

    /// The card of a terminal.
    pub fn card(&self, session_id: &str, terminal_id: &str) -> Option<&Card> {
        self.sessions.get(session_id)?.card(terminal_id)
    }

    /// The cards of a tool call: one, as a rule.
    pub fn cards_of_call(
        &self,
        session_id: &str,
        tool_call_id: &str,
    ) -> impl Iterator<Item = &Card> {
        self.sessions
            .get(session_id)
            .into_iter()
            .flat_map(move |session| session.cards_of_call(tool_call_id))
    }

    fn session(&mut self, session_id: &str) -> &mut Session {
        if !self.sessions.contains_key(session_id) {
            self.order.push(session_id.to_owned());
        }
        self.sessions.entry(session_id.to_owned()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::{CARD_TEXT_BYTES, Capability, CardStatus, ChangeKind, Note, TerminalExit, encode};

    fn started() -> Board {
        let mut board = Board::new();
        let call = json!({
            "sessionUpdate": "tool_call", "toolCallId": "c", "title": "yes", "kind": "execute",
            "content": [encode::content("t")], "_meta": encode::info("t", "/w"),
        });
        let kinds: Vec<_> = board
            .apply("s", &call)
            .into_iter()
            .map(|change| change.kind)
            .collect();
        assert_eq!(kinds, [ChangeKind::Opened, ChangeKind::Described]);
        board
    }

    fn output(board: &mut Board, data: &str) -> Vec<ChangeKind> {
        let meta = encode::output(Capability::Delta, "t", data);
        let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "_meta": meta});
        board
            .apply("s", &update)
            .into_iter()
            .map(|change| change.kind)
            .collect()
    }

    #[test]
    fn a_chunk_is_told_as_what_it_adds() {
        let mut board = started();
        assert_eq!(
            output(&mut board, "y\r\n"),
            [ChangeKind::Output("y\r\n".to_owned())]
        );
        assert_eq!(output(&mut board, ""), []);
        let exit = TerminalExit {
            exit_code: None,
            signal: Some("SIGINT".to_owned()),
        };
        let last = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "failed", "_meta": encode::exit("t", &exit),
        });
        let kinds: Vec<_> = board
            .apply("s", &last)
            .into_iter()
            .map(|change| change.kind)
            .collect();
        assert_eq!(
            kinds,
            [
                ChangeKind::Exited(exit),
                ChangeKind::StatusChanged(CardStatus::Failed)
            ]
        );
        assert_eq!(board.apply("s", &last), []);
    }

    #[test]
    fn cumulative_content_is_told_as_what_it_adds() {
        let mut board = Board::new();
        let mut kinds = Vec::new();
        for text in ["1", "1 2", "1 2", "3"] {
            let update = json!({
                "sessionUpdate": "tool_call_update", "toolCallId": "c", "kind": "execute",
                "content": [{"type": "content", "content": {"type": "text", "text": text}}],
            });
            kinds.extend(
                board
                    .apply("s", &update)
                    .into_iter()
                    .map(|change| change.kind),
            );
        }
        let texts: Vec<_> = kinds
            .into_iter()
            .filter(|kind| matches!(kind, ChangeKind::Output(_) | ChangeKind::Replaced(_)))
            .collect();
        let expected = [
            ChangeKind::Output("1".to_owned()),
            ChangeKind::Output(" 2".to_owned()),
            ChangeKind::Replaced("3".to_owned()),
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn the_text_of_a_card_is_bounded_and_the_bound_is_told() {
        let mut board = started();
        let mut pushed = 0;
        let chunk = "\u{e9}1234567\r\n".repeat(3_000);
        for _ in 0..100 {
            output(&mut board, &chunk);
            pushed += chunk.len();
        }
        output(&mut board, &"z".repeat(10_000_000));
        pushed += 10_000_000;
        let card = board.card("s", "t").unwrap();
        assert!(
            card.text.len() <= CARD_TEXT_BYTES
                && card.text.starts_with(&chunk)
                && card.text.ends_with("zzz")
        );
        let at = card.text.find('z').unwrap();
        assert_eq!(
            card.notes,
            [Note::LeftOut {
                at,
                bytes: (pushed - card.text.len()) as u64
            }]
        );
    }

    #[test]
    fn sessions_share_nothing_and_can_be_forgotten() {
        let mut board = started();
        let other = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "id", "kind": "execute"});
        board.apply("other", &other);
        assert_eq!(board.turn_ended("unknown"), []);
        board.turn_ended("other");
        let states: Vec<_> = board
            .cards()
            .map(|(session, card)| (session, card.heading(), card.status))
            .collect();
        assert_eq!(
            states,
            [
                ("s", "yes", CardStatus::Pending),
                ("other", "id", CardStatus::NoResult)
            ]
        );
        board.forget_session("s");
        assert_eq!(
            board
                .cards()
                .map(|(session, _)| session)
                .collect::<Vec<_>>(),
            ["other"]
        );
        assert_eq!(board.cards_of_call("other", "c").count(), 1);
    }

    #[test]
    fn the_words_of_a_permission_request_change_no_text() {
        let mut board = Board::new();
        let text =
            |text: &str| json!([{"type": "content", "content": {"type": "text", "text": text}}]);
        board.apply("s", &json!({"sessionUpdate": "tool_call", "toolCallId": "c", "kind": "execute", "content": text("out")}));
        board.apply_permission(
            "s",
            &json!({"toolCallId": "c", "title": "dd", "content": text("May I?")}),
        );
        let cards: Vec<_> = board
            .cards_of_call("s", "c")
            .map(|card| (card.heading(), card.text.as_str()))
            .collect();
        assert_eq!(cards, [("dd", "out")]);
    }
}
