//! Whole turns on paper, with colours and without.

use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;
use terminal_card::{Capability, TerminalExit, encode};

/// A session drawn in one go: updates with their times.
fn drawn(ink: Ink, updates: &[(u64, Value)]) -> String {
    let mut painting = Painting::new(ink);
    let mut text = String::new();
    for (t, update) in updates {
        text.push_str(&painting.update("s", update, *t));
    }
    let end = updates.last().map_or(0, |(t, _)| *t);
    text + &painting.turn_ended("s", end)
}

fn says(text: &str) -> Value {
    json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
}

fn opens(id: &str, command: &str) -> Value {
    json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": command, "kind": "execute",
        "status": "in_progress", "rawInput": {"command": command},
        "content": [encode::content(id)], "_meta": encode::info(id, "/work")})
}

fn prints(id: &str, data: &str) -> Value {
    json!({"sessionUpdate": "tool_call_update", "toolCallId": id,
        "_meta": encode::output(Capability::Output, id, data)})
}

fn exits(id: &str, status: &str, code: Option<i64>, signal: Option<&str>) -> Value {
    let exit = TerminalExit {
        exit_code: code,
        signal: signal.map(str::to_owned),
    };
    json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status,
        "_meta": encode::exit(id, &exit)})
}

#[test]
fn a_turn_with_text_and_a_card() {
    let updates = [
        (0, says("I will ")),
        (1, says("look.\n")),
        (1_000, opens("c", "ls -l\nwc -l *")),
        (1_100, prints("c", "10%\r99%\r\n\u{1b}[31ma\u{1b}[0m\r\nb")),
        (1_400, exits("c", "completed", Some(0), None)),
        (1_500, says("Two lines.")),
    ];
    assert_eq!(
        drawn(Ink::Plain, &updates),
        "I will look.\n\n$ ls -l\n  wc -l *\n  /work\n99%\na\nb\nok · 0.4 s\n\nTwo lines.\n"
    );
    assert_eq!(
        drawn(Ink::Colour, &updates),
        "I will look.\n\n\u{1b}[0;1m$ ls -l\n  wc -l *\u{1b}[0m\n\u{1b}[0;2m  /work\u{1b}[0m\n\
         10%\r99%\r\n\u{1b}[31ma\u{1b}[0m\r\nb\u{1b}[0m\n\u{1b}[0;32mok · 0.4 s\u{1b}[0m\n\n\
         Two lines.\u{1b}[0m\n"
    );
}

#[test]
fn output_is_printed_as_it_comes() {
    let mut painting = Painting::new(Ink::Plain);
    let pieces = [
        opens("c", "count"),
        prints("c", "1\r\n2"),
        prints("c", "\r\n3\r\n"),
    ]
    .map(|update| painting.update("s", &update, 0));
    assert_eq!(pieces, ["$ count\n  /work\n", "1\n", "2\n3\n"]);
}

#[test]
fn two_cards_at_once_are_told_apart() {
    let updates = [
        (0, opens("a", "first")),
        (0, opens("b", "second")),
        (0, prints("a", "from a\r\n")),
        (0, prints("b", "from b\r\n")),
        (0, exits("b", "failed", Some(3), None)),
        (2_000, exits("a", "failed", None, Some("SIGKILL"))),
    ];
    assert_eq!(
        drawn(Ink::Plain, &updates),
        "$ first\n  /work\n\n$ second\n  /work\n\n… $ first\nfrom a\n\n… $ second\nfrom b\nexit 3 · 0.0 s\n\
         \n… $ first\nkilled by SIGKILL · 2 s\n"
    );
}

#[test]
fn agents_that_send_no_cards_are_drawn_too() {
    let updates = [
        (
            0,
            json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "sh", "kind": "execute",
            "rawInput": {"command": ["bash", "-lc", "ls"]}}),
        ),
        (
            5,
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed",
            "rawOutput": {"output": "a\nb\n"}}),
        ),
        (
            6,
            json!({"sessionUpdate": "tool_call", "toolCallId": "r", "title": "Read", "kind": "read"}),
        ),
        (
            7,
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "r", "title": "Read a.rs",
            "status": "completed"}),
        ),
        (
            8,
            json!({"sessionUpdate": "tool_call", "toolCallId": "w", "title": "Write b.rs", "kind": "edit",
            "status": "failed"}),
        ),
        (
            9,
            json!({"sessionUpdate": "tool_call", "toolCallId": "x", "title": "Lost", "kind": "fetch"}),
        ),
    ];
    assert_eq!(
        drawn(Ink::Plain, &updates),
        "$ ls\na\nb\nended · no exit code\n\n· Read a.rs\n· Write b.rs · failed\n· Lost · no result\n"
    );
}

