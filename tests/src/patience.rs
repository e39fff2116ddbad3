//! Waiting for a condition: as short as possible, never longer than a deadline.

use std::time::{Duration, Instant};

/// The deadline for what is not a promise to people: generous, because tests share two cores.
pub const SOON: Duration = Duration::from_secs(20);

/// How often a condition is looked at that nothing announces.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Looks at a condition until it holds, and gives what it gave; none when it does not hold within the time.
pub async fn eventually<T>(
    within: Duration,
    mut condition: impl AsyncFnMut() -> Option<T>,
) -> Option<T> {
    let started = Instant::now();
    loop {
        let found = condition().await;
        if found.is_some() || started.elapsed() > within {
            return found;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Looks at a condition until it holds, and gives what it gave.
///
/// # Panics
/// When it does not hold within the time; `what` says in the message what was waited for.
pub async fn until<T>(
    within: Duration,
    what: &str,
    condition: impl AsyncFnMut() -> Option<T>,
) -> T {
    eventually(within, condition)
        .await
        .unwrap_or_else(|| panic!("waited {within:?} in vain until {what}"))
}
