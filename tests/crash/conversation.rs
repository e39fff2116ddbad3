//! A short conversation that does everything that a session writes down, with an agent that may die of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use inspector::model_server::{Answer, ModelServer, Script};
use placard_tests::Home;
use serde_json::{Value, json};

use crate::client::{Client, Gone};
use crate::disk::{Disk, Tree, write_out};
use crate::library::{Order, Watch};
use crate::store::Kept;

/// How many calls there are: `call-1` and so on.
pub const CALLS: u32 = 6;

/// The call whose command goes on in the background.
pub const BACKGROUND: &str = "call-4";

/// What happens to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sabotage {
    /// What the library in front of it was told.
    Order(Order),
    /// It is killed after this time, with no library in front of it.
    KillAfter(Duration),
}

impl std::fmt::Display for Sabotage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Order(Order::Kill(when, at)) => write!(formatter, "{when} {at}"),
            Self::Order(order) => write!(formatter, "{order:?}"),
            Self::KillAfter(time) => write!(formatter, "{} ms", time.as_millis()),
        }
    }
}

/// What is left of a conversation.
#[derive(Debug)]
pub struct Aftermath {
    pub home: Home,
    /// The folder of its session.
    pub work: PathBuf,
    /// Its data folder before.
    pub before: Disk,
    /// Everything that the program has said.
    pub said: Vec<u8>,
    pub watch: Watch,
    /// It came to its end.
    pub finished: bool,
}

impl Aftermath {
    /// The calls whose commands have begun to run.
    pub fn ran(&self) -> BTreeSet<String> {
        let mark = |number: &u32| {
            self.home
                .work_folder()
                .join(format!("mark-{number}"))
                .exists()
        };
        let ran = (1..=CALLS).filter(mark);
        ran.map(|number| format!("call-{number}")).collect()
    }
}

/// What the model says. Each command leaves a mark first: that it has run.
fn script() -> Script {
    let bash = |command: &str, background: bool| {
        json!({"command": command, "run_in_background": background}).to_string()
    };
    Script::new()
        .then(
            Answer::new()
                .reasoning(["First ", "I look."])
                .text(["I look ", "around."])
                .usage(100, 20)
                .call("m1", "bash", [bash("touch mark-1; echo one", false)])
                .call(
                    "m2",
                    "bash",
                    [bash("touch mark-2; echo no >&2; exit 3", false)],
                ),
        )
        .then(Answer::new().call("m3", "bash", [bash("touch mark-3; seq 20000", false)]))
        .then(
            Answer::new()
                .reasoning(["Something slow."])
                .call(
                    "m4",
                    "bash",
                    [bash(
                        "touch mark-4; echo begun; until [ -e go ]; do sleep 0.01; done; echo over",
                        true,
                    )],
                )
                .call("m5", "bash", [bash("touch mark-5; echo five", false)]),
        )
        .then(Answer::new().text(["It is ", "done."]).usage(200, 10))
        .then(Answer::new().call("m6", "bash", [bash("touch mark-6; echo six", false)]))
        .then(Answer::new().text(["And again."]))
}

/// Talks to a fresh agent, which keeps its sessions in that way, while this goes wrong.
pub async fn converse(kept: Kept, sabotage: &Sabotage) -> Aftermath {
    let mut home = Home::new();
    let server = ModelServer::start(script()).unwrap();
    home.set("PLACARD_MODEL", "openai/gpt-test");
    home.set("OPENAI_API_KEY", "key-for-tests");
    home.set("OPENAI_BASE_URL", &server.openai_base_url());
    let watch = prepare(&home, kept);
    let before = Disk::of(&home.path().join("data"));
    let work = home.work_folder();
    let (client, finished) = match sabotage {
        Sabotage::Order(order) => {
            watch.order(order);
            let mut client = Client::start(&home, watch.environment());
            let talked = talk(&mut client, &work).await;
            (client, talked.is_ok())
        }
        Sabotage::KillAfter(time) => {
            let mut client = Client::start(&home, Vec::new());
            let talked = tokio::time::timeout(*time, talk(&mut client, &work)).await;
            client.kill();
            (client, talked.is_ok_and(|talked| talked.is_ok()))
        }
    };
    let said = client.finish(&home).await;
    Aftermath {
        home,
        work,
        before,
        said,
        watch,
        finished,
    }
}

/// Loads a session from what is left of a data folder, in a home of its own, while this goes wrong.
pub async fn load(kept: Kept, left: &Tree, session: &str, work: &Path, order: &Order) -> Aftermath {
    let home = Home::new();
    write_out(left, &home.path().join("data"));
    let watch = prepare(&home, kept);
    let before = Disk::of(&home.path().join("data"));
    watch.order(order);
    let mut client = Client::start(&home, watch.environment());
    let finished = load_and_list(&mut client, session, work).await.is_ok();
    let said = client.finish(&home).await;
    Aftermath {
        home,
        work: work.to_owned(),
        before,
        said,
        watch,
        finished,
    }
}

fn prepare(home: &Home, kept: Kept) -> Watch {
    std::fs::write(home.config_folder().join("config.toml"), kept.config()).unwrap();
    Watch::new(&home.path().join("data"), home.path())
}

async fn talk(client: &mut Client, work: &Path) -> Result<(), Gone> {
    client.greet().await?;
    let session = client.open(work).await?;
    client.prompt(&session, "Do some work.").await?;
    std::fs::write(work.join("go"), "").unwrap();
    let ended = |message: &Value| {
        let update = &message["params"]["update"];
        update["toolCallId"] == BACKGROUND && !update["_meta"]["terminal_exit"].is_null()
    };
    client.until(ended).await?;
    client.prompt(&session, "And once more.").await?;
    Ok(())
}

async fn load_and_list(client: &mut Client, session: &str, work: &Path) -> Result<(), Gone> {
    client.greet().await?;
    client.call("session/list", json!({})).await?;
    let params = json!({"sessionId": session, "cwd": work, "mcpServers": []});
    client.call("session/load", params).await?;
    Ok(())
}
