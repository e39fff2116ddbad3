//! `placard sessions list`.

use std::path::PathBuf;

use agent_core::store::{ListRequest, SessionPage, SessionStore, SessionSummary};
use serde_json::{Value, json};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::viewer::{Viewer, one_line};
use super::which::short_ids;
use super::{Answer, json};
use crate::arguments::ListArguments;
use crate::error::ProgramError;
use crate::ink::Tone;
use crate::times::age_words;

/// The widest that a title gets, in columns, and the narrowest that it is cut to.
const TITLE: (usize, usize) = (60, 16);

/// The sessions of a folder, or all.
pub(crate) async fn list(
    store: &dyn SessionStore,
    arguments: &ListArguments,
    cwd: Option<PathBuf>,
    viewer: &Viewer,
) -> Result<Answer, ProgramError> {
    let request = ListRequest {
        cwd,
        archived: arguments.archived,
        after: arguments.after.clone(),
        limit: arguments.limit,
    };
    let page = store.list(&request).await?;
    if arguments.json {
        return Ok(Answer::text(json::line(&json_of(&page))));
    }
    let ids: Vec<_> = page
        .sessions
        .iter()
        .map(|it| it.header.id.clone())
        .collect();
    let short = short_ids(store, &ids).await?;
    let rows: Vec<_> = short
        .iter()
        .map(String::as_str)
        .zip(&page.sessions)
        .collect();
    Ok(Answer {
        text: table(&rows, viewer),
        notes: notes(&page, &request, viewer),
        faults: Vec::new(),
    })
}

fn json_of(page: &SessionPage) -> Value {
    json!({
        "sessions": page.sessions.iter().map(json::session).collect::<Vec<_>>(),
        "next": page.next.as_ref().map(ToString::to_string),
        "damaged": page.damaged.iter().map(json::damage).collect::<Vec<_>>(),
    })
}

/// What is said beside the list.
fn notes(page: &SessionPage, request: &ListRequest, viewer: &Viewer) -> Vec<String> {
    let mut notes: Vec<String> = page
        .damaged
        .iter()
        .map(|damage| {
            format!(
                "a session cannot be listed: {}. `placard sessions recover ID` writes a new one from what can be read",
                one_line(&damage.to_string())
            )
        })
        .collect();
    if let Some(next) = &page.next {
        notes.push(format!(
            "there are more: --limit shows more at a time, --after {next} goes on"
        ));
    }
    if page.sessions.is_empty() {
        notes.push(none_words(request, viewer));
    }
    notes
}

fn none_words(request: &ListRequest, viewer: &Viewer) -> String {
    let more = if request.after.is_some() { " more" } else { "" };
    match &request.cwd {
        Some(cwd) => format!("there is no{more} session of {}", viewer.folder(cwd)),
        None => format!("there is no{more} session"),
    }
}

/// One line for each: as much of the id as is its own, age, title and folder.
fn table(rows: &[(&str, &SessionSummary)], viewer: &Viewer) -> String {
    let cells: Vec<[String; 4]> = rows
        .iter()
        .map(|(short, session)| {
            [
                one_line(short),
                age_words(session.updated_at, viewer.now),
                title_of(session),
                viewer.folder(&session.header.cwd),
            ]
        })
        .collect();
    let widest = |column: usize| {
        let widths = cells
            .iter()
            .map(|row| row.get(column).map_or(0, |it| it.width()));
        widths.max().unwrap_or_default()
    };
    let (id, age, folder) = (widest(0), widest(1), widest(3));
    let room = viewer.columns.map_or(TITLE.0, |columns| {
        let others = id + age + folder + 3 * 2;
        columns.saturating_sub(others).clamp(TITLE.1, TITLE.0)
    });
    let title = widest(2).min(room);
    let mut text = String::new();
    for [id_cell, age_cell, title_cell, folder_cell] in &cells {
        text.push_str(&viewer.ink.paint(Tone::Headline, &padded(id_cell, id)));
        text.push_str("  ");
        text.push_str(&viewer.ink.paint(Tone::Quiet, &padded(age_cell, age)));
        text.push_str("  ");
        text.push_str(&padded(&cut(title_cell, title), title));
        text.push_str("  ");
        text.push_str(&viewer.ink.paint(Tone::Quiet, folder_cell));
        text.push('\n');
    }
    text
}

/// What a session is called.
pub(crate) fn title_of(session: &SessionSummary) -> String {
    let title = session.title.as_deref().map(one_line);
    let title = title.filter(|title| !title.is_empty());
    let title = title.unwrap_or_else(|| "(no title)".to_owned());
    if session.archived {
        format!("(put away) {title}")
    } else {
        title
    }
}

/// Text of so many columns, with spaces at its end.
fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(text.width())))
}

