//! The parts that the HTTP clients of all acquirers share.

use std::time::Duration;

use reqwest::{Client, Response, Url, redirect::Policy};
use rustls::ClientConfig;
use tokio::time::sleep;

/// How often a request is repeated while its caller waits.
pub(super) const MAX_REPEATS: u32 = 2;

/// The longest pause before the first repeat. It doubles with each repeat.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// How long an unused connection is kept open: less than the five seconds after which common
/// servers close it, because a request on a connection that is just closed has no answer.
const KEEP_IDLE: Duration = Duration::from_secs(4);

/// Why the body of an answer was not read.
pub(super) enum UnreadBody {
    Failed(reqwest::Error),
    TooLong,
}

/// A client that uses no proxy and follows no redirect.
pub(super) fn client(tls: ClientConfig, https_only: bool) -> Result<Client, reqwest::Error> {
    Client::builder()
        .tls_backend_preconfigured(tls)
        .https_only(https_only)
        .http1_only()
        .no_proxy()
        .pool_idle_timeout(KEEP_IDLE)
        .redirect(Policy::none())
        .build()
}

/// Waits before a repeat, for a random time, so that the requests of one failure are not repeated at
/// once.
pub(super) async fn pause(repeats: u32) {
    let longest = FIRST_PAUSE.saturating_mul(1 << repeats);
    sleep(longest.mul_f64(rand::random_range(0.5..1.0))).await;
}

/// The URL with a slash at its end, so that paths can be joined to it.
pub(super) fn base(mut url: Url) -> Url {
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    url
}

/// Reads the body of an answer, at most `max` bytes.
pub(super) async fn body(answer: &mut Response, max: usize) -> Result<Vec<u8>, UnreadBody> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(UnreadBody::Failed)? {
        if body.len() + chunk.len() > max {
            return Err(UnreadBody::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
