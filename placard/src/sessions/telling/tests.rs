use super::*;
use crate::ink::Ink;
use crate::sessions::excerpt::GLANCE;
use crate::sessions::shelf::tests::{MINUTE, events};
use crate::sessions::viewer::tests::ada;
use agent_core::session::event::{Entry, Trigger};
use agent_core::session::shown::ShownTerminal;
use agent_core::tool::presentation::ToolCallKind;
use pretty_assertions::assert_eq;
use serde_json::json;

/// A log told to Ada, its events a second apart, and the bytes of its outputs by call.
fn told(ink: Ink, log: Vec<EventKind>, outputs: &[(&str, &str)]) -> String {
    let viewer = Viewer { ink, ..ada() };
    let mut telling = Telling::new(viewer, GLANCE, "show --full 1".into());
    let mut text = String::new();
    for event in events(MINUTE, log) {
        let printed = match event.what.known() {
            Some(EventKind::TerminalExit {
                call_id,
                output_ref: Some(_),
                ..
            }) => outputs
                .iter()
                .find(|(of, _)| of == call_id)
                .map_or(Printed::Lost, |(_, bytes)| {
                    Printed::Bytes(bytes.as_bytes().to_owned())
                }),
            _ => Printed::Nothing,
        };
        text.push_str(&telling.event(event, printed));
    }
    text + &telling.end()
}

fn prompt(text: &str) -> Vec<EventKind> {
    vec![
        EventKind::TurnStart {
            trigger: Trigger::Prompt,
        },
        EventKind::UserMessage { text: text.into() },
        EventKind::StepStart,
    ]
}

fn reply(text: &str) -> EventKind {
    EventKind::AssistantMessage {
        blocks: vec![
            AssistantBlock::Reasoning {
                text: "thought".into(),
                signatures: Vec::new(),
            },
            AssistantBlock::Text { text: text.into() },
        ],
    }
}

fn command(id: &str, line: &str) -> EventKind {
    EventKind::ToolCall {
        call_id: id.into(),
        provider_id: id.into(),
        name: "bash".into(),
        args: ToolArgs::Json(json!({ "command": line })),
        shown: Some(Box::new(ShownCall {
            kind: ToolCallKind::Execute,
            title: None,
            description: None,
            locations: Vec::new(),
            label: None,
            terminal: Some(ShownTerminal {
                cwd: "/home/ada/work".into(),
                notice: None,
            }),
        })),
    }
}

fn exit(id: &str, exit: Exit) -> EventKind {
    EventKind::TerminalExit {
        call_id: id.into(),
        exit,
        circumstances: Circumstances::default(),
        output_ref: Some(BlobId::of(id.as_bytes()).into()),
    }
}

fn result(id: &str, succeeded: bool, body: ShownBody) -> EventKind {
    EventKind::ToolResult {
        call_id: id.into(),
        content: "for the model\n[exit 0]".into(),
        is_error: !succeeded,
        output_ref: None,
        shown: Some(Box::new(ShownResult {
            succeeded,
            body,
            image: None,
            notice: None,
            goes_on: false,
        })),
    }
}

fn going_on(id: &str) -> EventKind {
    EventKind::ToolResult {
        call_id: id.into(),
        content: "Started.\n[running]".into(),
        is_error: false,
        output_ref: None,
        shown: None,
    }
}

fn ended(reason: TurnEndReason) -> Vec<EventKind> {
    vec![EventKind::StepEnd, EventKind::TurnEnd { reason }]
}

#[test]
fn a_conversation_reads_as_it_went() {
    let log = [
        prompt("Run the tests,\nplease"),
        vec![
            reply("I run them.\n"),
            command("a", "cargo test"),
            exit("a", Exit::Code(101)),
            result("a", false, ShownBody::Terminal),
            EventKind::ToolCall {
                call_id: "b".into(),
                provider_id: "b".into(),
                name: "read_file".into(),
                args: ToolArgs::Json(json!({"path": "/a"})),
                shown: Some(Box::new(ShownCall {
                    kind: ToolCallKind::Read,
                    title: Some("Read /a".into()),
                    description: None,
                    locations: Vec::new(),
                    label: None,
                    terminal: None,
                })),
            },
            result("b", false, ShownBody::Text("no such file".into())),
            EventKind::StepEnd,
            EventKind::StepStart,
            reply("One fails."),
        ],
        ended(TurnEndReason::Completed),
        prompt("Stop"),
        ended(TurnEndReason::Cancelled),
    ]
    .concat();
    let output = "running\r\n\x1b[31m10%\r99%\x1b[0m\r\n\x1b]0;title\x07failed";
    assert_eq!(
        told(Ink::Plain, log, &[("a", output)]),
        "\
1970-01-01 00:01 UTC · 23 hours ago
> Run the tests,
  please

I run them.

$ cargo test
  ~/work
running
99%
failed
exit 101 · 1 s

· Read /a · failed

One fails.

1970-01-01 00:01 UTC · 23 hours ago
> Stop

cancelled
"
    );
}

