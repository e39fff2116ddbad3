//! What is no event in its place is damage: told with file and line, and left as it is.

use agent_core::store::interchange::{InterchangeError, export};
use agent_core::store::{Damage, DamagedAt, SessionStore, StoreError};
use pretty_assertions::assert_eq;

use super::*;

/// A log of a header and five events that was damaged.
#[derive(Clone)]
struct Hurt {
    what: &'static str,
    lines: Vec<Vec<u8>>,
    /// The line that is wrong.
    line: u64,
    /// A word of the reason.
    reason: &'static str,
    /// The numbers of the events that can still be read.
    salvaged: Vec<u64>,
}

/// What is done to the lines of a log.
type Change<'c> = &'c dyn Fn(&mut Vec<Vec<u8>>);

fn hurt(
    whole: &[Vec<u8>],
    (what, line, reason): (&'static str, u64, &'static str),
    salvaged: &[u64],
    change: Change,
) -> Hurt {
    let mut lines = whole.to_vec();
    change(&mut lines);
    Hurt {
        what,
        lines,
        line,
        reason,
        salvaged: salvaged.to_vec(),
    }
}

/// Lines that are no events.
fn no_events(whole: &[Vec<u8>]) -> Vec<Hurt> {
    let second = |what, salvaged: &[u64], text: &[u8]| {
        hurt(whole, (what, 3, "no event"), salvaged, &|lines| {
            lines[2] = text.to_vec();
        })
    };
    let others = [0, 2, 3, 4];
    vec![
        second("no line of ours", &others, b"something else\n"),
        second("an empty line", &others, b"\n"),
        second("a hole and an end", &others, b"\0\0\0\n"),
        second("a list", &others, b"[1,0,{}]\n"),
        second(
            "bytes of no text",
            &others,
            b"{\"seq\":1,\"at\":0,\"what\":{\"type\":\"\xff\"}}\n",
        ),
        // These take the next line with them.
        second("bytes that were not written", &[0, 3, 4], &[0; 64]),
        second("half a line", &[0, 3, 4], b"{\"seq\":1,\"at\":"),
        hurt(
            whole,
            ("a known kind without its fields", 3, "trigger"),
            &others,
            &|lines| {
                lines[2] = b"{\"seq\":1,\"at\":0,\"what\":{\"type\":\"turn/start\"}}\n".to_vec();
            },
        ),
        hurt(
            whole,
            ("a last line of something else", 6, "no event"),
            &[0, 1, 2, 3],
            &|lines| lines[5] = b"hello\n".to_vec(),
        ),
    ]
}

/// Events in places that are not theirs.
fn misplaced_events(whole: &[Vec<u8>]) -> Vec<Hurt> {
    let misplaced = |what, line, reason, salvaged: &[u64], change: Change| {
        hurt(whole, (what, line, reason), salvaged, change)
    };
    let all = [0, 1, 2, 3, 4];
    let event = |seq: u64| {
        let text = format!("{{\"seq\":{seq},\"at\":9,\"what\":{{\"type\":\"step/end\"}}}}\n");
        text.into_bytes()
    };
    vec![
        misplaced(
            "a gap",
            4,
            "event 3 stands where event 2 should",
            &[0, 1, 3, 4],
            &|lines| {
                lines.remove(3);
            },
        ),
        misplaced(
            "a line twice",
            4,
            "event 1 stands where event 2 should",
            &all,
            &|lines| {
                lines.insert(3, lines[2].clone());
            },
        ),
        misplaced(
            "the last line twice",
            7,
            "event 4 stands where event 5 should",
            &all,
            &|lines| {
                lines.push(lines[5].clone());
            },
        ),
        misplaced(
            "another order",
            3,
            "event 2 stands where event 1 should",
            &all,
            &|lines| {
                lines.swap(2, 3);
            },
        ),
        misplaced(
            "another event",
            7,
            "event 1 stands where event 5 should",
            &all,
            &|lines| {
                lines.push(event(1));
            },
        ),
        misplaced(
            "a number beyond all",
            3,
            "event 18446744073709551615",
            &[0, 2, 3, 4, u64::MAX],
            &|lines| lines[2] = event(u64::MAX),
        ),
    ]
}

