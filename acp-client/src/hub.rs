//! The hub: one agent, any number of pages.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::envelope::AgentState;
use crate::exchange::Exchange;
use crate::greeting::PageAbilities;
use crate::life::live;
use crate::page::Page;
use crate::source::AgentSource;
use crate::spool::Spool;
use crate::wire::WireTap;

/// The newest frames in memory.
const SPOOL_MEMORY: usize = 8 * 1024 * 1024;

/// What a hub is made of.
#[derive(Debug, Clone)]
pub struct HubSettings {
    /// Where the agent comes from.
    pub source: AgentSource,
    /// The folder to offer for a new session: absolute. Where its name is not UTF-8 the nearest one above is offered.
    pub cwd: PathBuf,
    /// What the agent is told of the pages.
    pub abilities: PageAbilities,
    /// Where the spool's unlinked file is made.
    pub spool_folder: PathBuf,
    /// An agent that has not answered `initialize` for so long is ended.
    pub initialize_limit: Duration,
    /// The time that frames are stamped with.
    pub clock: fn() -> SystemTime,
    /// Sees every line between client and agent.
    pub tap: WireTap,
}

impl HubSettings {
    /// The usual settings: pages that only draw, 20 s for `initialize`, the system's clock, no tap.
    pub fn new(
        source: AgentSource,
        cwd: impl Into<PathBuf>,
        spool_folder: impl Into<PathBuf>,
    ) -> Self {
        Self {
            source,
            cwd: cwd.into(),
            abilities: PageAbilities::default(),
            spool_folder: spool_folder.into(),
            initialize_limit: Duration::from_secs(20),
            clock: SystemTime::now,
            tap: WireTap::default(),
        }
    }
}

/// Keeps an agent and hands its frames to pages. Cheap to clone; when the last clone is dropped the agent is ended,
/// as [`Hub::shutdown`] does without being waited for.
#[derive(Debug, Clone)]
pub struct Hub {
    shared: Arc<Shared>,
    keeper: Arc<Keeper>,
}

#[derive(Debug)]
struct Keeper {
    stop: CancellationToken,
    _stop_when_dropped: DropGuard,
    lives: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

/// What hub, pages and the agent's life share.
#[derive(Debug)]
pub(crate) struct Shared {
    exchange: Mutex<Exchange>,
    restart: Notify,
    pub(crate) changed: Notify,
    pub(crate) source: AgentSource,
    pub(crate) initialize_limit: Duration,
    pub(crate) tap: WireTap,
    clock: fn() -> SystemTime,
}

impl Shared {
    /// The exchange. Held for moments only, never across an await.
    pub(crate) fn exchange(&self) -> MutexGuard<'_, Exchange> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Milliseconds of Unix time.
    pub(crate) fn now(&self) -> u64 {
        (self.clock)()
            .duration_since(SystemTime::UNIX_EPOCH)
            .ok()
            .and_then(|time| u64::try_from(time.as_millis()).ok())
            .unwrap_or_default()
    }

    /// Starts an ended agent again; does nothing for one that has not ended.
    pub(crate) fn restart(&self) {
        if self.exchange().restart() {
            self.restart.notify_one();
        }
    }
}

impl Hub {
    /// Starts the agent and gives its hub at once. A start that fails is a state that pages are told of, since it can
    /// be tried again. Must be called within a tokio runtime.
    pub fn start(settings: HubSettings) -> Self {
        let spool = Spool::new(&settings.spool_folder, SPOOL_MEMORY);
        let cwd = offered(&settings.cwd);
        let shared = Arc::new(Shared {
            exchange: Mutex::new(Exchange::new(
                cwd,
                settings.abilities,
                spool,
                settings.source.name(),
            )),
            restart: Notify::new(),
            changed: Notify::new(),
            source: settings.source,
            initialize_limit: settings.initialize_limit,
            tap: settings.tap,
            clock: settings.clock,
        });
        let stop = CancellationToken::new();
        let lives = tokio::spawn(lives(Arc::clone(&shared), stop.clone()));
        let keeper = Keeper {
            _stop_when_dropped: stop.clone().drop_guard(),
            stop,
            lives: tokio::sync::Mutex::new(Some(lives)),
        };
        Self {
            shared,
            keeper: Arc::new(keeper),
        }
    }

    /// A page that has still to say `attach`.
    pub fn page(&self) -> Page {
        Page::open(Arc::clone(&self.shared))
    }

    /// A page that has said `attach` with `after` (0 for every frame).
    pub fn attach(&self, after: u64) -> Page {
        let page = self.page();
        page.attach(after);
        page
    }

    /// The agent's state now.
    pub fn agent(&self) -> AgentState {
        self.shared.exchange().agent().clone()
    }

    /// Starts the agent again after it ended; does nothing while it has not.
    pub fn restart(&self) {
        self.shared.restart();
    }

    /// Ends the agent with all its processes that can be found (`docs/hub.md` says which), and every page. Returns when
    /// that is done.
    pub async fn shutdown(&self) {
        self.keeper.stop.cancel();
        if let Some(lives) = self.keeper.lives.lock().await.take()
            && let Err(fault) = lives.await
        {
            tracing::error!(%fault, "the keeper of the agent failed");
        }
    }
}

/// The folder as pages are told of it: JSON has no word for a name that is not UTF-8, and a name that is nearly right
/// is no folder, so then it is the nearest one above.
fn offered(cwd: &Path) -> String {
    let folder = cwd.ancestors().find_map(Path::to_str).unwrap_or("/");
    if Path::new(folder) != cwd {
        tracing::warn!(
            cwd = %cwd.display(),
            "the folder's name is not UTF-8, so {folder} is offered for new sessions",
        );
    }
    folder.to_owned()
}

/// One life of the agent after the other.
async fn lives(shared: Arc<Shared>, stop: CancellationToken) {
    loop {
        let end = live(&shared, &stop).await;
        let now = shared.now();
        shared.exchange().end(&end, now);
        shared.changed.notify_waiters();
        tokio::select! {
            () = stop.cancelled() => break,
            () = shared.restart.notified() => {}
        }
    }
    shared.exchange().close();
    shared.changed.notify_waiters();
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_folder_without_a_name_in_utf_8_is_not_offered() {
        let table: [(&[u8], &str); 3] = [
            (b"/work/here", "/work/here"),
            (b"/work/caf\xe9/here", "/work"),
            (b"/\xff", "/"),
        ];
        for (cwd, folder) in table {
            assert_eq!(offered(Path::new(OsStr::from_bytes(cwd))), folder);
        }
    }
}
