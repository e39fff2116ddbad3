//! What a client has seen of a session, folded from its updates as a client folds them: whole, so that two runs can be compared.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use terminal_card::{Board, Card};

use crate::editor::Editor;

/// A session on a client's screen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// Its last title.
    pub title: Option<String>,
    /// What was said and called, in order.
    pub messages: Vec<Message>,
    /// What each call came to, by its id.
    pub calls: BTreeMap<String, Map<String, Value>>,
    /// The cards, in order.
    pub cards: Vec<Card>,
    /// Updates that are none of these.
    pub others: Vec<Value>,
}

/// An entry of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    User(String),
    Agent(String),
    Thought(String),
    /// A call, where it was announced.
    Call(String),
}

impl Seen {
    /// Folds updates, and prompts as [`said`].
    pub fn of(updates: &[Value]) -> Self {
        let mut seen = Self::default();
        let mut board = Board::new();
        for update in updates {
            board.apply("s", update);
            seen.take(update);
        }
        seen.cards = board.cards().map(|(_, card)| card.clone()).collect();
        seen
    }

    fn take(&mut self, update: &Value) {
        let text = || {
            let text = update["content"]["text"].as_str();
            text.unwrap_or_else(|| panic!("no text: {update}"))
                .to_owned()
        };
        match update["sessionUpdate"].as_str() {
            Some("user_message_chunk") => self.messages.push(Message::User(text())),
            Some("agent_message_chunk") => self.say(
                text(),
                |message| match message {
                    Message::Agent(text) => Some(text),
                    _ => None,
                },
                Message::Agent,
            ),
            Some("agent_thought_chunk") => self.say(
                text(),
                |message| match message {
                    Message::Thought(text) => Some(text),
                    _ => None,
                },
                Message::Thought,
            ),
            Some("session_info_update") => {
                self.title = update["title"].as_str().map(str::to_owned);
            }
            Some("tool_call" | "tool_call_update") => self.call(update),
            _ => self.others.push(update.clone()),
        }
    }

    /// Chunks behind each other are one message.
    fn say(
        &mut self,
        text: String,
        same: impl Fn(&mut Message) -> Option<&mut String>,
        new: impl Fn(String) -> Message,
    ) {
        match self.messages.last_mut().and_then(same) {
            Some(before) => before.push_str(&text),
            None => self.messages.push(new(text)),
        }
    }

    /// Fields replace each other; of the metadata each part does, but for output, which the board holds.
    fn call(&mut self, update: &Value) {
        let id = update["toolCallId"].as_str().expect("a call has an id");
        if !self.calls.contains_key(id) {
            self.messages.push(Message::Call(id.to_owned()));
        }
        let call = self.calls.entry(id.to_owned()).or_default();
        let announced = update["sessionUpdate"] == "tool_call";
        let mut fields = update.as_object().expect("an update is an object").clone();
        let meta = fields.remove("_meta");
        fields.remove("sessionUpdate");
        if announced {
            // What is left out of an announcement is this.
            fields.entry("status").or_insert_with(|| json!("pending"));
        }
        call.extend(fields);
        let Some(Value::Object(meta)) = meta else {
            return;
        };
        let known = call.entry("_meta").or_insert_with(|| json!({}));
        let known = known.as_object_mut().expect("ours");
        for (key, value) in meta {
            match (known.get_mut(&key), value) {
                (_, _) if key.starts_with("terminal_output") => {
                    // Its key, which the client asked for.
                    known.insert(key, Value::Null);
                }
                (Some(Value::Object(known)), Value::Object(more)) => known.extend(more),
                (_, value) => {
                    known.insert(key, value);
                }
            }
        }
    }

    /// What its one card printed.
    pub fn printed(&self) -> &str {
        assert_eq!(self.cards.len(), 1, "{self:#?}");
        &self.cards[0].text
    }
}

/// A prompt as an update: what a client shows of its own accord.
pub fn said(text: &str) -> Value {
    json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": text}})
}

/// Loads a session: the answer, and the updates that came before it.
pub async fn load(
    editor: &mut Editor,
    session: &str,
    cwd: &std::path::Path,
) -> (Value, Vec<Value>) {
    let before = editor.updates(session).len();
    let answer = editor
        .call(
            "session/load",
            json!({"sessionId": session, "cwd": cwd, "mcpServers": []}),
        )
        .await;
    let told = editor.updates(session).split_off(before);
    (answer, told)
}

/// Loads a session that there is: what is seen of its past.
pub async fn loaded(editor: &mut Editor, session: &str, cwd: &std::path::Path) -> Seen {
    let (answer, told) = load(editor, session, cwd).await;
    assert!(answer["result"].is_object(), "{answer}");
    Seen::of(&told)
}
