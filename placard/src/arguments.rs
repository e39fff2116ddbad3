//! What the program can be asked on its command line.

mod sessions;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use sessions::{
    FolderArguments, ImportArguments, ListArguments, RemoveArguments, SearchArguments,
    SessionsArguments, SessionsCommand, ShowArguments,
};

/// An agent for your machine: chat, run commands in real terminals, see everything as cards.
#[derive(Debug, Parser)]
#[command(name = "placard", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Be an ACP agent on stdin and stdout, for an editor
    Acp,
    /// Send one prompt and show the turn as text
    Run(RunArguments),
    /// Serve the chat to a browser on this machine
    Serve(ServeArguments),
    /// List, show, search and keep the sessions that are stored
    Sessions(SessionsArguments),
    /// Tell what works here, what does not, and what commands may do
    Doctor(DoctorArguments),
}

/// Below the help for `run`.
const RUN_EXIT_STATUS: &str = "\
Exit status:
    0  the agent ended its turn
    1  the turn failed, or ended otherwise
    2  there was no turn: wrong arguments, or the agent did not start
  130  cancelled with Ctrl-C";

#[derive(Debug, Args)]
#[command(after_help = RUN_EXIT_STATUS)]
pub(crate) struct RunArguments {
    /// The prompt; `-` reads it from stdin
    pub(crate) prompt: String,
    /// Go on with this session: its id, or as much of it as no other begins with [default: that of the variable `PLACARD_RESUME`, or a new one]
    #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) resume: Option<String>,
    /// Go on with the newest session of the folder
    #[arg(long, short, conflicts_with = "resume")]
    pub(crate) r#continue: bool,
    #[command(flatten)]
    pub(crate) host: HostArguments,
    /// What to do when the agent asks for permission [default: ask on a terminal, else reject]
    #[arg(long, value_enum, value_name = "ANSWER")]
    pub(crate) permission: Option<Permission>,
    /// Print the wire, one JSON object {t, dir, raw} a line, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// The port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    #[command(flatten)]
    pub(crate) host: HostArguments,
}

/// Below the help for `doctor`.
const DOCTOR_EXIT_STATUS: &str = "\
Exit status:
    0  everything works
    1  something does not work
    2  nothing could be looked at: wrong arguments";

#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXIT_STATUS)]
pub(crate) struct DoctorArguments {
    /// Print one line of JSON {version, works, findings} instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// The folder of the session to tell the sandbox of [default: the current one]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cwd: Option<PathBuf>,
}

/// Which agent works, and where.
#[derive(Debug, Args)]
pub(crate) struct HostArguments {
    /// Another ACP agent instead of the embedded one: its command line
    #[arg(long, value_name = "COMMAND")]
    pub(crate) agent: Option<String>,
    /// The folder to work in [default: the current one]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cwd: Option<PathBuf>,
}

/// Answers to a request for permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Permission {
    /// Ask the person at the terminal
    Ask,
    /// Allow once, each time
    Allow,
    /// Reject once, each time
    Reject,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_help_for_run_states_the_exit_statuses() {
        use clap::CommandFactory;
        let mut arguments = Arguments::command();
        let run = arguments.find_subcommand_mut("run").unwrap();
        let help = run.render_help().to_string();
        assert!(help.trim_end().ends_with(RUN_EXIT_STATUS), "{help}");
    }
}
