//! Retries of requests that the service rejects as `overloaded` or `store_busy`. This is safe because
//! the service has not started a rejected request.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use tokio::time::sleep;

use crate::http::Answer;

/// Retries of one request. With the pauses, they take 10 seconds.
const MAX_RETRIES: u32 = 10;

/// The pause before the first retry. It doubles with each retry.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// Retries in this process so far, for the output of the test.
static RETRIES: AtomicU32 = AtomicU32::new(0);

/// Sends a request and retries it while it is rejected. Any other 503 fails the test, and so does a
/// rejection after the last retry.
#[expect(clippy::print_stdout, reason = "a test shows what it printed when it fails")]
pub async fn with_retries<A: Future<Output = Answer>>(send: impl Fn() -> A) -> Answer {
    let mut pause = FIRST_PAUSE;
    for _ in 0..MAX_RETRIES {
        let answer = send().await;
        if answer.status != 503 {
            return answer;
        }
        let code = answer.json()["error"].clone();
        assert!(code == "overloaded" || code == "store_busy", "{answer:?}");
        let retries = RETRIES.fetch_add(1, Ordering::Relaxed) + 1;
        println!("retry {retries} of this process, after {pause:?}: {answer:?}");
        sleep(pause).await;
        pause *= 2;
    }
    let answer = send().await;
    assert_ne!(answer.status, 503, "after {MAX_RETRIES} retries: {answer:?}");
    answer
}