/// Headers that are none.
fn no_headers(whole: &[Vec<u8>]) -> Vec<Hurt> {
    let first = |what, reason, salvaged: &[u64], change: Change| {
        hurt(whole, (what, 1, reason), salvaged, change)
    };
    let all = [0, 1, 2, 3, 4];
    vec![
        first("no header", "no header", &all, &|lines| {
            lines.remove(0);
        }),
        first(
            "another header",
            "header of session whole",
            &all,
            &|lines| {
                let text = String::from_utf8(lines[0].clone()).unwrap();
                lines[0] = text.replace("\"hurt\"", "\"whole\"").into_bytes();
            },
        ),
        first("half a header", "no header", &all, &|lines| {
            lines[0] = b"{\"header\":{\"id\":\"hurt\"\n".to_vec();
        }),
        first("an empty file", "header is missing", &[], &Vec::clear),
        first(
            "nothing but half a header",
            "header is missing",
            &[],
            &|lines| {
                lines.truncate(1);
                lines[0].truncate(20);
            },
        ),
    ]
}

#[tokio::test]
async fn damage_is_told_with_file_and_line_and_left_as_it_is() {
    let sample = Files::with_two_sessions().await;
    let lines = sample.lines("hurt.jsonl");
    let cases = [
        no_events(&lines),
        misplaced_events(&lines),
        no_headers(&lines),
    ]
    .concat();
    for hurt in cases {
        let Hurt { what, line, .. } = hurt;
        let files = Files::with_two_sessions().await;
        // One store that knows the session as it was, and one that does not.
        let before = files.open();
        assert_eq!(whole(&before, &id("hurt")).await, events("hurt"));
        files.write("hurt.jsonl", hurt.lines.concat());
        let untouched = files.everything();
        let is_told = |error: &StoreError| {
            let place = files.path("hurt.jsonl").display().to_string();
            match error {
                StoreError::Damaged { id: it, damage } => {
                    assert_eq!(*it, id("hurt"));
                    assert_eq!(
                        (&damage.place, damage.at),
                        (&place, Some(DamagedAt::Line(line))),
                        "{what}: {error}"
                    );
                    assert!(damage.reason.contains(hurt.reason), "{what}: {error}");
                }
                other => panic!("{what}: {other}"),
            }
        };
        for store in [&before, &files.open()] {
            is_told(&store.read(&id("hurt"), 0, 100).await.unwrap_err());
            is_told(&store.writer(&id("hurt")).await.unwrap_err());
            is_told(&store.fork(&id("hurt"), &header("copy")).await.unwrap_err());
            let mut lines = Vec::new();
            match export(store, &id("hurt"), &mut lines).await {
                Err(InterchangeError::Store(error)) => is_told(&error),
                other => panic!("{what}: {other:?}"),
            }
            // Without a header there is nothing to show in a list; it is told of instead.
            let page = list(store).await;
            let listed = page.sessions.iter().any(|it| it.header.id == id("hurt"));
            if line == 1 {
                assert!(!listed, "{what}");
                assert_eq!(page.damaged.len(), 1, "{what}");
                is_told(&StoreError::Damaged {
                    id: id("hurt"),
                    damage: page.damaged[0].clone(),
                });
                is_told(&store.summary(&id("hurt")).await.unwrap_err());
                is_told(&store.has(&id("hurt")).await.unwrap_err());
                is_told(&store.update(&id("hurt"), &put_away()).await.unwrap_err());
            } else {
                assert!(listed, "{what}");
                assert_eq!(page.damaged, [] as [Damage; 0], "{what}");
                assert!(store.has(&id("hurt")).await.unwrap());
                // The pages before it can be read.
                let good = usize::try_from(line - 2).unwrap();
                let page = store.read(&id("hurt"), 0, good).await.unwrap();
                assert_eq!(page, events("hurt")[..good], "{what}");
            }
            files.assert_whole(store).await;

            let salvage = store.salvage(&id("hurt")).await.unwrap();
            let numbers: Vec<u64> = salvage.events.iter().map(|event| event.seq).collect();
            assert_eq!(numbers, hurt.salvaged, "{what}");
            assert_eq!(salvage.header.is_some(), line != 1, "{what}");
            let first = salvage.damage.first().expect("damage");
            assert_eq!(first.at, Some(DamagedAt::Line(line)), "{what}: {first}");
            let found = store.search(&needle()).await.unwrap();
            let sessions: Vec<&str> = found.iter().map(|hit| hit.session.as_str()).collect();
            // What can be read is found.
            assert!(sessions.contains(&"whole"), "{what}");
            assert_eq!(sessions.contains(&"hurt"), line != 1, "{what}");
        }
        assert!(files.everything() == untouched, "{what}");
        // A person may still do away with it.
        assert!(files.open().delete(&id("hurt")).await.unwrap(), "{what}");
        let gone = files.everything();
        assert!(
            gone.keys().all(|it| !it.to_string_lossy().contains("hurt")),
            "{gone:?}"
        );
        files.assert_whole(&files.open()).await;
    }
}

