//! Connections to one server: few, kept for the next question, and never waited for without end.
//!
//! sqlx has a pool of its own. This one differs in what happens while a server is away: why it cannot be reached is told, at once,
//! where that is known; a question is waited for as long as the server lives and no longer; and a connection whose question was
//! given up is closed instead of being asked how it is.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::postgres::{PgArguments, PgConnectOptions, PgRow};
use sqlx::query::QueryAs;
use sqlx::{ConnectOptions as _, Connection as _, FromRow, PgConnection, Postgres};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::address::ServerAddress;
use super::fault::{Fault, FaultKind};
use crate::store::StoreError;

/// How many questions are asked at once.
const MOST: usize = 8;

/// How many connections are kept that nobody uses.
const MOST_IDLE: usize = 4;

/// How long a new connection may take, and how long a place among [`MOST`] is waited for.
const CONNECT: Duration = Duration::from_secs(4);

/// After so long without an answer the server is asked, on another connection, whether it is there.
const PATIENCE: Duration = Duration::from_secs(4);

/// How long an answer may take from a server that is there.
const LONGEST: Duration = Duration::from_mins(2);

/// A connection that was not used for so long is tried before it is used: on the way, somebody may have forgotten it.
const FRESH: Duration = Duration::from_secs(30);

/// How often something is tried that others are in the way of.
const COLLISIONS: u32 = 5;

/// What every connection sets: our schema; that a lock is not waited for without end, nor anything else; and, unless the person
/// asks for even more, that what is acknowledged is on disk. One round trip.
const GREETING: &str = "SELECT set_config('search_path', 'placard, pg_temp', false), \
     set_config('lock_timeout', '8s', false), \
     set_config('statement_timeout', '120s', false), \
     set_config('idle_in_transaction_session_timeout', '60s', false), \
     set_config('synchronous_commit', \
         CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)";

/// A question: SQL with what it is about, made anew for each try.
pub(super) type Question<'q, T> = QueryAs<'q, Postgres, T, PgArguments>;

/// Connections to a server. Cheap to clone.
#[derive(Clone)]
pub(super) struct Connections {
    shared: Arc<Shared>,
}

struct Shared {
    address: ServerAddress,
    options: PgConnectOptions,
    idle: Mutex<Vec<Idle>>,
    places: Arc<Semaphore>,
}

struct Idle {
    connection: PgConnection,
    since: Instant,
}

/// A connection in use. Unless it is [given back](Self::give_back), it is closed: what was asked may still be going on there.
struct Lent {
    connection: PgConnection,
    _place: OwnedSemaphorePermit,
}

/// The options hold the password.
impl std::fmt::Debug for Connections {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Connections({})", self.shared.address)
    }
}

impl Connections {
    /// None yet, to this server.
    pub(super) fn new(address: &ServerAddress) -> Result<Self, StoreError> {
        let options: PgConnectOptions = address.secret().parse().map_err(|_| {
            // The address was read before; what is wrong now is about files and variables, and may repeat what it found.
            StoreError::Server {
                server: address.to_string(),
                attempted: "opened",
                reason: "the address cannot be used; see the certificates in `url`, and PostgreSQL's own variables (PGSSLMODE and others)"
                    .to_owned(),
            }
        })?;
        let host = options.get_host().trim_matches(['[', ']']).to_owned();
        let mut options = if options.get_socket().is_none() {
            options.host(&host)
        } else {
            options
        };
        if options.get_application_name().is_none() {
            options = options.application_name("placard");
        }
        Ok(Self {
            shared: Arc::new(Shared {
                address: address.clone(),
                options: options.disable_statement_logging(),
                idle: Mutex::default(),
                places: Arc::new(Semaphore::new(MOST)),
            }),
        })
    }

    /// An error as the person is told it.
    pub(super) fn error(&self, attempted: &'static str, fault: Fault) -> StoreError {
        self.refusal(attempted, fault.reason)
    }

    /// An error with this reason.
    pub(super) fn refusal(&self, attempted: &'static str, reason: impl Into<String>) -> StoreError {
        StoreError::Server {
            server: self.shared.address.to_string(),
            attempted,
            reason: reason.into(),
        }
    }

    /// The server, as errors name it.
    pub(super) fn server(&self) -> String {
        self.shared.address.to_string()
    }

