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
use placard_tests::{Desktop, ENTER, ESCAPE, Home, SOON};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A check that finds something wrong.
const CHECK: &str = r"#!/bin/bash
printf 'reading 96 gauges\n'
printf 'Tue 04:10  high   3.12 m  \033[32mplausible\033[0m\n'
printf 'Tue 10:25  low   -4.00 m  \033[31mbelow the sea bed\033[0m\n'
printf '\033[33m1 of 96 gauges cannot be right: \033[1mnorth pier\033[0m\n'
exit 2
";

/// A watcher that goes on until it is stopped.
const LISTEN: &str = r"#!/bin/bash
printf '\033[34mnorth pier\033[0m  every 10 s\n'
printf '10:31:00   0.62 m  \033[32msteady\033[0m\n10:31:10   0.62 m  \033[32msteady\033[0m\n'
sleep 600
";

/// Back to what stands before, as `type_text` takes it: Shift and Tab.
const BACK: &str = "\u{E008}\u{E004}";

const PROMPT: &str = "Tuesday's tide table looks wrong. Where does it go off?";

/// The commands that the model wants, in this order.
const CHECKS: &str = "./check-tides --day tuesday";
const REPLACES: &str = "mv gauges.csv gauges.old && ./fetch-gauges > gauges.csv";
const LISTENS: &str = "./listen north-pier";

fn script(last: &Gate) -> Script {
    let step = |words: &str, id: &str, command: &str| {
        let arguments = json!({ "command": command }).to_string();
        Answer::new().text([words]).call(id, "bash", [arguments])
    };
    Script::new()
        .then(step(
            "Let me see which gauges the table was made from.",
            "m1",
            CHECKS,
        ))
        .then(step(
            "The **north pier** says four metres below zero, so its file is damaged: `gauges.csv` has to be fetched anew.",
            "m2",
            REPLACES,
        ))
        .then(step(
            "The file stays as it is. I will listen to the gauge itself instead.",
            "m3",
            LISTENS,
        ))
        .then(Answer::new().hold(last).text(["The gauge is sound."]))
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

/// What has the focus, and what the last question's hint says.
const FOCUS_AND_HINT: &str = "
    return [document.activeElement.dataset.testid, [...document.querySelectorAll('[data-testid=permission] kbd')].at(-1)?.innerText]";

/// Waits until the last card asks, and presses its option of this kind, as a person does: back from the composer, then the key.
async fn answer(desktop: &Desktop, command: &str, key: &str) {
    let asks = [command.to_owned(), "asks".to_owned()];
    desktop
        .until("the card asks", async || {
            pills(desktop).await.contains(&asks).then_some(())
        })
        .await;
    assert_eq!(
        desktop.evaluate(FOCUS_AND_HINT, vec![]).await,
        json!(["composer", "Shift Tab, then Enter / R"])
    );
    desktop.type_text("composer", BACK).await;
    assert_eq!(
        desktop.evaluate(FOCUS_AND_HINT, vec![]).await,
        json!(["card", "Enter / R"])
    );
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
    let focused = "return document.activeElement.dataset.testid";
    assert_eq!(
        desktop.evaluate(focused, vec![]).await,
        Value::from("composer")
    );
}

/// Waits until the cards are these, each `[command, pill]`.
async fn cards_are(desktop: &Desktop, what: &str, wanted: &[[&str; 2]]) {
    desktop
        .until(what, async || {
            (pills(desktop).await == wanted).then_some(())
        })
        .await;
}

/// A home whose model answers from the server, with the programs that it wants to run.
fn home_with(server: &ModelServer) -> Home {
    let mut home = Home::new();
    home.set("PLACARD_MODEL", "deepseek/deepseek-chat");
    home.set("DEEPSEEK_API_KEY", "key-for-tests");
    home.set("DEEPSEEK_BASE_URL", &server.openai_base_url());
    for (name, content) in [("check-tides", CHECK), ("listen", LISTEN)] {
        let path = home.work_folder().join(name);
        fs::write(&path, content).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    }
    home
}

#[tokio::test]
async fn a_models_commands_ask_in_their_cards_and_the_composer_keeps_the_focus() {
    let last = Gate::new();
    let server = ModelServer::start(script(&last)).expect("a server on loopback");
    let home = home_with(&server);
    let desktop = Desktop::open(&home).await;
    // The line would go to the provider, so nothing says that a dollar sign makes it a command.
    let shown = "
        const words = (name) => document.querySelector(`[data-testid=${name}]`)?.innerText;
        return [words('model'), (words('empty') + document.querySelector('textarea').placeholder).includes('$')];";
    desktop
        .until("the page knows the model", async || {
            let wanted = json!(["deepseek-chat", false]);
            (desktop.evaluate(shown, vec![]).await == wanted).then_some(())
        })
        .await;
    desktop
        .type_text("composer", &format!("{PROMPT}{ENTER}"))
        .await;

    answer(&desktop, CHECKS, "Enter").await;
    let checked = [CHECKS, "exit 2"];
    let what = "the second command asks";
    cards_are(&desktop, what, &[checked, [REPLACES, "asks"]]).await;
    desktop.screenshot("window-asks-light").await;
    answer(&desktop, REPLACES, "r").await;
    answer(&desktop, LISTENS, "Enter").await;
    let refused = [REPLACES, "refused"];
    let what = "the last command runs";
    cards_are(&desktop, what, &[checked, refused, [LISTENS, "running"]]).await;
    desktop
        .until("its output is there", async || {
            let script = "return document.body.innerText.includes('steady')";
            (desktop.evaluate(script, vec![]).await == Value::Bool(true)).then_some(())
        })
        .await;
    desktop.screenshot("window-work").await;

    // Stop is one key away from the composer, and ends the whole turn.
    desktop.type_text("composer", &ESCAPE.to_string()).await;
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

/// A page that has just been loaded shows the question as well, on the paper of a dark desktop.
#[tokio::test]
async fn a_question_is_there_again_after_a_reload_on_dark_paper() {
    let last = Gate::new();
    let server = ModelServer::start(script(&last)).expect("a server on loopback");
    let home = home_with(&server);
    let settings = home.folder("config/gtk-3.0").join("settings.ini");
    let dark = "[Settings]\ngtk-application-prefer-dark-theme=1\n";
    fs::write(settings, dark).expect("the home can be written to");
    let desktop = Desktop::open(&home).await;
    desktop
        .type_text("composer", &format!("{PROMPT}{ENTER}"))
        .await;
    answer(&desktop, CHECKS, "Enter").await;
    let wanted = [[CHECKS, "exit 2"], [REPLACES, "asks"]];
    cards_are(&desktop, "the second command asks", &wanted).await;
    desktop.reload().await;
    cards_are(&desktop, "it asks again", &wanted).await;
    let paper = "return getComputedStyle(document.body).backgroundColor";
    assert_eq!(
        desktop.evaluate(paper, vec![]).await,
        Value::from("rgb(23, 24, 23)")
    );
    desktop.screenshot("window-asks-dark").await;
    desktop.close(&home, SOON).await;
}
