//! `Idempotency-Key`: a repeated request is executed once. This module reads the header and
//! identifies the request; [`Payments::once`] waits, replays or executes.
//!
//! 1. A key belongs to the app that sent it. Two apps may use the same key. The payment page has
//!    keys, too: see `pos/visit.rs`.
//! 2. A digest of method, path and body identifies the request. Other headers and the query are not
//!    part of it. An empty body, `[]` and `{}` have the same digest; see [`Body::as_bytes`].
//! 3. Extracting a key never fails. Requests are checked in this order: credentials, existence,
//!    access, body, content. A malformed key is an error of the content, so [`IdempotencyKey::of`]
//!    reports it.
//! 4. [`IdempotencyKey::of`] must run before the body is parsed: a repeat gets the first response
//!    without a new check of its content.
//! 5. Captures, refunds and voids read the header twice. [`LoadedTransaction`] loads the
//!    transaction together with the stored state of the key, which saves a read; a malformed key
//!    counts as none there.
//! 6. Handlers without [`IdempotencyKey`] ignore the header: `POST /apps`, `PUT`, `DELETE`, the
//!    routes of the payment page, `POST /acquirer/events`, where the ID of the notification makes
//!    repeats harmless, and the test of a webhook, which changes nothing.
//!
//! [`Payments::once`]: crate::app::Payments::once
//! [`LoadedTransaction`]: super::access::LoadedTransaction

use std::convert::Infallible;

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, Method, Uri, request::Parts},
};
use sha2::{Digest as _, Sha256};

use crate::{
    domain::{App, FieldError, write::KeyedRequest},
    web::Body,
};

const HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// In characters.
const MAX_KEY: usize = 255;

/// The key of a request, and the parts of its head that identify it.
pub(super) struct IdempotencyKey {
    key: Result<Option<String>, FieldError>,
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
    /// The key with its app and the digest of the request; `None` without a key.
    pub(super) fn of(
        self,
        caller: &App,
        body: &Body,
    ) -> Result<Option<KeyedRequest>, Vec<FieldError>> {
        let key = self.key.map_err(|invalid| vec![invalid])?;
        Ok(key.map(|key| {
            // A slash at the end selects the same route.
            let path = self.uri.path().trim_end_matches('/');
            let line = format!("{} {path}\n", self.method);
            let request = Sha256::new().chain_update(line).chain_update(body.as_bytes());
            let request = request.finalize().into();
            KeyedRequest { app: caller.id, key, request }
        }))
    }
}

/// Reads the header: one value of 1 to [`MAX_KEY`] printable ASCII characters.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<String>, FieldError> {
    let mut values = headers.get_all(HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    let is_printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if values.next().is_none() && is_printable && (1..=MAX_KEY).contains(&text.len()) {
        return Ok(Some(text.to_owned()));
    }
    let message = "must be one value of 1 to 255 printable ASCII characters";
    Err(FieldError::new("Idempotency-Key", message))
}