#[test]
fn a_card_whose_command_comes_late_is_headed_by_it() {
    let updates = [
        (
            0,
            json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Terminal", "kind": "execute",
            "rawInput": {}, "content": [encode::content("t")],
            "_meta": {"terminal_info": {"terminal_id": "t"}}}),
        ),
        (
            1,
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "title": "`true`",
            "rawInput": {"command": "true"}}),
        ),
        (
            2,
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed",
            "_meta": {"terminal_exit": {"terminal_id": "t", "exit_code": 0, "signal": null}}}),
        ),
    ];
    assert_eq!(drawn(Ink::Plain, &updates), "$ true\nok · 0.0 s\n");
}

#[test]
fn a_refused_call_is_closed_as_refused() {
    let mut painting = Painting::new(Ink::Plain);
    let call = json!({"toolCallId": "c", "title": "rm x", "kind": "execute", "rawInput": {"command": "rm x"}});
    let (text, subject) = painting.asks("s", &call, 0);
    assert_eq!((text.as_str(), subject.as_str()), ("$ rm x\n", "rm x"));
    painting.refused("c");
    let failed =
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "failed"});
    assert_eq!(painting.update("s", &failed, 900), "refused\n");
    assert_eq!(painting.turn_ended("s", 901), "");
}

#[test]
fn what_never_ended_is_told_at_the_turns_end() {
    assert_eq!(
        drawn(
            Ink::Plain,
            &[(0, opens("c", "sleep 9")), (1, prints("c", "half a line"))]
        ),
        "$ sleep 9\n  /work\nhalf a line\nno result\n"
    );
}

#[test]
fn what_still_runs_in_the_background_or_was_left_is_told() {
    let ours = |mut update: Value, name: &str| {
        update["_meta"]["placard"] = json!({ name: true });
        update
    };
    let started =
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"});
    let updates = [
        (0, opens("c", "serve")),
        (1, ours(started, "background")),
        (2, prints("c", "up\r\n")),
        (3, opens("d", "sleep 9 &")),
        (
            4,
            ours(exits("d", "completed", Some(0), None), "left_running"),
        ),
    ];
    assert_eq!(
        drawn(Ink::Plain, &updates),
        "$ serve\n  /work\nup\n\n$ sleep 9 &\n  /work\nok · 0.0 s · left running, ended with this program\n\n… $ serve\nwas running in the background · ended with this program\n"
    );
}

#[test]
fn what_the_person_should_know_stands_before_the_question_and_after_the_end() {
    let mut painting = Painting::new(Ink::Plain);
    let mut call = opens("c", "touch /x");
    call["status"] = json!("pending");
    call["_meta"]["placard"] = json!({"notice": "Runs without the sandbox."});
    assert_eq!(painting.update("s", &call, 0), "$ touch /x\n  /work\n");
    let asked = json!({"toolCallId": "c", "title": "touch /x", "kind": "execute"});
    assert_eq!(
        painting.asks("s", &asked, 1).0,
        "Runs without the sandbox.\n"
    );
    let mut end = exits("c", "failed", Some(1), None);
    end["_meta"]["placard"] = json!({"notice": "The sandbox denied writing /x."});
    let started =
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "in_progress"});
    painting.update("s", &started, 2);
    assert_eq!(
        painting.update("s", &end, 102),
        "exit 1 · 0.1 s\nThe sandbox denied writing /x.\n"
    );
}

#[test]
fn what_never_began_did_not_run() {
    let mut call = opens("c", "true");
    call["status"] = json!("pending");
    let updates = [(0, call), (9000, exits("c", "failed", None, None))];
    assert_eq!(drawn(Ink::Plain, &updates), "$ true\n  /work\nnot run\n");
}
