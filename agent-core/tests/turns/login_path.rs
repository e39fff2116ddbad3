//! F20: commands of a program that was started from a menu find what they would find in a terminal.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use agent_core::agent::FrontAbilities;
use agent_core::session::event::{EventKind, TurnEndReason};
use agent_core::store::memory::MemoryStore;
use agent_core::surroundings::LoginPath;
use pretty_assertions::assert_eq;

use super::Stage;

/// Writes a program. Another process does, because a child of another test could hold a file of this one open for writing, and then
/// it could not be executed.
fn write_program(file: &Path, lines: &str) {
    let written = Command::new("sh")
        .args(["-c", r#"printf '%s' "$1" > "$2" && chmod 700 "$2""#, "sh"])
        .arg(format!("#!/bin/sh\n{lines}\n"))
        .arg(file)
        .status();
    assert!(written.unwrap().success());
}

/// The result of the last command.
async fn told(stage: &Stage, prompt: &str) -> String {
    assert_eq!(stage.turn(prompt).await, (TurnEndReason::Completed, None));
    let events = stage.session().events().await.unwrap();
    let mut results = events.iter().filter_map(|event| match event.what.known()? {
        EventKind::ToolResult { content, .. } => Some(content.clone()),
        _ => None,
    });
    results.next_back().unwrap()
}

#[tokio::test]
async fn f20_commands_get_the_path_of_the_login_shell_which_is_asked_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::create_dir(path("tools")).unwrap();
    write_program(path("tools/greet").as_ref(), "echo greetings");
    // A shell with a profile: it is called with the options of a login and a line that asks.
    let profile = format!(
        "echo asked >> {}; export PATH=\"{}:$PATH\"; shift 3; eval \"$1\"",
        path("asked"),
        path("tools")
    );
    write_program(path("shell").as_ref(), &profile);
    let mut stage = Stage::new(
        &[("SHELL", &path("shell"))],
        Some(Arc::new(MemoryStore::default())),
    );
    let own = std::env::var("PATH").unwrap();
    let line = "$ greet; echo $PATH";

    // As it would be without: this session was open before the shell was named.
    let without = told(&stage, line).await;
    assert!(
        without.ends_with(&format!("command not found\n{own}\n[exit 0]")),
        "{without}"
    );

    let login = LoginPath::of(stage.agent.surroundings().environment.clone());
    stage.agent.use_login_path(login);
    let work = stage.folder.path().join("work");
    let opened = stage
        .agent
        .open_session(&work, &[], FrontAbilities::default());
    stage.opened = Some(opened.unwrap());
    let with = format!("greetings\n{}:{own}\n[exit 0]", path("tools"));
    for _ in 0..2 {
        assert_eq!(told(&stage, line).await, with);
    }
    assert_eq!(std::fs::read_to_string(path("asked")).unwrap(), "asked\n");
}
