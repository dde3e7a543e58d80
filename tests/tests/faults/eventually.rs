//! Waiting for a condition.

use std::time::Duration;

use tokio::time::{Instant, sleep};

const PAUSE: Duration = Duration::from_millis(20);

/// Repeats `look` until it returns a value. `what` is for the message on timeout.
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
