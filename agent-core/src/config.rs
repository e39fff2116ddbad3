//! What the person set up: `config.toml` and the variables that override it.
//!
//! The file is read by hand from its parsed form instead of through `serde`, so that every complaint names the line
//! and what may stand there, and so that no complaint quotes a value that may be a secret.

mod document;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::model::name::{ModelName, ModelNameError};
use crate::shell::environment::VariableRules;
use crate::shell::sandbox::SandboxConfig;
use crate::store::postgres::address::{AddressMistake, ServerAddress};
use crate::surroundings::{Environment, Surroundings};

/// The name of the file in the configuration folder.
const FILE_NAME: &str = "config.toml";

/// The variable that overrides `model`.
const MODEL_VARIABLE: &str = "PLACARD_MODEL";

/// The default of [`Config::max_steps`].
const DEFAULT_MAX_STEPS: u32 = 50;

/// The configuration, complete and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The model of new sessions.
    pub model: ModelName,
    /// How many answers of the model one turn may take (1 to 1000).
    pub max_steps: u32,
    /// The `[providers.NAME]` tables by name.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// The `[cards]` table.
    pub cards: CardsConfig,
    /// The `[sandbox]` table.
    pub sandbox: SandboxConfig,
    /// The `[shell]` table.
    pub shell: ShellConfig,
    /// The `[sessions]` table.
    pub sessions: SessionsConfig,
    /// The `[store]` table.
    pub store: StoreConfig,
    /// Where the file is, or would be: for messages that tell people where to write something.
    pub file: PathBuf,
}

/// The `[cards]` table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CardsConfig {
    /// How a command is shown whose meaning is certain, such as one that only reads a file.
    pub classified: Classified,
}

/// The `[sessions]` table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionsConfig {
    /// Who gives a session its title.
    pub titles: Titles,
}

/// Who gives a session its title.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Titles {
    /// The first prompt, and after the first turn the model, where there is one.
    #[default]
    Model,
    /// The first prompt alone.
    Prompt,
}

/// The `[shell]` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellConfig {
    /// The most bytes of one command's output that a file keeps beside what is kept in memory. With 0 there is no file.
    pub spill_bytes: u64,
    /// The `[shell.env]` table.
    pub env: VariableRules,
}

impl Default for ShellConfig {
    fn default() -> Self {
        Self {
            spill_bytes: 64 * 1024 * 1024,
            env: VariableRules::default(),
        }
    }
}

/// The `[store]` table: where sessions are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StoreConfig {
    /// In one SQLite file of the data folder.
    #[default]
    Sqlite,
    /// In plain files of the data folder.
    Jsonl,
    /// On a PostgreSQL server.
    Postgres(ServerAddress),
}

/// How a command is shown whose meaning is certain. What runs is the same either way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Classified {
    /// As the command that it is, with a label that our own window draws it small by.
    #[default]
    Label,
    /// As the read or search that it is, without a terminal.
    Kind,
}

/// One `[providers.NAME]` table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderConfig {
    /// The address that the API's paths are appended to.
    pub base_url: Option<String>,
    /// The name of the variable that holds the key. Never the key.
    pub api_key_env: Option<String>,
    /// The API that a provider of the person's own speaks.
    pub kind: Option<ProviderKind>,
}

/// The API that a provider of the person's own speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    /// `OpenAI`'s chat completions.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is there, or something in its place, but cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something in the file is wrong.
    #[error("{path}:{line}: {mistake}")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there, and what is allowed.
        mistake: Mistake,
    },
    /// `PLACARD_MODEL` names no model.
    #[error("{MODEL_VARIABLE}: {0}")]
    ModelVariable(ModelNameError),
}

/// What is wrong at a place in the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    /// Not TOML.
    #[error("this is not valid TOML: {0}")]
    Syntax(String),
    /// Not text.
    #[error("this is not UTF-8 text; save the file as UTF-8")]
    NotUtf8,
    /// A key that means nothing here.
    #[error("unknown key {key} {place}; allowed there: {allowed}")]
    UnknownKey {
        /// The key, as far as it may be shown.
        key: String,
        /// The table it stands in.
        place: String,
        /// What may stand there.
        allowed: String,
    },
    /// A value of the wrong type, or outside of its range.
    #[error("`{key}` must be {expected}, and here it is {found}")]
    Value {
        /// The key.
        key: String,
        /// What is allowed.
        expected: String,
        /// What is there, as far as it may be shown.
        found: String,
    },
    /// A provider of the person's own without an address.
    #[error(
        "[providers.{provider}] needs `base_url`, such as \"http://127.0.0.1:8000/v1\", because `{provider}` is none \
         of the providers that Placard knows"
    )]
    NoAddress {
        /// The provider.
        provider: String,
    },
    /// `kind` for a provider whose kind is known.
    #[error(
        "`kind` is only for providers of your own; `{provider}` is known, so remove this line or choose another name"
    )]
    KindIsKnown {
        /// The provider.
        provider: String,
    },
    /// A name that could not be written before the slash of a model's name.
    #[error(
        "a provider's name is made of letters, digits, `-`, `_` and `.`, and is not `offline`: {name} is not"
    )]
    ProviderName {
        /// The name, as far as it may be shown.
        name: String,
    },
    /// A name that is let pass, and looks like a secret's.
    #[error(
        "{name} looks like a secret, and no secret passes by its name alone; to give it to every command all the same, \
         write its value in [shell.env.set]"
    )]
    SecretVariable {
        /// The name, as far as it may be shown.
        name: String,
    },
    /// Two answers to the question where sessions are.
    #[error("`{first}` and `{second}` both say where sessions are kept; remove one of them")]
    TwoStores {
        /// The key that stands first in the file.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// The variable that `url_env` names is not set.
    #[error(
        "the variable {variable} that `url_env` names is not set; set it to {expected}, or write `url`"
    )]
    NoStoreVariable {
        /// The variable.
        variable: String,
        /// What it must hold.
        expected: &'static str,
    },
    /// The variable that `url_env` names holds something else.
    #[error(
        "the variable {variable} that `url_env` names must hold {expected}, and here it is {found}"
    )]
    StoreVariable {
        /// The variable.
        variable: String,
        /// What it must hold.
        expected: &'static str,
        /// What is wrong with what it holds.
        found: AddressMistake,
    },
    /// `model` names no model.
    #[error("`model`: {0}")]
    Model(ModelNameError),
}

