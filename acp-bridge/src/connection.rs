//! One client's connection: what comes in, and who serves it.

use std::io;

use agent_client_protocol::v1::ConnectionTo;
#[cfg(feature = "unstable_session_fork")]
use agent_client_protocol::v1::schema::ForkSessionRequest;
use agent_client_protocol::v1::schema::{
    CancelNotification, CloseSessionRequest, DeleteSessionRequest, InitializeRequest,
    ListSessionsRequest, LoadSessionRequest, NewSessionRequest, PromptRequest,
    ResumeSessionRequest,
};
use agent_client_protocol::{Client, Error, Lines, on_receive_notification, on_receive_request};
use futures::Stream;

use crate::extension::TerminalRequest;
use crate::greeting;
use crate::sessions::Sessions;
use crate::wire::Outbox;

/// Serves the client until its side is closed. No handler waits: the next message is read when it returns.
pub(crate) async fn run(
    sessions: Sessions,
    outbox: Outbox,
    lines: impl Stream<Item = io::Result<String>> + Send + 'static,
) -> Result<(), Error> {
    let transport = Lines::new(outbox.sink(), lines);
    drop(outbox);
    let [s1, s2, s3, s4, s5, s6, s7, s8, s9, s10] = std::array::from_fn(|_| sessions.clone());
    let agent = agent_client_protocol::Agent
        .v1()
        .name("placard")
        .on_receive_request(
            async move |request: InitializeRequest, responder, _client| {
                let (dialect, front) = greeting::understand(&request);
                s1.introduce(dialect, front);
                responder.respond(greeting::answer())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: NewSessionRequest, responder, client: ConnectionTo<Client>| {
                responder.respond_with_result(s2.new_session(request, &client))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: LoadSessionRequest, responder, client: ConnectionTo<Client>| {
                s3.load(request, responder, &client);
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ResumeSessionRequest, responder, client: ConnectionTo<Client>| {
                s4.resume(request, responder, &client);
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ListSessionsRequest, responder, _client| {
                s5.list(request, responder);
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: CloseSessionRequest, responder, _client| {
                s6.close(request, responder);
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: DeleteSessionRequest, responder, _client| {
                s7.delete(request, responder);
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, _client| s8.prompt(&request, responder),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: TerminalRequest, responder, _client| {
                responder.respond_with_result(s9.act(&request))
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |notification: CancelNotification, _client| {
                s10.cancel(&notification);
                Ok(())
            },
            on_receive_notification!(),
        );
    #[cfg(feature = "unstable_session_fork")]
    let agent = {
        let sessions = sessions.clone();
        agent.on_receive_request(
            async move |request: ForkSessionRequest, responder, client: ConnectionTo<Client>| {
                sessions.fork(request, responder, &client);
                Ok(())
            },
            on_receive_request!(),
        )
    };
    agent
        .connect_with(transport, async |client| {
            client.incoming_closed().await;
            // While there is a way to the client, for one that has only closed its own side.
            sessions.close_all().await;
            Ok(())
        })
        .await
}
