//! Closing and deleting sessions.

use agent_client_protocol::Error;
use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    CloseSessionRequest, CloseSessionResponse, DeleteSessionRequest, DeleteSessionResponse,
    SessionId,
};

use super::stored_id;
use crate::failure;
use crate::sessions::Sessions;

impl Sessions {
    /// Ends a session and everything that its commands started. A prompt that runs is answered first.
    pub(crate) fn close(
        &self,
        request: CloseSessionRequest,
        responder: Responder<CloseSessionResponse>,
    ) {
        let sessions = self.clone();
        let id = request.session_id;
        let place = self.line_up(&id);
        let was_opening = self.break_off_opening(&id);
        self.ending_tasks().spawn(async move {
            place.reached().await;
            let was_open = sessions.end(&id).await;
            drop(place);
            let answer = if was_open || was_opening {
                Ok(CloseSessionResponse::new())
            } else {
                Err(failure::not_open())
            };
            answered(responder, answer);
        });
    }

    /// Removes a session for good, whether it is open here or only stored.
    pub(crate) fn delete(
        &self,
        request: DeleteSessionRequest,
        responder: Responder<DeleteSessionResponse>,
    ) {
        let sessions = self.clone();
        let id = request.session_id;
        let place = self.line_up(&id);
        self.break_off_opening(&id);
        self.ending_tasks().spawn(async move {
            place.reached().await;
            sessions.end(&id).await;
            let answer = tokio::select! {
                biased;
                answer = sessions.delete_stored(&id) => answer,
                // The client does not hear it any more; a store that is busy must not keep the agent.
                () = sessions.over().cancelled() => return,
            };
            drop(place);
            answered(responder, answer);
        });
    }

    async fn delete_stored(&self, id: &SessionId) -> Result<DeleteSessionResponse, Error> {
        // An unknown one is as good as deleted.
        if let Some(id) = stored_id(id) {
            let deleted = self.agent().delete_session(&id).await;
            deleted.map_err(|error| failure::store(&error))?;
        }
        Ok(DeleteSessionResponse::new())
    }
}

fn answered<R>(responder: Responder<R>, answer: Result<R, Error>)
where
    R: agent_client_protocol::JsonRpcResponse,
{
    if responder.respond_with_result(answer).is_err() {
        tracing::debug!("the client was gone before the end of a session was told");
    }
}
