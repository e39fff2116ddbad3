//! What people reported of other programs' processes, each with the input that shows it, against real bash.

use std::time::{Duration, Instant};

use inspector::model_server::Script;
use placard_tests::{Home, until};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::command::{closed, exits, output, told};
use crate::editor::{Editor, draws_cards};
use crate::scripted::{Scripted, bash, finished};

/// A prompt is answered this soon after its cancel.
const CANCEL: Duration = Duration::from_secs(1);
/// Nothing that a command started lives longer than this after its end was asked for.
const GONE: Duration = Duration::from_secs(2);

/// What runs in the home besides the agent itself and the supervisors of its commands.
fn commands(home: &Home) -> Vec<String> {
    home.left_running()
        .into_iter()
        .map(|process| process.command)
        .filter(|command| !command.ends_with("placard acp") && !command.contains("supervis"))
        .collect()
}

/// A command that was started and has printed this.
struct Begun {
    home: Home,
    editor: Editor,
    session: String,
    prompt: i64,
}

async fn begun(home: Home, command: &str) -> Begun {
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    let prompt = editor.prompt(&session, &format!("$ {command}")).await;
    editor
        .until(|message| {
            output(&message["params"]["update"]).is_some_and(|text| text.contains("begun"))
        })
        .await;
    Begun {
        home,
        editor,
        session,
        prompt,
    }
}

impl Begun {
    /// Cancels, and gives the exits of the cards once the prompt is answered in time and nothing of it runs.
    async fn cancelled(&mut self) -> Vec<Value> {
        let cancelled = Instant::now();
        self.editor.cancel(&self.session).await;
        let answer = self.editor.response(self.prompt).await;
        let took = cancelled.elapsed();
        assert_eq!(answer["result"], json!({"stopReason": "cancelled"}));
        assert!(took < CANCEL, "{took:?}");
        until(
            GONE.saturating_sub(took),
            "nothing but the agent runs",
            async || commands(&self.home).is_empty().then_some(()),
        )
        .await;
        exits(&self.editor.calls(&self.session))
    }
}

#[tokio::test]
async fn f12_a_command_returns_at_once_with_a_child_left_running_which_ends_with_the_session() {
    let home = Home::alone();
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    let begun = Instant::now();
    let answer = editor.turn(&session, "$ sleep 60 & echo done").await;
    assert!(begun.elapsed() < Duration::from_secs(2), "{begun:?}");
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert_eq!(editor.printed(&session), "done\r\n");
    // Our own window says on the card what was left; the exit is the command's own.
    let mut exit = closed("call-1", "completed", Some(0), None);
    exit["_meta"]["placard"] = json!({"left_running": true});
    assert_eq!(exits(&editor.calls(&session)), [exit]);
    assert_eq!(commands(&home), ["sleep 60"]);
    editor.close(Duration::from_secs(5)).await;
    home.quiet(GONE).await;
}

#[tokio::test]
async fn f12_the_model_is_told_what_was_left_running() {
    let script = Script::new()
        .then(bash(&json!({"command": "sleep 60 & echo done"})))
        .then(finished());
    let mut agent = Scripted::start(Home::new(), draws_cards(), script).await;
    agent.turn().await;
    assert_eq!(agent.model_read(), ["done\n[exit 0; left running: 1]"]);
}

#[tokio::test]
async fn f13_no_child_outlives_a_cancel_however_it_left_its_parent() {
    let command = "echo begun; setsid sleep 999 & nohup sleep 998 & (sleep 997 &); sleep 996";
    let mut begun = begun(Home::alone(), command).await;
    let exits = begun.cancelled().await;
    assert_eq!(exits, [closed("call-1", "failed", None, Some("SIGINT"))]);
    assert!(
        begun
            .editor
            .printed(&begun.session)
            .starts_with("begun\r\n")
    );

    // The session goes on.
    let answer = begun.editor.turn(&begun.session, "$ echo again").await;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert!(begun.editor.printed(&begun.session).ends_with("again\r\n"));
}

#[tokio::test]
async fn f14_a_command_that_ignores_the_polite_signals_is_killed_and_its_card_says_so() {
    let command = "trap '' TERM INT; echo begun; while :; do sleep 100; done";
    let mut begun = begun(Home::alone(), command).await;
    let exits = begun.cancelled().await;
    assert_eq!(exits, [closed("call-1", "failed", None, Some("SIGKILL"))]);
}

