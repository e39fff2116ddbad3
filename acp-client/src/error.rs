//! What can go wrong on the client's side.

/// Why something on the client's side could not be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// An agent's command line has no words.
    #[error(
        "the agent's command line is empty: give a program and its arguments, such as 'my-agent --acp'"
    )]
    EmptyCommand,
    /// An agent's command line has a quote that is not closed, or ends in a backslash.
    #[error("the agent's command line has a quote that is not closed or ends in a backslash: {0}")]
    UnclosedQuote(String),
    /// A page sent what is not an envelope.
    #[error("this message is not understood: {0}")]
    NotAnEnvelope(String),
    /// A page sent something before it attached.
    #[error("the first message of a page is `attach`")]
    NotAttached,
    /// The hub was shut down.
    #[error("the hub is shut down")]
    ShutDown,
}