#[tokio::test]
async fn a_session_of_a_newer_build_is_left_alone() {
    let files = Files::with_two_sessions().await;
    let mut lines = files.lines("hurt.jsonl");
    // Its header may be of another shape altogether.
    lines[0] = b"{\"header\":{\"schema_version\":7,\"name\":[\"hurt\"]}}\n".to_vec();
    files.write("hurt.jsonl", lines.concat());
    let untouched = files.everything();
    let store = files.open();
    let is_told = |error: StoreError| match error {
        StoreError::Newer { path, found, known } => {
            assert_eq!((path, found, known), (files.path("hurt.jsonl"), 7, 1));
        }
        other => panic!("{other}"),
    };
    is_told(store.read(&id("hurt"), 0, 1).await.unwrap_err());
    is_told(store.writer(&id("hurt")).await.unwrap_err());
    is_told(store.summary(&id("hurt")).await.unwrap_err());
    is_told(store.has(&id("hurt")).await.unwrap_err());
    is_told(store.update(&id("hurt"), &put_away()).await.unwrap_err());
    is_told(store.fork(&id("hurt"), &header("copy")).await.unwrap_err());
    is_told(store.salvage(&id("hurt")).await.unwrap_err());
    is_told(store.delete(&id("hurt")).await.unwrap_err());
    let refused = store.fork(&id("whole"), &header("hurt")).await;
    assert!(
        matches!(refused, Err(StoreError::Exists { .. })),
        "{refused:?}"
    );
    let page = list(&store).await;
    assert_eq!((page.sessions.len(), page.damaged.len()), (1, 1));
    let told = page.damaged[0].to_string();
    assert!(
        told.contains("hurt.jsonl") && told.contains("newer Placard"),
        "{told}"
    );
    assert_eq!(store.search(&needle()).await.unwrap().len(), 1);
    files.assert_whole(&store).await;
    assert_eq!(files.everything(), untouched);
}

#[tokio::test]
async fn a_blob_whose_bytes_changed_is_damage_and_not_shown() {
    let files = Files::with_two_sessions().await;
    let output = output("hurt");
    let name = format!("hurt.blobs/{}", output.id().digits());
    files.write(&name, "something else!!");
    let store = files.open();
    match store.blob(&id("hurt"), output.id()).await {
        Err(StoreError::Damaged { damage, .. }) => {
            assert_eq!(damage.place, files.path(&name).display().to_string());
        }
        other => panic!("{other:?}"),
    }
    let words = SearchRequest {
        query: "output".to_owned(),
        ..needle()
    };
    assert_eq!(store.search(&words).await.unwrap().len(), 1);
    assert_eq!(whole(&store, &id("hurt")).await, events("hurt"));
    // Whoever brings the bytes again mends it.
    files.write(&name, "something of another length");
    let again = [printed(5, "call", &output)];
    store_with(
        &store,
        &header("hurt"),
        &again,
        std::slice::from_ref(&output),
    )
    .await;
    let back = store.blob(&id("hurt"), output.id()).await.unwrap();
    assert_eq!(back.as_deref(), Some(output.bytes()));
}
