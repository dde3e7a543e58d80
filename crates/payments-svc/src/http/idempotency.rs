//! `Idempotency-Key`: a request that is sent again is done once.

use std::{convert::Infallible, time::Duration};

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, Method, Uri, request::Parts},
    response::Response,
};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep};

use super::{Api, Error, access::Movable, answer, body::Body};
use crate::{
    domain::{
        App, Invalid,
        write::{Answer, Keyed, KnownKey, Refusal},
    },
    store::Seen,
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
        act: impl AsyncFnOnce(Option<Keyed>) -> Result<Answer, Error>,
    ) -> Result<Response, Error> {
        let answer = match key.of(caller, body)? {
            None => act(None).await?,
            Some(keyed) => match self.first(&keyed, self.store.key(&keyed).await?).await? {
                Some(answer) => answer,
                None => self.act(keyed, act).await?,
            },
        };
        answer::response(&self.store, answer).await
    }

    /// The same for a movement of a transaction, which was seen with the idempotency key.
    pub(super) async fn move_once(
        &self,
        key: IdempotencyKey,
        Movable { caller, mut seen }: Movable,
        body: &Body,
        act: impl AsyncFnOnce(&Seen, Option<Keyed>) -> Result<Answer, Error>,
    ) -> Result<Response, Error> {
        let known = seen.key.take();
        let answer = match key.of(&caller, body)? {
            None => act(&seen, None).await?,
            Some(keyed) => match self.first(&keyed, known).await? {
                Some(answer) => answer,
                None => self.act(keyed, async |keyed| act(&seen, keyed).await).await?,
            },
        };
        answer::moved(&self.store, seen, answer).await
    }

    async fn act(
        &self,
        keyed: Keyed,
        act: impl AsyncFnOnce(Option<Keyed>) -> Result<Answer, Error>,
    ) -> Result<Answer, Error> {
        match act(Some(keyed.clone())).await {
            // Somebody was faster.
            Err(Error::InFlight) => {
                let known = self.store.key(&keyed).await?;
                self.first(&keyed, known).await?.ok_or(Error::InFlight)
            }
            answer => answer,
        }
    }

    /// What came of the first request with this key, if there was one. Waits while it is in flight.
    async fn first(
        &self,
        keyed: &Keyed,
        mut known: Option<KnownKey>,
    ) -> Result<Option<Answer>, Error> {
        let deadline = Instant::now() + IN_FLIGHT_WAIT;
        loop {
            let Some(first) = known else { return Ok(None) };
            match first.answer(keyed) {
                Err(Refusal::InFlight) if Instant::now() < deadline => sleep(IN_FLIGHT_POLL).await,
                answer => return Ok(Some(answer?)),
            }
            known = self.store.key(keyed).await?;
        }
    }
}

pub(super) fn key(headers: &HeaderMap) -> Result<Option<String>, Invalid> {
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