    /// All rows that answer a question. Asked again where others were in the way, and once on a new connection where the answer
    /// was lost: whatever is asked here may be asked twice.
    pub(super) async fn rows<'q, T>(
        &self,
        attempted: &'static str,
        question: impl Fn() -> Question<'q, T>,
    ) -> Result<Vec<T>, StoreError>
    where
        T: for<'r> FromRow<'r, PgRow> + Send + Unpin + 'q,
    {
        self.rows_again(attempted, |_| question()).await
    }

    /// As [`rows`](Self::rows), for a question that must know whether it was asked before and its answer was lost.
    pub(super) async fn rows_again<'q, T>(
        &self,
        attempted: &'static str,
        question: impl Fn(bool) -> Question<'q, T>,
    ) -> Result<Vec<T>, StoreError>
    where
        T: for<'r> FromRow<'r, PgRow> + Send + Unpin + 'q,
    {
        let (mut lost, mut collisions) = (false, 0);
        loop {
            let fault = match self.ask_once(question(lost)).await {
                Ok(rows) => return Ok(rows),
                Err(fault) => fault,
            };
            match fault.kind {
                FaultKind::Lost if !lost => {
                    // The others that are kept are most likely lost with it.
                    self.forget();
                    lost = true;
                }
                FaultKind::Collision if collisions < COLLISIONS => collisions += 1,
                _ => return Err(self.error(attempted, fault)),
            }
        }
    }

    async fn ask_once<'q, T>(&self, question: Question<'q, T>) -> Result<Vec<T>, Fault>
    where
        T: for<'r> FromRow<'r, PgRow> + Send + Unpin + 'q,
    {
        let mut lent = self.lend().await?;
        let answer = self
            .answered(question.fetch_all(&mut lent.connection))
            .await;
        match &answer {
            // What the server refused in order leaves the connection as it was.
            Err(fault) if !matches!(fault.kind, FaultKind::Refused | FaultKind::Collision) => {}
            _ => self.give_back(lent),
        }
        answer
    }

    /// Has a connection of its own do several things, one after the other; it is closed afterwards.
    pub(super) async fn connect(&self) -> Result<PgConnection, Fault> {
        let connecting = async {
            let mut connection = self.shared.options.connect().await?;
            sqlx::query(GREETING).execute(&mut connection).await?;
            Ok(connection)
        };
        match timeout(CONNECT, connecting).await {
            Ok(connected) => connected.map_err(|error: sqlx::Error| Fault::connecting(&error)),
            Err(_) => Err(Fault::silent(FaultKind::Unreachable, CONNECT)),
        }
    }

    /// Waits for an answer for as long as the server is there.
    pub(super) async fn answered<T>(
        &self,
        answer: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, Fault> {
        let begun = Instant::now();
        let mut answer = std::pin::pin!(answer);
        loop {
            if let Ok(answer) = timeout(PATIENCE, &mut answer).await {
                return answer.map_err(|error| Fault::of(&error));
            }
            let given_up = begun.elapsed() > LONGEST;
            // A server that has no room for one more is there.
            let is_there = self
                .connect()
                .await
                .map_or_else(|fault| fault.kind != FaultKind::Unreachable, |_| true);
            if given_up || !is_there {
                return Err(Fault::silent(FaultKind::Unreachable, begun.elapsed()));
            }
        }
    }

    /// Closes what is kept.
    pub(super) async fn close(&self) {
        self.shared.places.close();
        let kept = std::mem::take(&mut *self.idle());
        let closing = kept.into_iter().map(|idle| idle.connection.close());
        for closed in futures::future::join_all(closing).await {
            if let Err(error) = closed {
                tracing::debug!(%error, "a connection did not close in order");
            }
        }
    }

    async fn lend(&self) -> Result<Lent, Fault> {
        let place = Arc::clone(&self.shared.places).acquire_owned();
        let place = match timeout(CONNECT + PATIENCE, place).await {
            Ok(Ok(place)) => place,
            Ok(Err(_)) => {
                return Err(Fault {
                    reason: "the store was closed".to_owned(),
                    kind: FaultKind::Refused,
                });
            }
            Err(_) => return Err(Fault::crowded(CONNECT + PATIENCE)),
        };
        while let Some(Idle {
            mut connection,
            since,
        }) = { self.idle().pop() }
        {
            let well = since.elapsed() < FRESH
                || matches!(timeout(CONNECT / 2, connection.ping()).await, Ok(Ok(())));
            if well {
                return Ok(Lent {
                    connection,
                    _place: place,
                });
            }
        }
        Ok(Lent {
            connection: self.connect().await?,
            _place: place,
        })
    }

    fn give_back(&self, lent: Lent) {
        let mut idle = self.idle();
        if idle.len() < MOST_IDLE && !self.shared.places.is_closed() {
            idle.push(Idle {
                connection: lent.connection,
                since: Instant::now(),
            });
        }
    }

    fn forget(&self) {
        self.idle().clear();
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Idle>> {
        self.shared
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
