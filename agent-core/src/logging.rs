//! Logs of the programs that bear the agent, on stderr only: stdout belongs to the protocol.
//!
//! Here because what may be logged is known here: a dependency of this crate would log what providers answer.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// What is logged without `PLACARD_LOG`. The SDK warns of every error that a client is answered with.
const DEFAULT: &str = "warn,agent_client_protocol=error";

/// Starts logging by `filter`, the value of `PLACARD_LOG`. A filter that cannot be read is said there and costs nothing else.
pub fn start(filter: Option<&str>) {
    let wrong = filter.and_then(|filter| EnvFilter::try_new(filter).err());
    let chosen = filter.filter(|_| wrong.is_none()).unwrap_or(DEFAULT);
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(discreet(chosen)))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    if let (Some(filter), Some(problem)) = (filter, wrong) {
        tracing::warn!(
            "PLACARD_LOG={filter:?} is no log filter: {problem}. Write for example PLACARD_LOG=debug or PLACARD_LOG=agent_core=trace,warn"
        );
    }
}

/// The crate that speaks to providers logs what they answer, whole: nothing for a log, unless it is asked for by name.
fn discreet(filter: &str) -> String {
    if filter.contains("genai") {
        filter.to_owned()
    } else {
        format!("{filter},genai=off")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn what_providers_answer_is_logged_only_by_name() {
        assert_eq!(discreet("debug"), "debug,genai=off");
        assert_eq!(discreet("genai=trace"), "genai=trace");
    }
}