#[tokio::test]
async fn f15_what_reads_where_nobody_can_type_finds_the_end_at_once() {
    let told = told(
        &Home::new(),
        draws_cards(),
        "$ cat\n$ read x; echo \"$? [$x]\"\n$ cat - | wc -c",
    )
    .await;
    assert_eq!(told.printed(), "1 []\r\n0\r\n");
    assert_eq!(
        told.exits(),
        ["call-1", "call-2", "call-3"].map(|call| closed(call, "completed", Some(0), None))
    );
}

#[tokio::test]
async fn f15_what_reads_where_somebody_can_type_is_said_to_wait_and_takes_what_is_typed() {
    let home = Home::new();
    let capabilities =
        json!({"_meta": {"terminal_output": true, "placard": {"terminal_input": true}}});
    let mut editor = Editor::connect(&home, capabilities).await;
    let session = editor.session(&home.work_folder()).await;
    let prompt = editor.prompt(&session, "$ read x; echo got $x").await;
    let waits = editor
        .until(|message| message["method"] == "_placard/terminal_state")
        .await;
    let terminal = json!({"sessionId": session, "terminalId": "terminal-call-1"});
    let mut state = terminal.clone();
    state["state"] = json!("waiting");
    assert_eq!(waits["params"], state);
    let mut typed = terminal;
    typed["data"] = json!("Ada\r");
    editor.call("_placard/terminal_input", typed).await;
    editor.response(prompt).await;
    assert_eq!(editor.printed(&session), "Ada\r\ngot Ada\r\n");
}

#[tokio::test]
async fn f16_every_exit_is_told_once_and_as_it_was() {
    let prompt = "$ kill -9 $$\n$ exit 300\n$ exit 255\n$ no-such-command-here\n$ exit 3\n$ true\n$ bash -c 'kill -TERM $$'";
    let told = told(&Home::new(), draws_cards(), prompt).await;
    assert_eq!(
        told.exits(),
        [
            closed("call-1", "failed", None, Some("SIGKILL")),
            closed("call-2", "failed", Some(44), None),
            closed("call-3", "failed", Some(255), None),
            closed("call-4", "failed", Some(127), None),
            closed("call-5", "failed", Some(3), None),
            closed("call-6", "completed", Some(0), None),
            // A shell's own way to tell of its child's signal stays an exit code, unless the shell became that child.
            closed("call-7", "failed", None, Some("SIGTERM")),
        ]
    );
    assert_eq!(told.answer["result"]["stopReason"], "end_turn");
}

#[tokio::test]
async fn f16_a_folder_that_is_not_there_is_an_error_before_anything_runs() {
    let home = Home::new();
    let ran = home.work_folder().join("ran");
    let touch = format!("touch {}", ran.display());
    let script = Script::new()
        .then(bash(
            &json!({"command": touch, "workdir": "no/such/folder"}),
        ))
        .then(finished());
    let mut agent = Scripted::start(home, draws_cards(), script).await;
    agent.turn().await;
    assert!(!ran.exists());
    assert_eq!(
        exits(&agent.editor.calls(&agent.session)),
        [closed("call-1", "failed", None, None)]
    );
    let folder = agent.home.work_folder().join("no/such/folder");
    let reason = format!(
        "the folder {} to run the command in cannot be used: No such file or directory (os error 2); name one that exists",
        folder.display()
    );
    assert_eq!(
        agent.editor.printed(&agent.session),
        format!("placard: {reason}\r\n")
    );
    assert_eq!(agent.model_read(), [format!("{reason}\n[not run]")]);
}

#[tokio::test]
async fn f17_a_killed_agent_takes_its_commands_with_it() {
    let command = "echo begun; setsid sleep 36 & (sleep 37 &); sleep 38";
    let Begun { home, editor, .. } = begun(Home::alone(), command).await;
    // Dropping the program kills it.
    drop(editor);
    home.quiet(GONE).await;
}

