//! What is run and loaded: our own commands for every case of the recorded wires of other agents, and what else becomes of a call.

use inspector::model_server::{Answer, Failure, Gate, Script, Step};
use serde_json::json;

use crate::scripted::{bash, finished};

/// What the person does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Person {
    Allows,
    Refuses,
    /// Cancels when the command has made the file `begun`.
    CancelsTheCommand,
    /// Cancels when the model has begun to speak.
    CancelsTheWords,
    /// Cancels when the model was asked.
    CancelsTheSilence,
}

/// A session that is run and loaded.
pub struct Case {
    pub name: &'static str,
    pub script: Script,
    pub person: Person,
    pub config: &'static str,
}

impl Case {
    pub fn new(name: &'static str, script: Script) -> Self {
        Self {
            name,
            script,
            person: Person::Allows,
            config: "",
        }
    }

    pub fn of_command(name: &'static str, command: &str) -> Self {
        let asks = bash(&json!({"command": command}));
        Self::new(name, Script::new().then(asks).then(finished()))
    }

    fn with(self, person: Person) -> Self {
        Self { person, ..self }
    }

    fn configured(self, config: &'static str) -> Self {
        Self { config, ..self }
    }
}

/// A call that must not come to run.
pub const NEVER: &str = r#"{"command": "touch never"}"#;

/// A command that is cancelled.
const WAIT: &str = "echo begun; touch begun; exec sleep 30";

/// The cases of the recorded wires of other agents.
pub fn recorded() -> Vec<Case> {
    let two = Answer::new()
        .reasoning(["Both ", "at once."])
        .text(["I look at ", "two things."])
        .call(
            "m1",
            "bash",
            [
                json!({"command": "echo first; exit 2", "description": "Looks at the first"})
                    .to_string(),
            ],
        )
        .call(
            "m2",
            "bash",
            [json!({"command": "echo second"}).to_string()],
        );
    vec![
        Case::of_command(
            "color",
            r"printf '\033[32mgreen\033[0m, \033[1;4mbold\033[0m\n'",
        ),
        Case::of_command("fail", "echo to stdout; echo to stderr >&2; exit 3"),
        Case::of_command("stream", "for n in a b c; do echo $n; sleep 0.1; done"),
        Case::of_command("signal", "echo going; kill -9 $$"),
        Case::of_command("empty", "true"),
        Case::of_command(
            "cr",
            r"printf '1 of 2\r2 of 2\r\nodd \xff\xfe bytes, no end'",
        ),
        Case::new("two", Script::new().then(two).then(finished())),
        Case::of_command("cancel", WAIT).with(Person::CancelsTheCommand),
        Case::new(
            "cancel-llm",
            Script::new().then(Answer::new().text(["Let me "]).hold(&Gate::new())),
        )
        .with(Person::CancelsTheWords),
        Case::of_command("rejected", "touch never").with(Person::Refuses),
        Case::new(
            "llm-error",
            Script::new().then(Failure::new(400, "not this")),
        ),
        Case::of_command("read", "cat a.txt"),
    ]
}

/// What else becomes of a call.
pub fn further() -> Vec<Case> {
    let kinds = "[cards]\nclassified = \"kind\"";
    let call = |tool: &str, arguments: &str| {
        let asks = Answer::new().call("m1", tool, [arguments]);
        Script::new().then(asks).then(finished())
    };
    let two = bash(&json!({"command": WAIT})).call("m2", "bash", [NEVER]);
    vec![
        Case::of_command("a fence", r"printf '```\nwithin\n`````\n'"),
        Case::of_command("many lines", "echo one\necho two\n# three"),
        Case::of_command("picture", "cat a.png"),
        Case::of_command("left running", "sleep 30 & echo started"),
        Case::new("cancel before a second call", Script::new().then(two))
            .with(Person::CancelsTheCommand),
        Case::new("cancel-llm in silence", Script::new().then(Step::Hang))
            .with(Person::CancelsTheSilence),
        Case::new(
            "llm-error behind a command",
            Script::new()
                .then(bash(&json!({"command": "echo done"})))
                .then(Failure::new(400, "not this")),
        ),
        Case::of_command("read as its kind", "cat a.txt").configured(kinds),
        Case::of_command("failed read as its kind", "cat no.txt").configured(kinds),
        Case::of_command("search as its kind", "grep -n b a.txt").configured(kinds),
        Case::new(
            "time-out",
            call(
                "bash",
                r#"{"command": "echo in; exec sleep 30", "timeout": 0.3}"#,
            ),
        ),
        Case::new(
            "no such folder",
            call(
                "bash",
                r#"{"command": "true", "workdir": "/no/such/folder"}"#,
            ),
        ),
        Case::new(
            "another folder",
            call("bash", r#"{"command": "pwd", "workdir": "below"}"#),
        ),
        Case::new("malformed arguments", call("bash", r#"{"command": "tr"#)),
        Case::new("no such tool", call("fly", r#"{"to": "Rome"}"#)),
        Case::new("another tool", call("read_file", r#"{"path": "a.txt"}"#)),
    ]
}

/// Commands in the background, to their end within the turn.
pub fn background() -> Vec<Case> {
    let until_stopped = "echo up; until [ -e stop ]; do sleep 0.02; done; echo down; exit 4";
    let started = |command: &str| {
        let arguments = json!({"command": command, "run_in_background": true});
        Script::new().then(bash(&arguments))
    };
    let look = Answer::new().call("m2", "bash_output", [r#"{"id": "call-1", "wait": 20}"#]);
    let stop = Answer::new().call("m3", "bash", [r#"{"command": "touch stop"}"#]);
    let kill = Answer::new().call("m3", "bash_kill", [r#"{"id": "call-1"}"#]);
    vec![
        Case::new(
            "background",
            started(until_stopped)
                .then(stop)
                .then(look.clone())
                .then(finished()),
        ),
        Case::new(
            "ended by the model",
            started("echo up; exec sleep 60")
                .then(look)
                .then(kill)
                .then(finished()),
        ),
    ]
}
