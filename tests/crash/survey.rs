//! Looks at what is left of a session as the program itself does at its next start, and says what is wrong with it.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agent_core::agent::FrontAbilities;
use agent_core::session::SessionId;
use agent_core::session::event::{Event, EventKind, TurnEndReason};
use agent_core::store::{BlobId, SessionStore};
use agent_core::{Agent, Environment, Surroundings};
use inspector::model_server::{Answer, ModelServer, Script};
use placard_tests::binary;
use serde_json::Value;

use crate::balance::balance;
use crate::conversation::{Aftermath, BACKGROUND};
use crate::store::Kept;
use crate::told::Told;

/// What is looked at.
#[derive(Debug, Clone)]
pub struct Remains<'r> {
    pub kept: Kept,
    /// The home that it is in; its settings are used.
    pub home: &'r Path,
    /// The folder of the session.
    pub work: &'r Path,
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
            work: &aftermath.work,
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
        let store = self.open().await?;
        let left = left(store.as_ref(), &id).await?;
        let missing = self.told.missing_in(&left, &self.ran);
        if !missing.is_empty() {
            return Err(format!("lost: {}", missing.join("; ")));
        }
        if left.is_empty() {
            self.begin_anew(store).await?;
            return Ok(Found::default());
        }
        self.check_prefix(&left, undisturbed)?;
        let repaired = self.load(&id, store).await?;
        if !repaired.starts_with(&left) {
            return Err("the repair has changed what was there".to_owned());
        }
        balance(&repaired)?;
        let again = self.load(&id, self.open().await?).await?;
        if again != repaired {
            return Err(format!(
                "a second load gives another log: {again:#?}\nafter {repaired:#?}"
            ));
        }
        self.go_on(&id, &repaired).await?;
        Ok(Found { left, repaired })
    }

    /// Where there is no session there can be one.
    async fn begin_anew(&self, store: Arc<dyn SessionStore>) -> Result<(), String> {
        let agent = self.agent("offline", None, Arc::clone(&store));
        let opened = agent
            .open_session(self.work, &[], FrontAbilities::default())
            .map_err(said)?;
        let slot = opened.session.begin_turn().map_err(said)?;
        let end = slot.run("Hello?".to_owned()).await.end;
        opened.session.close().await;
        let there = store.has(opened.session.id()).await.map_err(said)?;
        agent.shutdown().await;
        if end.reason != TurnEndReason::Completed {
            return Err(format!("there can be no new session: {end:?}"));
        }
        there
            .then_some(())
            .ok_or("a new session is gone".to_owned())
    }

    async fn open(&self) -> Result<Arc<dyn SessionStore>, String> {
        self.kept
            .open(&self.data)
            .await
            .map_err(|error| format!("the store does not open: {error}"))
    }

    /// Loads the session, closes it, and gives its log, whose blobs are there.
    async fn load(
        &self,
        id: &SessionId,
        store: Arc<dyn SessionStore>,
    ) -> Result<Vec<Event>, String> {
        let agent = self.agent("offline", None, Arc::clone(&store));
        let loading = agent.load_session(id, self.work, &[], FrontAbilities::default());
        let opened = loading
            .await
            .map_err(|error| format!("it does not load: {error}"))?;
        let log = opened.session.events().await.map_err(said)?;
        check_blobs(store.as_ref(), id, &log).await?;
        opened.session.close().await;
        agent.shutdown().await;
        Ok(log)
    }

    fn agent(
        &self,
        model: &str,
        server: Option<&ModelServer>,
        store: Arc<dyn SessionStore>,
    ) -> Agent {
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
        let surroundings = Surroundings {
            environment,
            config_dir: self.home.join("config/placard"),
            data_dir: self.data.clone(),
            cache_dir: self.home.join("cache/placard"),
            program: binary("placard"),
        };
        Agent::with_store(surroundings, store)
    }

    /// A log without what differs from run to run: times, the names of folders and of the session, and where the end of the command
    /// in the background stands.
    pub fn plain(&self, log: &[Event]) -> Vec<Value> {
        let names = [
            (self.data.as_path(), "DATA"),
            (self.work, "WORK"),
            (self.home, "HOME"),
        ];
        let names = names.map(|(folder, name)| (folder.display().to_string(), name));
        let of_background = format!("\"{BACKGROUND}\"");
        log.iter()
            .map(|event| serde_json::to_string(&event.what).unwrap())
            .filter(|event| {
                !(event.contains("\"terminal/exit\"") && event.contains(&of_background))
            })
            .map(|event| {
                let event = names.iter().fold(event, |event, (folder, name)| {
                    event.replace(folder.as_str(), name)
                });
                serde_json::from_str(&without_session(&event)).unwrap()
            })
            .collect()
    }

    /// Whether the log is how the undisturbed one begins. The end of the command in the background may stand anywhere.
    fn check_prefix(&self, left: &[Event], undisturbed: &[Value]) -> Result<(), String> {
        if undisturbed.is_empty() {
            return Ok(());
        }
        let own = self.plain(left);
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

    /// Goes on with models that refuse what strict providers do. Of logs that tell the same sorts of events one is tried.
    async fn go_on(&self, id: &SessionId, repaired: &[Event]) -> Result<(), String> {
        static TRIED: Mutex<Option<HashSet<String>>> = Mutex::new(None);
        let shape = shape(repaired);
        {
            let mut tried = TRIED.lock().unwrap_or_else(PoisonError::into_inner);
            if !tried.get_or_insert_default().insert(shape) {
                return Ok(());
            }
        }
        let fine = Script::new().otherwise(Answer::new().text(["Fine."]));
        let server = ModelServer::start(fine).map_err(said)?;
        for model in ["openai/gpt-test", "anthropic/claude-test"] {
            let agent = self.agent(model, Some(&server), self.open().await?);
            let loading = agent.load_session(id, self.work, &[], FrontAbilities::default());
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

/// The log before anything is repaired; empty without a session.
async fn left(store: &dyn SessionStore, id: &SessionId) -> Result<Vec<Event>, String> {
    let Some(summary) = store.summary(id).await.map_err(said)? else {
        return Ok(Vec::new());
    };
    let log = store.read(id, 0, usize::MAX).await.map_err(said)?;
    if log.is_empty() {
        return Err("a session without an event is told of".to_owned());
    }
    if summary.events != log.len() as u64 {
        return Err(format!("{} events are {}", summary.events, log.len()));
    }
    match log.iter().zip(0..).find(|(event, seq)| event.seq != *seq) {
        Some((event, seq)) => Err(format!("event {} stands where {seq} should", event.seq)),
        None => Ok(log),
    }
}

/// What a log refers to is there, and is what it was.
async fn check_blobs(
    store: &dyn SessionStore,
    id: &SessionId,
    log: &[Event],
) -> Result<(), String> {
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
    Ok(())
}

/// The sorts of a log's events.
fn shape(log: &[Event]) -> String {
    let sorts = log.iter().map(|event| {
        let what = serde_json::to_value(&event.what).unwrap();
        what["type"].as_str().unwrap().to_owned()
    });
    sorts.collect::<Vec<_>>().join(" ")
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The folder of a session's outputs bears its name.
fn without_session(event: &str) -> String {
    const OUTPUTS: &str = "DATA/outputs/";
    let mut pieces = event.split(OUTPUTS);
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        plain.push_str(OUTPUTS);
        plain.push_str(piece.get(36..).unwrap_or_default());
    }
    plain
}
