//! `Idempotency-Key`: a request that is sent again is done once.

use std::convert::Infallible;

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, Method, Uri, request::Parts},
};
use sha2::{Digest as _, Sha256};

use crate::{
    domain::{App, Invalid, write::Keyed},
    web::Body,
};

const HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// The most characters a key may have.
const MAX_KEY: usize = 255;

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
    pub(super) fn of(self, caller: &App, body: &Body) -> Result<Option<Keyed>, Vec<Invalid>> {
        let key = self.key.map_err(|invalid| vec![invalid])?;
        Ok(key.map(|key| {
            let line = format!("{} {}\n", self.method, self.uri.path());
            let request = Sha256::new().chain_update(line).chain_update(body.as_bytes());
            let request = request.finalize().into();
            Keyed { app: caller.id, key, request }
        }))
    }
}

/// The key that a request says.
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
