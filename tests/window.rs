//! The real window, on a display of its own, driven as a person drives it: typed into, looked at, loaded again, closed.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers of a test fail by panicking, like the test itself"
)]

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use placard_tests::{Desktop, ENTER, Home, SOON};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A card as a person sees it.
#[derive(Debug, PartialEq)]
struct Card {
    command: String,
    pill: String,
    text: String,
}

/// Every card of the page from top to bottom, without the time that the pill gives.
async fn cards(desktop: &Desktop) -> Vec<Card> {
    let script = "
        return [...document.querySelectorAll('[data-testid=card]')].map((card) => {
            const part = (name) => card.querySelector(`[data-testid=${name}]`)?.textContent.trim() ?? '';
            return [part('card-command'), part('card-pill'), window.placard.cardText(card.dataset.terminalId) ?? ''];
        })";
    let cards: Vec<[String; 3]> = serde_json::from_value(desktop.evaluate(script, vec![]).await)
        .expect("three texts for each card");
    cards
        .into_iter()
        .map(|[command, pill, text]| Card {
            command,
            pill: pill.split(" · ").next().unwrap_or_default().to_owned(),
            text: text
                .lines()
                .map(str::trim_end)
                .collect::<Vec<_>>()
                .join("\n")
                .trim_end()
                .to_owned(),
        })
        .collect()
}

/// The text of the only card, once it satisfies the condition.
async fn card_text(desktop: &Desktop, what: &str, condition: impl Fn(&str) -> bool) -> String {
    desktop
        .until(what, async || {
            let mut cards = cards(desktop).await;
            assert!(cards.len() <= 1, "one command has one card: {cards:#?}");
            cards
                .pop()
                .map(|card| card.text)
                .filter(|text| condition(text))
        })
        .await
}

/// All cards, once none of them runs any more.
async fn ended_cards(desktop: &Desktop) -> Vec<Card> {
    desktop
        .until("every card has ended", async || {
            let cards = cards(desktop).await;
            let running = |card: &Card| card.pill.is_empty() || card.pill == "running";
            (!cards.is_empty() && !cards.iter().any(running)).then_some(cards)
        })
        .await
}

fn numbers(to: u32) -> String {
    (1..=to)
        .map(|number| number.to_string())
        .collect::<Vec<_>>()
        .join("\n")
}

#[tokio::test]
async fn output_appears_in_the_card_while_the_command_runs() {
    let home = Home::new();
    let desktop = Desktop::open(&home).await;
    let command = "for i in 1 2 3; do echo $i; sleep 0.3; done";

    desktop
        .type_text("composer", &format!("$ {command}{ENTER}"))
        .await;
    let early = card_text(&desktop, "the card shows its first line", |text| {
        !text.is_empty()
    })
    .await;
    assert!(
        early.starts_with('1') && !early.contains('3'),
        "1 is seen before 3 is printed, not {early:?}"
    );
    let ended = Card {
        command: command.to_owned(),
        pill: "ok".to_owned(),
        text: numbers(3),
    };
    assert_eq!(ended_cards(&desktop).await, [ended]);
    desktop.screenshot("window-light").await;
    desktop.close(&home, SOON).await;
}

#[tokio::test]
async fn a_page_loaded_again_in_mid_run_goes_on_with_the_same_card() {
    let home = Home::new();
    let desktop = Desktop::open(&home).await;
    let command = "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.3; done";

    desktop
        .type_text("composer", &format!("$ {command}{ENTER}"))
        .await;
    card_text(&desktop, "the command has begun", |text| text.contains('2')).await;
    let id = desktop
        .find("card")
        .await
        .attr("data-terminal-id")
        .await
        .expect("the card has attributes");
    desktop.reload().await;

    let again = card_text(&desktop, "the card is back", |text| text.contains('2')).await;
    assert!(
        !again.contains('8'),
        "the page came back while the command ran, not after it: {again:?}"
    );
    let ended = Card {
        command: command.to_owned(),
        pill: "ok".to_owned(),
        text: numbers(8),
    };
    assert_eq!(ended_cards(&desktop).await, [ended]);
    let same = desktop
        .find("card")
        .await
        .attr("data-terminal-id")
        .await
        .expect("the card has attributes");
    assert_eq!(same, id);
    desktop.close(&home, SOON).await;
}

