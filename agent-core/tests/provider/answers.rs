//! What models say.

use agent_core::model::{ModelAnswer, StopReason, Usage};
use futures::StreamExt;
use inspector::{Answer, Finish, Gate, ModelServer, Script};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{
    WIRES, Wire, called, done, hello, miscalled, more_reasoning, more_text, said, thought,
};

fn plain(blocks: Vec<agent_core::model::AssistantBlock>, wire: Wire) -> ModelAnswer {
    // Anthropic counts tokens in every answer.
    let usage = (wire == Wire::Anthropic).then(Usage::default);
    ModelAnswer {
        blocks,
        stop: StopReason::End,
        usage,
    }
}

#[tokio::test]
async fn text_comes_in_pieces_with_its_tokens() {
    for wire in WIRES {
        let answer = wire
            .says(Answer::new().text(["Hel", "lo, Bjørn 🎈"]).usage(12, 5))
            .await;
        let usage = Some(Usage {
            input_tokens: 12,
            output_tokens: 5,
        });
        assert_eq!(
            answer,
            [
                more_text("Hel"),
                more_text("lo, Bjørn 🎈"),
                done(ModelAnswer {
                    blocks: vec![said("Hello, Bjørn 🎈")],
                    stop: StopReason::End,
                    usage
                }),
            ],
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn the_first_piece_does_not_wait_for_the_last() {
    for wire in WIRES {
        let gate = Gate::new();
        let step = Answer::new().text(["first"]).hold(&gate).text([" last"]);
        let server = ModelServer::start(Script::new().then(step)).unwrap();
        let mut answer = wire.of(&server).respond(hello());
        assert_eq!(answer.next().await, Some(more_text("first")), "{wire:?}");
        gate.reached().await;
        gate.open();
        assert_eq!(answer.next().await, Some(more_text(" last")), "{wire:?}");
    }
}

#[tokio::test]
async fn an_answer_can_be_abandoned_in_the_middle() {
    for wire in WIRES {
        let gate = Gate::new();
        let script = Script::new()
            .then(Answer::new().text(["first"]).hold(&gate))
            .then(Answer::new().text(["second"]));
        let server = ModelServer::start(script).unwrap();
        let model = wire.of(&server);
        let mut answer = model.respond(hello());
        assert_eq!(answer.next().await, Some(more_text("first")), "{wire:?}");
        drop(answer);
        let mut answer = model.respond(hello());
        assert_eq!(answer.next().await, Some(more_text("second")), "{wire:?}");
    }
}

#[tokio::test]
async fn reasoning_comes_before_text_and_is_kept() {
    let step = || Answer::new().reasoning(["Let me", " see."]).text(["Seen."]);
    let expected = |reasoning, wire| {
        [
            more_reasoning("Let me"),
            more_reasoning(" see."),
            more_text("Seen."),
            done(plain(vec![reasoning, said("Seen.")], wire)),
        ]
    };
    let unsigned = thought("Let me see.", &[]);
    for wire in WIRES {
        assert_eq!(
            wire.says(step()).await,
            expected(unsigned.clone(), wire),
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn signed_and_redacted_reasoning_is_kept_block_by_block() {
    let step = Answer::new()
        .reasoning(["One."])
        .signature("c2ln")
        .redacted_reasoning("c2VjcmV0")
        .reasoning(["Two."])
        .signature("c2lnMg==")
        .call("toolu_1", "bash", [r#"{"command":"ls"}"#]);
    let redacted = r#"{"type":"redacted_thinking","data":"c2VjcmV0"}"#;
    let blocks = vec![
        thought("One.", &["c2ln"]),
        thought("", &[redacted]),
        thought("Two.", &["c2lnMg=="]),
        called("toolu_1", "bash", json!({"command": "ls"})),
    ];
    assert_eq!(
        Wire::Anthropic.says(step).await,
        [
            more_reasoning("One."),
            more_reasoning("Two."),
            done(plain(blocks, Wire::Anthropic))
        ]
    );
}

#[tokio::test]
async fn a_call_may_come_in_any_pieces() {
    let pieces: [&[&str]; 4] = [
        &[r#"{"command":"echo 'ä'"}"#],
        &[r#"{"comm"#, r#"and":"#, r#""echo 'ä'""#, "}"],
        &["{", r#""command""#, ":", r#""echo 'ä'"}"#],
        &["", r#"{"command":"echo 'ä'"}"#, ""],
    ];
    for wire in WIRES {
        for pieces in pieces {
            let step =
                Answer::new()
                    .text(["I look."])
                    .call("call_9", "bash", pieces.iter().copied());
            let blocks = vec![
                said("I look."),
                called("call_9", "bash", json!({"command": "echo 'ä'"})),
            ];
            let expected = [more_text("I look."), done(plain(blocks, wire))];
            assert_eq!(wire.says(step).await, expected, "{wire:?} {pieces:?}");
        }
    }
}

#[tokio::test]
async fn calls_may_be_parallel() {
    for wire in WIRES {
        let step = Answer::new()
            .call("a", "bash", [r#"{"command""#, r#":"ls"}"#])
            .call("b", "bash", [r#"{"command":"pwd"}"#])
            .call("c", "read_file", [r#"{"path":"#, r#""/etc/hosts"}"#]);
        let blocks = vec![
            called("a", "bash", json!({"command": "ls"})),
            called("b", "bash", json!({"command": "pwd"})),
            called("c", "read_file", json!({"path": "/etc/hosts"})),
        ];
        assert_eq!(
            wire.says(step).await,
            [done(plain(blocks, wire))],
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn calls_under_the_same_id_are_told_apart() {
    for wire in WIRES {
        let step = Answer::new()
            .call("x", "bash", [r#"{"command":"ls"}"#])
            .call("x", "bash", [r#"{"command":"pwd"}"#]);
        let blocks = vec![
            called("x", "bash", json!({"command": "ls"})),
            called("x-2", "bash", json!({"command": "pwd"})),
        ];
        assert_eq!(
            wire.says(step).await,
            [done(plain(blocks, wire))],
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn arguments_that_are_no_object_stay_as_they_came() {
    for wire in WIRES {
        for text in [
            r#"{"command": "ls"#,
            "ls -l",
            "[1,2]",
            "null",
            r#""ls""#,
            r#"{"command":"ls"} x"#,
        ] {
            let step = Answer::new().call("a", "bash", [text]);
            // A JSON text is handed on without its quotes; nothing else is changed.
            let expected = text.trim_matches('"');
            let expected = if text.starts_with('"') {
                expected
            } else {
                text
            };
            let expected = vec![miscalled("a", "bash", expected)];
            assert_eq!(
                wire.says(step).await,
                [done(plain(expected, wire))],
                "{wire:?} {text}"
            );
        }
    }
}

#[tokio::test]
async fn a_call_without_arguments_is_no_empty_object_unless_the_format_says_so() {
    let step = || Answer::new().call("a", "bash", [""; 0]);
    let blocks = vec![miscalled("a", "bash", "")];
    assert_eq!(
        Wire::OpenAi.says(step()).await,
        [done(plain(blocks, Wire::OpenAi))]
    );
    // Anthropic begins every call with an empty object and adds only what differs.
    let blocks = vec![called("a", "bash", json!({}))];
    assert_eq!(
        Wire::Anthropic.says(step()).await,
        [done(plain(blocks, Wire::Anthropic))]
    );
}

#[tokio::test]
async fn an_answer_may_be_empty() {
    for wire in WIRES {
        assert_eq!(
            wire.says(Answer::new()).await,
            [done(plain(Vec::new(), wire))],
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn reasons_to_stop() {
    let reasons = [
        (Finish::Stop, StopReason::End),
        (Finish::ToolCalls, StopReason::End),
        (Finish::Length, StopReason::MaxTokens),
        (Finish::Refusal, StopReason::Refusal),
    ];
    for wire in WIRES {
        for (finish, stop) in reasons {
            let answer = wire.says(Answer::new().text(["So"]).finish(finish)).await;
            let expected = ModelAnswer {
                stop,
                ..plain(vec![said("So")], wire)
            };
            assert_eq!(
                answer,
                [more_text("So"), done(expected)],
                "{wire:?} {finish:?}"
            );
        }
    }
}