#[tokio::test]
async fn f18_a_cancel_leaves_what_an_earlier_turn_started_in_the_background() {
    let script = Script::new()
        .then(bash(
            &json!({"command": "echo up; exec sleep 60", "run_in_background": true}),
        ))
        .then(finished())
        .then(bash(&json!({"command": "echo begun; exec sleep 61"})));
    let mut agent = Scripted::start(Home::alone(), draws_cards(), script).await;
    agent.turn().await;
    let prompt = agent.editor.prompt(&agent.session, "go on").await;
    loop {
        let message = agent.next_allowed().await;
        if output(&message["params"]["update"]) == Some("begun\r\n") {
            break;
        }
    }
    agent.editor.cancel(&agent.session).await;
    let answer = agent.editor.response(prompt).await;
    assert_eq!(answer["result"], json!({"stopReason": "cancelled"}));
    assert_eq!(
        exits(&agent.editor.calls(&agent.session)),
        [closed("call-2", "failed", None, Some("SIGINT"))]
    );
    assert_eq!(commands(&agent.home), ["sleep 60"]);
    agent.editor.close(Duration::from_secs(5)).await;
    agent.home.quiet(GONE).await;
}

#[tokio::test]
async fn f19_a_command_sees_no_secret_of_the_person_and_finds_its_way() {
    let mut home = Home::new();
    let hidden = [
        ("OPENAI_API_KEY", "sk-1"),
        ("ANTHROPIC_API_KEY", "sk-2"),
        ("GITHUB_TOKEN", "ghp"),
        ("DB_PASSWORD", "pw"),
        ("PGPASSWORD", "pw"),
        ("AWS_ACCESS_KEY_ID", "AKIA"),
        ("AWS_SECRET_ACCESS_KEY", "aws"),
        ("AWS_SESSION_TOKEN", "aws"),
        ("AZURE_CLIENT_SECRET", "az"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/ada/gcp.json"),
        ("KUBECONFIG", "/home/ada/kube"),
        ("DATABASE_URL", "postgres://ada:pw@db/x"),
        ("LD_PRELOAD", "/nowhere/preloaded.so"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/bus"),
        ("BASH_ENV", "/nowhere/rc"),
    ];
    let passed = [
        ("LANG", "C.UTF-8"),
        ("https_proxy", "http://proxy.test:3128"),
        ("NO_PROXY", "localhost"),
        ("SSL_CERT_FILE", "/etc/ssl/own.pem"),
    ];
    for (name, value) in hidden.iter().chain(&passed) {
        home.set(name, value);
    }
    home.set("EDITOR", "vim");
    home.set("TERM", "dumb");
    let told = told(
        &home,
        draws_cards(),
        "$ env --null | sort --zero-terminated | tr '\\0' '\\n'",
    )
    .await;
    let text = told.printed();
    let environment: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.trim_end().split_once('='))
        .collect();
    let value = |name: &str| {
        environment
            .iter()
            .find_map(|(known, value)| (*known == name).then_some(*value))
    };
    for (name, _) in hidden {
        assert_eq!(value(name), None, "{name}");
    }
    for (_, secret) in hidden {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    for (name, expected) in passed {
        assert_eq!(value(name), Some(expected), "{name}");
    }
    let path = std::env::var("PATH").unwrap();
    assert_eq!(value("PATH"), Some(path.as_str()));
    assert_eq!(value("HOME"), home.path().to_str());
    assert_eq!(value("TERM"), Some("xterm-256color"));
}

#[tokio::test]
async fn f19_an_editor_fails_at_once_and_says_why() {
    let mut home = Home::new();
    home.set("EDITOR", "vim");
    let command = "git init -q . && git -c user.name=A -c user.email=a@b commit -q --allow-empty";
    let told = told(
        &home,
        draws_cards(),
        &format!("$ {command}\n$ eval \"$EDITOR file\"\n$ eval \"$VISUAL file\""),
    )
    .await;
    let said = told.printed();
    let reason = "placard: there is no editor here; give the text by an option (git commit -m) or write the file\r\n";
    assert_eq!(said.matches(reason).count(), 3, "{said}");
    assert_eq!(
        told.exits(),
        [
            closed("call-1", "failed", Some(1), None),
            closed("call-2", "failed", Some(1), None),
            closed("call-3", "failed", Some(1), None),
        ]
    );
}
