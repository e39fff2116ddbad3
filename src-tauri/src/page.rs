//! The window's page as a page of the hub: one at a time, since a reload replaces it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acp_client::{ClientError, Hub, Page};
use tauri::State;
use tauri::async_runtime::{JoinHandle, spawn};
use tauri::ipc::Channel;

/// The hub, and the page of the main window while there is one.
#[derive(Debug)]
pub(crate) struct WindowPage {
    hub: Hub,
    attached: Mutex<Option<Attached>>,
}

/// A page, and the task that carries the hub's messages to it.
#[derive(Debug)]
struct Attached {
    page: Arc<Page>,
    delivery: JoinHandle<()>,
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.delivery.abort();
    }
}

impl WindowPage {
    pub(crate) fn new(hub: Hub) -> Self {
        Self {
            hub,
            attached: Mutex::new(None),
        }
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Lets a page attach, in place of the one before it.
    fn attach(&self, after: u64, channel: Channel<String>) {
        let page = Arc::new(self.hub.attach(after));
        let source = Arc::clone(&page);
        let delivery = spawn(async move {
            while let Some(message) = source.next().await {
                // The webview is gone; the page goes with it.
                if let Err(fault) = channel.send(message) {
                    tracing::debug!(%fault, "the page takes no more messages");
                    break;
                }
            }
        });
        *self.attached() = Some(Attached { page, delivery });
    }

    /// Forgets the page. What it asked for goes on.
    pub(crate) fn leave(&self) {
        *self.attached() = None;
    }

    fn page(&self) -> Result<Arc<Page>, ClientError> {
        self.attached()
            .as_ref()
            .map(|attached| Arc::clone(&attached.page))
            .ok_or(ClientError::NotAttached)
    }

    fn attached(&self) -> MutexGuard<'_, Option<Attached>> {
        self.attached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Attaches the calling page: every frame above `after`, then live ones, come through the channel as envelopes.
#[tauri::command]
#[expect(
    clippy::needless_pass_by_value,
    reason = "a command owns its arguments"
)]
pub(crate) fn hub_attach(after: u64, channel: Channel<String>, window: State<'_, WindowPage>) {
    window.attach(after, channel);
}

/// Takes one envelope of the page. It answers when the next one may be sent.
#[tauri::command]
pub(crate) async fn hub_send(message: String, window: State<'_, WindowPage>) -> Result<(), String> {
    let page = window.page().map_err(|fault| fault.to_string())?;
    page.send(&message).await.map_err(|fault| fault.to_string())
}
