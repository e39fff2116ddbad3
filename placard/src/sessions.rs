//! `placard sessions`: what is stored, for the person at the command line and for scripts.
//!
//! - `shelf` is where the sessions are, and `which` the one that is meant by a beginning of an id.
//! - `list`, `show`, `search`, `export`, `import`, `recover`, `fork`, `remove` are the commands: questions to the store, and answers as text.
//! - `telling` is a conversation as a person reads it, `excerpt` what of a long output is shown at a glance.
//! - `viewer` is who reads it, `json` what programs get.
//!
//! Whoever only asks makes no store. What is stored was written by others, so it is shown as plain text.

mod excerpt;
mod export;
mod fork;
mod import;
mod json;
mod list;
mod recover;
mod remove;
mod search;
pub(crate) mod shelf;
mod show;
mod telling;
pub(crate) mod viewer;
pub(crate) mod which;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agent_core::{Agent, Surroundings};

use crate::arguments::{FolderArguments, SessionsArguments, SessionsCommand};
use crate::error::ProgramError;
use crate::host;
use crate::last_words::tell;
use viewer::Viewer;

/// What a command comes to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// For stdout.
    pub(crate) text: String,
    /// What the person should know beside it; for stderr.
    pub(crate) notes: Vec<String>,
    /// What was not done, and why; for stderr.
    pub(crate) faults: Vec<String>,
}

impl Answer {
    /// Nothing but text.
    pub(crate) fn text(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

/// Does what is asked.
pub(crate) async fn answer(
    arguments: SessionsArguments,
    surroundings: Surroundings,
) -> Result<ExitCode, ProgramError> {
    let viewer = Viewer::of_stdout(&surroundings.environment);
    let agent = Agent::new(surroundings);
    let outcome = ask(arguments.command, &agent, &viewer).await;
    // The store puts its files in order.
    agent.shutdown().await;
    let answer = outcome?;
    let mut stdout = io::stdout();
    stdout
        .write_all(answer.text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(ProgramError::Stdout)?;
    for words in answer.notes.iter().chain(&answer.faults) {
        tell(words);
    }
    Ok(if answer.faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

async fn ask(
    command: SessionsCommand,
    agent: &Agent,
    viewer: &Viewer,
) -> Result<Answer, ProgramError> {
    let store = shelf::stored(agent).await?;
    let store = store.as_ref();
    match command {
        SessionsCommand::List(arguments) => {
            let cwd = folder(&arguments.folder)?;
            list::list(store, &arguments, cwd, viewer).await
        }
        SessionsCommand::Show(arguments) => {
            let id = which::find(store, &arguments.id).await?;
            show::show(store, &arguments, &id, viewer, &mut io::stdout()).await?;
            Ok(Answer::default())
        }
        SessionsCommand::Search(arguments) => {
            let session = match &arguments.session {
                Some(beginning) => Some(which::find(store, beginning).await?),
                None => None,
            };
            let cwd = folder(&arguments.folder)?;
            search::search(store, &arguments, session, cwd, viewer).await
        }
        SessionsCommand::Export(arguments) => {
            let id = which::find(store, &arguments.id).await?;
            export::export(store, &id, &arguments.output).await
        }
        SessionsCommand::Import(arguments) => {
            let store = agent.store().await?;
            import::import(store.as_ref(), &arguments).await
        }
        SessionsCommand::Recover(arguments) => {
            let id = which::find(store, &arguments.id).await?;
            recover::recover(agent, store, &id, arguments.json, viewer).await
        }
        SessionsCommand::Fork(arguments) => {
            let id = which::find(store, &arguments.id).await?;
            fork::fork(agent, &id, arguments.json).await
        }
        SessionsCommand::Rm(arguments) => {
            let mut ids = Vec::with_capacity(arguments.ids.len());
            for beginning in &arguments.ids {
                ids.push(which::find(store, beginning).await?);
            }
            remove::remove(agent, store, &arguments, ids, viewer).await
        }
    }
}

/// The folder whose sessions are meant: absolute. It need not exist any more.
fn folder(arguments: &FolderArguments) -> Result<Option<PathBuf>, ProgramError> {
    if arguments.here {
        let here = std::env::current_dir().map_err(ProgramError::NoCurrentFolder)?;
        return Ok(Some(here));
    }
    let absolute = |folder: &Path| {
        host::absolute(folder).map_err(|source| ProgramError::Folder {
            folder: folder.to_owned(),
            source,
        })
    };
    arguments.cwd.as_deref().map(absolute).transpose()
}
