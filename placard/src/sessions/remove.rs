//! `placard sessions rm`.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};

use agent_core::Agent;
use agent_core::session::SessionId;
use agent_core::store::{SessionStore, StoreError};
use rustix::termios::{QueueSelector, tcflush};
use serde_json::json;

use super::list::title_of;
use super::viewer::Viewer;
use super::{Answer, json};
use crate::arguments::RemoveArguments;
use crate::error::ProgramError;
use crate::times::age_words;

/// A session that is to be removed, as a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Doomed {
    id: SessionId,
    words: String,
}

/// Removes sessions, when that is really meant.
pub(crate) async fn remove(
    agent: &Agent,
    store: &dyn SessionStore,
    arguments: &RemoveArguments,
    ids: Vec<SessionId>,
    viewer: &Viewer,
) -> Result<Answer, ProgramError> {
    let mut doomed = Vec::with_capacity(ids.len());
    for id in ids {
        let words = match store.summary(&id).await {
            Ok(Some(session)) => format!(
                "{id}  {}  {}",
                age_words(session.updated_at, viewer.now),
                title_of(&session)
            ),
            // Removing needs nothing of what is damaged.
            Err(StoreError::Damaged { .. }) => format!("{id}  (damaged)"),
            Ok(None) => return Err(StoreError::Missing { id }.into()),
            Err(fault) => return Err(fault.into()),
        };
        let next = Doomed { id, words };
        if !doomed.contains(&next) {
            doomed.push(next);
        }
    }
    if !arguments.yes && !agreed(&doomed).await? {
        return Err(ProgramError::NotRemoved);
    }
    let mut text = String::new();
    let mut removed = Vec::new();
    let mut faults = Vec::new();
    for Doomed { id, words } in doomed {
        match agent.delete_session(&id).await {
            Ok(_) => {
                text.push_str("removed ");
                text.push_str(&words);
                text.push('\n');
                removed.push(id);
            }
            Err(fault) => faults.push(fault.to_string()),
        }
    }
    if arguments.json {
        text = json::line(&json!({ "removed": removed }));
    }
    Ok(Answer {
        text,
        notes: Vec::new(),
        faults,
    })
}

/// Whether the person at the terminal agrees. Without a terminal nobody can.
async fn agreed(doomed: &[Doomed]) -> Result<bool, ProgramError> {
    let question = question(doomed);
    if !io::stdin().is_terminal() {
        return Err(ProgramError::NobodyToAsk);
    }
    let asked = tokio::task::spawn_blocking(move || {
        let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        // What was typed before the question was there is no answer to it.
        tcflush(&terminal, QueueSelector::IFlush)?;
        ask(&terminal, &terminal, &question)
    });
    let asked = asked
        .await
        .unwrap_or_else(|fault| Err(io::Error::other(fault)));
    asked.map_err(|_| ProgramError::NobodyToAsk)
}

fn question(doomed: &[Doomed]) -> String {
    let mut text = String::new();
    for Doomed { words, .. } in doomed {
        text.push_str("  ");
        text.push_str(words);
        text.push('\n');
    }
    text.push_str(match doomed {
        [_] => "Remove it for good, with all that its commands printed? (y, n): ",
        _ => "Remove them for good, with all that their commands printed? (y, n): ",
    });
    text
}

/// Asks until the answer is one; the end of the input is a no.
fn ask(input: impl io::Read, mut output: impl Write, question: &str) -> io::Result<bool> {
    output.write_all(question.as_bytes())?;
    output.flush()?;
    let mut lines = BufReader::new(input).lines();
    while let Some(line) = lines.next().transpose()? {
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => {
                output.write_all(b"(y, n): ")?;
                output.flush()?;
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::shelf::tests::{Shelf, id, said, surroundings};
    use crate::sessions::viewer::tests::ada;
    use pretty_assertions::assert_eq;
    use std::sync::Arc;

    fn without_asking(as_json: bool) -> RemoveArguments {
        RemoveArguments {
            ids: Vec::new(),
            yes: true,
            json: as_json,
        }
    }

    #[tokio::test]
    async fn what_is_in_use_stays_and_the_rest_goes_with_its_outputs() {
        let home = tempfile::tempdir().unwrap();
        let names = [("1", said("one")), ("2", said("two")), ("3", said("three"))];
        let store = Arc::new(Shelf::with(&names).await.store);
        let agent = Agent::with_store(surroundings(home.path()), store.clone());
        let outputs = home.path().join("data/outputs");
        for name in ["1", "2"] {
            std::fs::create_dir_all(outputs.join(name)).unwrap();
            std::fs::write(outputs.join(name).join("call-1.txt"), "printed").unwrap();
        }
        let rm = async |ids: Vec<SessionId>, as_json| {
            remove(
                &agent,
                store.as_ref(),
                &without_asking(as_json),
                ids,
                &ada(),
            )
            .await
        };
        let held = store.writer(&id("2")).await.unwrap();
        let ids = vec![id("1"), id("2"), id("1")];
        let answer = rm(ids, false).await;
        assert_eq!(
            answer.unwrap(),
            Answer {
                text: "removed 1  23 hours ago  one\n".into(),
                faults: vec![
                    "session 2 is open for writing in another place; close it there, or fork it with `placard sessions fork 2`"
                        .into()
                ],
                ..Answer::default()
            }
        );
        let left: Vec<_> = std::fs::read_dir(&outputs).unwrap().collect();
        assert_eq!(left.len(), 1);
        drop(held);
        let answer = rm(vec![id("2")], true);
        assert_eq!(
            answer.await.unwrap(),
            Answer::text("{\"removed\":[\"2\"]}\n".into())
        );
        assert_eq!(store.ids("", 9).await.unwrap(), [id("3")]);
        assert_eq!(std::fs::read_dir(&outputs).unwrap().count(), 0);
        let gone = rm(vec![id("2")], true);
        assert_eq!(gone.await.unwrap_err().exit_status(), 1);
    }

    fn doomed(words: &str) -> Doomed {
        Doomed {
            id: id("1"),
            words: words.into(),
        }
    }

    #[test]
    fn the_question_names_all_that_is_lost() {
        assert_eq!(
            question(&[doomed("1  just now  one")]),
            "  1  just now  one\nRemove it for good, with all that its commands printed? (y, n): "
        );
        assert_eq!(
            question(&[doomed("1  one"), doomed("2  two")]),
            "  1  one\n  2  two\nRemove them for good, with all that their commands printed? (y, n): "
        );
    }

    #[test]
    fn only_a_yes_is_one() {
        let table = [
            ("y\n", true, "Sure? "),
            (" Yes\n", true, "Sure? "),
            ("n\n", false, "Sure? "),
            ("\nwhat\nyes\n", true, "Sure? (y, n): (y, n): "),
            ("", false, "Sure? "),
            ("yellow", false, "Sure? (y, n): "),
        ];
        for (typed, expected, shown) in table {
            let mut output = Vec::new();
            let answer = ask(typed.as_bytes(), &mut output, "Sure? ").unwrap();
            let output = String::from_utf8(output).unwrap();
            assert_eq!((answer, output.as_str()), (expected, shown), "{typed:?}");
        }
    }
}
