//! `config.toml` as a document: which keys may stand where, and what their values must be.

mod commands;
mod store;

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{
    CardsConfig, Classified, Mistake, ProviderConfig, ProviderKind, SessionsConfig, ShellConfig,
    Titles, is_provider_name, looks_like_a_secret, shown,
};
use crate::model::name;
use crate::model::provider::endpoint;
use crate::shell::environment::is_variable_name;
use crate::shell::sandbox::SandboxConfig;

/// What the file says, checked value by value. Lines are counted from 1.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    /// The line and the text of `model`.
    pub(super) model: Option<(usize, String)>,
    pub(super) max_steps: Option<u32>,
    pub(super) providers: BTreeMap<String, ProviderConfig>,
    pub(super) cards: CardsConfig,
    pub(super) sandbox: SandboxConfig,
    pub(super) shell: ShellConfig,
    pub(super) sessions: SessionsConfig,
    pub(super) store: store::StoreSetting,
}

/// A mistake and the line that it is on.
type Located = (usize, Mistake);

const TOP_KEYS: [&str; 8] = [
    "model",
    "max_steps",
    "providers",
    "cards",
    "sandbox",
    "shell",
    "sessions",
    "store",
];
const CARDS_KEYS: [&str; 1] = ["classified"];
const PROVIDER_KEYS: [&str; 3] = ["base_url", "api_key_env", "kind"];

/// Reads the file's content.
pub(super) fn read(bytes: &[u8]) -> Result<Settings, Located> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        (line_after(before), Mistake::NotUtf8)
    })?;
    let document = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_at(text, span.start));
        (line, Mistake::Syntax(error.message().to_owned()))
    })?;
    Document { text }.settings(document.get_ref())
}

struct Document<'a> {
    text: &'a str,
}

