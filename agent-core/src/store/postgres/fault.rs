//! What a server or the way to it did wrong, in words that say what to do.

use std::io::ErrorKind;
use std::time::Duration;

use sqlx::error::DatabaseError;

/// Why something that was asked of a server did not come about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// What is told. Of an address nothing but what the server itself repeats: the names of user and database.
    pub(super) reason: String,
    /// What it comes to.
    pub(super) kind: FaultKind,
}

/// What a fault comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultKind {
    /// The connection is gone, and with it the answer: what was asked may have been done.
    Lost,
    /// There is no way to the server, or no more.
    Unreachable,
    /// Two at once were in each other's way, and this one was undone: it may be tried again.
    Collision,
    /// The server refused, and nothing was done.
    Refused,
}

impl Fault {
    /// A server that is reached and says nothing.
    pub(super) fn silent(kind: FaultKind, waited: Duration) -> Self {
        Self {
            reason: format!(
                "it has not answered for {} seconds; see whether it runs, and whether it is reached from here",
                waited.as_secs()
            ),
            kind,
        }
    }

    /// Every connection of this program is in use.
    pub(super) fn crowded(waited: Duration) -> Self {
        Self {
            reason: format!(
                "every connection of this program was in use for {} seconds; try again",
                waited.as_secs()
            ),
            kind: FaultKind::Unreachable,
        }
    }

    /// While connecting.
    pub(super) fn connecting(error: &sqlx::Error) -> Self {
        let fault = Self::of(error);
        let kind = match fault.kind {
            FaultKind::Lost => FaultKind::Unreachable,
            kind => kind,
        };
        Self { kind, ..fault }
    }

    /// While something was asked.
    pub(super) fn of(error: &sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(error) => Self::told(error.as_ref()),
            sqlx::Error::Io(error) => Self {
                reason: network(error),
                kind: FaultKind::Lost,
            },
            sqlx::Error::Tls(error) => Self {
                reason: format!(
                    "the encrypted connection failed: {error}; see `sslmode` and `sslrootcert` in `url`"
                ),
                kind: FaultKind::Unreachable,
            },
            sqlx::Error::Protocol(words) => Self {
                reason: format!("it does not speak as PostgreSQL does: {words}"),
                kind: FaultKind::Lost,
            },
            other => Self {
                reason: other.to_string(),
                kind: FaultKind::Refused,
            },
        }
    }

    /// What the server itself says.
    fn told(error: &dyn DatabaseError) -> Self {
        let code = error.code().unwrap_or_default();
        Self {
            reason: with_advice(error.message(), &code),
            kind: kind_of(&code),
        }
    }
}

/// What a code of the server comes to (PostgreSQL's manual, "PostgreSQL Error Codes").
fn kind_of(code: &str) -> FaultKind {
    match code {
        // Shut down by a person, by a crash, or not ready yet.
        "57P01" | "57P02" | "57P03" => FaultKind::Lost,
        // Could not be serialized, or a deadlock; of rows that go and come at once: a doubled key, a missing reference.
        "40001" | "40P01" | "23505" | "23503" => FaultKind::Collision,
        _ if code.starts_with("08") => FaultKind::Lost,
        _ => FaultKind::Refused,
    }
}

fn with_advice(message: &str, code: &str) -> String {
    let advice = match code {
        "28P01" | "28000" => "correct the user or the password in `url`",
        "3D000" => "create the database, as in docs/stores.md, or correct `url`",
        "42501" => "the user in `url` must own the database, or be allowed to create in it",
        "25006" => "this server is a copy for reading; name the one that it copies",
        "53100" => "make room on the server's disk",
        "53300" => {
            "let the server take more connections (max_connections), or close other programs"
        }
        "55P03" => "another program keeps it busy; try again",
        "57014" => "it took too long; try again when the server has less to do",
        "57P01" | "57P02" | "57P03" => "try again when the server is back",
        _ if code.starts_with("XX") => "see the server's log: its files may be damaged",
        _ => return message.to_owned(),
    };
    format!("{message}; {advice}")
}

fn network(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::ConnectionRefused | ErrorKind::NotFound => format!(
            "nobody answers there ({error}); start the server, or correct `url` under [store]"
        ),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            "the connection was lost; try again when the server is back".to_owned()
        }
        ErrorKind::PermissionDenied => {
            format!(
                "its socket is closed to you ({error}); become somebody who may use it, or correct `url` under [store]"
            )
        }
        _ => format!("{error}; see whether the server runs, and whether it is reached from here"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn codes_of_the_server_come_to_what_can_be_done() {
        use FaultKind::{Collision, Lost, Refused};
        for (code, kind) in [
            ("57P01", Lost),
            ("57P03", Lost),
            ("08006", Lost),
            ("40P01", Collision),
            ("23505", Collision),
            ("55P03", Refused),
            ("53100", Refused),
            ("", Refused),
        ] {
            assert_eq!(kind_of(code), kind, "{code}");
        }
    }

    #[test]
    fn a_fault_says_what_to_do() {
        assert_eq!(
            with_advice("database \"placard\" does not exist", "3D000"),
            "database \"placard\" does not exist; create the database, as in docs/stores.md, or correct `url`"
        );
        assert_eq!(with_advice("strange", "99999"), "strange");
        let refused = sqlx::Error::Io(ErrorKind::ConnectionRefused.into());
        assert_eq!(
            Fault::connecting(&refused),
            Fault {
                reason: "nobody answers there (connection refused); start the server, or correct `url` under [store]"
                    .to_owned(),
                kind: FaultKind::Unreachable,
            }
        );
        assert_eq!(Fault::of(&refused).kind, FaultKind::Lost);
    }
}
