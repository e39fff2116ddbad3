//! Why the program could not do what it was asked.

use std::io;
use std::path::PathBuf;

use agent_core::session::SessionId;
use agent_core::store::StoreError;
use agent_core::store::interchange::InterchangeError;
use agent_core::surroundings::SurroundingsError;

/// An error for the person at the command line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramError {
    #[error(transparent)]
    Surroundings(#[from] SurroundingsError),
    #[error("the runtime cannot be started: {0}")]
    Runtime(io::Error),
    #[error("signals cannot be received: {0}")]
    Signals(io::Error),
    #[error("the current folder cannot be found out: {0}. Give one with --cwd")]
    NoCurrentFolder(io::Error),
    #[error("--cwd {}: {source}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error("--cwd {} is not a folder", .0.display())]
    NotAFolder(PathBuf),
    #[error(
        "the folder {} has a name that is not UTF-8, and agents are told of folders in UTF-8 only. \
         Rename it, or give another folder with --cwd",
        .0.display()
    )]
    FolderName(PathBuf),
    #[error("--agent: {0}")]
    Agent(#[from] acp_client::ClientError),
    #[error("stdin cannot be read: {0}")]
    Stdin(io::Error),
    #[error("the prompt is empty: give some text, or - to read it from stdin")]
    EmptyPrompt,
    #[error(
        "port {port} on 127.0.0.1 cannot be used: {source}. Another program may have it; --port 0 takes a free one"
    )]
    Port { port: u16, source: io::Error },
    #[error("stdout cannot be written: {0}")]
    Stdout(io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Export(#[from] InterchangeError),
    #[error("{place}: {source}")]
    Import {
        place: String,
        source: Box<InterchangeError>,
    },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{} is there already and was left as it is; give the name of a new file", .0.display())]
    FileExists(PathBuf),
    #[error("nothing of session {id} can be read: {damage}; it was left as it is")]
    NothingReadable { id: SessionId, damage: String },
    #[error("{beginning} is the beginning of several ids: {ids}. Give more of one")]
    Ambiguous { beginning: String, ids: String },
    #[error(
        "there is no terminal to ask you on, so nothing was removed. To remove without being asked: --yes"
    )]
    NobodyToAsk,
    #[error("nothing was removed")]
    NotRemoved,
}

impl ProgramError {
    /// The exit status: 1 where something was attempted and failed, 2 where it was not attempted.
    pub(crate) fn exit_status(&self) -> u8 {
        match self {
            Self::Store(StoreError::EmptyQuery { .. } | StoreError::UnknownCursor { .. }) => 2,
            Self::Store(_)
            | Self::Export(_)
            | Self::Import { .. }
            | Self::File { .. }
            | Self::NothingReadable { .. }
            | Self::NotRemoved => 1,
            _ => 2,
        }
    }
}
