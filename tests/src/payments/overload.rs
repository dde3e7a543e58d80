//! A service that refuses a request because too much is waiting: it has done nothing, so the request
//! may be sent again.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use tokio::time::sleep;

use crate::http::Answer;

/// How often one request is repeated at most. With the pauses, that takes 10 seconds.
const MAX_REPEATS: u32 = 10;

/// The pause before the first repeat; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// Repeats in this process, for its output.
static REPEATS: AtomicU32 = AtomicU32::new(0);

/// Sends a request, and repeats it while the answer is 503 `overloaded`.
///
/// # Panics
///
/// When the answer is another 503, or still is `overloaded` after the last repeat.
#[expect(clippy::print_stdout, reason = "a test shows what it printed when it fails")]
pub(super) async fn until_heard<A: Future<Output = Answer>>(send: impl Fn() -> A) -> Answer {
    let mut pause = FIRST_PAUSE;
    for _ in 0..MAX_REPEATS {
        let answer = send().await;
        if answer.status != 503 {
            return answer;
        }
        answer.refused(503, "overloaded");
        let repeats = REPEATS.fetch_add(1, Ordering::Relaxed) + 1;
        println!("repeat {repeats} of this process, after {pause:?}: {answer:?}");
        sleep(pause).await;
        pause *= 2;
    }
    let answer = send().await;
    assert_ne!(answer.status, 503, "repeated {MAX_REPEATS} times: {answer:?}");
    answer
}
