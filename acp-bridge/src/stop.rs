//! Why a turn ended, in the protocol's words.

use agent_client_protocol::v1::schema::StopReason;
use agent_core::session::event::TurnEndReason;

/// The stop reason of a turn's end; `None` where version 1 answers the prompt with an error.
pub(crate) fn stop_reason(reason: TurnEndReason) -> Option<StopReason> {
    match reason {
        TurnEndReason::Completed => Some(StopReason::EndTurn),
        TurnEndReason::MaxTokens => Some(StopReason::MaxTokens),
        TurnEndReason::MaxSteps => Some(StopReason::MaxTurnRequests),
        TurnEndReason::Refusal => Some(StopReason::Refusal),
        TurnEndReason::Cancelled | TurnEndReason::Disposed => Some(StopReason::Cancelled),
        TurnEndReason::Error | TurnEndReason::Interrupted => None,
    }
}
