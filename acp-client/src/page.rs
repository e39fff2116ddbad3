//! A page as its carrier holds it: a webview's channel, a WebSocket, `placard run`.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::delivery::Next;
use crate::envelope::{AgentPhase, FromPage};
use crate::error::ClientError;
use crate::exchange::Link;
use crate::frame::Kind;
use crate::hub::Shared;
use crate::ids::PageId;
use crate::reading::read;

/// One page of a hub. Both directions may be used at the same time, each from one task. Dropping it leaves whatever
/// it asked running.
#[derive(Debug)]
pub struct Page {
    shared: Arc<Shared>,
    id: PageId,
    woken: Arc<Notify>,
}

impl Page {
    pub(crate) fn open(shared: Arc<Shared>) -> Self {
        let woken = Arc::new(Notify::new());
        let id = shared.exchange().open_page(Arc::clone(&woken));
        Self { shared, id, woken }
    }

    pub(crate) fn attach(&self, after: u64) {
        if let Some(delivery) = self.shared.exchange().page(self.id) {
            delivery.attach(after);
        }
    }

    /// Takes one envelope from the page. Waits while the agent starts, and while it does not read: call it for one
    /// envelope after the other, and do not wait for it in the task that calls [`Page::next`].
    ///
    /// After an error the page is to be closed; the error says why.
    pub async fn send(&self, envelope: &str) -> Result<(), ClientError> {
        let message = FromPage::parse(envelope).map_err(ClientError::NotAnEnvelope)?;
        match message {
            FromPage::Attach { after } => self.attach(after),
            FromPage::Ack(n) => self.with_attached(|page| page.acknowledge(n))?,
            FromPage::Restart => {
                self.with_attached(|_| ())?;
                self.shared.restart();
            }
            FromPage::Frame(frame) => {
                self.with_attached(|_| ())?;
                self.send_frame(frame.get()).await;
            }
        }
        Ok(())
    }

    /// The next envelope for the page; `None` when it is to be closed. Cancel-safe.
    pub async fn next(&self) -> Option<String> {
        loop {
            let next = self.shared.exchange().next(self.id, Instant::now());
            match next {
                Next::Message(text) => return Some(text),
                Next::Close => return None,
                Next::Idle => self.woken.notified().await,
                Next::At(due) => tokio::select! {
                    () = sleep_until(due) => {}
                    () = self.woken.notified() => {}
                },
            }
        }
    }

    fn with_attached(
        &self,
        act: impl FnOnce(&mut crate::delivery::Delivery),
    ) -> Result<(), ClientError> {
        match self.shared.exchange().page(self.id) {
            Some(delivery) if delivery.is_attached() => {
                act(delivery);
                Ok(())
            }
            Some(_) => Err(ClientError::NotAttached),
            None => Err(ClientError::ShutDown),
        }
    }

    async fn send_frame(&self, text: &str) {
        let now = self.shared.now();
        let frame = match read(text) {
            Ok(message) => message.frame,
            Err(unreadable) => {
                self.shared
                    .exchange()
                    .refuse_text(self.id, &unreadable, now);
                return;
            }
        };
        let Some(frame) = self.shared.exchange().screen(self.id, frame, now) else {
            return;
        };
        while let Some(link) = self.link().await {
            // A place in the queue first, then the id: so the order of the spool is the order of the wire.
            let Ok(place) = link.reserve().await else {
                // The writer has ended, and this life is about to: `link` waits for that.
                self.shared.exchange().unlink_from(&link);
                continue;
            };
            let mut exchange = self.shared.exchange();
            if !exchange
                .link()
                .is_some_and(|current| current.same_channel(&link))
            {
                continue;
            }
            if let Some(line) = exchange.take_from_page(self.id, &frame, self.shared.now()) {
                place.send(line);
            }
            return;
        }
        if let Kind::Request { id, .. } = frame.kind() {
            self.shared
                .exchange()
                .answer_ended(self.id, &id, self.shared.now());
        }
    }

    /// The way to a running agent; waits while one starts. `None` when it has ended.
    async fn link(&self) -> Option<Link> {
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let exchange = self.shared.exchange();
                match (exchange.agent().state, exchange.link()) {
                    (AgentPhase::Running, Some(link)) => return Some(link.clone()),
                    (AgentPhase::Ended, _) => return None,
                    // Starting, or ending: both are over soon.
                    _ => {}
                }
            }
            changed.await;
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.shared.exchange().close_page(self.id);
    }
}
