//! What went wrong, as an error of the protocol: the code tells a client what sort of fault it is, the message a person what to do.

use std::path::Path;

use agent_client_protocol::{Error, ErrorCode};
use agent_core::agent::OpenError;
use agent_core::store::StoreError;

/// A session that is not open on this connection.
pub(crate) fn not_open() -> Error {
    let message =
        "this session is not open here; load it with session/load, or start one with session/new";
    Error::new(ErrorCode::RESOURCE_NOT_FOUND, message)
}

/// A session that is not open yet.
pub(crate) fn being_opened() -> Error {
    let message = "this session is being loaded; wait for the answer to session/load";
    Error::new(ErrorCode::INVALID_REQUEST, message)
}

/// A session that was closed or deleted, or whose connection ended, before it was open.
pub(crate) fn broken_off() -> Error {
    let message = "the session was closed while it was being loaded; load it again";
    Error::new(ErrorCode::REQUEST_CANCELLED, message)
}

/// A session that cannot be taken to other folders while it is at work.
pub(crate) fn at_work_elsewhere(cwd: &Path) -> Error {
    let message = format!(
        "this session is open here in {} and its commands still run; close it with session/close before it is loaded with other folders",
        cwd.display()
    );
    Error::new(ErrorCode::INVALID_REQUEST, message)
}

/// A session that is open and was never prompted.
pub(crate) fn nothing_stored() -> Error {
    let message = "this session was not prompted yet, so there is nothing to take elsewhere; start one with session/new";
    Error::new(ErrorCode::INVALID_REQUEST, message)
}

/// A session that no store can have. The id is not repeated: it may be anything.
pub(crate) fn no_such_session() -> Error {
    let message = "there is no such session; session/list shows those that there are";
    Error::new(ErrorCode::RESOURCE_NOT_FOUND, message)
}

/// Why a session was not opened.
pub(crate) fn opening(error: &OpenError) -> Error {
    match error {
        OpenError::Store(error) => store(error),
        OpenError::Folder { .. } | OpenError::Config(_) => {
            Error::new(ErrorCode::INVALID_PARAMS, error.to_string())
        }
        OpenError::Remains { .. } => Error::new(ErrorCode::INTERNAL_ERROR, error.to_string()),
    }
}

/// Why the store did not do its part.
pub(crate) fn store(error: &StoreError) -> Error {
    let code = match error {
        StoreError::Missing { .. } => ErrorCode::RESOURCE_NOT_FOUND,
        StoreError::UnknownCursor { .. } | StoreError::EmptyQuery { .. } => {
            ErrorCode::INVALID_PARAMS
        }
        StoreError::Held { .. } | StoreError::Exists { .. } => ErrorCode::INVALID_REQUEST,
        _ => ErrorCode::INTERNAL_ERROR,
    };
    Error::new(code, error.to_string())
}
