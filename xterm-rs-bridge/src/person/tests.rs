//! What passes and what does not.

use pretty_assertions::assert_eq;

use super::*;

const COMMANDS: &[&str] = &[
    "52;c;QQ==",
    "52;p;?",
    "0;title",
    "1;icon",
    "2;title",
    "4;1;#ff0000",
    "4;1;?",
    "5;0;red",
    "10;red",
    "11;?",
    "12;green",
    "17;?",
    "104;1",
    "110",
    "111",
    "112",
    "7;file:///x",
    "9;4;1;50",
    "133;A",
    "777;notify;a;b",
    "1337;File=inline=1:AA==",
    "1337;ClearScrollback",
    "8;;javascript:alert(1)",
    "8;;data:text/html,x",
    "8;;ssh://host",
    "8;;mailto:a@b",
    "8;;vscode://x",
    "8;;relative/path",
    "8;;java\u{9}script:x",
    "8;;http://a\nb",
];

const CONTROLS: &[&str] = &[
    "c",
    "0c",
    ">c",
    "=c",
    "5n",
    "6n",
    "?6n",
    "?15n",
    "?996n",
    "14t",
    "18t",
    "21t",
    "22;0t",
    "8;50;200t",
    "x",
    ">q",
    ">0q",
    "?2026$p",
    "4$p",
    "?u",
    ">1u",
    "<u",
    "=1;1u",
    "5i",
    "?1049h",
    "?47h",
    "?25l",
    "?1000h",
    "?2004h",
    "4h",
    "20h",
    "1;5r",
    "!p",
    "\"p",
    " q",
    "5 q",
    "?5W",
    "3g",
    "'z",
    "1$r",
    "1;1;2;2$x",
    "#{",
    "1*y",
];

const STRINGS: &[&str] = &[
    "$qm",
    "+q544e",
    "1$r0m",
    "q#0;2;0;0;0",
    "Ga=T;AAAA",
    "tmux;x",
    "",
];

fn filtered(text: &str, step: usize) -> String {
    let mut filter = PersonFilter::new();
    let mut out = String::new();
    let characters: Vec<char> = text.chars().collect();
    for piece in characters.chunks(step) {
        filter.filter(&piece.iter().collect::<String>(), &mut out);
    }
    out
}

#[test]
fn what_draws_passes_and_what_acts_does_not() {
    let same = [
        "plain é 日本\r\n\t\x08\x07",
        "\x1b[1;38:2::1:2:3mred\x1b[m",
        "\x1b[2J\x1b[H\x1b[3A\x1b[K\x1b[12;4f\x1b[s\x1b[u\x1b7\x1b8\x1bM",
        "\x1b]8;id=1;https://example.org/a;b\x1b\\link\x1b]8;;\x1b\\",
        "\x1b]8;;FILE:///tmp/a\x1b\\a\x1b]8;;\x1b\\",
    ];
    for text in same {
        assert_eq!(filtered(text, 1), text);
        assert_eq!(filtered(text, 1000), text);
    }
    let table = [
        ("a\x1b]52;c;aGk=\x07b", "ab"),
        ("a\x1b]52;c;aGk=\x1b\\b", "ab"),
        ("a\u{9d}52;c;aGk=\u{9c}b", "ab"),
        (
            "a\x1b]0;title\x07\x1b]2;t\x1b\\\x1b]4;1;red\x07\x1b]11;?\x07\x1b]1337;File=:AA\x07b",
            "ab",
        ),
        (
            "a\x1b[c\x1b[>c\x1b[6n\x1b[?6n\x1b[14t\x1b[>q\x1bZ\x05b",
            "ab",
        ),
        (
            "a\x1b[?1049h\x1b[?25l\x1b[4h\x1b[1;5r\x1b[!p\x1bc\x1b[1;2s\x1b[>1u\x1b[?1K b",
            "a b",
        ),
        (
            "a\x1bPq#0\x07~\x1b\\\x1b_G\x1b\\\x1b^x\x1b\\\x1bXx\x1b\\\u{90}$qm\u{9c}b",
            "ab",
        ),
        ("a\x1b(0\x1b#8\x0e\x0f\0b", "ab"),
        (
            "\x1b]8;;javascript:x\x07link\x1b]8;;\x07",
            "link\x1b]8;;\x1b\\",
        ),
        ("\x1b]8;;ssh://h\x07x\x1b]8;nonsense\x07", "x"),
        ("\u{9b}31mred", "\x1b[31mred"),
        ("a\x1b[3\x1b[1mb", "a\x1b[1mb"),
        ("a\x1b[3\n1mb", "a\n\x1b[31mb"),
        ("a\x1b]8;;http://x\x1b[1mb", "a\x1b[1mb"),
        ("a\x1b]52;c;aGk=\x18b", "ab"),
        ("a\x1b[3éb\x1bé", "aébé"),
        ("a\x1b]0;never ended", "a"),
    ];
    for (text, expected) in table {
        for step in [1, 2, 3, 1000] {
            assert_eq!(
                filtered(text, step),
                expected,
                "{text:?} in steps of {step}"
            );
        }
    }
}

/// R19, F9: each kind of sequence that must not act, with each of its introducers and terminators, cut after every character.
#[test]
fn what_acts_is_removed_in_every_form() {
    let mut cases: Vec<String> = Vec::new();
    for command in COMMANDS {
        for (begin, end) in [
            ("\x1b]", "\x07"),
            ("\x1b]", "\x1b\\"),
            ("\u{9d}", "\u{9c}"),
            ("\u{9d}", "\x07"),
        ] {
            cases.push(format!("{begin}{command}{end}"));
        }
    }
    for control in CONTROLS {
        cases.extend([format!("\x1b[{control}"), format!("\u{9b}{control}")]);
    }
    for string in STRINGS {
        for begin in [
            "\x1bP", "\x1bX", "\x1b^", "\x1b_", "\u{90}", "\u{98}", "\u{9e}", "\u{9f}",
        ] {
            cases.extend([
                format!("{begin}{string}\x1b\\"),
                format!("{begin}{string}\u{9c}"),
            ]);
        }
    }
    for case in cases {
        let text = format!("before {case}after");
        for step in [1, 2, 3, 5, 1000] {
            assert_eq!(
                filtered(&text, step),
                "before after",
                "{case:?} in steps of {step}"
            );
        }
    }
}

#[test]
fn a_string_without_an_end_does_not_hide_the_rest() {
    let out = filtered(
        &format!("a\x1b]52;c;{}\r\nback\r\n", "A".repeat(LONGEST_STRING)),
        4096,
    );
    assert!(out.ends_with("\r\nback\r\n") && out.len() < 32, "{out:?}");
}

#[test]
fn memory_does_not_grow_with_a_sequence() {
    let mut filter = PersonFilter::new();
    let mut out = String::new();
    for introducer in ["\x1b]8;;http://", "\x1b[", "\x1bP"] {
        filter.filter(introducer, &mut out);
        filter.filter(&"1".repeat(100_000), &mut out);
        assert!(filter.sequence.len() <= LONGEST_LINK);
    }
}
