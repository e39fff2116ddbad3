//! A model at work in the real window: it says what it does, its commands ask, a failure is red, a long one runs on.
//!
//! The pictures of this test are those that a newcomer sees first (`docs/screenshots`).

#![allow(
    clippy::expect_used,
    reason = "the helpers of a test fail by panicking, like the test itself"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use inspector::model_server::{Answer, Gate, ModelServer, Script};
use placard_tests::{Desktop, ENTER, Home, SOON};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A test that fails, as many do.
const REPLAY: &str = r#"#!/bin/bash
printf 'running 12 tests\n...........\n'
printf 'test replay_equals_live ... \033[31mFAILED\033[0m\n'
printf '  left:  "caf\033[31m\xef\xbf\xbd\xef\xbf\xbd\033[0m"\n  right: "caf\033[32m\xc3\xa9\033[0m"\n'
exit 101
"#;

/// One that goes on until it is stopped.
const WATCH: &str = r#"#!/bin/bash
printf '   \033[32mCompiling\033[0m atlas v0.3.0\n    \033[32mFinished\033[0m in 2.41s\n'
printf 'test replay_equals_live ... \033[32mok\033[0m\n'
sleep 600
"#;

fn script(last: &Gate) -> Script {
    let call = |id: &str, command: &str| {
        let arguments = json!({"command": command}).to_string();
        (id.to_owned(), arguments)
    };
    let (first, replay) = call("m1", "./replay-test");
    let (second, touch) = call("m2", "git stash && git switch -c fix/split-utf8");
    let (third, watch) = call("m3", "./watch");
    Script::new()
        .then(
            Answer::new()
                .text(["I will run the test and look at ", "what the log holds."])
                .call(first, "bash", [replay]),
        )
        .then(
            Answer::new()
                .text(["A character is split between two reads: `decode` starts afresh on every chunk. I will keep its state."])
                .call(second, "bash", [touch]),
        )
        .then(
            Answer::new()
                .text(["Then I will not touch the branch, and only watch the test."])
                .call(third, "bash", [watch]),
        )
        .then(Answer::new().hold(last).text(["Done."]))
}

/// `[command, pill]` of every card, the pill without its time.
async fn pills(desktop: &Desktop) -> Vec<[String; 2]> {
    let script = "
        return [...document.querySelectorAll('[data-testid=card]')].map((card) => {
            const part = (name) => card.querySelector(`[data-testid=${name}]`)?.textContent.trim() ?? '';
            return [part('card-command'), part('card-pill').split(' · ')[0]];
        })";
    serde_json::from_value(desktop.evaluate(script, vec![]).await).expect("two texts for each card")
}

/// Waits until the last card asks, and presses its option of this kind, as a person does: focus, then the key.
async fn answer(desktop: &Desktop, command: &str, key: &str) {
    let asks = [command.to_owned(), "asks".to_owned()];
    desktop
        .until("the card asks", async || {
            pills(desktop).await.contains(&asks).then_some(())
        })
        .await;
    let focus = "[...document.querySelectorAll('[data-testid=card]')].at(-1).focus(); return document.activeElement.dataset.testid";
    assert_eq!(desktop.evaluate(focus, vec![]).await, Value::from("card"));
    // A question hears no key in its first half second, so that what was being typed does not answer it.
    desktop
        .until("the card has taken the answer", async || {
            let press = "
                const card = [...document.querySelectorAll('[data-testid=card]')].at(-1);
                card.dispatchEvent(new KeyboardEvent('keydown', { key: arguments[0], bubbles: true, cancelable: true }));";
            desktop.evaluate(press, vec![Value::from(key)]).await;
            (!pills(desktop).await.contains(&asks)).then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_models_commands_ask_in_their_cards_and_the_composer_keeps_the_focus() {
    let last = Gate::new();
    let server = ModelServer::start(script(&last)).expect("a server on loopback");
    let mut home = Home::new();
    home.set("PLACARD_MODEL", "deepseek/deepseek-chat");
    home.set("DEEPSEEK_API_KEY", "key-for-tests");
    home.set("DEEPSEEK_BASE_URL", &server.openai_base_url());
    for (name, content) in [("replay-test", REPLAY), ("watch", WATCH)] {
        let path = home.work_folder().join(name);
        fs::write(&path, content).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    }
    let desktop = Desktop::open(&home).await;
    let prompt = "The replay test fails about once in ten runs. Find out why and fix it.";
    desktop
        .type_text("composer", &format!("{prompt}{ENTER}"))
        .await;

    answer(&desktop, "./replay-test", "Enter").await;
    let branch = "git stash && git switch -c fix/split-utf8";
    desktop
        .until("the second command asks", async || {
            let wanted = [["./replay-test", "exit 101"], [branch, "asks"]]
                .map(|pair| pair.map(str::to_owned));
            (pills(&desktop).await == wanted).then_some(())
        })
        .await;
    desktop
        .find("composer")
        .await
        .click()
        .await
        .expect("the composer takes a click");
    desktop.screenshot("window-asks").await;
    answer(&desktop, branch, "r").await;
    answer(&desktop, "./watch", "Enter").await;
    desktop
        .until("the last command runs", async || {
            let wanted = [
                ["./replay-test", "exit 101"],
                [branch, "refused"],
                ["./watch", "running"],
            ];
            (pills(&desktop).await == wanted.map(|pair| pair.map(str::to_owned))).then_some(())
        })
        .await;
    desktop
        .until("its output is there", async || {
            let script = "return document.body.innerText.includes('replay_equals_live ... ok')";
            (desktop.evaluate(script, vec![]).await == Value::Bool(true)).then_some(())
        })
        .await;
    desktop.screenshot("window-work").await;

    // Stop is one key away from the composer, and ends the whole turn.
    desktop
        .find("composer")
        .await
        .click()
        .await
        .expect("the composer takes a click");
    desktop.type_text("composer", &placard_tests::ESCAPE.to_string()).await;
    desktop
        .until("the turn is stopped", async || {
            pills(&desktop)
                .await
                .last()
                .filter(|[_, pill]| pill.starts_with("killed by"))
                .map(|_| ())
        })
        .await;
    assert_eq!(
        server.requests().len(),
        3,
        "a stopped turn asks the model nothing more"
    );
    desktop.close(&home, SOON).await;
}
