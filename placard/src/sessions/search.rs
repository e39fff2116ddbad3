//! `placard sessions search`.

use std::path::PathBuf;

use agent_core::session::SessionId;
use agent_core::store::search::{Query, words};
use agent_core::store::{Hit, Part, SearchRequest, SessionStore};
use serde_json::json;

use super::list::cut;
use super::viewer::{Viewer, one_line};
use super::which::short_ids;
use super::{Answer, json};
use crate::arguments::SearchArguments;
use crate::error::ProgramError;
use crate::ink::{Ink, Tone};

/// The widest that a title gets, in columns: what was found is what matters.
const TITLE: usize = 40;

/// Where words occur, in all sessions or in some.
pub(crate) async fn search(
    store: &dyn SessionStore,
    arguments: &SearchArguments,
    session: Option<SessionId>,
    cwd: Option<PathBuf>,
    viewer: &Viewer,
) -> Result<Answer, ProgramError> {
    let request = SearchRequest {
        query: query_of(&arguments.words),
        cwd,
        session,
        limit: arguments.limit,
    };
    let query = Query::parse(&request.query)?;
    let hits = store.search(&request).await?;
    if arguments.json {
        return Ok(Answer::text(json::line(&json!({ "hits": hits }))));
    }
    let mut ids: Vec<SessionId> = hits.iter().map(|hit| hit.session.clone()).collect();
    ids.sort();
    ids.dedup();
    let short = short_ids(store, &ids).await?;
    let mut answer = Answer::default();
    for hit in &hits {
        let short = ids.iter().zip(&short).find(|(id, _)| **id == hit.session);
        let short = short.map_or(hit.session.as_str(), |(_, short)| short);
        answer.text.push_str(&line(short, hit, &query, viewer.ink));
    }
    if hits.is_empty() {
        let words = one_line(&request.query);
        answer.notes.push(format!("no session has {words}"));
    } else if hits.len() == arguments.limit {
        answer.notes.push(format!(
            "these are the first {}; --limit shows more",
            arguments.limit
        ));
    }
    Ok(answer)
}

/// The query of these arguments. A shell takes quotes away: an argument of several words is a phrase.
fn query_of(arguments: &[String]) -> String {
    let phrase = |argument: &String| {
        if argument.contains(char::is_whitespace) && !argument.contains('"') {
            format!("\"{argument}\"")
        } else {
            argument.clone()
        }
    };
    let phrases: Vec<String> = arguments.iter().map(phrase).collect();
    phrases.join(" ")
}

fn line(short: &str, hit: &Hit, query: &Query, ink: Ink) -> String {
    let title = hit.title.as_deref().map(one_line);
    let title = title.filter(|title| !title.is_empty());
    let place = format!("{}:{}", part_words(hit.part), hit.line);
    format!(
        "{}  {}  {}  {}\n",
        ink.paint(Tone::Headline, &one_line(short)),
        cut(title.as_deref().unwrap_or("(no title)"), TITLE),
        ink.paint(Tone::Quiet, &place),
        marked(&one_line(&hit.snippet), query, ink)
    )
}

fn part_words(part: Part) -> &'static str {
    match part {
        Part::Prompt => "prompt",
        Part::Reply => "reply",
        Part::Command => "command",
        Part::Output => "output",
    }
}

