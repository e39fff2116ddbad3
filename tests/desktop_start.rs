//! The desktop program where it opens no window: asked what it is, and without a display.

use placard_tests::{Home, Program, SOON, binary};
use pretty_assertions::assert_eq;

/// What the program printed, said on stderr, and its exit code.
async fn answer(home: &Home, arguments: &[&str]) -> (Vec<String>, String, Option<i32>) {
    let mut program = Program::start(home, &binary("placard-desktop"), arguments);
    let mut lines = Vec::new();
    while let Some(line) = program.next_line(SOON).await {
        lines.push(line);
    }
    let code = program.ended(SOON).await.code();
    (lines, program.stderr(SOON).await, code)
}

#[tokio::test]
async fn without_a_display_it_says_so_and_names_the_way_through_a_browser() {
    let mut home = Home::new();
    let words = |why: &str| {
        format!(
            "placard-desktop: there is no display to open a window on: {why}. `placard serve` shows the same chat in a browser\n"
        )
    };
    assert_eq!(
        answer(&home, &[]).await,
        (
            vec![],
            words("neither DISPLAY nor WAYLAND_DISPLAY is set"),
            Some(2)
        )
    );
    // No server has a number as high as this.
    home.set("DISPLAY", ":59873");
    assert_eq!(
        answer(&home, &[]).await,
        (vec![], words("nothing answers at DISPLAY=:59873"), Some(2))
    );
}

#[tokio::test]
async fn help_and_version_need_no_display() {
    let home = Home::new();
    let version = format!("placard-desktop {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        answer(&home, &["--version"]).await,
        (vec![version], String::new(), Some(0))
    );
    let (lines, stderr, code) = answer(&home, &["--help"]).await;
    assert_eq!((stderr, code), (String::new(), Some(0)));
    assert!(
        lines
            .iter()
            .any(|line| line.contains("Usage: placard-desktop")),
        "{lines:#?}"
    );
}
