//! Tools: what a model can do, described in words that belong to no protocol.

pub mod background;
pub mod bash;
pub mod exit_marker;
pub mod image;
pub mod presentation;
pub mod read_file;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::agent::FrontAbilities;
use crate::model::ToolSchema;
use crate::session::commands::Commands;
use crate::shell::exit::Exit;
use crate::shell::terminal::TerminalOutput;
use presentation::{CallPresentation, Circumstances, ResultBody, ResultPresentation};

/// Where a session stands: relative paths are resolved against `cwd`, and what lies outside the roots is asked for.
#[derive(Debug, Clone)]
pub struct Place {
    /// The session's folder.
    pub cwd: PathBuf,
    /// The session's folder and its additional directories.
    pub roots: Vec<PathBuf>,
    /// The same without symbolic links, as they were when the session began.
    pub real_roots: Vec<PathBuf>,
}

impl Place {
    /// A place in these folders as they are now.
    pub fn new(cwd: PathBuf, roots: Vec<PathBuf>) -> Self {
        let real_roots = roots.iter().filter_map(|root| root.canonicalize().ok());
        Self {
            real_roots: real_roots.collect(),
            cwd,
            roots,
        }
    }

    /// An absolute path for what a model wrote.
    pub fn resolve(&self, path: &str) -> PathBuf {
        self.cwd.join(path)
    }

    /// Whether a path, its symbolic links resolved, lies in one of the roots. What does not exist lies outside.
    pub fn holds(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else {
            return false;
        };
        // As they were: a command may have put a link in the place of one.
        self.real_roots.iter().any(|root| real.starts_with(root))
    }
}

/// What a call gets to work with.
#[derive(Debug)]
pub struct ToolContext<'a> {
    /// Where the session stands.
    pub place: &'a Place,
    /// The person allowed this very call, or the model's calls need no permission. Otherwise only what needs none may be
    /// done, as it stands when it is done.
    pub permitted: bool,
    /// Where a command's output goes: the terminal of the call's presentation.
    pub terminal: TerminalOutput,
    /// Fired when the call must end.
    pub cancel: &'a CancellationToken,
    /// The call's id, unique in the session.
    pub call_id: &'a str,
    /// The session's commands.
    pub commands: &'a Arc<Commands>,
    /// What the session's front can do.
    pub front: FrontAbilities,
}

/// What a call came to.
#[derive(Debug)]
pub struct ToolOutcome {
    /// What the model reads.
    pub content: String,
    /// True when it failed.
    pub is_error: bool,
    /// The exit of the command, where the call was one.
    pub exit: Option<Exit>,
    /// What the person sees.
    pub presentation: ResultPresentation,
    /// The command that goes on, where the call only started it.
    pub goes_on: Option<GoesOn>,
}

/// A command that goes on when its call is over.
pub struct GoesOn {
    /// Runs it to its end; polled outside of turns.
    pub end: BoxFuture<'static, BackgroundEnd>,
}

/// How a command in the background ended.
#[derive(Debug)]
pub struct BackgroundEnd {
    /// Its exit.
    pub exit: Exit,
    /// The end as the person sees it.
    pub presentation: ResultPresentation,
}

impl fmt::Debug for GoesOn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("GoesOn")
    }
}

impl ToolOutcome {
    /// A call that came to what it was meant to: what the model reads, and the text that the person sees.
    pub fn answered(content: String, shown: String) -> Self {
        Self {
            content,
            is_error: false,
            exit: None,
            presentation: ResultPresentation {
                succeeded: true,
                exit: None,
                circumstances: Circumstances::default(),
                body: if shown.is_empty() {
                    ResultBody::Empty
                } else {
                    ResultBody::Console(shown)
                },
                image: None,
                notice: None,
                goes_on: false,
            },
            goes_on: None,
        }
    }

    /// A call that did not come to run, or failed before it had anything to show.
    pub fn failed(message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            content: message.clone(),
            is_error: true,
            exit: None,
            presentation: ResultPresentation::failed(message),
            goes_on: None,
        }
    }
}

/// A tool.
#[async_trait]
pub trait Tool: Send + Sync + std::fmt::Debug {
    /// The tool as the model sees it.
    fn schema(&self) -> ToolSchema;

    /// How a call is shown. Pure; a panic here costs only the looks.
    fn present(&self, args: &Value, place: &Place) -> CallPresentation;

    /// Whether a call does something that the person must allow first.
    fn needs_permission(&self, args: &Value, place: &Place) -> bool;

    /// Whether a call does something that is asked for even where the model's calls need no permission, such as a command
    /// that is to run outside of its sandbox.
    fn asks_anyway(&self, _args: &Value, _place: &Place) -> bool {
        false
    }

    /// Does it. Never runs before permission was given where it is needed.
    async fn run(&self, args: &Value, context: ToolContext<'_>) -> ToolOutcome;
}

/// The tools of a session, by name.
#[derive(Debug, Clone)]
pub struct Toolbox {
    tools: Vec<(ToolSchema, Arc<dyn Tool>)>,
}

impl Toolbox {
    /// A box of tools.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        Self {
            tools: tools
                .into_iter()
                .map(|tool| (tool.schema(), tool))
                .collect(),
        }
    }

    /// What the model is told of them: name, description, parameters, and nothing else.
    pub fn schemas(&self) -> Vec<ToolSchema> {
        self.tools
            .iter()
            .map(|(schema, _)| schema.clone())
            .collect()
    }

    /// The tool of this name.
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools
            .iter()
            .find(|(schema, _)| schema.name == name)
            .map(|(_, tool)| tool)
    }

    /// The names, for an error that lists them.
    pub fn names(&self) -> String {
        self.tools
            .iter()
            .map(|(schema, _)| schema.name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    }
}
