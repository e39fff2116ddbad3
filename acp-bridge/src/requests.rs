//! What a client asks for, a file for each sort. Each begins before the next message is read and goes on in a task of its own,
//! so that nothing long keeps other messages of the connection waiting.

mod end;
mod list;
mod open;
mod prompt;

use agent_client_protocol::v1::schema::SessionId;
use agent_core::session::SessionId as StoredId;

/// The id as stores know it; none when no store can have such a session. Ids become names of files, so what could lead elsewhere
/// never gets there.
fn stored_id(id: &SessionId) -> Option<StoredId> {
    StoredId::parse(&id.0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_what_can_be_an_id_is_looked_for() {
        let table = [
            ("0192f0c1-7b2e-7000-8000-0123456789ab", true),
            ("imported_2", true),
            ("", false),
            (".", false),
            ("..", false),
            ("../../home", false),
            ("a/b", false),
            ("a\0b", false),
            ("a b", false),
            ("é", false),
        ];
        for (id, fits) in table {
            assert_eq!(stored_id(&SessionId::new(id)).is_some(), fits, "{id:?}");
        }
        assert_eq!(stored_id(&SessionId::new("a".repeat(129))), None);
    }
}
