//! What a session is called: first by its first prompt, then, where there is a model, in the model's words.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};

use crate::config::Titles;
use crate::model::{AssistantBlock, Message, Model, ModelEvent, ModelRequest};
use crate::session::event::EventKind;
use crate::session::live::Inner;
use crate::session::update::Update;

/// What the model is told.
const REQUEST: &str = "Name this conversation. The user's first message follows. Answer with a title of at most six words for what it asks, \
in its language: no quotes, no full stop, nothing else.";

/// How much of the first prompt the model reads for it, in bytes.
const MOST_READ: usize = 4000;

/// How long a title is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest title, in characters.
const LONGEST: usize = 80;

/// A title from the first prompt: its first line with words in it, cut at a word. None where there are no words.
pub(super) fn of_prompt(prompt: &str) -> Option<String> {
    let line = prompt.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let line: String = words.join(" ");
        let line: String = line.chars().filter(|it| !it.is_control()).collect();
        (!line.is_empty()).then_some(line)
    })?;
    Some(cut(&line))
}

/// Asks the model for a title, beside everything else: nobody waits for it, and a session that closes does without.
pub(super) fn ask(session: &Arc<Inner>, model: Arc<dyn Model>, prompt: &str) {
    // The offline model has no words of its own.
    if session.config.sessions.titles == Titles::Prompt || !model.asks_permission() {
        return;
    }
    let read = prompt
        .get(..prompt.floor_char_boundary(MOST_READ))
        .unwrap_or_default()
        .to_owned();
    let asking = Arc::clone(session);
    session.commands.tasks().spawn(async move {
        let session = asking;
        let answer = AssertUnwindSafe(tokio::time::timeout(PATIENCE, answer(model, read)));
        let title = tokio::select! {
            () = session.closed.cancelled() => return,
            title = answer.catch_unwind() => title.ok().and_then(Result::ok).flatten(),
        };
        let Some(title) = title else {
            tracing::debug!(session = %session.id, "the model gave no title");
            return;
        };
        let event = EventKind::Title {
            title: title.clone(),
        };
        super::append(&session, [event]).await;
        if let Err(error) = super::save(&session).await {
            // It stays in the log in memory and is tried again with the next events.
            tracing::error!(session = %session.id, %error, "a title was not saved");
        }
        session.updates.send(Update::Title(title));
    });
}

async fn answer(model: Arc<dyn Model>, prompt: String) -> Option<String> {
    let mut events = model.respond(ModelRequest {
        system: REQUEST.to_owned(),
        messages: vec![Message::User { text: prompt }],
        tools: Vec::new(),
    });
    while let Some(event) = events.next().await {
        if let ModelEvent::Done(answer) = event.ok()? {
            let text: String = answer
                .blocks
                .into_iter()
                .filter_map(|block| match block {
                    AssistantBlock::Text { text } => Some(text),
                    _ => None,
                })
                .collect();
            return of_prompt(text.trim().trim_matches(['"', '\'', '*', '#', '.', '`']));
        }
    }
    None
}

fn cut(line: &str) -> String {
    let Some((end, _)) = line.char_indices().nth(LONGEST) else {
        return line.to_owned();
    };
    // Room for the dots.
    let room = line[..end]
        .char_indices()
        .next_back()
        .map_or(0, |(at, _)| at);
    let cut = match line[..room].rfind(' ') {
        // A word that is longer than half a title is cut itself.
        Some(space) if space > room / 2 => &line[..space],
        _ => &line[..room],
    };
    format!("{}\u{2026}", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_title_is_the_first_line_with_words() {
        let long = "word ".repeat(40);
        let table = [
            ("Fix the parser", Some("Fix the parser".to_owned())),
            (
                "\n  \n  Fix\t the   parser \nplease",
                Some("Fix the parser".to_owned()),
            ),
            (" \n ", None),
            (
                long.as_str(),
                Some(format!("{}\u{2026}", "word ".repeat(15).trim_end())),
            ),
        ];
        for (prompt, title) in table {
            assert_eq!(of_prompt(prompt), title, "{prompt}");
        }
        let one_word = of_prompt(&"\u{e9}".repeat(200)).unwrap();
        assert_eq!(one_word.chars().count(), LONGEST);
    }
}
