//! Where a PostgreSQL server is, as a person writes it: an address that may hold a password and is never shown.

use std::fmt;

use reqwest::Url;

/// The port that is not worth naming.
const USUAL_PORT: &str = "5432";

/// What may stand behind the `?`: PostgreSQL's own names. Anything else is refused, since a slip of the pen in `sslmode`
/// would silently be less safe.
const PARAMETERS: [&str; 11] = [
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "application_name",
];

const SSL_MODES: [&str; 6] = [
    "disable",
    "allow",
    "prefer",
    "require",
    "verify-ca",
    "verify-full",
];

/// The address of a database on a server, such as `postgres://ada@db.example/placard`.
///
/// `Debug` and `Display` name the host and the database and nothing else.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddress {
    text: String,
    shown: String,
}

/// Why a text is no address of a database. Says nothing of the text that may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressMistake {
    /// No URL at all.
    #[error(
        "no address; in a user's name and a password write `%40` for `@`, `%2F` for `/`, `%23` for `#` and `%3A` for `:`"
    )]
    NotAnAddress,
    /// Another scheme.
    #[error("an address that begins neither with postgres:// nor with postgresql://")]
    Scheme,
    /// No database is named.
    #[error("an address that names no database; write it behind the host, as in /placard")]
    NoDatabase,
    /// Something behind the `?` that PostgreSQL does not know, or that is not supported here.
    #[error("an address with an unknown setting behind the `?`; allowed there: {}", PARAMETERS.join(", "))]
    Parameter,
    /// A value behind the `?` that cannot be.
    #[error("an address whose `{0}` is not {1}")]
    Value(&'static str, String),
    /// A `#`, most likely of a password.
    #[error("an address with `#` in it; in a password write `%23` for it")]
    Fragment,
}

impl ServerAddress {
    /// Reads an address.
    pub fn parse(text: &str) -> Result<Self, AddressMistake> {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        if !matches!(scheme, Some("postgres" | "postgresql")) {
            return Err(AddressMistake::Scheme);
        }
        let url = Url::parse(text).map_err(|_| AddressMistake::NotAnAddress)?;
        if url.fragment().is_some() {
            return Err(AddressMistake::Fragment);
        }
        let mut host = decoded(url.host_str().unwrap_or_default())?;
        let mut port = url.port().map(|port| port.to_string());
        let mut database = decoded(url.path().trim_start_matches('/'))?;
        decoded(url.username())?;
        decoded(url.password().unwrap_or_default())?;
        for (name, value) in url.query_pairs() {
            if !PARAMETERS.contains(&name.as_ref()) {
                return Err(AddressMistake::Parameter);
            }
            match name.as_ref() {
                "host" => host = value.into_owned(),
                "hostaddr" => {
                    if value.parse::<std::net::IpAddr>().is_err() {
                        let expected = "the number of a host, such as 192.0.2.7";
                        return Err(AddressMistake::Value("hostaddr", expected.to_owned()));
                    }
                    host = value.into_owned();
                }
                "port" => {
                    if value.parse::<u16>().is_err() {
                        let expected = "a number from 0 to 65535";
                        return Err(AddressMistake::Value("port", expected.to_owned()));
                    }
                    port = Some(value.into_owned());
                }
                "dbname" => database = value.into_owned(),
                "sslmode" if !SSL_MODES.contains(&value.as_ref()) => {
                    let expected = format!("one of {}", SSL_MODES.join(", "));
                    return Err(AddressMistake::Value("sslmode", expected));
                }
                _ => {}
            }
        }
        if database.is_empty() {
            return Err(AddressMistake::NoDatabase);
        }
        let place = match (host.as_str(), port.as_deref()) {
            ("", None | Some(USUAL_PORT)) => "the usual server".to_owned(),
            ("", Some(port)) => format!("the usual server at port {port}"),
            (host, None | Some(USUAL_PORT)) => host.to_owned(),
            (host, Some(port)) => format!("{host}:{port}"),
        };
        let shown = format!("{place} (database {database})");
        Ok(Self {
            text: text.to_owned(),
            shown: shown.escape_debug().to_string(),
        })
    }

    /// The address itself. It may hold a password.
    pub fn secret(&self) -> &str {
        &self.text
    }
}

/// A part of an address, which must be text behind its percent signs.
fn decoded(part: &str) -> Result<String, AddressMistake> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let escaped = behind
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() {
            behind.get(2..).unwrap_or_default()
        } else {
            behind
        };
    }
    String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'))
        .ok_or(AddressMistake::NotAnAddress)
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown)
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ServerAddress({})", self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn an_address_is_shown_without_its_secrets() {
        let table = [
            (
                "postgres://ada:pa%2Fss@db.example/placard?sslmode=verify-full",
                "db.example (database placard)",
            ),
            (
                "postgresql://db.example:5433/placard",
                "db.example:5433 (database placard)",
            ),
            (
                "postgres://db.example:5432/placard",
                "db.example (database placard)",
            ),
            (
                "postgres://[2001:db8::7]/placard",
                "[2001:db8::7] (database placard)",
            ),
            (
                "postgres:///placard?host=/run/postgresql&password=secret",
                "/run/postgresql (database placard)",
            ),
            (
                "postgres://%2Frun%2Fpostgresql/placard",
                "/run/postgresql (database placard)",
            ),
            (
                "postgres:///?dbname=two%20words&user=ada",
                "the usual server (database two words)",
            ),
            (
                "postgres:///placard?port=5433",
                "the usual server at port 5433 (database placard)",
            ),
        ];
        for (text, shown) in table {
            let address = ServerAddress::parse(text).unwrap();
            assert_eq!(address.to_string(), shown, "{text}");
            assert_eq!(format!("{address:?}"), format!("ServerAddress({shown})"));
        }
    }

    #[test]
    fn what_is_no_address_is_told_without_repeating_it() {
        use AddressMistake::{Fragment, NoDatabase, NotAnAddress, Parameter, Scheme, Value};
        let modes = "one of disable, allow, prefer, require, verify-ca, verify-full";
        let table = [
            ("", Scheme),
            ("db.example", Scheme),
            ("host=db.example password=secret", Scheme),
            ("mysql://db.example/placard", Scheme),
            ("postgres://ada:pa/ss@db.example/placard", NotAnAddress),
            ("postgres://ada:p%ff@db.example/placard", NotAnAddress),
            ("postgres://db.example/a%00b", NotAnAddress),
            ("postgres://db.example:seven/placard", NotAnAddress),
            ("postgres://db.example/placard#secret", Fragment),
            ("postgres://db.example", NoDatabase),
            ("postgres://db.example/?user=ada", NoDatabase),
            ("postgres://db.example/placard?ssl_mod=require", Parameter),
            (
                "postgres://db.example/placard?sslmode=full",
                Value("sslmode", modes.to_owned()),
            ),
            (
                "postgres://db.example/placard?port=x",
                Value("port", "a number from 0 to 65535".to_owned()),
            ),
            (
                "postgres://db.example/placard?hostaddr=db",
                Value(
                    "hostaddr",
                    "the number of a host, such as 192.0.2.7".to_owned(),
                ),
            ),
        ];
        for (text, mistake) in table {
            assert_eq!(ServerAddress::parse(text), Err(mistake), "{text}");
        }
    }
}
