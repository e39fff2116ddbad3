//! Somebody at a terminal: types and reads.

use pretty_assertions::assert_eq;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

use crate::home::PATIENCE;

/// The person at a terminal.
pub struct Person {
    keyboard: ChildStdin,
    screen: ChildStdout,
}

impl Person {
    pub fn at(terminal: &mut Child) -> Self {
        Self {
            keyboard: terminal.stdin.take().unwrap(),
            screen: terminal.stdout.take().unwrap(),
        }
    }

    pub async fn types(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).await.unwrap();
    }

    pub async fn sees(&mut self, expected: &str) {
        let mut shown = vec![0; expected.len()];
        timeout(PATIENCE, self.screen.read_exact(&mut shown))
            .await
            .expect("something is shown")
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&shown), expected);
    }

    /// All that is still shown.
    pub async fn sees_the_end(&mut self) -> String {
        let mut shown = Vec::new();
        timeout(PATIENCE, self.screen.read_to_end(&mut shown))
            .await
            .expect("the terminal closes")
            .unwrap();
        String::from_utf8(shown).unwrap()
    }
}