#[tokio::test]
async fn nothing_is_left_of_a_command_when_the_window_is_closed() {
    let home = Home::new();
    let desktop = Desktop::open(&home).await;

    desktop
        .type_text(
            "composer",
            &format!("$ echo ready; sleep 301 & sleep 302{ENTER}"),
        )
        .await;
    card_text(&desktop, "the command has begun", |text| {
        text.contains("ready")
    })
    .await;
    let sleeping = || {
        home.left_running()
            .into_iter()
            .filter(|process| process.command.starts_with("sleep 30"))
            .count()
    };
    desktop
        .until("both of them sleep", async || {
            (sleeping() == 2).then_some(())
        })
        .await;
    desktop.screenshot("window-light-running").await;

    desktop.close(&home, SOON).await;
    home.quiet(Duration::ZERO).await;
}

#[tokio::test]
async fn the_window_follows_a_dark_desktop() {
    let home = Home::new();
    let settings = home.folder("config/gtk-3.0").join("settings.ini");
    fs::write(
        settings,
        "[Settings]\ngtk-application-prefer-dark-theme=1\n",
    )
    .expect("the home can be written to");
    let desktop = Desktop::open(&home).await;

    let dark = desktop
        .evaluate(
            "return matchMedia('(prefers-color-scheme: dark)').matches",
            vec![],
        )
        .await;
    assert_eq!(dark, json!(true));
    let paper = desktop
        .evaluate(
            "return getComputedStyle(document.body).backgroundColor",
            vec![],
        )
        .await;
    assert_eq!(paper, json!("rgb(23, 24, 23)"));

    let colours = r"printf '\033[31mred \033[32mgreen \033[34mblue\033[0m plain\n'; exit 3";
    desktop
        .type_text("composer", &format!("$ {colours}{ENTER}"))
        .await;
    let failed = Card {
        command: colours.to_owned(),
        pill: "exit 3".to_owned(),
        text: "red green blue plain".to_owned(),
    };
    assert_eq!(ended_cards(&desktop).await, [failed]);
    let script = "
        const colours = {};
        for (const span of document.querySelectorAll('[data-testid=card-output] span'))
            for (const word of span.textContent.split(' ').filter(Boolean)) colours[word] = getComputedStyle(span).color;
        return colours";
    let drawn = ["red", "green", "blue", "plain"];
    let colours: BTreeSet<String> = desktop
        .until("the words are drawn", async || {
            let found = desktop.evaluate(script, vec![]).await;
            drawn
                .iter()
                .map(|word| found[word].as_str().map(str::to_owned))
                .collect()
        })
        .await;
    assert_eq!(
        colours.len(),
        drawn.len(),
        "each word has a colour of its own: {colours:?}"
    );
    desktop.screenshot("window-dark").await;
    desktop.close(&home, SOON).await;
}

/// What the page may do is what the capability file says: talk to the hub.
#[tokio::test]
async fn the_page_can_ask_for_nothing_but_the_hub() {
    let home = Home::new();
    let desktop = Desktop::open(&home).await;

    let script = "
        return Promise.all(['plugin:window|close', 'plugin:app|version', 'plugin:event|emit'].map((command) =>
            window.__TAURI_INTERNALS__.invoke(command, {}).then(() => 'granted', (fault) => String(fault).split(' not allowed')[0])))";
    let answers: Value = desktop.evaluate(script, vec![]).await;
    assert_eq!(
        answers,
        json!(["window.close", "app.version", "event.emit"])
    );

    desktop
        .evaluate("window.location.href = 'https://example.org/'", vec![])
        .await;
    let address = desktop
        .evaluate("return window.location.href", vec![])
        .await;
    assert_eq!(address, json!("tauri://localhost"));
    desktop.close(&home, SOON).await;
}
