//! `placard sessions show`.

use std::io::Write;

use agent_core::session::SessionId;
use agent_core::session::event::Event;
use agent_core::store::{SessionStore, SessionSummary, StoreError};

use super::excerpt::{Excerpt, GLANCE};
use super::json;
use super::list::title_of;
use super::telling::{Printed, Telling};
use super::viewer::{Viewer, one_line};
use crate::arguments::ShowArguments;
use crate::error::ProgramError;
use crate::ink::Tone;
use crate::times::{age_words, date_words};

/// How many events are read at a time.
const PAGE: usize = 256;

/// Shows a session; what is read is written at once, so that the longest log takes no more room than a page of it.
pub(crate) async fn show(
    store: &dyn SessionStore,
    arguments: &ShowArguments,
    id: &SessionId,
    viewer: &Viewer,
    out: &mut (impl Write + Send),
) -> Result<(), ProgramError> {
    let missing = || StoreError::Missing { id: id.clone() };
    let summary = store.summary(id).await?.ok_or_else(missing)?;
    if arguments.events {
        return events(store, id, out, |_, event| json::line(event)).await;
    }
    if arguments.json {
        let opening = format!("{{\"session\":{},\"events\":[", json::session(&summary));
        print(out, &opening)?;
        events(store, id, out, |at, event| {
            let comma = if at == 0 { "" } else { "," };
            format!("{comma}{}", json::in_line(event))
        })
        .await?;
        return print(out, "]}\n");
    }
    print(out, &heading(&summary, viewer))?;
    let bound = if arguments.full {
        Excerpt::Whole
    } else {
        GLANCE
    };
    let whole = format!("placard sessions show --full {}", one_line(id.as_str()));
    let mut telling = Telling::new(viewer.clone(), bound, whole);
    let mut next = 0;
    loop {
        let page = store.read(id, next, PAGE).await?;
        if page.is_empty() {
            break;
        }
        for event in page {
            next = event.seq + 1;
            let printed = match Telling::needs(&event) {
                None => Printed::Nothing,
                Some(blob) => match store.blob(id, &blob).await {
                    Ok(Some(bytes)) => Printed::Bytes(bytes),
                    // An output that is damaged costs itself and nothing else.
                    Ok(None) | Err(StoreError::Damaged { .. }) => Printed::Lost,
                    Err(fault) => return Err(fault.into()),
                },
            };
            print(out, &telling.event(event, printed))?;
        }
    }
    print(out, &telling.end())
}

async fn events(
    store: &dyn SessionStore,
    id: &SessionId,
    out: &mut (impl Write + Send),
    words: impl Fn(u64, &Event) -> String,
) -> Result<(), ProgramError> {
    let mut next = 0;
    loop {
        let page = store.read(id, next, PAGE).await?;
        if page.is_empty() {
            return Ok(());
        }
        let mut text = String::new();
        for event in &page {
            text.push_str(&words(event.seq, event));
            next = event.seq + 1;
        }
        print(out, &text)?;
    }
}

/// What is known of a session before its log is read.
fn heading(session: &SessionSummary, viewer: &Viewer) -> String {
    let header = &session.header;
    let mut lines = vec![
        one_line(header.id.as_str()),
        format!(
            "{} · {}",
            viewer.folder(&header.cwd),
            one_line(&header.model)
        ),
        format!(
            "begun {} · {}",
            date_words(header.created_at),
            age_words(header.created_at, viewer.now)
        ),
    ];
    if let Some(original) = &header.forked_from {
        lines.push(format!("a copy of {}", one_line(original.as_str())));
    }
    let mut text = viewer.ink.paint(Tone::Headline, &title_of(session));
    for line in lines {
        text.push('\n');
        text.push_str(&viewer.ink.paint(Tone::Quiet, &line));
    }
    text + "\n\n"
}

fn print(out: &mut impl Write, text: &str) -> Result<(), ProgramError> {
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(ProgramError::Stdout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::shelf::tests::{MINUTE, Shelf, events as of_log, header, id, said};
    use crate::sessions::viewer::tests::ada;
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    async fn shown(shelf: &Shelf, how: &[&str]) -> String {
        use clap::Parser;
        #[derive(Parser)]
        struct Asked {
            #[command(flatten)]
            show: ShowArguments,
        }
        let asked = Asked::parse_from([&["show", "1"], how].concat());
        let mut out = Vec::new();
        show(&shelf.store, &asked.show, &id("1"), &ada(), &mut out)
            .await
            .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[tokio::test]
    async fn a_session_is_shown_to_people_and_to_programs() {
        let shelf = Shelf::with(&[("1", said("hello"))]).await;
        assert_eq!(
            shown(&shelf, &[]).await,
            "hello\n1\n~/work · offline\nbegun 1970-01-01 00:01 UTC · 23 hours ago\n\n\
             1970-01-01 00:01 UTC · 23 hours ago\n> hello\n"
        );
        let stored = of_log(MINUTE, said("hello"));
        let log = shown(&shelf, &["--events"]).await;
        let lines: Vec<Event> = log
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines, stored);
        let whole: Value = serde_json::from_str(&shown(&shelf, &["--json"]).await).unwrap();
        let summary = shelf.store.summary(&id("1")).await.unwrap().unwrap();
        assert_eq!(
            whole,
            json!({"session": json::session(&summary), "events": stored})
        );
    }

    #[tokio::test]
    async fn a_long_log_is_read_to_its_end() {
        let log: Vec<_> = (0..150).flat_map(|_| said("again")).collect();
        let shelf = Shelf::with(&[("1", log)]).await;
        assert_eq!(shown(&shelf, &[]).await.matches("> again\n").count(), 150);
        assert_eq!(shown(&shelf, &["--events"]).await.lines().count(), 600);
    }

    #[test]
    fn a_copy_says_of_what() {
        let mut summary = SessionSummary::new(header("1", 0));
        summary.header.forked_from = Some(id("0"));
        assert_eq!(
            heading(&summary, &ada()),
            "(no title)\n1\n~/work · offline\nbegun 1970-01-01 00:00 UTC · 1 day ago\na copy of 0\n\n"
        );
    }
}
