//! `Idempotency-Key`: a request that is sent again is done once.

use std::{convert::Infallible, time::Duration};

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, Method, Uri, request::Parts},
    response::Response,
};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep};

use super::{Api, Error, answer, body::Body};
use crate::{
    domain::{App, Invalid},
    store::{Keyed, Known, Outcome},
};

const HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// The most characters a key may have.
const MAX_KEY: usize = 255;

/// How long a repeat waits for the first request with its key.
const IN_FLIGHT_WAIT: Duration = Duration::from_secs(5);

/// How often it looks.
const IN_FLIGHT_POLL: Duration = Duration::from_millis(50);

/// What a request says of its key, and what else tells it from others.
pub(super) struct IdempotencyKey {
    key: Result<Option<String>, Invalid>,
    method: Method,
    uri: Uri,
}

impl<S: Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let key = key(&parts.headers);
        Ok(Self { key, method: parts.method.clone(), uri: parts.uri.clone() })
    }
}

impl IdempotencyKey {
    /// The key of this caller for a request with this body, if it has one.
    fn of(self, caller: &App, body: &Body) -> Result<Option<Keyed>, Vec<Invalid>> {
        let key = self.key.map_err(|invalid| vec![invalid])?;
        Ok(key.map(|key| {
            let line = format!("{} {}\n", self.method, self.uri.path());
            let request = Sha256::new().chain_update(line).chain_update(body.as_bytes());
            let request = request.finalize().into();
            Keyed { app: caller.id, key, request }
        }))
    }
}

impl Api {
    /// Answers a request by what `act` does; with an idempotency key, once. A repeat does nothing,
    /// not even look at what the request says: it is answered as the first one was, whatever may
    /// have changed since.
    pub(super) async fn once(
        &self,
        key: IdempotencyKey,
        caller: &App,
        body: &Body,
        act: impl AsyncFnOnce(Option<Keyed>) -> Result<Outcome, Error>,
    ) -> Result<Response, Error> {
        let Some(keyed) = key.of(caller, body)? else {
            return answer::response(&self.store, act(None).await?).await;
        };
        let outcome = match self.first(&keyed).await? {
            Some(outcome) => outcome,
            None => match act(Some(keyed.clone())).await {
                // Somebody was faster.
                Err(Error::InFlight) => self.first(&keyed).await?.ok_or(Error::InFlight)?,
                outcome => outcome?,
            },
        };
        answer::response(&self.store, outcome).await
    }

    /// What came of the first request with this key, if there was one. Waits while it is in flight.
    async fn first(&self, keyed: &Keyed) -> Result<Option<Outcome>, Error> {
        let deadline = Instant::now() + IN_FLIGHT_WAIT;
        loop {
            match self.store.known(keyed).await? {
                Some(Known::InFlight(_)) if Instant::now() < deadline => {
                    sleep(IN_FLIGHT_POLL).await
                }
                known => return Ok(known.map(Known::outcome).transpose()?),
            }
        }
    }
}

fn key(headers: &HeaderMap) -> Result<Option<String>, Invalid> {
    let mut values = headers.get_all(HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    let is_printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if values.next().is_none() && is_printable && (1..=MAX_KEY).contains(&text.len()) {
        return Ok(Some(text.to_owned()));
    }
    let message = "must be one value of 1 to 255 printable ASCII characters";
    Err(Invalid::new("Idempotency-Key", message))
}
