//! What a person does with a running command in the real window: answer it, stop it alone, watch it in the background.

#![allow(
    clippy::expect_used,
    reason = "the helpers of a test fail by panicking, like the test itself"
)]

use std::fs;

use inspector::model_server::{Answer, ModelServer, Script};
use placard_tests::{Desktop, ENTER, Home, SOON};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// `[command, pill without its time, text]` of every card.
async fn cards(desktop: &Desktop) -> Vec<[String; 3]> {
    let script = "
        return [...document.querySelectorAll('[data-testid=card]')].map((card) => {
            const part = (name) => card.querySelector(`[data-testid=${name}]`)?.textContent.trim() ?? '';
            return [part('card-command'), part('card-pill').split(' · ')[0], window.placard.cardText(card.dataset.terminalId).replace(/ +$/gm, '').trim()];
        })";
    serde_json::from_value(desktop.evaluate(script, vec![]).await)
        .expect("three texts for each card")
}

async fn cards_are(desktop: &Desktop, what: &str, wanted: &[[&str; 3]]) {
    let mut seen = Vec::new();
    let found = desktop
        .until(what, async || {
            seen = cards(desktop).await;
            (seen == wanted).then(|| seen.clone())
        })
        .await;
    assert_eq!(found, wanted);
}

async fn focused(desktop: &Desktop) -> Value {
    let script = "return document.activeElement.dataset.testid";
    desktop.evaluate(script, vec![]).await
}

/// The part of the first card with this name takes a click.
async fn click(desktop: &Desktop, testid: &str) {
    let part = desktop.find(testid).await;
    part.click().await.expect("it takes a click");
}

/// Several lines at once: Enter alone would send the first.
async fn send_lines(desktop: &Desktop, lines: &str) {
    let write = "
        const field = document.querySelector('[data-testid=composer]');
        field.value = arguments[0];
        field.dispatchEvent(new Event('input', { bubbles: true }));";
    desktop.evaluate(write, vec![lines.into()]).await;
    desktop.type_text("composer", &ENTER.to_string()).await;
}

#[tokio::test]
async fn a_command_that_waits_is_answered_in_its_card() {
    let home = Home::new();
    let desktop = Desktop::open(&home).await;
    let command = "read -p 'Which harbour first? ' x; echo; echo got $x; sleep 0.3";
    desktop
        .type_text("composer", &format!("$ {command}{ENTER}"))
        .await;
    let waits = [command, "waiting for input", "Which harbour first?"];
    cards_are(&desktop, "the card waits for input", &[waits]).await;
    assert_eq!(focused(&desktop).await, json!("composer"));
    desktop.find("card-input").await;
    desktop.screenshot("window-light-waiting").await;

    desktop
        .type_text("card-input", &format!("north{ENTER}"))
        .await;
    let ended = [command, "ok", "Which harbour first? north\n\ngot north"];
    cards_are(&desktop, "the answer has arrived", &[ended]).await;
    assert_eq!(focused(&desktop).await, json!("composer"));
    desktop.close(&home, SOON).await;
}

#[tokio::test]
async fn a_password_is_hidden_and_one_command_of_a_turn_is_stopped() {
    let home = Home::new();
    let settings = home.folder("config/gtk-3.0").join("settings.ini");
    let dark = "[Settings]\ngtk-application-prefer-dark-theme=1\n";
    fs::write(settings, dark).expect("the home can be written to");
    let desktop = Desktop::open(&home).await;
    let asks = "read -s -p 'Password: ' x; echo; echo ${#x} characters; sleep 309";
    send_lines(&desktop, &format!("$ {asks}\n$ echo and on")).await;
    desktop
        .until("the first card waits for input", async || {
            (cards(&desktop).await.first()?[1] == "waiting for input").then_some(())
        })
        .await;
    let kind = "return document.querySelector('[data-testid=card-input]').type";
    assert_eq!(desktop.evaluate(kind, vec![]).await, json!("password"));
    desktop
        .type_text("card-input", &format!("hunter2{ENTER}"))
        .await;
    desktop
        .until("what was typed has arrived", async || {
            cards(&desktop).await.first()?[2]
                .ends_with("7 characters")
                .then_some(())
        })
        .await;
    desktop.screenshot("window-dark-typing").await;

    click(&desktop, "card-stop").await;
    cards_are(
        &desktop,
        "the next command has run",
        &[
            [asks, "killed by SIGINT", "Password:\n7 characters"],
            ["echo and on", "ok", "and on"],
        ],
    )
    .await;
    // The turn was not cancelled: nothing says that it was.
    let outcome = "return document.querySelector('[data-testid=notice]')?.innerText ?? null";
    assert_eq!(desktop.evaluate(outcome, vec![]).await, Value::Null);
    desktop.screenshot("window-dark-stopped").await;
    desktop.close(&home, SOON).await;
}

#[tokio::test]
async fn a_command_in_the_background_goes_on_after_its_turn() {
    let command = "echo listening; until [ -e go ]; do sleep 0.02; done; echo a visitor; sleep 310";
    let arguments =
        json!({"command": command, "description": "Serves the tables", "run_in_background": true});
    let script = Script::new()
        .then(Answer::new().call("m1", "bash", [arguments.to_string()]))
        .then(Answer::new().text(["The tables are served."]));
    let server = ModelServer::start(script).expect("a server on loopback");
    let mut home = Home::new();
    home.set("PLACARD_MODEL", "deepseek/deepseek-chat");
    home.set("DEEPSEEK_API_KEY", "key-for-tests");
    home.set("DEEPSEEK_BASE_URL", &server.openai_base_url());
    let desktop = Desktop::open(&home).await;
    desktop
        .type_text("composer", &format!("Serve the tables{ENTER}"))
        .await;
    click(&desktop, "permission-option").await;
    // Send is back where Stop was: the turn is over.
    desktop.find("send").await;
    cards_are(
        &desktop,
        "the command runs on",
        &[[command, "running", "listening"]],
    )
    .await;
    fs::write(home.work_folder().join("go"), "").expect("the home can be written to");
    let running = [command, "running", "listening\na visitor"];
    cards_are(&desktop, "what it prints later is shown", &[running]).await;
    let meta = desktop.find("card-cwd").await.text().await;
    assert!(
        meta.as_ref()
            .is_ok_and(|meta| meta.ends_with("Serves the tables · left running")),
        "{meta:?}"
    );
    desktop.screenshot("window-light-background").await;
    desktop.reload().await;
    cards_are(&desktop, "a page loaded again shows it", &[running]).await;

    click(&desktop, "card-stop").await;
    cards_are(
        &desktop,
        "it has ended",
        &[[command, "killed by SIGINT", "listening\na visitor"]],
    )
    .await;
    desktop.close(&home, SOON).await;
}
