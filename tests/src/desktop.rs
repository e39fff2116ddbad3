//! The desktop program in a real window, driven through the web driver of its engine.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use fantoccini::elements::Element;
use fantoccini::wd::Capabilities;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::binaries::{binary, screenshots};
use crate::display::Display;
use crate::home::Home;
use crate::patience::{SOON, eventually, until};

/// The Enter key, as `type_text` takes it.
pub const ENTER: char = '\u{E007}';
/// The Escape key, as `type_text` takes it.
pub const ESCAPE: char = '\u{E00C}';

/// The open window.
#[derive(Debug)]
pub struct Desktop {
    client: Client,
    driver: Child,
    display: Display,
    log: PathBuf,
}

impl Desktop {
    /// Opens the window in the home, on a display of its own, and waits until the page can be typed into.
    pub async fn open(home: &Home) -> Self {
        let display = Display::start().await;
        let log = home.path().join("desktop.log");
        let output = || {
            File::options()
                .create(true)
                .append(true)
                .open(&log)
                .expect("a log file in the home")
        };
        let port = free_port();
        // The driver starts the program itself, with its own environment.
        let mut driver = Command::new("WebKitWebDriver")
            .args([format!("--port={port}"), "--host=127.0.0.1".to_owned()])
            .env_clear()
            .envs(home.environment())
            .env("DISPLAY", display.name())
            .env("TAURI_WEBVIEW_AUTOMATION", "true")
            // Neither the accessibility bus nor a person's desktop takes part.
            .env("NO_AT_BRIDGE", "1")
            .env("DBUS_SESSION_BUS_ADDRESS", "disabled:")
            .current_dir(home.work_folder())
            .stdin(Stdio::null())
            .stdout(output())
            .stderr(output())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|fault| {
                panic!("cannot start WebKitWebDriver (`scripts/setup test` installs it): {fault}")
            });
        until(SOON, "the driver listens", async || {
            let ended = driver
                .try_wait()
                .expect("the driver is a child of the test");
            assert!(
                ended.is_none(),
                "the driver ended at its start: {}",
                read(&log)
            );
            TcpStream::connect(("127.0.0.1", port)).await.ok()
        })
        .await;

        let mut capabilities = Capabilities::new();
        let program = json!({ "binary": binary("placard-desktop"), "args": [] });
        capabilities.insert("webkitgtk:browserOptions".to_owned(), program);
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .unwrap_or_else(|fault| panic!("the window did not open: {fault}\n{}", read(&log)));
        let desktop = Self {
            client,
            driver,
            display,
            log,
        };
        desktop.find("composer").await;
        desktop
    }

    /// The element with this `data-testid`, as soon as there is one.
    pub async fn find(&self, testid: &str) -> Element {
        self.find_css(&format!("[data-testid={testid}]")).await
    }

    /// The element that the selector names, as soon as there is one.
    pub async fn find_css(&self, selector: &str) -> Element {
        let found = self
            .client
            .wait()
            .at_most(SOON)
            .for_element(Locator::Css(selector))
            .await;
        found.unwrap_or_else(|fault| {
            panic!(
                "{selector} is not on the page: {fault}\n{}",
                read(&self.log)
            )
        })
    }

    /// Types into the element, key by key.
    pub async fn type_text(&self, testid: &str, text: &str) {
        let element = self.find(testid).await;
        element
            .send_keys(text)
            .await
            .unwrap_or_else(|fault| panic!("cannot type into {testid}: {fault}"));
    }

    /// What a script in the page returns.
    pub async fn evaluate(&self, script: &str, arguments: Vec<Value>) -> Value {
        let value = self.client.execute(script, arguments).await;
        value.unwrap_or_else(|fault| {
            panic!(
                "the page cannot evaluate {script}: {fault}\n{}",
                read(&self.log)
            )
        })
    }

    /// Looks at the page until it satisfies the condition, and gives what that gave.
    ///
    /// # Panics
    /// When it does not within [`SOON`]; the message says what the page holds, and `failed-<process>.png` beside the
    /// other pictures shows it.
    pub async fn until<T>(&self, what: &str, condition: impl AsyncFnMut() -> Option<T>) -> T {
        if let Some(found) = eventually(SOON, condition).await {
            return found;
        }
        let picture = format!("failed-{}", self.driver.id().unwrap_or_default());
        self.screenshot(&picture).await;
        let text = self
            .evaluate("return document.body.innerText", vec![])
            .await;
        panic!(
            "waited {SOON:?} in vain until {what}. {picture}.png shows the page:\n{text}\n{}",
            read(&self.log)
        );
    }

    /// Loads the page again, as a person does with F5.
    pub async fn reload(&self) {
        self.client
            .refresh()
            .await
            .unwrap_or_else(|fault| panic!("the page does not load again: {fault}"));
    }

    /// Keeps a picture of the window as `target/screenshots/<name>.png`.
    pub async fn screenshot(&self, name: &str) {
        // The first frame after a change can still be the old one.
        let painted = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))";
        self.client
            .execute_async(painted, vec![])
            .await
            .expect("the page paints");
        let picture = self
            .client
            .screenshot()
            .await
            .expect("the window has a picture");
        let path = screenshots().join(format!("{name}.png"));
        fs::write(&path, picture)
            .unwrap_or_else(|fault| panic!("cannot write {}: {fault}", path.display()));
    }

    /// Closes the window as a person does, and waits until nothing is left of the program and of its commands.
    ///
    /// # Panics
    /// When something still runs after the time.
    pub async fn close(mut self, home: &Home, within: Duration) {
        self.display.close_window("Placard");
        let driver = self.driver.id();
        let mut left = Vec::new();
        let ended = eventually(within, async || {
            left = home.left_running();
            left.iter()
                .all(|process| Some(process.id) == driver)
                .then_some(())
        })
        .await;
        assert!(
            ended.is_some(),
            "{within:?} after the window was closed: {left:#?}\n{}",
            read(&self.log)
        );
        self.driver
            .kill()
            .await
            .expect("the driver is a child of the test");
    }
}

fn read(log: &PathBuf) -> String {
    fs::read_to_string(log).unwrap_or_default()
}

/// A port that was free a moment ago: the driver wants to be told one.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    listener
        .local_addr()
        .expect("a bound socket has an address")
        .port()
}
