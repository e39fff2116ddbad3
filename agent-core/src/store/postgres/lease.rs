//! The right to write to a session, for as long as its owner is heard of.
//!
//! A lease is a row with a token and a time, the server's, at which it ends. Its owner moves that time on every second, and with
//! every append; an owner that dies is not heard of any more, so that somebody else gets the right within five seconds. An owner
//! that was only away and was replaced finds another token, and stores nothing.
//!
//! All leases of a store are renewed and given back by one task, over a connection of its own: long questions must not keep it
//! from being heard.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::PgConnection;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::connections::Connections;
use super::fault::{Fault, FaultKind};
use crate::session::SessionId;
use crate::store::StoreError;

/// How long a lease holds without its owner being heard of. With what it takes to ask for it, less than the five seconds that are
/// promised.
pub(super) const LEASE: Duration = Duration::from_secs(4);

/// How often the owner is heard of.
const RENEW: Duration = Duration::from_secs(1);

/// An owner that was heard of within this time is alive: who asks is refused at once. Otherwise the end of the lease is awaited.
const HEARD_OF: Duration = Duration::from_millis(1500);

/// How long one renewal may take before another connection is tried.
const ANSWER: Duration = Duration::from_millis(1500);

/// The leases of one store. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Leases {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    connections: Connections,
    tokens: Mutex<Tokens>,
    /// Somebody has given one back.
    given_back: Notify,
}

#[derive(Debug, Default)]
struct Tokens {
    held: BTreeSet<String>,
    /// And since when.
    to_give_back: BTreeMap<String, Instant>,
    /// The task is there.
    renewing: bool,
}

/// The right to write to one session. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct Lease {
    shared: Arc<Shared>,
    token: String,
    /// Somebody else has it: there is nothing to give back.
    refused: bool,
}

impl Leases {
    pub(super) fn new(connections: Connections) -> Self {
        Self {
            shared: Arc::new(Shared {
                connections,
                tokens: Mutex::default(),
                given_back: Notify::new(),
            }),
        }
    }

    /// Takes the right to write to a session. Refused at once while somebody has it who was heard of a moment ago; what an owner
    /// has left that was not is awaited.
    pub(super) async fn take(
        &self,
        id: &SessionId,
        attempted: &'static str,
    ) -> Result<Lease, StoreError> {
        // What this program has given back a moment ago is free.
        self.shared.give_back().await;
        let token = uuid::Uuid::new_v4().to_string();
        // Known before it is asked for: if the answer is lost, or this is given up, it is given back.
        let mut lease = Lease {
            shared: Arc::clone(&self.shared),
            token: token.clone(),
            refused: false,
        };
        let begun = Instant::now();
        loop {
            let answer: Vec<(bool, i64)> = self
                .shared
                .connections
                .rows(attempted, || {
                    sqlx::query_as("SELECT taken, remaining FROM take_lease($1, $2, $3)")
                        .bind(id.as_str())
                        .bind(token.as_str())
                        .bind(milliseconds(LEASE))
                })
                .await?;
            let (is_ours, remaining) = answer.first().copied().unwrap_or_default();
            if is_ours {
                self.shared.hold(&token);
                return Ok(lease);
            }
            let remaining = Duration::from_millis(u64::try_from(remaining).unwrap_or_default());
            let is_alive = LEASE.saturating_sub(remaining) < HEARD_OF;
            if is_alive || begun.elapsed() > LEASE {
                lease.refused = true;
                return Err(StoreError::Held { id: id.clone() });
            }
            // Not all at once: whoever is away may come back, and is seen then.
            sleep(remaining.clamp(Duration::from_millis(5), RENEW / 2)).await;
        }
    }

    /// Gives everything back.
    pub(super) async fn close(&self) {
        {
            let mut tokens = self.shared.tokens();
            let (held, now) = (std::mem::take(&mut tokens.held), Instant::now());
            tokens
                .to_give_back
                .extend(held.into_iter().map(|token| (token, now)));
        }
        self.shared.give_back().await;
    }
}

