//! `placard doctor` in homes that are in order, and in others.

use std::fs;
use std::process::Stdio;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use crate::home::{Home, PATIENCE};

/// The exit code and what was printed.
async fn doctor(home: &Home, arguments: &[&str], variables: &[(&str, &str)]) -> (i32, String) {
    let program = Command::new(env!("CARGO_BIN_EXE_placard"))
        .arg("doctor")
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", home.folder())
        .envs(variables.iter().copied())
        .current_dir(home.folder())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(PATIENCE, program).await.expect("it ends").unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

fn configure(home: &Home, text: &str) {
    let folder = home.folder().join(".config/placard");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), text).unwrap();
}

fn finding(report: &str, topic: &str) -> Value {
    let report: Value = serde_json::from_str(report).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["topic"] == topic);
    found.unwrap().clone()
}

#[tokio::test]
async fn a_home_in_order_works_and_leaves_no_trace() {
    let home = Home::new();
    let variables = [
        ("OPENAI_API_KEY", "k-very-secret"),
        ("LANG", "C"),
        ("TERM", "dumb"),
    ];
    let (code, text) = doctor(&home, &[], &variables).await;
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("placard "), "{text}");
    assert!(text.ends_with("\nEverything works.\n"), "{text}");
    assert!(text.contains("passed: HOME LANG PATH\n"), "{text}");
    assert!(text.contains("held back: OPENAI_API_KEY\n"), "{text}");
    assert!(
        text.contains("set by Placard: TERM COLORTERM PAGER "),
        "{text}"
    );
    assert!(!text.contains("k-very-secret"), "{text}");
    assert_eq!(fs::read_dir(home.folder()).unwrap().count(), 0);
}

#[tokio::test]
async fn the_sandbox_is_the_one_that_a_session_would_get() {
    let home = Home::new();
    let root = home.folder().canonicalize().unwrap();
    fs::create_dir(root.join("atlas")).unwrap();
    configure(
        &home,
        "[sandbox]\nlevel = \"read-only\"\nnetwork = true\n[shell.env]\npass = [\"APP_*\"]\nset = { GH_TOKEN = \"hidden\" }",
    );
    let arguments = ["--json", "--cwd", "atlas"];
    let (code, report) = doctor(&home, &arguments, &[("APP_MODE", "x")]).await;
    assert_eq!(code, 0, "{report}");
    assert!(!report.contains("hidden"), "{report}");
    let sandbox = finding(&report, "sandbox");
    let expected = format!(
        "read-only, network on, by landlock, in {}",
        home.folder().join("atlas").display()
    );
    assert_eq!(sandbox["text"], expected);
    let details = sandbox["details"].as_array().unwrap();
    assert!(details.contains(&json!("writable: /dev/null")), "{sandbox}");
    assert!(!details.contains(&json!("writable: /tmp")), "{sandbox}");
    let variables = finding(&report, "variables");
    assert_eq!(
        variables["details"],
        json!([
            "passed: APP_MODE HOME PATH",
            "set by you: GH_TOKEN",
            "set by Placard: TERM COLORTERM PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER GIT_TERMINAL_PROMPT EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR"
        ])
    );
}

#[tokio::test]
async fn a_folder_to_write_that_is_not_there_is_named() {
    let home = Home::new();
    fs::create_dir(home.folder().join("atlas")).unwrap();
    fs::create_dir(home.folder().join("notes")).unwrap();
    let configured = |level: &str| {
        format!(
            "[sandbox]\nlevel = \"{level}\"\nwritable = [\"~/notes\", \"~/lost\", \"/no/such/folder\"]"
        )
    };
    let arguments = ["--json", "--cwd", "atlas"];
    configure(&home, &configured("workspace-write"));
    let (code, report) = doctor(&home, &arguments, &[]).await;
    assert_eq!(code, 0, "{report}");
    let sandbox = finding(&report, "sandbox");
    assert_eq!(sandbox["state"], "note", "{sandbox}");
    assert_eq!(
        sandbox["details"].as_array().unwrap()[..2],
        [
            json!("not there: ~/lost"),
            json!("not there: /no/such/folder")
        ]
    );
    // Where nothing of it counts nothing of it is missed.
    configure(&home, &configured("read-only"));
    let (_, report) = doctor(&home, &arguments, &[]).await;
    assert_eq!(finding(&report, "sandbox")["state"], "ok", "{report}");
}

#[tokio::test]
async fn without_a_sandbox_no_engine_is_named() {
    let cases = [
        ("", "with the network on"),
        ("network = false", "with no network, by seccomp"),
        (
            "network = false\nengine = \"bubblewrap\"",
            "with no network, by bubblewrap",
        ),
    ];
    for (settings, network) in cases {
        let home = Home::new();
        configure(&home, &format!("[sandbox]\nlevel = \"off\"\n{settings}"));
        let (code, report) = doctor(&home, &["--json"], &[]).await;
        assert_eq!(code, 0, "{report}");
        let text = format!(
            "off: commands write wherever you can, {network}, in {}",
            home.folder().display()
        );
        assert_eq!(
            finding(&report, "sandbox"),
            json!({"topic": "sandbox", "state": "ok", "text": text, "details": []})
        );
    }
}

