//! Waiting for a condition: as short as possible, never longer than a deadline.

use std::time::{Duration, Instant};

/// The deadline for what is not a promise to people: generous, because tests share two cores.
pub const SOON: Duration = Duration::from_secs(20);

/// How often a condition is looked at that nothing announces.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Looks at a condition until it holds, and gives what it gave.
///
/// # Panics
/// When it does not hold within the time; `what` says in the message what was waited for.
pub async fn until<T>(
    within: Duration,
    what: &str,
    mut condition: impl AsyncFnMut() -> Option<T>,
) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = condition().await {
            return found;
        }
        assert!(
            started.elapsed() < within,
            "waited {within:?} in vain until {what}"
        );
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
