//! The real window, on a display of its own, driven as a person drives it: typed into, looked at, loaded again, closed.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers of a test fail by panicking, like the test itself"
)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use inspector::model_server::{Answer, ModelServer, Script};
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

/// The only card, once its text satisfies the condition.
async fn card_with(desktop: &Desktop, what: &str, condition: impl Fn(&str) -> bool) -> Card {
    desktop
        .until(what, async || {
            let mut cards = cards(desktop).await;
            assert!(cards.len() <= 1, "one command has one card: {cards:#?}");
            cards.pop().filter(|card| condition(&card.text))
        })
        .await
}

/// The terminal id of the only card.
async fn terminal_id(desktop: &Desktop) -> Option<String> {
    let card = desktop.find("card").await;
    card.attr("data-terminal-id")
        .await
        .expect("the card has attributes")
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

/// Alone, since it is about time: the page has 0.6 s to show the first line before the third is there.
#[tokio::test]
async fn output_appears_in_the_card_while_the_command_runs() {
    let home = Home::alone();
    let desktop = Desktop::open(&home).await;
    let command = "for i in 1 2 3; do echo $i; sleep 0.3; done";
    // The page itself keeps what its card says from moment to moment: closer than questions from outside.
    let record = "
        window.seen = new Set();
        setInterval(() => {
            for (const card of document.querySelectorAll('[data-testid=card]'))
                window.seen.add(window.placard.cardText(card.dataset.terminalId).trim());
        }, 10)";
    desktop.evaluate(record, vec![]).await;

    desktop
        .type_text("composer", &format!("$ {command}{ENTER}"))
        .await;
    let ended = Card {
        command: command.to_owned(),
        pill: "ok".to_owned(),
        text: "1\n2\n3".to_owned(),
    };
    assert_eq!(ended_cards(&desktop).await, [ended]);
    let seen = desktop
        .evaluate(
            "return [...window.seen].map((text) => text.split(/\\s+/).join(' '))",
            vec![],
        )
        .await;
    let seen: Vec<String> = serde_json::from_value(seen).expect("a list of texts");
    assert!(
        seen.iter().any(|text| text == "1" || text == "1 2"),
        "1 is seen before 3 is: {seen:?}"
    );
    desktop.screenshot("window-light").await;
    desktop.close(&home, SOON).await;
}

#[tokio::test]
async fn a_page_loaded_again_in_mid_run_goes_on_with_the_same_card() {
    let home = Home::new();
    let desktop = Desktop::open(&home).await;
    // Each number is printed when the test says so, by a file.
    let command = "for i in 1 2 3; do until [ -e $i ]; do sleep 0.02; done; echo $i; done";
    let print = |number: &str| {
        fs::write(home.work_folder().join(number), "").expect("the home can be written to");
    };
    let card = |pill: &str, text: &str| Card {
        command: command.to_owned(),
        pill: pill.to_owned(),
        text: text.to_owned(),
    };

    desktop
        .type_text("composer", &format!("$ {command}{ENTER}"))
        .await;
    print("1");
    assert_eq!(
        card_with(&desktop, "the card shows 1", |text| text.contains('1')).await,
        card("running", "1")
    );
    let id = terminal_id(&desktop).await;

    print("2");
    desktop.reload().await;
    assert_eq!(
        card_with(&desktop, "the card is back", |text| text.contains('2')).await,
        card("running", "1\n2")
    );
    print("3");
    assert_eq!(ended_cards(&desktop).await, [card("ok", "1\n2\n3")]);
    assert_eq!(terminal_id(&desktop).await, id);
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
    card_with(&desktop, "the command has begun", |text| {
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

/// A stand-in for the system's opener keeps what it is asked to open.
#[tokio::test]
async fn a_web_link_opens_in_the_systems_browser_and_the_window_stays() {
    let answer = "Read [the manual](https://example.org/manual?part=2#b) first.";
    let server = ModelServer::start(Script::new().then(Answer::new().text([answer])))
        .expect("a server on loopback");
    let mut home = Home::new();
    home.set("PLACARD_MODEL", "deepseek/deepseek-chat");
    home.set("DEEPSEEK_API_KEY", "key-for-tests");
    home.set("DEEPSEEK_BASE_URL", &server.openai_base_url());
    let kept = home.path().join("opened");
    let opener = home.folder("bin").join("xdg-open");
    fs::write(
        &opener,
        format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >> '{}'\n", kept.display()),
    )
    .expect("the home can be written to");
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).expect("its mode");
    let usual = std::env::var("PATH").expect("a test has a PATH");
    home.set(
        "PATH",
        &format!("{}:{usual}", home.path().join("bin").display()),
    );
    let desktop = Desktop::open(&home).await;

    desktop
        .type_text("composer", &format!("Where do I begin?{ENTER}"))
        .await;
    let link = desktop.find_css("[data-testid=message-assistant] a").await;
    link.click().await.expect("the link takes a click");
    let asked = desktop
        .until("the browser is asked for", async || {
            fs::read_to_string(&kept)
                .ok()
                .filter(|text| text.ends_with('\n'))
        })
        .await;
    assert_eq!(asked, "https://example.org/manual?part=2#b\n");
    let address = desktop
        .evaluate("return window.location.href", vec![])
        .await;
    assert_eq!(address, json!("tauri://localhost"));
    desktop.close(&home, SOON).await;
}