impl Lease {
    /// What an append has to show.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Gives it back, and returns when it is free.
    pub(super) async fn give_back(self) {
        let shared = Arc::clone(&self.shared);
        drop(self);
        shared.give_back().await;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.refused {
            return;
        }
        let mut tokens = self.shared.tokens();
        tokens.held.remove(&self.token);
        let token = std::mem::take(&mut self.token);
        tokens.to_give_back.insert(token, Instant::now());
        drop(tokens);
        Shared::see_to(&self.shared);
        self.shared.given_back.notify_one();
    }
}

impl Shared {
    fn tokens(&self) -> MutexGuard<'_, Tokens> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hold(self: &Arc<Self>, token: &str) {
        self.tokens().held.insert(token.to_owned());
        Self::see_to(self);
    }

    /// Gives back what is to be given back, and returns when it is free, or when the server cannot be asked: then it is free when
    /// its time is over.
    async fn give_back(&self) {
        let tokens: Vec<String> = self.tokens().to_give_back.keys().cloned().collect();
        if tokens.is_empty() {
            return;
        }
        let deleting = self.connections.rows("closed", || {
            sqlx::query_as::<_, (String,)>(
                "DELETE FROM leases WHERE token = ANY ($1) RETURNING token",
            )
            .bind(&tokens)
        });
        match timeout(LEASE, deleting).await {
            Ok(Ok(_)) => {
                self.given(&tokens);
            }
            Ok(Err(error)) => tracing::debug!(%error, "a session was not given back"),
            Err(_) => tracing::debug!("a session was not given back in time"),
        }
    }

    /// These are free.
    fn given(&self, tokens: &[String]) {
        let mut all = self.tokens();
        for token in tokens {
            all.to_give_back.remove(token);
        }
    }

    /// Starts the task that renews and gives back, where there is none.
    fn see_to(this: &Arc<Self>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            // The program ends; what it has is free when its time is over.
            return;
        };
        if !std::mem::replace(&mut this.tokens().renewing, true) {
            runtime.spawn(Self::renew(Arc::clone(this)));
        }
    }

    /// Renews and gives back until there is nothing left to do either with.
    async fn renew(this: Arc<Self>) {
        let mut connection = None;
        let mut next = Instant::now() + RENEW;
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(next) => {}
                () = this.given_back.notified() => {}
            }
            let due = Instant::now() >= next;
            if due {
                next = Instant::now() + RENEW;
            }
            let (held, to_give_back) = {
                let mut tokens = this.tokens();
                // What the server could not be told of is free by now.
                tokens
                    .to_give_back
                    .retain(|_, since| since.elapsed() < LEASE);
                if tokens.held.is_empty() && tokens.to_give_back.is_empty() {
                    tokens.renewing = false;
                    return;
                }
                let held: Vec<String> = tokens.held.iter().filter(|_| due).cloned().collect();
                (
                    held,
                    tokens.to_give_back.keys().cloned().collect::<Vec<_>>(),
                )
            };
            let round = async {
                let mut open = match connection.take() {
                    Some(open) => open,
                    None => this.connections.connect().await?,
                };
                round(&mut open, &held, &to_give_back)
                    .await
                    .map_err(|error| Fault::of(&error))?;
                Ok(open)
            };
            match timeout(ANSWER, round).await {
                Ok(Ok(open)) => {
                    connection = Some(open);
                    this.given(&to_give_back);
                }
                Ok(Err(fault)) => Self::complain(&fault),
                Err(_) => Self::complain(&Fault::silent(FaultKind::Unreachable, ANSWER)),
            }
        }
    }

    fn complain(fault: &Fault) {
        // Whoever appends is told; here it is tried again in a second.
        tracing::debug!(reason = %fault.reason, "the right to write was not renewed");
    }
}

/// Renews some leases and gives others back.
async fn round(
    connection: &mut PgConnection,
    held: &[String],
    to_give_back: &[String],
) -> Result<(), sqlx::Error> {
    if !to_give_back.is_empty() {
        sqlx::query("DELETE FROM leases WHERE token = ANY ($1)")
            .bind(to_give_back)
            .execute(&mut *connection)
            .await?;
    }
    if !held.is_empty() {
        sqlx::query("SELECT renew_leases($1, $2)")
            .bind(held)
            .bind(milliseconds(LEASE))
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// As the functions of the schema take it.
pub(super) fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