/// The text with what was looked for in another colour.
fn marked(text: &str, query: &Query, ink: Ink) -> String {
    let found: Vec<_> = words(text)
        .map(|(place, word)| (place, word.to_lowercase()))
        .collect();
    let mut places: Vec<std::ops::Range<usize>> = Vec::new();
    for phrase in query.phrases() {
        for window in found.windows(phrase.len()) {
            if window.iter().map(|(_, word)| word).eq(phrase)
                && let (Some((first, _)), Some((last, _))) = (window.first(), window.last())
            {
                places.push(first.start..last.end);
            }
        }
    }
    places.sort_by_key(|place| place.start);
    let mut out = String::new();
    let mut done = 0;
    for place in places {
        let start = place.start.max(done);
        if let (Some(before), Some(inside)) = (text.get(done..start), text.get(start..place.end)) {
            out.push_str(before);
            out.push_str(&ink.paint(Tone::Found, inside));
            done = place.end;
        }
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::shelf::tests::{Shelf, id, said};
    use crate::sessions::viewer::tests::ada;
    use pretty_assertions::assert_eq;

    fn asked(words: &[&str], limit: usize) -> SearchArguments {
        SearchArguments {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            folder: crate::arguments::FolderArguments {
                cwd: None,
                here: false,
            },
            session: None,
            limit,
            json: false,
        }
    }

    #[test]
    fn an_argument_of_several_words_is_a_phrase() {
        let table: [(&[&str], &str); 4] = [
            (&["two", "words"], "two words"),
            (&["one phrase"], "\"one phrase\""),
            (&["\"a phrase\" beside"], "\"a phrase\" beside"),
            (&["a\tb", "c"], "\"a\tb\" c"),
        ];
        for (arguments, query) in table {
            assert_eq!(query_of(&asked(arguments, 1).words), query);
        }
    }

    #[test]
    fn what_was_looked_for_is_marked() {
        let table = [
            ("error", "an Error, no errors", "an <Error>, no errors"),
            ("\"a b\" c", "a b a c", "<a b> a <c>"),
            ("\"a b\" \"b c\"", "a b c", "<a b>< c>"),
            ("错", "错误", "<错>误"),
            ("x", "nothing", "nothing"),
        ];
        for (query, text, expected) in table {
            let query = Query::parse(query).unwrap();
            let shown = marked(text, &query, Ink::Colour);
            let shown = shown.replace("\x1b[0;31m", "<").replace("\x1b[0m", ">");
            assert_eq!(shown, expected);
            assert_eq!(marked(text, &query, Ink::Plain), text);
        }
    }

    #[tokio::test]
    async fn a_line_a_hit() {
        let shelf = Shelf::with(&[
            ("0199aaaa-1", said("mend the \x1b[2J needle\nnow")),
            ("0199aaaa-2", said("another needle")),
        ])
        .await;
        let answer = search(&shelf.store, &asked(&["needle"], 9), None, None, &ada()).await;
        assert_eq!(
            answer.unwrap(),
            Answer::text(
                "0199aaaa-2  another needle  prompt:1  another needle\n\
                 0199aaaa-1  mend the [2J needle now  prompt:1  mend the  [2J needle now\n"
                    .into()
            )
        );
        let one = Some(id("0199aaaa-1"));
        let answer = search(&shelf.store, &asked(&["needle"], 1), one, None, &ada()).await;
        assert_eq!(
            answer.unwrap().notes,
            ["these are the first 1; --limit shows more"]
        );
        let answer = search(&shelf.store, &asked(&["no such"], 9), None, None, &ada()).await;
        assert_eq!(
            answer.unwrap(),
            Answer {
                notes: vec!["no session has \"no such\"".into()],
                ..Answer::default()
            }
        );
        let fault = search(&shelf.store, &asked(&["--"], 9), None, None, &ada()).await;
        let fault = fault.unwrap_err();
        assert_eq!(
            (fault.exit_status(), fault.to_string()),
            (
                2,
                "nothing can be searched for with \"--\": it holds no word".to_owned()
            )
        );
    }

    #[tokio::test]
    async fn programs_get_json() {
        let shelf = Shelf::with(&[("0199aaaa-1", said("needle"))]).await;
        let arguments = SearchArguments {
            json: true,
            ..asked(&["needle"], 9)
        };
        let answer = search(&shelf.store, &arguments, None, None, &ada()).await;
        assert_eq!(
            answer.unwrap().text,
            "{\"hits\":[{\"session\":\"0199aaaa-1\",\"title\":\"needle\",\"cwd\":\"/home/ada/work\",\"seq\":1,\"at\":61000,\"call_id\":null,\"part\":\"prompt\",\"line\":1,\"snippet\":\"needle\"}]}\n"
        );
    }
}