impl Document<'_> {
    fn settings(&self, table: &DeTable<'_>) -> Result<Settings, Located> {
        let mut settings = Settings::default();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "model" => {
                    let text = self.text_of(
                        "model",
                        "a model's name in quotes, such as \"deepseek/deepseek-chat\"",
                        value,
                    )?;
                    settings.model = Some((self.line(&value.span()), text.to_owned()));
                }
                "max_steps" => settings.max_steps = Some(self.max_steps(value)?),
                "providers" => settings.providers = self.providers(value)?,
                "cards" => settings.cards = self.cards(value)?,
                "sandbox" => settings.sandbox = self.sandbox(value)?,
                "shell" => settings.shell = self.shell(value)?,
                "store" => settings.store = self.store(value)?,
                "sessions" => settings.sessions = self.sessions(value)?,
                other => return Err(self.unknown(&key.span(), other, "at the top", &TOP_KEYS)),
            }
        }
        Ok(settings)
    }

    fn max_steps(&self, value: &Spanned<DeValue<'_>>) -> Result<u32, Located> {
        let number = value
            .get_ref()
            .as_integer()
            .and_then(|integer| u32::from_str_radix(integer.as_str(), integer.radix()).ok());
        number
            .filter(|steps| (1..=1000).contains(steps))
            .ok_or_else(|| self.wrong_value("max_steps", "a whole number from 1 to 1000", value))
    }

    fn cards(&self, value: &Spanned<DeValue<'_>>) -> Result<CardsConfig, Located> {
        let mut cards = CardsConfig::default();
        for (key, value) in self.table("cards", "a table", value)? {
            match key.get_ref().as_ref() {
                "classified" => {
                    cards.classified = match value.get_ref().as_str() {
                        Some("label") => Classified::Label,
                        Some("kind") => Classified::Kind,
                        _ => {
                            let expected = "\"label\" or \"kind\"";
                            return Err(self.wrong_value("classified", expected, value));
                        }
                    }
                }
                other => {
                    return Err(self.unknown(&key.span(), other, "in [cards]", &CARDS_KEYS));
                }
            }
        }
        Ok(cards)
    }

    fn sessions(&self, value: &Spanned<DeValue<'_>>) -> Result<SessionsConfig, Located> {
        let mut sessions = SessionsConfig::default();
        for (key, value) in self.table("sessions", "a table", value)? {
            match key.get_ref().as_ref() {
                "titles" => {
                    sessions.titles = match value.get_ref().as_str() {
                        Some("model") => Titles::Model,
                        Some("prompt") => Titles::Prompt,
                        _ => {
                            let expected = "\"model\" or \"prompt\"";
                            return Err(self.wrong_value("titles", expected, value));
                        }
                    }
                }
                other => {
                    let place = "in [sessions]";
                    return Err(self.unknown(&key.span(), other, place, &["titles"]));
                }
            }
        }
        Ok(sessions)
    }

    fn providers(
        &self,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<BTreeMap<String, ProviderConfig>, Located> {
        let table = self.table("providers", "tables, such as [providers.deepseek]", value)?;
        let mut providers = BTreeMap::new();
        for (key, value) in table {
            let provider = key.get_ref().as_ref();
            if !is_provider_name(provider) {
                return Err((
                    self.line(&key.span()),
                    Mistake::ProviderName {
                        name: shown(provider),
                    },
                ));
            }
            let config = self.provider(provider, &key.span(), value)?;
            providers.insert(provider.to_owned(), config);
        }
        Ok(providers)
    }

    fn provider(
        &self,
        provider: &str,
        place: &Range<usize>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<ProviderConfig, Located> {
        let known = name::known_provider(provider).is_some();
        let table_name = format!("providers.{provider}");
        let mut config = ProviderConfig::default();
        for (key, value) in self.table(&table_name, "a table", value)? {
            match key.get_ref().as_ref() {
                "base_url" => config.base_url = Some(self.base_url(value)?),
                "api_key_env" => config.api_key_env = Some(self.api_key_env(value)?),
                "kind" if known => {
                    let provider = provider.to_owned();
                    return Err((self.line(&key.span()), Mistake::KindIsKnown { provider }));
                }
                "kind" => config.kind = Some(self.kind(value)?),
                other => {
                    return Err(self.unknown(
                        &key.span(),
                        other,
                        &format!("in [{table_name}]"),
                        &PROVIDER_KEYS,
                    ));
                }
            }
        }
        if !known && config.base_url.is_none() {
            let provider = provider.to_owned();
            return Err((self.line(place), Mistake::NoAddress { provider }));
        }
        Ok(config)
    }

    fn base_url(&self, value: &Spanned<DeValue<'_>>) -> Result<String, Located> {
        let expected = "an address in quotes, such as \"https://api.deepseek.com/v1\"";
        let text = self.text_of("base_url", expected, value)?;
        endpoint::check_address(text).map_err(|reason| {
            let mistake = Mistake::Value {
                key: "base_url".to_owned(),
                expected: expected.to_owned(),
                found: reason.to_string(),
            };
            (self.line(&value.span()), mistake)
        })?;
        Ok(text.to_owned())
    }

    fn api_key_env(&self, value: &Spanned<DeValue<'_>>) -> Result<String, Located> {
        let expected =
            "the name of the environment variable that holds the key, such as \"DEEPSEEK_API_KEY\"";
        let text = self.text_of("api_key_env", expected, value)?;
        if is_variable_name(text) && !looks_like_a_secret(text) {
            Ok(text.to_owned())
        } else {
            // Most likely the key itself: it is not repeated, whatever it looks like.
            let mistake = Mistake::Value {
                key: "api_key_env".to_owned(),
                expected: expected.to_owned(),
                found: "something else (not shown: it may be the key)".to_owned(),
            };
            Err((self.line(&value.span()), mistake))
        }
    }

    fn kind(&self, value: &Spanned<DeValue<'_>>) -> Result<ProviderKind, Located> {
        match value.get_ref().as_str() {
            Some("openai") => Ok(ProviderKind::OpenAi),
            Some("anthropic") => Ok(ProviderKind::Anthropic),
            _ => Err(self.wrong_value("kind", "\"openai\" or \"anthropic\"", value)),
        }
    }

    fn text_of<'v>(
        &self,
        key: &str,
        expected: &str,
        value: &'v Spanned<DeValue<'_>>,
    ) -> Result<&'v str, Located> {
        value
            .get_ref()
            .as_str()
            .ok_or_else(|| self.wrong_value(key, expected, value))
    }

    fn table<'v, 'i>(
        &self,
        key: &str,
        expected: &str,
        value: &'v Spanned<DeValue<'i>>,
    ) -> Result<&'v DeTable<'i>, Located> {
        value
            .get_ref()
            .as_table()
            .ok_or_else(|| self.wrong_value(key, expected, value))
    }

    fn wrong_value(&self, key: &str, expected: &str, value: &Spanned<DeValue<'_>>) -> Located {
        let found = match value.get_ref() {
            DeValue::String(text) => format!("the text {}", shown(text)),
            DeValue::Integer(integer) => format!("the number {}", shown(integer.as_str())),
            DeValue::Float(_) => "a number with a fraction".to_owned(),
            DeValue::Boolean(truth) => format!("`{truth}`"),
            DeValue::Datetime(_) => "a date".to_owned(),
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        };
        let mistake = Mistake::Value {
            key: key.to_owned(),
            expected: expected.to_owned(),
            found,
        };
        (self.line(&value.span()), mistake)
    }

    fn unknown(&self, span: &Range<usize>, key: &str, place: &str, allowed: &[&str]) -> Located {
        let mistake = Mistake::UnknownKey {
            key: shown(key),
            place: place.to_owned(),
            allowed: allowed.join(", "),
        };
        (self.line(span), mistake)
    }

    fn line(&self, span: &Range<usize>) -> usize {
        line_at(self.text, span.start)
    }
}

/// The number of the line that holds the byte at `offset`.
fn line_at(text: &str, offset: usize) -> usize {
    line_after(text.as_bytes().get(..offset).unwrap_or(text.as_bytes()))
}

fn line_after(before: &[u8]) -> usize {
    before.split(|byte| *byte == b'\n').count()
}
