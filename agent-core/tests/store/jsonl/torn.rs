//! What a crash leaves behind the last event is never seen, and is cut off by the next writer.

use agent_core::store::{Damage, SessionStore};
use pretty_assertions::assert_eq;

use super::*;

/// What may stand behind the last event, and how many events are whole.
fn tails(lines: &[Vec<u8>]) -> Vec<(&'static str, Vec<u8>, u64)> {
    let whole = lines.concat();
    let last = lines.last().unwrap();
    let before = &whole[..whole.len() - last.len()];
    let half = &last[..last.len() / 2];
    let with = |tail: &[u8]| [before, tail].concat();
    vec![
        ("half a line", with(half), 4),
        ("a line without its end", with(&last[..last.len() - 1]), 4),
        ("one byte", with(b"{"), 4),
        ("nothing that was written", with(&[0; 5000]), 4),
        (
            "bytes that were not written, and an end",
            with(b"\0\0\0\0\n"),
            4,
        ),
        (
            "half a line, the rest not written",
            with(&[half, &[0; 300]].concat()),
            4,
        ),
        (
            "a hole in the last line",
            with(&[half, &[0; 30], b"\"}}\n"].concat()),
            4,
        ),
        (
            "a hole over two lines",
            with(b"{\"seq\":4,\0\0\0\0\0\0\0\0}\n\0\0\n"),
            4,
        ),
        ("behind everything", [&whole[..], &[0; 70]].concat(), 5),
        ("nothing at all", whole.clone(), 5),
    ]
}

#[tokio::test]
async fn what_a_crash_left_is_no_event_and_is_cut_off_by_the_next_writer_alone() {
    let sample = Files::with_two_sessions().await;
    for (what, text, events_left) in tails(&sample.lines("hurt.jsonl")) {
        let files = Files::with_two_sessions().await;
        files.write("hurt.jsonl", &text);
        let before = files.everything();
        let expected = &events("hurt")[..usize::try_from(events_left).unwrap()];
        let store = files.open();
        // Looking changes nothing.
        assert_eq!(whole(&store, &id("hurt")).await, expected, "{what}");
        assert_eq!(
            summary(&store, &id("hurt")).await.events,
            events_left,
            "{what}"
        );
        assert_eq!(list(&store).await.damaged, [] as [Damage; 0], "{what}");
        let salvage = store.salvage(&id("hurt")).await.unwrap();
        assert_eq!(
            (salvage.events.as_slice(), salvage.damage.len()),
            (expected, 0),
            "{what}"
        );
        assert_eq!(store.search(&needle()).await.unwrap().len(), 2, "{what}");
        assert_eq!(files.everything(), before, "{what}");

        // A writer repairs, even one that appends nothing, and once is enough.
        for _ in 0..2 {
            writer(&store, &id("hurt")).await.release().await;
            let whole_lines = sample.lines("hurt.jsonl");
            let left = whole_lines[..=expected.len()].concat();
            assert!(files.text("hurt.jsonl") == left, "{what}");
        }
        let other = files.open();
        let next = prompts(events_left, 2);
        crate::samples::store(&other, &header("hurt"), &next).await;
        for store in [&store, &other, &files.open()] {
            let all = [expected, &next].concat();
            assert_eq!(whole(store, &id("hurt")).await, all, "{what}");
            assert_eq!(
                summary(store, &id("hurt")).await.events,
                events_left + 2,
                "{what}"
            );
        }
        files.assert_whole(&other).await;
    }
}

#[tokio::test]
async fn a_copy_of_a_torn_log_is_whole() {
    let files = Files::with_two_sessions().await;
    let mut text = files.text("hurt.jsonl");
    text.extend_from_slice(b"{\"seq\":5,\"at\":17");
    files.write("hurt.jsonl", &text);
    let store = files.open();
    store.fork(&id("hurt"), &header("copy")).await.unwrap();
    assert_eq!(whole(&store, &id("copy")).await, events("hurt"));
    assert_eq!(files.text("hurt.jsonl"), text);
    let copied = files.lines("copy.jsonl");
    assert_eq!(copied[1..], files.lines("hurt.jsonl")[1..6]);
}

#[tokio::test]
async fn every_cut_of_a_log_is_read_to_its_last_whole_line() {
    let sample = Files::with_two_sessions().await;
    let lines = sample.lines("hurt.jsonl");
    let text = lines.concat();
    let files = Files::with_two_sessions().await;
    for cut in lines[0].len()..text.len() {
        files.write("hurt.jsonl", &text[..cut]);
        let count = text[..cut].split(|byte| *byte == b'\n').count() - 2;
        let store = files.open();
        let expected = &events("hurt")[..count];
        assert_eq!(whole(&store, &id("hurt")).await, expected, "cut at {cut}");
        let mut writer = writer(&store, &id("hurt")).await;
        let rest = &events("hurt")[count..];
        writer.append(&header("hurt"), rest, &[]).await.unwrap();
        assert!(files.text("hurt.jsonl") == text, "cut at {cut}");
    }
}

/// A reader may see the bytes of a crash, and those of the writer that came after it, in one look. That is no damage.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_is_read_while_a_writer_repairs_it() {
    use std::io::Write as _;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    let files = Files::with_two_sessions().await;
    let done = Arc::new(AtomicBool::new(false));
    let reading = tokio::spawn({
        let (store, done) = (files.open(), Arc::clone(&done));
        async move {
            while !done.load(Ordering::SeqCst) {
                let events = whole(&store, &id("hurt")).await;
                let numbers = events.iter().map(|event| event.seq);
                assert!(numbers.eq(0..events.len() as u64));
            }
        }
    });
    let store = files.open();
    for seq in 5..300 {
        let mut log = std::fs::File::options()
            .append(true)
            .open(files.path("hurt.jsonl"))
            .unwrap();
        let half = format!("{{\"seq\":{seq},\"at\":{}", "1".repeat(seq % 50));
        log.write_all(half.as_bytes()).unwrap();
        drop(log);
        let event = prompts(u64::try_from(seq).unwrap(), 1);
        crate::samples::store(&store, &header("hurt"), &event).await;
    }
    done.store(true, Ordering::SeqCst);
    reading.await.unwrap();
    assert_eq!(whole(&store, &id("hurt")).await.len(), 300);
}
