//! Looks at what is left of a session as the program itself does at its next start, and says what is wrong with it.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use agent_core::agent::FrontAbilities;
use agent_core::session::SessionId;
use agent_core::session::event::{Event, EventKind, TurnEndReason};
use agent_core::store::{BlobId, SessionStore};
use agent_core::{Agent, Environment, Surroundings};
use inspector::model_server::{Answer, ModelServer, Script};
use placard_tests::binary;
use serde_json::Value;

use crate::conversation::{Aftermath, BACKGROUND};
use crate::store::Kept;
use crate::told::Told;

/// What is looked at.
#[derive(Debug, Clone)]
pub struct Remains<'r> {
    pub kept: Kept,
    /// The home whose agent made it; paths in the log are below it.
    pub home: &'r Path,
    /// `$XDG_DATA_HOME/placard` of what is left.
    pub data: PathBuf,
    pub told: Told,
    /// Calls that are known to have run.
    pub ran: BTreeSet<String>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The log as it was left.
    pub left: Vec<Event>,
    /// The log as it was repaired.
    pub repaired: Vec<Event>,
}

impl<'r> Remains<'r> {
    /// What an agent left in its home.
    pub fn of(kept: Kept, aftermath: &'r Aftermath) -> Self {
        Self {
            kept,
            home: aftermath.home.path(),
            data: aftermath.home.data_folder(),
            told: Told::of(&aftermath.said),
            ran: aftermath.ran(),
        }
    }

    /// Loads the session twice, goes on with it with models of both formats, and compares it with what was told and with how the
    /// log of an undisturbed program goes. What is wrong, in words.
    pub async fn survey(&self, undisturbed: &[Value]) -> Result<Found, String> {
        let Some(id) = self.told.session.clone().map(SessionId::from) else {
            return Ok(Found::default());
        };
        let left = self.left(&id).await?;
        let missing = self.told.missing_in(&left, &self.ran);
        if !missing.is_empty() {
            return Err(format!("lost: {}", missing.join("; ")));
        }
        if left.is_empty() {
            self.begin_anew().await?;
            return Ok(Found::default());
        }
        self.check_prefix(&left, undisturbed)?;
        let repaired = self.load(&id).await?;
        if !repaired.starts_with(&left) {
            return Err("the repair has changed what was there".to_owned());
        }
        check_balance(&repaired)?;
        let again = self.load(&id).await?;
        if again != repaired {
            return Err(format!(
                "a second load gives another log: {again:#?}\nafter {repaired:#?}"
            ));
        }
        self.check_blobs(&id, &repaired).await?;
        self.go_on(&id, &repaired).await?;
        Ok(Found { left, repaired })
    }

    /// Where there is no session there can be one.
    async fn begin_anew(&self) -> Result<(), String> {
        let agent = self.agent("offline", None);
        let opened = agent
            .open_session(&self.home.join("work"), &[], FrontAbilities::default())
            .map_err(said)?;
        let slot = opened.session.begin_turn().map_err(said)?;
        let end = slot.run("Hello?".to_owned()).await.end;
        opened.session.close().await;
        agent.shutdown().await;
        if end.reason != TurnEndReason::Completed {
            return Err(format!("there can be no new session: {end:?}"));
        }
        let store = self.open().await?;
        let there = store.has(opened.session.id()).await.map_err(said)?;
        store.close().await;
        there
            .then_some(())
            .ok_or("a new session is gone".to_owned())
    }

    async fn open(&self) -> Result<std::sync::Arc<dyn SessionStore>, String> {
        self.kept
            .open(&self.data)
            .await
            .map_err(|error| format!("the store does not open: {error}"))
    }

    /// The log before anything is repaired; empty without a session.
    async fn left(&self, id: &SessionId) -> Result<Vec<Event>, String> {
        let store = self.open().await?;
        let summary = store.summary(id).await.map_err(said)?;
        let log = match summary {
            None => Vec::new(),
            Some(summary) => {
                let log = store.read(id, 0, usize::MAX).await.map_err(said)?;
                if summary.events != log.len() as u64 {
                    return Err(format!("{} events are {}", summary.events, log.len()));
                }
                if log.is_empty() {
                    return Err("a session without an event is told of".to_owned());
                }
                log
            }
        };
        store.close().await;
        let gap = log.iter().zip(0..).find(|(event, seq)| event.seq != *seq);
        match gap {
            Some((event, seq)) => Err(format!("event {} stands where {seq} should", event.seq)),
            None => Ok(log),
        }
    }

    /// Loads the session, closes it, and gives its log.
    async fn load(&self, id: &SessionId) -> Result<Vec<Event>, String> {
        let agent = self.agent("offline", None);
        let work = self.home.join("work");
        let loading = agent.load_session(id, &work, &[], FrontAbilities::default());
        let opened = loading
            .await
            .map_err(|error| format!("it does not load: {error}"))?;
        let log = opened.session.events().await.map_err(said)?;
        opened.session.close().await;
        agent.shutdown().await;
        Ok(log)
    }

    fn agent(&self, model: &str, server: Option<&ModelServer>) -> Agent {
        let mut variables = vec![
            ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
            ("PLACARD_MODEL".to_owned(), model.to_owned()),
        ];
        if let Some(server) = server {
            let key = "key-for-tests".to_owned();
            variables.extend([
                ("OPENAI_API_KEY".to_owned(), key.clone()),
                ("ANTHROPIC_API_KEY".to_owned(), key),
                ("OPENAI_BASE_URL".to_owned(), server.openai_base_url()),
                ("ANTHROPIC_BASE_URL".to_owned(), server.anthropic_base_url()),
            ]);
        }
        let environment: Environment = variables.into_iter().collect();
        Agent::new(Surroundings {
            environment,
            config_dir: self.home.join("config/placard"),
            data_dir: self.data.clone(),
            cache_dir: self.home.join("cache/placard"),
            program: binary("placard"),
        })
    }