/// Text of at most so many columns.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut width = 0;
    for character in text.chars() {
        width += character.width().unwrap_or_default();
        if width >= columns {
            break;
        }
        kept.push(character);
    }
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ink::Ink;
    use crate::sessions::shelf::tests::{MINUTE, Shelf, header, id, said};
    use crate::sessions::viewer::tests::ada;
    use agent_core::store::{Change, Damage};
    use pretty_assertions::assert_eq;

    fn session(name: &str, title: Option<&str>, cwd: &str, updated_at: u64) -> SessionSummary {
        let mut summary = SessionSummary::new(header(name, 0));
        summary.header.cwd = cwd.into();
        summary.title = title.map(str::to_owned);
        summary.updated_at = updated_at;
        summary
    }

    fn asked(limit: usize) -> ListArguments {
        ListArguments {
            folder: crate::arguments::FolderArguments {
                cwd: None,
                here: false,
            },
            archived: false,
            limit,
            after: None,
            json: false,
        }
    }

    #[test]
    fn a_line_a_session() {
        let now = ada().now;
        let long = "A title that goes on and on and on, far beyond what any list could show of it";
        let sessions = [
            session("1", Some("Fix\nthe \x1b[31mtest"), "/home/ada/work", now),
            session("2", None, "/home/ada", now - MINUTE),
            session("3", Some("修复测试"), "/srv", now - 90 * MINUTE),
            session("4", Some(long), "/", 0),
        ];
        let rows = [
            ("0199aaaa", &sessions[0]),
            ("0199aaab-0", &sessions[1]),
            ("3", &sessions[2]),
            ("4", &sessions[3]),
        ];
        assert_eq!(
            table(&rows, &ada()),
            "0199aaaa    just now      Fix the [31mtest                                              ~/work\n\
             0199aaab-0  1 minute ago  (no title)                                                    ~\n\
             3           1 hour ago    修复测试                                                      /srv\n\
             4           1 day ago     A title that goes on and on and on, far beyond what any lis…  /\n"
        );
        let narrow = Viewer {
            columns: Some(50),
            ..ada()
        };
        assert_eq!(
            table(&rows, &narrow),
            "0199aaaa    just now      Fix the [31mtest  ~/work\n\
             0199aaab-0  1 minute ago  (no title)        ~\n\
             3           1 hour ago    修复测试          /srv\n\
             4           1 day ago     A title that go…  /\n"
        );
        let coloured = Viewer {
            ink: Ink::Colour,
            ..ada()
        };
        assert_eq!(
            table(&rows[1..2], &coloured),
            "\x1b[0;1m0199aaab-0\x1b[0m  \x1b[0;2m1 minute ago\x1b[0m  (no title)  \x1b[0;2m~\x1b[0m\n"
        );
    }

    #[tokio::test]
    async fn newest_first_a_page_at_a_time() {
        let shelf = Shelf::with(&[
            ("0199aaaa-1", said("one")),
            ("0199aaaa-2", said("two")),
            ("0199aaab-3", said("three")),
        ])
        .await;
        let put_away = Change {
            archived: Some(true),
            ..Change::default()
        };
        shelf
            .store
            .update(&id("0199aaaa-1"), &put_away)
            .await
            .unwrap();
        let answer = list(&shelf.store, &asked(1), None, &ada()).await.unwrap();
        assert_eq!(
            answer,
            Answer {
                text: "0199aaab  23 hours ago  three  ~/work\n".into(),
                notes: vec![
                    "there are more: --limit shows more at a time, --after 183000.0199aaab-3 goes on"
                        .into()
                ],
                faults: Vec::new(),
            }
        );
        let rest = ListArguments {
            after: Some("183000.0199aaab-3".parse().unwrap()),
            archived: true,
            ..asked(9)
        };
        let answer = list(&shelf.store, &rest, None, &ada()).await.unwrap();
        assert_eq!(
            answer,
            Answer::text(
                "0199aaaa-2  23 hours ago  two             ~/work\n\
                 0199aaaa-1  23 hours ago  (put away) one  ~/work\n"
                    .into()
            )
        );
    }

    #[tokio::test]
    async fn programs_get_json() {
        let shelf = Shelf::with(&[("0199aaaa-1", said("one")), ("0199aaaa-2", said("two"))]).await;
        let arguments = ListArguments {
            json: true,
            ..asked(1)
        };
        let answer = list(&shelf.store, &arguments, None, &ada()).await.unwrap();
        assert_eq!(
            answer,
            Answer::text(
                r#"{"sessions":[{"id":"0199aaaa-2","title":"two","cwd":"/home/ada/work","created_at":120000,"updated_at":123000,"events":4,"archived":false,"model":"offline","program_version":"0.1.0","forked_from":null}],"next":"123000.0199aaaa-2","damaged":[]}"#
                    .to_owned()
                    + "\n"
            )
        );
        let elsewhere = Some("/nowhere".into());
        let answer = list(&shelf.store, &arguments, elsewhere, &ada())
            .await
            .unwrap();
        assert_eq!(
            answer,
            Answer::text("{\"sessions\":[],\"next\":null,\"damaged\":[]}\n".into())
        );
    }

    #[test]
    fn what_is_said_beside_a_list() {
        let request = ListRequest::default();
        let empty = SessionPage::default();
        assert_eq!(notes(&empty, &request, &ada()), ["there is no session"]);
        let here = ListRequest {
            cwd: Some("/home/ada/work".into()),
            after: Some("1.a".parse().unwrap()),
            ..request
        };
        assert_eq!(
            notes(&empty, &here, &ada()),
            ["there is no more session of ~/work"]
        );
        let damaged = SessionPage {
            sessions: vec![session("1", None, "/", 0)],
            damaged: vec![Damage {
                place: "sessions/a.jsonl".into(),
                at: None,
                reason: "no header".into(),
            }],
            next: None,
        };
        assert_eq!(
            notes(&damaged, &here, &ada()),
            [
                "a session cannot be listed: sessions/a.jsonl: no header. `placard sessions recover ID` writes a new one from what can be read"
            ]
        );
    }
}
