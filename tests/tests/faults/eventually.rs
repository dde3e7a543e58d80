//! Waiting for what has to become true.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Looks until there is something, which is the answer.
///
/// # Panics
///
/// When there is nothing in time.
pub(crate) async fn eventually<T>(
    what: &str,
    within: Duration,
    mut look: impl AsyncFnMut() -> Option<T>,
) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(started.elapsed() < within, "not within {within:?}: {what}");
        sleep(PAUSE).await;
    }
}
