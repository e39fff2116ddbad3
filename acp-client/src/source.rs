//! Where an agent comes from: this program, or a command.

use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::io::DuplexStream;

use crate::error::ClientError;

/// How an agent inside this program ended: by the end of its input, or why else. The error is only told to people.
pub type ServeResult = Result<(), Box<dyn Error + Send + Sync>>;

type Serve = dyn Fn(DuplexStream) -> BoxFuture<'static, ServeResult> + Send + Sync;

/// How an agent is started, again and again.
#[derive(Clone)]
pub enum AgentSource {
    /// An agent inside this program.
    Embedded(EmbeddedAgent),
    /// An agent that is a program of its own.
    Command(AgentCommand),
}

impl AgentSource {
    /// An agent inside this program: `serve` is called for each life with the agent's end of a stream, and ends when
    /// its input does. Its error says why it ended otherwise.
    pub fn embedded<F, S>(name: impl Into<String>, serve: S) -> Self
    where
        F: Future<Output = ServeResult> + Send + 'static,
        S: Fn(DuplexStream) -> F + Send + Sync + 'static,
    {
        Self::Embedded(EmbeddedAgent {
            name: name.into(),
            serve: Arc::new(move |stream| Box::pin(serve(stream))),
        })
    }

    /// The name before the agent has told its own.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Embedded(agent) => agent.name.clone(),
            Self::Command(command) => Path::new(&command.program).file_name().map_or_else(
                || command.program.clone(),
                |name| name.to_string_lossy().into_owned(),
            ),
        }
    }
}

impl fmt::Debug for AgentSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded(agent) => formatter
                .debug_tuple("Embedded")
                .field(&agent.name)
                .finish(),
            Self::Command(command) => formatter.debug_tuple("Command").field(command).finish(),
        }
    }
}

/// An agent inside this program.
#[derive(Clone)]
pub struct EmbeddedAgent {
    name: String,
    pub(crate) serve: Arc<Serve>,
}

impl fmt::Debug for EmbeddedAgent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("EmbeddedAgent")
            .field(&self.name)
            .finish()
    }
}

/// The command of an agent that is a program of its own.
#[derive(Clone, PartialEq, Eq)]
pub struct AgentCommand {
    /// A path, or a name to look up on PATH.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The folder that it is started in.
    pub cwd: PathBuf,
}

impl AgentCommand {
    /// Splits a command line into words as a shell would (quotes and backslashes; nothing is expanded).
    pub fn parse(
        line: &str,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        cwd: impl Into<PathBuf>,
    ) -> Result<Self, ClientError> {
        let words =
            shlex::split(line).ok_or_else(|| ClientError::UnclosedQuote(line.to_owned()))?;
        let mut words = words.into_iter();
        let program = words.next().ok_or(ClientError::EmptyCommand)?;
        Ok(Self {
            program,
            args: words.collect(),
            environment: environment.into_iter().collect(),
            cwd: cwd.into(),
        })
    }
}

impl fmt::Debug for AgentCommand {
    /// Without the values of variables: they may be secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("AgentCommand")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_command_line_is_split_as_a_shell_would() {
        let words = |line| {
            AgentCommand::parse(line, [], "/")
                .map(|command| (command.program, command.args.join("|")))
        };
        let parts = |program: &str, args: &str| Ok((program.to_owned(), args.to_owned()));
        assert_eq!(words("agent --acp"), parts("agent", "--acp"));
        assert_eq!(
            words(r#"'/my agent/bin' "a b" c\ d $HOME"#),
            parts("/my agent/bin", "a b|c d|$HOME")
        );
        assert_eq!(words(" "), Err(ClientError::EmptyCommand));
        assert_eq!(
            words("a 'b"),
            Err(ClientError::UnclosedQuote("a 'b".into()))
        );
    }
}
