//! Where sessions are kept: the table `[store]`.

use toml::Spanned;
use toml::de::DeValue;

use super::{Document, Located, Mistake, is_variable_name, looks_like_a_secret};
use crate::config::StoreConfig;
use crate::store::postgres::address::ServerAddress;
use crate::surroundings::Environment;

const STORE_KEYS: [&str; 3] = ["kind", "url", "url_env"];

/// What a variable with an address must hold.
const ADDRESS: &str = "the address of a database, such as postgres://you@db.example/placard";

/// What the file says of the store. What a variable holds is found out afterwards.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::config) enum StoreSetting {
    #[default]
    Sqlite,
    Jsonl,
    Server(ServerAddress),
    /// The line and the name of the variable that holds the address.
    Variable(usize, String),
}

impl StoreSetting {
    /// Looks into the variable, where there is one.
    pub(in crate::config) fn resolve(
        self,
        environment: &Environment,
    ) -> Result<StoreConfig, Located> {
        let (line, variable) = match self {
            Self::Sqlite => return Ok(StoreConfig::Sqlite),
            Self::Jsonl => return Ok(StoreConfig::Jsonl),
            Self::Server(address) => return Ok(StoreConfig::Postgres(address)),
            Self::Variable(line, variable) => (line, variable),
        };
        let expected = ADDRESS;
        let Some(text) = environment.get(&variable) else {
            return Err((line, Mistake::NoStoreVariable { variable, expected }));
        };
        ServerAddress::parse(text)
            .map(StoreConfig::Postgres)
            .map_err(|found| {
                let mistake = Mistake::StoreVariable {
                    variable,
                    expected,
                    found,
                };
                (line, mistake)
            })
    }
}

impl Document<'_> {
    pub(super) fn store(&self, value: &Spanned<DeValue<'_>>) -> Result<StoreSetting, Located> {
        let mut store = StoreSetting::default();
        let mut settings = Vec::new();
        for (key, value) in self.table("store", "a table", value)? {
            let name = key.get_ref().as_ref();
            let Some(known) = STORE_KEYS.into_iter().find(|known| *known == name) else {
                return Err(self.unknown(&key.span(), name, "in [store]", &STORE_KEYS));
            };
            settings.push((key.span().start, known));
            store = match known {
                "kind" => self.store_kind(value)?,
                "url" => StoreSetting::Server(self.server_address(value)?),
                _ => self.store_variable(value)?,
            };
        }
        // A table comes in the order of its keys' names; people read from the top.
        settings.sort_unstable();
        match settings.as_slice() {
            [(_, first), (place, second), ..] => Err((
                self.line(&(*place..*place)),
                Mistake::TwoStores { first, second },
            )),
            _ => Ok(store),
        }
    }

    fn store_kind(&self, value: &Spanned<DeValue<'_>>) -> Result<StoreSetting, Located> {
        match value.get_ref().as_str() {
            Some("sqlite") => Ok(StoreSetting::Sqlite),
            Some("jsonl") => Ok(StoreSetting::Jsonl),
            _ => {
                let expected =
                    "\"sqlite\" or \"jsonl\" (for PostgreSQL write `url` or `url_env` instead)";
                Err(self.wrong_value("kind", expected, value))
            }
        }
    }

    fn server_address(&self, value: &Spanned<DeValue<'_>>) -> Result<ServerAddress, Located> {
        let expected =
            "the address of a database in quotes, such as \"postgres://you@db.example/placard\"";
        let text = self.text_of("url", expected, value)?;
        ServerAddress::parse(text).map_err(|reason| {
            // The text itself is not repeated, whatever it looks like: it may hold a password.
            let mistake = Mistake::Value {
                key: "url".to_owned(),
                expected: expected.to_owned(),
                found: reason.to_string(),
            };
            (self.line(&value.span()), mistake)
        })
    }

    fn store_variable(&self, value: &Spanned<DeValue<'_>>) -> Result<StoreSetting, Located> {
        let expected = "the name of the environment variable that holds the address, such as \"PLACARD_STORE_URL\"";
        let text = self.text_of("url_env", expected, value)?;
        let line = self.line(&value.span());
        if is_variable_name(text) && !looks_like_a_secret(text) {
            return Ok(StoreSetting::Variable(line, text.to_owned()));
        }
        let mistake = Mistake::Value {
            key: "url_env".to_owned(),
            expected: expected.to_owned(),
            found: "something else (not shown: it may be the address)".to_owned(),
        };
        Err((line, mistake))
    }
}
