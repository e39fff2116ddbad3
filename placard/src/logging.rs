//! Logs, on stderr only: stdout belongs to the protocol.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::error::ProgramError;

/// Starts logging by `filter`, the value of `PLACARD_LOG`; warnings only without one.
pub(crate) fn start(filter: Option<&str>) -> Result<(), ProgramError> {
    let filter = filter.unwrap_or("warn");
    let parsed = EnvFilter::try_new(filter).map_err(|problem| ProgramError::LogFilter {
        filter: filter.to_owned(),
        problem: problem.to_string(),
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(parsed)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    Ok(())
}
