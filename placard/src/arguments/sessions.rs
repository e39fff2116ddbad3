//! What `placard sessions` can be asked.

use std::path::PathBuf;

use agent_core::store::Cursor;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

/// Below the help of every command here.
const EXIT_STATUS: &str = "\
Exit status:
    0  done
    1  it could not be done: no such session, one that is damaged or in use, a fault of the store
    2  nothing was attempted: wrong arguments, or an id that fits several sessions";

/// Below the help for `sessions`.
const IDS: &str = "\
An ID is as much of a session's id as no other session begins with; `list` shows it.
With --json the answer is JSON; docs/sessions.md describes each.";

#[derive(Debug, Args)]
#[command(after_help = IDS)]
pub(crate) struct SessionsArguments {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List them, those changed last first
    List(ListArguments),
    /// Show the conversation of one
    Show(ShowArguments),
    /// Find words in prompts, replies, commands and what they printed
    Search(SearchArguments),
    /// Write one as lines of JSON, to keep or to take elsewhere
    Export(ExportArguments),
    /// Store one that was exported
    Import(ImportArguments),
    /// Write a new session from what can be read of a damaged one
    Recover(RecoverArguments),
    /// Copy one; the copy goes its own way
    Fork(ForkArguments),
    /// Remove some for good, with all that their commands printed
    Rm(RemoveArguments),
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    pub(crate) folder: FolderArguments,
    /// Those put away, too
    #[arg(long)]
    pub(crate) archived: bool,
    /// At most so many
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = at_least_one)]
    pub(crate) limit: usize,
    /// Go on behind a list: its `next`
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<Cursor>,
    /// Print one JSON object {sessions, next, damaged}
    #[arg(long)]
    pub(crate) json: bool,
}

/// The folder of the sessions that are meant.
#[derive(Debug, Args)]
pub(crate) struct FolderArguments {
    /// Only sessions of this very folder [default: all]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cwd: Option<PathBuf>,
    /// Only sessions of the current folder
    #[arg(long, conflicts_with = "cwd")]
    pub(crate) here: bool,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct ShowArguments {
    /// The session
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    /// Show the outputs of commands whole
    #[arg(long)]
    pub(crate) full: bool,
    /// Print the log as it is stored: one event as JSON a line
    #[arg(long, conflicts_with_all = ["full", "json"])]
    pub(crate) events: bool,
    /// Print one JSON object {session, events}
    #[arg(long, conflicts_with = "full")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct SearchArguments {
    /// All must occur in one text; an argument of several words is a phrase. Case does not count
    #[arg(required = true, value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) folder: FolderArguments,
    /// Only in this session
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) session: Option<String>,
    /// At most so many places
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = at_least_one)]
    pub(crate) limit: usize,
    /// Print one JSON object {hits}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct ExportArguments {
    /// The session
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    /// A new file to write to, or `-` for stdout
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct ImportArguments {
    /// The file that was exported, or `-` for stdin
    pub(crate) file: PathBuf,
    /// Store it under a new id: beside one that is there already
    #[arg(long)]
    pub(crate) new_id: bool,
    /// Print one JSON object with the id and what came with it, instead of the id
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct RecoverArguments {
    /// The damaged session; it is left as it is
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    /// Print one JSON object with the ids and what was lost, instead of the new id
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct ForkArguments {
    /// The session to copy
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    /// Print one JSON object with the ids instead of the new id
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct RemoveArguments {
    /// The sessions to remove
    #[arg(required = true, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) ids: Vec<String>,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Print one JSON object {removed}
    #[arg(long)]
    pub(crate) json: bool,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("give a number from 1 on".to_owned()),
        Ok(number) => Ok(number),
    }
}