#[tokio::test]
async fn with_a_wrong_configuration_what_a_session_would_get_is_not_known() {
    let cases = [
        ("[sandbox]\nlevel = \"loose\"", "offline", "config.toml:2: "),
        ("", "gpt-5", "PLACARD_MODEL: `gpt-5` is no model"),
    ];
    for (file, model, mistake) in cases {
        let home = Home::new();
        configure(&home, file);
        let (code, report) = doctor(&home, &["--json"], &[("PLACARD_MODEL", model)]).await;
        assert_eq!(code, 1, "{report}");
        let configuration = finding(&report, "configuration");
        assert!(
            configuration["text"].as_str().unwrap().contains(mistake),
            "{configuration}"
        );
        for topic in ["model", "store", "sandbox", "variables"] {
            assert_eq!(
                finding(&report, topic),
                json!({
                    "topic": topic,
                    "state": "note",
                    "text": "not known until the configuration is mended; before that no session starts",
                    "details": [],
                })
            );
        }
    }
}

#[tokio::test]
async fn a_folder_for_sessions_that_cannot_be_made_is_wrong() {
    let home = Home::new();
    // Root may write in /proc by its rights, and still nobody makes a folder there.
    let (code, report) = doctor(&home, &["--json"], &[("XDG_DATA_HOME", "/proc/nope")]).await;
    assert_eq!(code, 1, "{report}");
    let sessions = finding(&report, "sessions");
    assert_eq!(sessions["state"], "wrong", "{sessions}");
    let words = sessions["text"].as_str().unwrap();
    assert!(
        words.starts_with(
            "their files cannot be kept in /proc/nope/placard: no folder can be made in /proc: "
        ),
        "{words}"
    );
    assert!(
        words.ends_with("or set XDG_DATA_HOME to a folder that you can write"),
        "{words}"
    );
}

#[tokio::test]
async fn the_store_is_named_and_looked_at() {
    let home = Home::new();
    let data = home.folder().join("data");
    let kept = data.join("placard");
    let variables = [("XDG_DATA_HOME", data.to_str().unwrap())];
    let sqlite = kept.join("sessions.sqlite");
    let expected = |state: &str, text: String| json!({"topic": "store", "state": state, "text": text, "details": []});

    let (_, report) = doctor(&home, &["--json"], &variables).await;
    assert_eq!(
        finding(&report, "store"),
        expected(
            "ok",
            format!(
                "SQLite, in {}, which the first session makes",
                sqlite.display()
            )
        )
    );
    assert!(!kept.exists());

    fs::create_dir_all(kept.join("sessions")).unwrap();
    configure(&home, "[store]\nkind = \"jsonl\"");
    let (_, report) = doctor(&home, &["--json"], &variables).await;
    assert_eq!(
        finding(&report, "store"),
        expected(
            "ok",
            format!("JSONL, in {}; it opens", kept.join("sessions").display())
        )
    );

    fs::write(&sqlite, "a letter to nobody, which is no database").unwrap();
    configure(&home, "");
    let (code, report) = doctor(&home, &["--json"], &variables).await;
    let store = finding(&report, "store");
    assert_eq!((code, &store["state"]), (1, &json!("wrong")), "{store}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_its_password() {
    let home = Home::new();
    let socket = home.folder().display();
    configure(
        &home,
        &format!("[store]\nurl = \"postgres:///placard?host={socket}&user=ada&password=geheim\""),
    );
    let (code, report) = doctor(&home, &["--json"], &[]).await;
    assert_eq!(code, 1, "{report}");
    assert!(!report.contains("geheim"), "{report}");
    let text = format!(
        "the sessions on {socket} (database placard) cannot be opened: nobody answers there (No such file or directory (os \
         error 2)); start the server, or correct `url` under [store]"
    );
    assert_eq!(
        finding(&report, "store"),
        json!({"topic": "store", "state": "wrong", "text": text, "details": []})
    );
}

#[tokio::test]
async fn what_does_not_work_is_said_and_counted() {
    let home = Home::new();
    configure(&home, "[sandbox]\nlevel = \"loose\"");
    let (code, report) = doctor(&home, &["--json"], &[]).await;
    assert_eq!(code, 1, "{report}");
    let configuration = finding(&report, "configuration");
    assert_eq!(configuration["state"], "wrong");
    let words = configuration["text"].as_str().unwrap();
    assert!(
        words.ends_with(
            "config.toml:2: `level` must be \"workspace-write\", \"read-only\" or \"off\", and here it is the text `loose`"
        ),
        "{words}"
    );

    configure(
        &home,
        "[sandbox]\nengine = \"bubblewrap\"\nlevel = \"workspace-write\"",
    );
    let variables = [
        ("PATH", "/no/such/folder"),
        ("PLACARD_MODEL", "deepseek/deepseek-chat"),
    ];
    let (code, text) = doctor(&home, &[], &variables).await;
    assert_eq!(code, 1, "{text}");
    assert!(text.ends_with("\n2 things do not work.\n"), "{text}");
    assert!(text.contains("install the package bubblewrap"), "{text}");
    assert!(
        text.contains("needs an API key: set the variable DEEPSEEK_API_KEY"),
        "{text}"
    );
}

#[tokio::test]
async fn a_home_as_the_sessions_folder_opens_the_configuration_to_commands() {
    let home = Home::new();
    let (code, report) = doctor(&home, &["--json"], &[]).await;
    assert_eq!(code, 0, "{report}");
    let sandbox = finding(&report, "sandbox");
    assert_eq!(sandbox["state"], "note", "{sandbox}");
    assert_eq!(
        sandbox["details"][0],
        "Commands can change Placard's own configuration: it lies in a folder that they may write."
    );
}
