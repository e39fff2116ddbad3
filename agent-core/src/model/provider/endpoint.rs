//! Where a model is, what it speaks and which key opens it.

use std::fmt;

use reqwest::Url;

use crate::config::{Config, ProviderKind};
use crate::model::name::{ModelNameError, Wire, known_provider};
use crate::surroundings::Environment;

/// Why a model cannot be used as things are set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelSetupError {
    /// The name is no model's.
    #[error("{0}")]
    Name(#[from] ModelNameError),
    /// There is no key.
    #[error(
        "{model} needs an API key: set the variable {variable}, or name another variable with `api_key_env` under \
         [providers.{provider}] in {file}"
    )]
    MissingKey {
        /// The model.
        model: String,
        /// Its provider.
        provider: String,
        /// The variable that should hold the key.
        variable: String,
        /// The configuration file.
        file: String,
    },
    /// What the variable holds cannot be a key.
    #[error(
        "{model}: the variable {variable} holds characters that no API key has; set it to the key alone"
    )]
    StrangeKey {
        /// The model.
        model: String,
        /// The variable.
        variable: String,
    },
    /// The variable with the address holds none.
    #[error(
        "{model}: {variable} must be an address such as `https://host/v1`, and here it is {reason}"
    )]
    BaseUrl {
        /// The model.
        model: String,
        /// The variable.
        variable: String,
        /// What it is instead.
        reason: AddressMistake,
    },
}

/// Why a text is no address of an API. Says nothing of the text itself: addresses may hold passwords.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressMistake {
    /// No URL at all.
    #[error("no address")]
    NotAnAddress,
    /// Another scheme.
    #[error("an address that begins neither with http:// nor with https://")]
    Scheme,
    /// A user or password in front of the host.
    #[error("an address with a user or password in it; keys belong in `api_key_env`")]
    Password,
    /// A query or fragment behind the path.
    #[error("an address with `?` or `#` in it")]
    Query,
}

/// A key. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key(pub(super) String);

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key(…)")
    }
}

/// Where a model is, what it speaks and which key opens it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    pub(super) wire: Wire,
    /// Ends with a slash; the API's paths are appended to it.
    pub(super) base_url: String,
    /// The provider's own name for the model.
    pub(super) model: String,
    pub(super) key: Option<Key>,
    pub(super) takes_reasoning_back: bool,
    /// What to look at when the key is refused, such as `DEEPSEEK_API_KEY`.
    pub(super) key_setting: String,
    /// What to look at when the address is wrong.
    pub(super) address_setting: String,
}

impl Endpoint {
    /// Finds the endpoint of `provider/model`.
    pub(super) fn of(
        provider: &str,
        model: &str,
        config: &Config,
        environment: &Environment,
    ) -> Result<Self, ModelSetupError> {
        let full_name = format!("{provider}/{model}");
        // Understood again, because a name may come from a session that was saved under another configuration.
        config.model_name(&full_name)?;
        let table = config.providers.get(provider);
        let known = known_provider(provider);

        let wire = match (known, table.and_then(|table| table.kind)) {
            (Some(known), _) => known.wire,
            (None, Some(ProviderKind::Anthropic)) => Wire::Anthropic,
            (None, Some(ProviderKind::OpenAi) | None) => Wire::OpenAi,
        };

        let variable = known.map(|known| known.base_url_variable);
        let from_environment = variable.and_then(|variable| environment.get(variable));
        let (address, address_setting) = match (
            from_environment,
            table.and_then(|table| table.base_url.as_deref()),
        ) {
            (Some(address), _) => (address, variable.unwrap_or_default().to_owned()),
            (None, Some(address)) => (address, format!("`base_url` under [providers.{provider}]")),
            (None, None) => (
                known.map(|known| known.base_url).unwrap_or_default(),
                variable.unwrap_or_default().to_owned(),
            ),
        };
        let base_url = base_url(address, wire).map_err(|reason| ModelSetupError::BaseUrl {
            model: full_name.clone(),
            variable: address_setting.clone(),
            reason,
        })?;

        let key_variable = table
            .and_then(|table| table.api_key_env.as_deref())
            .or(known.and_then(|known| known.key_variable));
        let key = match key_variable {
            None => None,
            Some(variable) => Some(key(variable, &full_name, provider, config, environment)?),
        };
        let key_setting = key_variable.map_or_else(
            || {
                format!(
                    "`api_key_env` under [providers.{provider}] in {}",
                    config.file.display()
                )
            },
            str::to_owned,
        );

        Ok(Self {
            wire,
            base_url,
            model: model.to_owned(),
            key,
            takes_reasoning_back: known.is_none_or(|known| known.takes_reasoning_back),
            key_setting,
            address_setting,
        })
    }
}

fn key(
    variable: &str,
    model: &str,
    provider: &str,
    config: &Config,
    environment: &Environment,
) -> Result<Key, ModelSetupError> {
    // A key read from a file often brings its line's end along.
    let key = environment
        .get(variable)
        .map(str::trim)
        .filter(|key| !key.is_empty());
    let Some(key) = key else {
        return Err(ModelSetupError::MissingKey {
            model: model.to_owned(),
            provider: provider.to_owned(),
            variable: variable.to_owned(),
            file: config.file.display().to_string(),
        });
    };
    if !key.chars().all(|c| c.is_ascii_graphic()) {
        return Err(ModelSetupError::StrangeKey {
            model: model.to_owned(),
            variable: variable.to_owned(),
        });
    }
    Ok(Key(key.to_owned()))
}

/// Checks that a text is an address that a provider may have.
pub(crate) fn check_address(text: &str) -> Result<Url, AddressMistake> {
    let url = Url::parse(text.trim()).map_err(|_| AddressMistake::NotAnAddress)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(AddressMistake::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(AddressMistake::Password);
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(AddressMistake::Query);
    }
    Ok(url)
}

/// The address in the form that the API's paths can be appended to, whichever of the usual forms it was written in.
///
/// `OpenAI`'s own variable includes the version (`/v1`), Anthropic's does not; people write both with and without it,
/// and sometimes the whole path of the request.
fn base_url(text: &str, wire: Wire) -> Result<String, AddressMistake> {
    let mut url = check_address(text)?;
    let path = url.path().trim_end_matches('/');
    let path = match wire {
        Wire::OpenAi => path.strip_suffix("/chat/completions").unwrap_or(path),
        Wire::Anthropic => path.strip_suffix("/messages").unwrap_or(path),
        Wire::Gemini => path,
    };
    let path = match wire {
        // Other versions than 1 exist here (`/api/paas/v4`): a path is taken as it is.
        Wire::OpenAi if path.is_empty() => "/v1/".to_owned(),
        Wire::Anthropic if !path.ends_with("/v1") => format!("{path}/v1/"),
        Wire::Gemini if path.is_empty() => "/v1beta/".to_owned(),
        Wire::OpenAi | Wire::Anthropic | Wire::Gemini => format!("{path}/"),
    };
    url.set_path(&path);
    Ok(url.into())
}
