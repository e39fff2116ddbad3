//! The names of models: `offline`, or `provider/model`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::config::{ProviderConfig, shown};

/// The name of the embedded model.
pub const OFFLINE: &str = "offline";

/// A model's name, understood: its provider is one that is known or set up.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ModelName {
    /// The embedded model.
    Offline,
    /// A model of a provider.
    Provided {
        /// The provider: a known one, or a `[providers.NAME]` table of the configuration.
        provider: String,
        /// The provider's own name for the model. It may hold slashes.
        model: String,
    },
}

/// Why a text names no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelNameError {
    /// Neither `offline` nor `provider/model`.
    #[error(
        "{text} is no model; write `offline`, or provider/model such as `deepseek/deepseek-chat` \
         (providers: {known})"
    )]
    Shape {
        /// What was given, as far as it may be shown.
        text: String,
        /// The providers, known and set up.
        known: String,
    },
    /// The provider is not known.
    #[error(
        "unknown provider {provider}; known are {known}; to use an endpoint that speaks OpenAI's API, add \
         [providers.NAME] with base_url = \"https://…/v1\" and api_key_env = \"…\" to {file}, and write NAME/model"
    )]
    UnknownProvider {
        /// What was given, as far as it may be shown.
        provider: String,
        /// The providers, known and set up.
        known: String,
        /// Where to add one.
        file: PathBuf,
    },
}

impl ModelName {
    /// Understands `text` with the providers that are known and those of the configuration `file`.
    pub(crate) fn parse(
        text: &str,
        providers: &BTreeMap<String, ProviderConfig>,
        file: &Path,
    ) -> Result<Self, ModelNameError> {
        let text = text.trim();
        if text == OFFLINE {
            return Ok(Self::Offline);
        }
        let (provider, model) = text
            .split_once('/')
            .filter(|(provider, model)| !provider.is_empty() && !model.is_empty())
            .filter(|(_, model)| !model.contains(|c: char| c.is_whitespace() || c.is_control()))
            .ok_or_else(|| ModelNameError::Shape {
                text: shown(text),
                known: listed(providers),
            })?;
        if known_provider(provider).is_none() && !providers.contains_key(provider) {
            return Err(ModelNameError::UnknownProvider {
                provider: shown(provider),
                known: listed(providers),
                file: file.to_owned(),
            });
        }
        Ok(Self::Provided {
            provider: provider.to_owned(),
            model: model.to_owned(),
        })
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offline => formatter.write_str(OFFLINE),
            Self::Provided { provider, model } => write!(formatter, "{provider}/{model}"),
        }
    }
}

/// The API that a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// `OpenAI`'s chat completions.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini's `generateContent`.
    Gemini,
}

/// A provider that needs no table in the configuration.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KnownProvider {
    /// The name before the slash.
    pub(crate) name: &'static str,
    /// What it speaks.
    pub(crate) wire: Wire,
    /// Its address.
    pub(crate) base_url: &'static str,
    /// The variable that changes its address.
    pub(crate) base_url_variable: &'static str,
    /// The variable that holds its key, where it wants one.
    pub(crate) key_variable: Option<&'static str>,
    /// Whether it wants the reasoning of earlier answers back.
    pub(crate) takes_reasoning_back: bool,
}

/// The known providers, by name.
static KNOWN: [KnownProvider; 5] = [
    KnownProvider {
        name: "anthropic",
        wire: Wire::Anthropic,
        base_url: "https://api.anthropic.com/v1/",
        base_url_variable: "ANTHROPIC_BASE_URL",
        key_variable: Some("ANTHROPIC_API_KEY"),
        takes_reasoning_back: true,
    },
    KnownProvider {
        name: "deepseek",
        wire: Wire::OpenAi,
        base_url: "https://api.deepseek.com/v1/",
        base_url_variable: "DEEPSEEK_BASE_URL",
        key_variable: Some("DEEPSEEK_API_KEY"),
        takes_reasoning_back: true,
    },
    KnownProvider {
        name: "gemini",
        wire: Wire::Gemini,
        base_url: "https://generativelanguage.googleapis.com/v1beta/",
        base_url_variable: "GEMINI_BASE_URL",
        key_variable: Some("GEMINI_API_KEY"),
        takes_reasoning_back: true,
    },
    // Ollama serves OpenAI's API beside its own; one wire format less to keep right.
    KnownProvider {
        name: "ollama",
        wire: Wire::OpenAi,
        base_url: "http://localhost:11434/v1/",
        base_url_variable: "OLLAMA_BASE_URL",
        key_variable: None,
        takes_reasoning_back: false,
    },
    KnownProvider {
        name: "openai",
        wire: Wire::OpenAi,
        base_url: "https://api.openai.com/v1/",
        base_url_variable: "OPENAI_BASE_URL",
        key_variable: Some("OPENAI_API_KEY"),
        // Its chat completions never show any.
        takes_reasoning_back: false,
    },
];

/// The known provider of that name.
pub(crate) fn known_provider(name: &str) -> Option<&'static KnownProvider> {
    KNOWN.iter().find(|provider| provider.name == name)
}

/// The variables that hold keys, for people who have set up none yet.
pub(crate) fn key_variables() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().filter_map(|provider| provider.key_variable)
}

fn listed(providers: &BTreeMap<String, ProviderConfig>) -> String {
    let mut names: Vec<&str> = KNOWN.iter().map(|provider| provider.name).collect();
    names.extend(providers.keys().map(String::as_str));
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}