/// The bytes of a file. Of what is no file nothing is read: a pipe would keep the program waiting for ever.
fn read_regular(file: &Path) -> io::Result<Vec<u8>> {
    if std::fs::metadata(file)?.is_file() {
        std::fs::read(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

impl Config {
    /// Reads `config.toml`, which need not be there, and the variables that override it.
    pub fn load(surroundings: &Surroundings) -> Result<Self, ConfigError> {
        let file = surroundings.config_dir.join(FILE_NAME);
        let settings = match read_regular(&file) {
            Ok(bytes) => document::read(&bytes).map_err(|(line, mistake)| ConfigError::Line {
                path: file.clone(),
                line,
                mistake,
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => document::Settings::default(),
            Err(source) => return Err(ConfigError::Unreadable { path: file, source }),
        };
        Self::complete(settings, file, &surroundings.environment)
    }

    /// The configuration of a person who has set up nothing; `file` is where they would.
    pub fn unconfigured(file: PathBuf) -> Self {
        Self {
            model: ModelName::Offline,
            max_steps: DEFAULT_MAX_STEPS,
            providers: BTreeMap::new(),
            cards: CardsConfig::default(),
            sessions: SessionsConfig::default(),
            sandbox: SandboxConfig::default(),
            shell: ShellConfig::default(),
            store: StoreConfig::default(),
            file,
        }
    }

    /// Understands a model's name as it may be written in this configuration.
    pub fn model_name(&self, text: &str) -> Result<ModelName, ModelNameError> {
        ModelName::parse(text, &self.providers, &self.file)
    }

    fn complete(
        settings: document::Settings,
        file: PathBuf,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let mut config = Self::unconfigured(file);
        config.providers = settings.providers;
        config.cards = settings.cards;
        config.sessions = settings.sessions;
        config.sandbox = settings.sandbox;
        config.shell = settings.shell;
        config.store = settings
            .store
            .resolve(environment)
            .map_err(|(line, mistake)| config.mistake(line, mistake))?;
        if let Some(max_steps) = settings.max_steps {
            config.max_steps = max_steps;
        }
        // The file's model is checked even where a variable overrides it: a mistake that only shows
        // once the variable is gone is harder to find.
        if let Some((line, text)) = settings.model {
            config.model = config
                .model_name(&text)
                .map_err(|error| config.mistake(line, Mistake::Model(error)))?;
        }
        if let Some(text) = environment.get(MODEL_VARIABLE) {
            config.model = config
                .model_name(text)
                .map_err(ConfigError::ModelVariable)?;
        }
        Ok(config)
    }

    fn mistake(&self, line: usize, mistake: Mistake) -> ConfigError {
        ConfigError::Line {
            path: self.file.clone(),
            line,
            mistake,
        }
    }
}

/// A piece of somebody's text as a message may show it: quoted, shortened, and not at all where it may be a secret.
pub(crate) fn shown(text: &str) -> String {
    if looks_like_a_secret(text) {
        return "(not shown: it looks like a secret)".to_owned();
    }
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("`{}`", short.escape_debug())
}

/// Whether a text may be a key: a word that begins as keys do, a long one of mixed letters and digits, or an address
/// with a password.
fn looks_like_a_secret(text: &str) -> bool {
    const BEGINNINGS: [&str; 7] = ["sk-", "sk_", "AIza", "ghp_", "gsk_", "xai-", "key-"];
    let password = text.contains("://") && text.contains('@');
    let begins = |word: &str| {
        BEGINNINGS
            .iter()
            .any(|beginning| word.starts_with(beginning))
    };
    let mixed = |word: &str| {
        word.len() >= 24
            && word.chars().any(|c| c.is_ascii_digit())
            && word.chars().any(|c| c.is_ascii_alphabetic())
    };
    password
        || text
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
            .any(begins)
        || text.split(|c: char| !c.is_ascii_alphanumeric()).any(mixed)
}

/// Whether `name` can stand before the slash of a model's name.
fn is_provider_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name != "offline" && name.chars().all(fits)
}

#[cfg(test)]
mod tests;
