//! Who may come in: a one-time token, a cookie, and the server's own address.

use std::sync::{Mutex, PoisonError};

use axum::http::HeaderMap;
use axum::http::header::{COOKIE, HOST, ORIGIN};
use subtle::ConstantTimeEq;

/// The door of one server.
#[derive(Debug)]
pub(crate) struct Door {
    port: u16,
    token: Mutex<Option<String>>,
    secret: String,
}

/// Why a request is turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It names another host: a page elsewhere may have had its name point here.
    Host,
    /// It has neither the cookie nor the token.
    Stranger,
    /// Another page's script wants the socket.
    Origin,
}

impl Door {
    /// A door, and the token that opens it once.
    pub(crate) fn new(port: u16) -> (Self, String) {
        let token = secret();
        let door = Self {
            port,
            token: Mutex::new(Some(token.clone())),
            secret: secret(),
        };
        (door, token)
    }

    /// Lets only requests pass that name this server as their host.
    pub(crate) fn check_host(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = headers.get(HOST).map(axum::http::HeaderValue::as_bytes);
        let ours = self
            .names()
            .iter()
            .any(|name| Some(name.as_bytes()) == host);
        if ours { Ok(()) } else { Err(Refusal::Host) }
    }

    /// Lets only requests pass that carry the cookie.
    pub(crate) fn check_cookie(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let name = self.cookie_name();
        let known = headers
            .get_all(COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .any(|(key, value)| key == name && same(value, &self.secret));
        if known {
            Ok(())
        } else {
            Err(Refusal::Stranger)
        }
    }

    /// Lets only the server's own pages pass.
    pub(crate) fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let origin = headers.get(ORIGIN).map(axum::http::HeaderValue::as_bytes);
        let ours = self
            .names()
            .iter()
            .any(|name| Some(format!("http://{name}").as_bytes()) == origin);
        if ours { Ok(()) } else { Err(Refusal::Origin) }
    }

    /// Takes the token for the cookie to set; the token is spent.
    pub(crate) fn spend(&self, token: &str) -> Result<String, Refusal> {
        let mut held = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        if held.as_ref().is_some_and(|held| same(held, token)) {
            *held = None;
            let (name, secret) = (self.cookie_name(), &self.secret);
            Ok(format!(
                "{name}={secret}; Path=/; HttpOnly; SameSite=Strict"
            ))
        } else {
            Err(Refusal::Stranger)
        }
    }

    fn names(&self) -> [String; 2] {
        ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port))
    }

    /// Browsers keep cookies by host, not by port: two servers must not take each other's.
    fn cookie_name(&self) -> String {
        format!("placard_{}", self.port)
    }
}

/// Compares in a time that tells nothing of where the two differ.
fn same(left: &str, right: &str) -> bool {
    left.as_bytes().ct_eq(right.as_bytes()).into()
}

/// 244 random bits from the system, as hexadecimal digits.
fn secret() -> String {
    format!(
        "{}{}",
        uuid::Uuid::new_v4().simple(),
        uuid::Uuid::new_v4().simple()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderName;
    use pretty_assertions::assert_eq;

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn hosts_and_origins_are_this_servers_own() {
        let (door, _) = Door::new(8080);
        let hosts = [
            ("127.0.0.1:8080", Ok(())),
            ("localhost:8080", Ok(())),
            ("127.0.0.1:8081", Err(Refusal::Host)),
            ("127.0.0.1", Err(Refusal::Host)),
            ("evil.example:8080", Err(Refusal::Host)),
        ];
        for (host, expected) in hosts {
            assert_eq!(door.check_host(&headers(HOST, host)), expected, "{host}");
        }
        let origins = [
            ("http://127.0.0.1:8080", Ok(())),
            ("https://127.0.0.1:8080", Err(Refusal::Origin)),
            ("http://127.0.0.1:8081", Err(Refusal::Origin)),
            ("null", Err(Refusal::Origin)),
        ];
        for (origin, expected) in origins {
            assert_eq!(
                door.check_origin(&headers(ORIGIN, origin)),
                expected,
                "{origin}"
            );
        }
        assert_eq!(door.check_host(&HeaderMap::new()), Err(Refusal::Host));
        assert_eq!(door.check_origin(&HeaderMap::new()), Err(Refusal::Origin));
    }

    #[test]
    fn a_token_opens_once_and_its_cookie_for_good() {
        let (door, token) = Door::new(8080);
        assert_eq!(door.spend("guess"), Err(Refusal::Stranger));
        let cookie = door.spend(&token).unwrap();
        assert_eq!(door.spend(&token), Err(Refusal::Stranger));
        assert_eq!(
            cookie,
            format!(
                "placard_8080={}; Path=/; HttpOnly; SameSite=Strict",
                door.secret
            )
        );
        let pair = cookie.split(';').next().unwrap();
        assert_eq!(
            door.check_cookie(&headers(COOKIE, &format!("other=1; {pair}"))),
            Ok(())
        );
        let wrong = headers(
            COOKIE,
            &format!("placard_8080={token}; placard_1={}", door.secret),
        );
        assert_eq!(door.check_cookie(&wrong), Err(Refusal::Stranger));
        assert_eq!(door.check_cookie(&HeaderMap::new()), Err(Refusal::Stranger));
    }
}
