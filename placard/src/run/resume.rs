//! Which session a run goes on with.

use agent_core::store::{ListRequest, SessionStore, SessionSummary, StoreError};
use agent_core::{Agent, Environment};

use super::outcome::Outcome;
use crate::arguments::RunArguments;
use crate::error::ProgramError;
use crate::sessions::viewer::{Viewer, one_line};
use crate::sessions::{shelf, which};
use crate::times::age_words;

/// What the person wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// A session of its own.
    New,
    /// This one, by its id or the beginning of it.
    Session(String),
    /// The newest of the folder.
    Newest,
}

/// Where a turn begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// In a new session.
    New,
    /// In this one.
    Stored(Stored),
    /// In the newest of the folder, which the agent is asked for.
    Newest,
}

/// A session that is there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    /// Its whole id.
    pub(crate) id: String,
    /// What the person is told of it.
    pub(crate) words: String,
}

impl Stored {
    /// A session, as far as it is known.
    pub(crate) fn new(id: &str, title: Option<&str>, age: Option<&str>) -> Self {
        let parts = [title, age].into_iter().flatten().map(one_line);
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        let known = if parts.is_empty() {
            String::new()
        } else {
            format!(": {}", parts.join(" · "))
        };
        Self {
            id: id.to_owned(),
            words: format!("going on with session {}{known}", one_line(id)),
        }
    }
}

impl Wish {
    /// A flag counts before the variable.
    pub(crate) fn of(arguments: &RunArguments, environment: &Environment) -> Self {
        match (&arguments.resume, arguments.r#continue) {
            (Some(id), _) => Self::Session(id.clone()),
            (None, true) => Self::Newest,
            (None, false) => environment
                .get("PLACARD_RESUME")
                .map_or(Self::New, |id| Self::Session(id.to_owned())),
        }
    }

    /// Where a turn of the embedded agent begins, or of another one, which alone knows its sessions.
    pub(crate) async fn beginning(
        self,
        embedded: Option<&Agent>,
        cwd: &str,
        viewer: &Viewer,
    ) -> Result<Beginning, Outcome> {
        let (wish, agent) = match (self, embedded) {
            (Self::New, _) => return Ok(Beginning::New),
            (Self::Session(id), None) => {
                return Ok(Beginning::Stored(Stored::new(&id, None, None)));
            }
            (Self::Newest, None) => return Ok(Beginning::Newest),
            (wish, Some(agent)) => (wish, agent),
        };
        let store = shelf::stored(agent)
            .await
            .map_err(|fault| refused(&fault))?;
        wish.among(store.as_ref(), cwd, viewer).await
    }

    /// The same in a store that is known.
    async fn among(
        self,
        store: &dyn SessionStore,
        cwd: &str,
        viewer: &Viewer,
    ) -> Result<Beginning, Outcome> {
        let found = match self {
            Self::New => return Ok(Beginning::New),
            Self::Session(id) => by_id(store, &id, viewer).await.map_err(|it| refused(&it))?,
            Self::Newest => {
                let found = newest(store, cwd, viewer).await;
                let found = found.map_err(|fault| refused(&fault))?;
                found.ok_or_else(|| none_here(cwd))?
            }
        };
        Ok(Beginning::Stored(found))
    }
}

fn refused(fault: &impl ToString) -> Outcome {
    Outcome::NotStarted(fault.to_string())
}

/// What is said where a folder has no session.
pub(crate) fn none_here(cwd: &str) -> Outcome {
    Outcome::NotStarted(format!(
        "there is no session of {} to go on with; without --continue a new one is begun",
        one_line(cwd)
    ))
}

async fn by_id(
    store: &dyn SessionStore,
    id: &str,
    viewer: &Viewer,
) -> Result<Stored, ProgramError> {
    let id = which::find(store, id).await?;
    let summary = store.summary(&id).await?;
    Ok(stored(&summary.ok_or(StoreError::Missing { id })?, viewer))
}

