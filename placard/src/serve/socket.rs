//! A page over a WebSocket.

use acp_client::{Hub, LINE_LIMIT, Page};
use axum::extract::WebSocketUpgrade;
use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use axum::response::Response;
use futures::{SinkExt, StreamExt};

/// The longest reason that fits into a close frame.
const REASON_LIMIT: usize = 123;

/// Makes the request a page of the hub.
pub(crate) fn upgrade(upgrade: WebSocketUpgrade, hub: Hub) -> Response {
    upgrade
        .max_message_size(LINE_LIMIT)
        .max_frame_size(LINE_LIMIT)
        .on_upgrade(move |socket| carry(socket, hub))
}

async fn carry(socket: WebSocket, hub: Hub) {
    let page = hub.page();
    // The hub lives as long as the program wants it, not as long as its pages.
    drop(hub);
    let (mut sink, mut stream) = socket.split();
    let end = {
        let outgoing = async {
            while let Some(envelope) = page.next().await {
                if sink.send(Message::Text(envelope.into())).await.is_err() {
                    return None;
                }
            }
            Some((close_code::AWAY, "closed by placard".to_owned()))
        };
        tokio::select! {
            end = incoming(&page, &mut stream) => end,
            end = outgoing => end,
        }
    };
    if let Some((code, reason)) = end {
        let reason = shortened(&reason).to_owned().into();
        let _ = sink
            .send(Message::Close(Some(CloseFrame { code, reason })))
            .await;
    }
}

/// Takes what the browser sends; gives the reason to close, if it is still there to hear one.
async fn incoming(
    page: &Page,
    stream: &mut (impl StreamExt<Item = Result<Message, axum::Error>> + Unpin),
) -> Option<(u16, String)> {
    while let Some(Ok(message)) = stream.next().await {
        match message {
            Message::Text(envelope) => {
                if let Err(error) = page.send(envelope.as_str()).await {
                    return Some((close_code::POLICY, error.to_string()));
                }
            }
            Message::Binary(_) => {
                return Some((
                    close_code::UNSUPPORTED,
                    "envelopes are text messages".to_owned(),
                ));
            }
            Message::Close(_) => return None,
            Message::Ping(_) | Message::Pong(_) => {}
        }
    }
    None
}

fn shortened(reason: &str) -> &str {
    let mut end = reason.len().min(REASON_LIMIT);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    &reason[..end]
}
