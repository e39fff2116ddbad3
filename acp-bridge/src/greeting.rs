//! The introduction: what the client draws and can do, and what is offered to it.

use agent_client_protocol::schema::ProtocolVersion;
#[cfg(feature = "unstable_session_fork")]
use agent_client_protocol::v1::schema::SessionForkCapabilities;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, Implementation, InitializeRequest, InitializeResponse, PromptCapabilities,
    SessionAdditionalDirectoriesCapabilities, SessionCapabilities, SessionCloseCapabilities,
    SessionDeleteCapabilities, SessionListCapabilities, SessionResumeCapabilities,
};
use agent_core::agent::FrontAbilities;
use serde_json::Value;
use terminal_card::Capability;

use crate::extension;
use crate::message::Dialect;

/// The answer to a client that introduces itself.
pub(crate) fn answer() -> InitializeResponse {
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_info(
            Implementation::new("placard", env!("CARGO_PKG_VERSION")).title("Placard".to_owned()),
        )
        .agent_capabilities(
            AgentCapabilities::new()
                .load_session(true)
                .prompt_capabilities(PromptCapabilities::new().embedded_context(true))
                .session_capabilities(session_capabilities())
                .meta(extension::offered()),
        )
}

fn session_capabilities() -> SessionCapabilities {
    let capabilities = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .delete(SessionDeleteCapabilities::new())
        .additional_directories(SessionAdditionalDirectoriesCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new());
    #[cfg(feature = "unstable_session_fork")]
    let capabilities = capabilities.fork(SessionForkCapabilities::new());
    capabilities
}

/// What the client draws, and what its person can do.
pub(crate) fn understand(request: &InitializeRequest) -> (Dialect, FrontAbilities) {
    // Serializing what was just deserialized cannot fail; a client without capabilities draws no cards.
    let capabilities = serde_json::to_value(&request.client_capabilities).unwrap_or(Value::Null);
    let meta = request.meta.clone().map_or(Value::Null, Value::Object);
    let air = |value: &Value| {
        value
            .pointer("/jetbrains/air")
            .is_some_and(|air| *air != Value::Bool(false) && !air.is_null())
    };
    let capability = Capability::of_client(&capabilities);
    let mut front = extension::abilities(&capabilities);
    // Who sees no card does not see what is asked: a command that waited for them would hang.
    front.can_type &= capability != Capability::None;
    let dialect = Dialect {
        capability,
        signals_as_codes: air(&meta) || capabilities.get("_meta").is_some_and(air),
        hears_states: front.can_type,
    };
    (dialect, front)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn what_is_offered_is_what_is_there() {
        let mut session = json!({"list": {}, "delete": {}, "additionalDirectories": {}, "resume": {}, "close": {}});
        if cfg!(feature = "unstable_session_fork") {
            session["fork"] = json!({});
        }
        let answer = serde_json::to_value(answer()).unwrap();
        let offered = &answer["agentCapabilities"];
        assert_eq!(
            (&offered["loadSession"], &offered["sessionCapabilities"]),
            (&json!(true), &session)
        );
    }
}