async fn newest(
    store: &dyn SessionStore,
    cwd: &str,
    viewer: &Viewer,
) -> Result<Option<Stored>, StoreError> {
    let request = ListRequest {
        cwd: Some(cwd.into()),
        limit: 1,
        ..ListRequest::default()
    };
    let page = store.list(&request).await?;
    Ok(page.sessions.first().map(|session| stored(session, viewer)))
}

fn stored(session: &SessionSummary, viewer: &Viewer) -> Stored {
    let age = age_words(session.updated_at, viewer.now);
    let id = session.header.id.as_str();
    Stored::new(id, session.title.as_deref(), Some(&age))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::shelf::tests::{Shelf, said};
    use crate::sessions::viewer::tests::ada;
    use clap::Parser;
    use pretty_assertions::assert_eq;

    #[derive(Parser)]
    struct Asked {
        #[command(flatten)]
        run: RunArguments,
    }

    fn wish(arguments: &[&str], variable: &str) -> Wish {
        let asked = Asked::parse_from([&["run"], arguments, &["go"]].concat());
        let environment = [("PLACARD_RESUME", variable)].into_iter().collect();
        Wish::of(&asked.run, &environment)
    }

    #[test]
    fn a_flag_counts_before_the_variable() {
        let session = |id: &str| Wish::Session(id.to_owned());
        let table: [(&[&str], &str, Wish); 6] = [
            (&[], "", Wish::New),
            (&[], "1", session("1")),
            (&["--resume", "2"], "", session("2")),
            (&["--resume", "2"], "1", session("2")),
            (&["--continue"], "1", Wish::Newest),
            (&["-c"], "", Wish::Newest),
        ];
        for (arguments, variable, expected) in table {
            assert_eq!(
                wish(arguments, variable),
                expected,
                "{arguments:?} {variable}"
            );
        }
        assert!(Asked::try_parse_from(["run", "--resume", "1", "--continue", "go"]).is_err());
    }

    #[tokio::test]
    async fn the_embedded_agents_sessions_are_looked_up_and_told() {
        let shelf = Shelf::with(&[
            ("0199aaaa-1", said("one")),
            ("0199aaaa-2", said("\x1b[2Jtwo")),
            ("0199bbbb-3", said("three")),
        ])
        .await;
        let begin = async |wish: Wish, cwd: &str| {
            let beginning = wish.among(&shelf.store, cwd, &ada()).await;
            beginning.map_err(|outcome| outcome.words().unwrap_or_default().to_owned())
        };
        let going_on = |id: &str, words: &str| {
            Ok(Beginning::Stored(Stored {
                id: id.to_owned(),
                words: format!("going on with session {id}: {words} · 23 hours ago"),
            }))
        };
        let session = |id: &str| Wish::Session(id.to_owned());
        assert_eq!(begin(Wish::New, "/").await, Ok(Beginning::New));
        assert_eq!(
            begin(session("0199aaaa-2"), "/").await,
            going_on("0199aaaa-2", "[2Jtwo")
        );
        assert_eq!(
            begin(session("0199b"), "/").await,
            going_on("0199bbbb-3", "three")
        );
        assert_eq!(
            begin(session("0199aaaa"), "/").await,
            Err("0199aaaa is the beginning of several ids: 0199aaaa-1, 0199aaaa-2. Give more of one".into())
        );
        assert_eq!(
            begin(session("7"), "/").await,
            Err("there is no session 7; `placard sessions list` shows those that there are".into())
        );
        assert_eq!(
            begin(Wish::Newest, "/home/ada/work").await,
            going_on("0199bbbb-3", "three")
        );
        assert_eq!(
            begin(Wish::Newest, "/").await,
            Err(
                "there is no session of / to go on with; without --continue a new one is begun"
                    .into()
            )
        );
    }

    #[tokio::test]
    async fn another_agent_alone_knows_its_sessions() {
        let begin = async |wish: Wish| wish.beginning(None, "/", &ada()).await;
        assert_eq!(
            begin(Wish::Session("x".into())).await,
            Ok(Beginning::Stored(Stored {
                id: "x".into(),
                words: "going on with session x".into()
            }))
        );
        assert_eq!(begin(Wish::Newest).await, Ok(Beginning::Newest));
    }
}