    /// Whether the log is how the undisturbed one begins. The end of the command in the background may stand anywhere.
    fn check_prefix(&self, left: &[Event], undisturbed: &[Value]) -> Result<(), String> {
        if undisturbed.is_empty() {
            return Ok(());
        }
        let own = plain(left, self.home);
        for (at, event) in own.iter().enumerate() {
            let other = undisturbed.get(at);
            if other != Some(event) {
                return Err(format!(
                    "event {at} is {event}\nwhere an undisturbed log has {}",
                    other.unwrap_or(&Value::Null)
                ));
            }
        }
        Ok(())
    }

    async fn check_blobs(&self, id: &SessionId, log: &[Event]) -> Result<(), String> {
        let store = self.open().await?;
        for event in log {
            let Some(EventKind::TerminalExit {
                output_ref: Some(name),
                call_id,
                ..
            }) = event.what.known()
            else {
                continue;
            };
            let blob: BlobId = name.parse().map_err(said)?;
            let bytes = store.blob(id, &blob).await.map_err(said)?;
            let bytes = bytes.ok_or_else(|| format!("the output of {call_id} is gone"))?;
            if BlobId::of(&bytes) != blob {
                return Err(format!("the output of {call_id} is not what it was"));
            }
        }
        store.close().await;
        Ok(())
    }

    /// Goes on with models that refuse what strict providers do. Logs that differ in nothing but names are tried once.
    async fn go_on(&self, id: &SessionId, repaired: &[Event]) -> Result<(), String> {
        static TRIED: Mutex<Option<HashSet<String>>> = Mutex::new(None);
        let shape = serde_json::to_string(&plain(repaired, self.home)).map_err(said)?;
        {
            let mut tried = TRIED.lock().unwrap_or_else(PoisonError::into_inner);
            if !tried.get_or_insert_default().insert(shape) {
                return Ok(());
            }
        }
        let fine = Script::new().otherwise(Answer::new().text(["Fine."]));
        let server = ModelServer::start(fine).map_err(said)?;
        for model in ["openai/gpt-test", "anthropic/claude-test"] {
            let agent = self.agent(model, Some(&server));
            let work = self.home.join("work");
            let loading = agent.load_session(id, &work, &[], FrontAbilities::default());
            let opened = loading
                .await
                .map_err(|error| format!("it does not load for {model}: {error}"))?;
            let slot = opened.session.begin_turn().map_err(said)?;
            let end = slot.run("And now?".to_owned()).await.end;
            opened.session.close().await;
            agent.shutdown().await;
            if end.reason != TurnEndReason::Completed {
                return Err(format!("{model} does not take it: {end:?}"));
            }
        }
        Ok(())
    }
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A log without what differs from run to run: times, the names of home and session, and where the end of the command in the
/// background stands.
pub fn plain(log: &[Event], home: &Path) -> Vec<Value> {
    let home = home.display().to_string();
    log.iter()
        .map(|event| serde_json::to_string(&event.what).unwrap())
        .filter(|event| {
            !(event.contains("\"terminal/exit\"") && event.contains(&format!("\"{BACKGROUND}\"")))
        })
        .map(|event| without_session(&event.replace(&home, "HOME")))
        .map(|event| serde_json::from_str(&event).unwrap())
        .collect()
}

/// The folder of a session's outputs bears its name.
fn without_session(event: &str) -> String {
    const OUTPUTS: &str = "placard/outputs/";
    let mut pieces = event.split(OUTPUTS);
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        plain.push_str(OUTPUTS);
        plain.push_str(piece.get(36..).unwrap_or_default());
    }
    plain
}

/// Every turn, step and call is closed once, and nothing else is; so is every command.
fn check_balance(log: &[Event]) -> Result<(), String> {
    let mut turn = false;
    let mut step = false;
    let mut calls: BTreeSet<&str> = BTreeSet::new();
    let mut commands: BTreeSet<&str> = BTreeSet::new();
    for event in log {
        let Some(kind) = event.what.known() else {
            continue;
        };
        let fits = match kind {
            EventKind::TurnStart { .. } => !std::mem::replace(&mut turn, true),
            EventKind::TurnEnd { .. } => std::mem::replace(&mut turn, false) && !step,
            EventKind::StepStart => turn && !std::mem::replace(&mut step, true),
            EventKind::StepEnd => std::mem::replace(&mut step, false) && calls.is_empty(),
            EventKind::ToolCall { call_id, .. } => {
                commands.insert(call_id);
                step && calls.insert(call_id)
            }
            EventKind::TerminalExit { call_id, .. } => commands.remove(call_id.as_str()),
            EventKind::ToolResult { call_id, .. } => calls.remove(call_id.as_str()),
            _ => true,
        };
        if !fits {
            return Err(format!("event {} does not fit: {kind:?}", event.seq));
        }
    }
    if turn || step || !calls.is_empty() || !commands.is_empty() {
        return Err(format!(
            "left open: turn {turn}, step {step}, calls {calls:?}, commands {commands:?}"
        ));
    }
    Ok(())
}
