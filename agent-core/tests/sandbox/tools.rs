//! The tools of the trade do their work in the sandbox.

use std::fs;

use agent_core::shell::sandbox::Level;
use pretty_assertions::assert_eq;

use crate::room::{ENGINES, Room, at};

/// What git asks of a person before their first commit.
const WHO: &str = "export GIT_AUTHOR_NAME=ada GIT_AUTHOR_EMAIL=ada@localhost GIT_COMMITTER_NAME=ada GIT_COMMITTER_EMAIL=ada@localhost; ";

#[tokio::test]
async fn git_commits_in_the_session_and_in_a_worktree() {
    for engine in ENGINES {
        let room = Room::new();
        let line = format!(
            "{WHO} git init -q . && git add inner && git commit -q -m one && git gc -q && git log --oneline | wc -l"
        );
        let run = room.run(&room.writing(engine), &line).await;
        assert_eq!(
            (run.is_success(), run.text.as_str()),
            (true, "1\n"),
            "{engine:?} {run:?}"
        );

        let made = room.run(&room.off(), "git worktree add -q ../tree").await;
        assert!(made.is_success(), "{made:?}");
        let tree = room.home.join("tree");
        let sandbox = room.sandbox_at(&tree, &at(Level::WorkspaceWrite, engine));
        let line = format!(
            "{WHO} echo x > new && git add new && git commit -q -m two && git log --oneline | wc -l"
        );
        let run = room.run_in(&tree, &sandbox, &line).await;
        assert_eq!(
            (run.is_success(), run.text.as_str()),
            (true, "2\n"),
            "{engine:?} {run:?}"
        );
        // The first worktree is another's folder all the same.
        let run = room.run_in(&tree, &sandbox, "echo x > ../root/inner").await;
        assert!(!run.is_success(), "{engine:?} {run:?}");
        let run = room
            .run_in(&tree, &room.off(), "echo x > ../root/inner")
            .await;
        assert!(run.is_success(), "{run:?}");
    }
}

/// Ways to change what cargo runs and obeys.
const CARGO_OBEYS: [&str; 6] = [
    "echo x > $CARGO_HOME/config.toml",
    "echo x > $CARGO_HOME/config",
    "echo x > $CARGO_HOME/credentials.toml",
    "echo x > $CARGO_HOME/bin/cargo",
    "echo x > $CARGO_HOME/env",
    "mv $CARGO_HOME/bin $CARGO_HOME/registry/",
];

#[tokio::test]
async fn cargo_builds_and_cannot_change_what_it_runs_or_obeys() {
    for engine in ENGINES {
        let mut room = Room::new();
        let cargo = room.home.join(".cargo");
        for folder in ["bin", "registry", "git"] {
            fs::create_dir_all(cargo.join(folder)).unwrap();
        }
        fs::write(cargo.join("config.toml"), "").unwrap();
        fs::write(cargo.join(".package-cache"), "").unwrap();
        room.set("CARGO_HOME", &cargo);
        if let Some(rustup) = std::env::var_os("RUSTUP_HOME") {
            room.set("RUSTUP_HOME", rustup.as_ref());
        }
        // A workspace of its own, because this one's folder is above it.
        let manifest = "[package]\nname = \"atlas\"\nedition = \"2024\"\n[workspace]\n";
        fs::write(room.root.join("Cargo.toml"), manifest).unwrap();
        fs::create_dir(room.root.join("src")).unwrap();
        let program = r#"fn main() { println!("Hello, world!") }"#;
        fs::write(room.root.join("src/main.rs"), program).unwrap();
        let sandbox = room.writing(engine);
        let rustc =
            "rustc=$(rustup which rustc 2>/dev/null || command -v rustc); export RUSTC=$rustc; ";
        let line =
            format!("{rustc} $(dirname $rustc)/cargo build -q --offline && target/debug/atlas");
        let run = room.run(&sandbox, &line).await;
        assert!(run.text.ends_with("Hello, world!\n"), "{engine:?} {run:?}");
        for line in CARGO_OBEYS {
            let run = room.run(&sandbox, line).await;
            assert!(!run.is_success(), "{engine:?} {line}: {run:?}");
        }
        let line =
            "touch $CARGO_HOME/registry/x $CARGO_HOME/git/x && echo x > $CARGO_HOME/.package-cache";
        let run = room.run(&sandbox, line).await;
        assert!(run.is_success(), "{engine:?} {run:?}");
        // And each of those would have worked without a sandbox.
        for line in CARGO_OBEYS {
            let run = room.run(&room.off(), line).await;
            assert!(run.is_success(), "{line}: {run:?}");
        }
    }
}

#[tokio::test]
async fn npm_installs_from_the_sessions_own_folder() {
    for engine in ENGINES {
        let room = Room::new();
        fs::create_dir(room.home.join(".npm")).unwrap();
        fs::create_dir(room.root.join("dependency")).unwrap();
        fs::write(
            room.root.join("dependency/package.json"),
            r#"{"name": "dependency", "version": "1.0.0"}"#,
        )
        .unwrap();
        let line = "tar -czf dependency.tgz dependency && npm install --offline --no-audit --no-fund ./dependency.tgz >/dev/null && ls node_modules";
        let run = room.run(&room.writing(engine), line).await;
        assert!(run.text.contains("dependency"), "{engine:?} {run:?}");
        assert!(room.home.join(".npm/_cacache").exists(), "{engine:?}");
    }
}
