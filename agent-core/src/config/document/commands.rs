//! What commands may do and what they see: the tables `[sandbox]` and `[shell]`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use toml::Spanned;
use toml::de::DeValue;

use super::{Document, Located, Mistake, shown};
use crate::config::ShellConfig;
use crate::shell::environment::{NamePattern, VariableRules, is_variable_name, secret_name};
use crate::shell::sandbox::{Engine, Level, SandboxConfig};

const SANDBOX_KEYS: [&str; 4] = ["level", "network", "writable", "engine"];
const SHELL_KEYS: [&str; 2] = ["spill_bytes", "env"];
const ENV_KEYS: [&str; 3] = ["pass", "remove", "set"];

/// Variables that each command gets a value of its own for.
const TAKEN: [&str; 2] = ["PWD", crate::shell::MARK];

/// The most that one command's output may take on disk: a slip of a few zeros must not fill it.
const MOST_SPILL_BYTES: u64 = 1 << 40;

impl Document<'_> {
    pub(super) fn sandbox(&self, value: &Spanned<DeValue<'_>>) -> Result<SandboxConfig, Located> {
        let mut sandbox = SandboxConfig::default();
        for (key, value) in self.table("sandbox", "a table", value)? {
            match key.get_ref().as_ref() {
                "level" => sandbox.level = Some(self.level(value)?),
                "network" => {
                    let network = value.get_ref().as_bool();
                    sandbox.network = Some(
                        network
                            .ok_or_else(|| self.wrong_value("network", "true or false", value))?,
                    );
                }
                "writable" => sandbox.writable = self.folders(value)?,
                "engine" => sandbox.engine = self.engine(value)?,
                other => {
                    return Err(self.unknown(&key.span(), other, "in [sandbox]", &SANDBOX_KEYS));
                }
            }
        }
        Ok(sandbox)
    }

    fn level(&self, value: &Spanned<DeValue<'_>>) -> Result<Level, Located> {
        [Level::WorkspaceWrite, Level::ReadOnly, Level::Off]
            .into_iter()
            .find(|level| value.get_ref().as_str() == Some(level.name()))
            .ok_or_else(|| {
                let expected = "\"workspace-write\", \"read-only\" or \"off\"";
                self.wrong_value("level", expected, value)
            })
    }

    fn engine(&self, value: &Spanned<DeValue<'_>>) -> Result<Engine, Located> {
        match value.get_ref().as_str() {
            Some("landlock") => Ok(Engine::Landlock),
            Some("bubblewrap") => Ok(Engine::Bubblewrap),
            _ => Err(self.wrong_value("engine", "\"landlock\" or \"bubblewrap\"", value)),
        }
    }

    fn folders(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<PathBuf>, Located> {
        let expected = "a list of folders in quotes, each from / or ~/ on, such as [\"~/notes\"]";
        self.list("writable", expected, value, |text| {
            (text.starts_with('/') || text.starts_with("~/")).then(|| PathBuf::from(text))
        })
    }

    pub(super) fn shell(&self, value: &Spanned<DeValue<'_>>) -> Result<ShellConfig, Located> {
        let mut shell = ShellConfig::default();
        for (key, value) in self.table("shell", "a table", value)? {
            match key.get_ref().as_ref() {
                "spill_bytes" => shell.spill_bytes = self.spill_bytes(value)?,
                "env" => shell.env = self.env(value)?,
                other => return Err(self.unknown(&key.span(), other, "in [shell]", &SHELL_KEYS)),
            }
        }
        Ok(shell)
    }

    fn spill_bytes(&self, value: &Spanned<DeValue<'_>>) -> Result<u64, Located> {
        let number = value
            .get_ref()
            .as_integer()
            .and_then(|integer| u64::from_str_radix(integer.as_str(), integer.radix()).ok());
        number
            .filter(|bytes| *bytes <= MOST_SPILL_BYTES)
            .ok_or_else(|| {
                let expected = format!(
                    "a whole number of bytes, at most {MOST_SPILL_BYTES}, such as 67108864"
                );
                self.wrong_value("spill_bytes", &expected, value)
            })
    }

    fn env(&self, value: &Spanned<DeValue<'_>>) -> Result<VariableRules, Located> {
        let mut rules = VariableRules::default();
        for (key, value) in self.table("shell.env", "a table", value)? {
            match key.get_ref().as_ref() {
                "pass" => {
                    rules.pass = self.patterns("pass", value)?;
                    self.refuse_secrets(value)?;
                }
                "remove" => rules.remove = self.patterns("remove", value)?,
                "set" => rules.set = self.variables(value)?,
                other => {
                    return Err(self.unknown(&key.span(), other, "in [shell.env]", &ENV_KEYS));
                }
            }
        }
        Ok(rules)
    }

    fn patterns(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Vec<NamePattern>, Located> {
        let expected = "a list of variables' names in quotes, such as [\"AWS_PROFILE\", \"APP_*\"]";
        let entries = value.get_ref().as_array().into_iter();
        let bare = entries
            .flat_map(|entries| entries.iter())
            .find(|entry| entry.get_ref().as_str() == Some("*"));
        if let Some(bare) = bare {
            let mistake = Mistake::Value {
                key: key.to_owned(),
                expected: expected.to_owned(),
                found: "a bare `*`, which is not allowed: a prefix must stand before it".to_owned(),
            };
            return Err((self.line(&bare.span()), mistake));
        }
        self.list(key, expected, value, NamePattern::parse)
    }

    /// Said here, since a name that silently does not pass is hard to find out about.
    fn refuse_secrets(&self, value: &Spanned<DeValue<'_>>) -> Result<(), Located> {
        let secret = value
            .get_ref()
            .as_array()
            .into_iter()
            .flat_map(|names| names.iter())
            .find_map(|name| {
                let text = name.get_ref().as_str()?;
                secret_name::looks_like_one(text).then(|| (name.span(), text))
            });
        match secret {
            None => Ok(()),
            Some((span, text)) => {
                let name = shown(text);
                Err((self.line(&span), Mistake::SecretVariable { name }))
            }
        }
    }

    fn variables(&self, value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, String>, Located> {
        let expected = format!(
            "a table of variables, such as {{ CI = \"1\" }}, without {}",
            TAKEN.join(" and ")
        );
        let mut set = BTreeMap::new();
        for (key, value) in self.table("set", &expected, value)? {
            let name = key.get_ref().as_ref();
            if !is_variable_name(name) || TAKEN.contains(&name) {
                let mistake = Mistake::Value {
                    key: "set".to_owned(),
                    expected,
                    found: format!("one with the name {}", shown(name)),
                };
                return Err((self.line(&key.span()), mistake));
            }
            let Some(text) = value.get_ref().as_str().filter(|text| !text.contains('\0')) else {
                // The value may be a secret, whatever it looks like: it is not repeated.
                let mistake = Mistake::Value {
                    key: name.to_owned(),
                    expected: "a text in quotes without NUL characters".to_owned(),
                    found: "something else (not shown: it may be a secret)".to_owned(),
                };
                return Err((self.line(&value.span()), mistake));
            };
            set.insert(name.to_owned(), text.to_owned());
        }
        Ok(set)
    }

    /// A list of texts, each of them understood by `read`.
    fn list<T>(
        &self,
        key: &str,
        expected: &str,
        value: &Spanned<DeValue<'_>>,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, Located> {
        let entries = value
            .get_ref()
            .as_array()
            .ok_or_else(|| self.wrong_value(key, expected, value))?;
        entries
            .iter()
            .map(|entry| {
                let text = entry.get_ref().as_str();
                text.and_then(&read)
                    .ok_or_else(|| self.wrong_value(key, expected, entry))
            })
            .collect()
    }
}