#[test]
fn nothing_of_what_is_stored_drives_the_terminal() {
    let log = [
        prompt("\x1b[2Ja"),
        vec![
            reply("\x1b]52;c;AAAA\x07b"),
            command("a", "c\x1b[1A"),
            exit("a", Exit::Signal("SIG\x1b[5n".into())),
            result("a", false, ShownBody::Terminal),
            EventKind::Notice {
                text: "d\x1bc".into(),
            },
        ],
    ]
    .concat();
    assert_eq!(
        told(
            Ink::Colour,
            log,
            &[("a", "\x1b[6n\x1b[31me\x1b[0m\u{9b}5nf")]
        ),
        "\x1b[0;2m1970-01-01 00:01 UTC · 23 hours ago\x1b[0m\n\x1b[0;1m> [2Ja\x1b[0m\n\n\
         ]52;c;AAAAb\n\n\
         \x1b[0;1m$ c[1A\x1b[0m\n\x1b[0;2m  ~/work\x1b[0m\nef\n\x1b[0;31mkilled by SIG[5n · 1 s\x1b[0m\n\n\
         \x1b[0;33mdc\x1b[0m\n"
    );
}

#[test]
fn a_long_output_is_cut_and_says_how_to_see_it() {
    let log = vec![
        command("a", "seq 100"),
        exit("a", Exit::Code(0)),
        result("a", true, ShownBody::Terminal),
    ];
    let numbers: Vec<String> = (1..=100).map(|line| line.to_string()).collect();
    let output = numbers.join("\n");
    assert_eq!(
        told(Ink::Plain, log, &[("a", &output)]),
        format!(
            "$ seq 100\n  ~/work\n{}\n… 70 lines left out; all of it: show --full 1\n{}\nok · 1 s\n",
            numbers[..10].join("\n"),
            numbers[80..].join("\n")
        )
    );
}

#[test]
fn commands_in_the_background_end_where_they_ended() {
    let log = vec![
        command("a", "serve"),
        going_on("a"),
        command("b", "watch"),
        going_on("b"),
        reply("Both run."),
        exit("a", Exit::Signal("SIGTERM".into())),
    ];
    assert_eq!(
        told(Ink::Plain, log, &[("a", "listening\n")]),
        "\
$ serve
  ~/work
Started.
went on in the background

$ watch
  ~/work
Started.
went on in the background

Both run.

… $ serve
listening
killed by SIGTERM · 5 s

… $ watch
its end is not known
"
    );
}

#[test]
fn calls_that_came_to_nothing() {
    let refused = vec![
        command("a", "rm x"),
        EventKind::PermissionDecision {
            call_id: "a".into(),
            decision: Decision::RejectOnce,
        },
        result("a", false, ShownBody::Empty),
    ];
    let not_run = vec![
        command("a", "ls"),
        result("a", false, ShownBody::Text("no such folder".into())),
    ];
    let lost = vec![
        command("a", "ls"),
        exit("a", Exit::Unknown),
        result("a", false, ShownBody::Terminal),
    ];
    let open = vec![command("a", "ls")];
    // As a build without cards of its own would have stored it.
    let bare = vec![
        EventKind::ToolCall {
            call_id: "a".into(),
            provider_id: "a".into(),
            name: "bash".into(),
            args: ToolArgs::Json(json!({"command": "ls"})),
            shown: None,
        },
        EventKind::TerminalExit {
            call_id: "a".into(),
            exit: Exit::Code(0),
            circumstances: Circumstances {
                left_running: true,
                ..Circumstances::default()
            },
            output_ref: None,
        },
        EventKind::ToolResult {
            call_id: "a".into(),
            content: "file\n[exit 0]".into(),
            is_error: false,
            output_ref: None,
            shown: None,
        },
    ];
    let table = [
        (refused, "$ rm x\n  ~/work\nrefused\n"),
        (not_run, "$ ls\n  ~/work\nno such folder\nnot run\n"),
        (
            lost,
            "$ ls\n  ~/work\n(what it printed is not kept any more)\nended · no exit code\n",
        ),
        (open, "$ ls\n  ~/work\nno result yet\n"),
        (
            bare,
            "$ ls\nfile\nok · 1 s · left running, ended with its session\n",
        ),
    ];
    for (log, expected) in table {
        assert_eq!(told(Ink::Plain, log, &[]), expected);
    }
}

#[test]
fn what_happened_to_the_session_itself() {
    let set = |option: &str, value: &str| EventKind::Config {
        option: option.into(),
        value: value.into(),
    };
    let log = vec![
        EventKind::Title { title: "t".into() },
        set("cwd", "/home/ada/other"),
        set("model", "openai/x"),
        set("hologram", "7"),
        EventKind::Injected {
            text: "one\ntwo".into(),
        },
        EventKind::Compaction {
            summary: "all".into(),
        },
        EventKind::Error {
            message: "no key".into(),
        },
        EventKind::TurnEnd {
            reason: TurnEndReason::Error,
        },
        EventKind::TurnEnd {
            reason: TurnEndReason::Interrupted,
        },
    ];
    assert_eq!(
        told(Ink::Plain, log, &[]),
        "\
from here on in ~/other

from here on by openai/x

» one
  two

from here on the model has a summary of all that is above

no key

the turn was broken off when the program ended
"
    );
}

#[test]
fn news_is_counted() {
    let news = |seq| Event {
        seq,
        at: 0,
        what: Entry::Unknown(json!({"type": "hologram"})),
    };
    let mut telling = Telling::new(ada(), GLANCE, String::new());
    telling.event(news(0), Printed::Nothing);
    assert_eq!(
        telling.end(),
        "1 event of a newer Placard is not shown; --events prints it\n"
    );
    let mut telling = Telling::new(ada(), GLANCE, String::new());
    telling.event(news(0), Printed::Nothing);
    telling.event(news(1), Printed::Nothing);
    assert_eq!(
        telling.end(),
        "2 events of a newer Placard are not shown; --events prints them\n"
    );
}
