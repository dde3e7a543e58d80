//! `Idempotency-Key`: a repeated request is executed once. This module reads the header and
//! identifies the request; [`Payments::once`] waits, replays or executes.
//!
//! 1. A key belongs to the app that sent it. Two apps may use the same key. The payment page has
//!    keys, too: see `pos/visit.rs`.
//! 2. A digest of method, path and body identifies the request. Other headers and the query are not
//!    part of it. An empty body, `[]` and `{}` have the same digest; see [`Body::as_bytes`].
//! 3. Extracting a key never fails. Requests are checked in this order: credentials, existence,
//!    access, body, content. A malformed key is an error of the content, so [`Once::keyed`] reports
//!    it.
//! 4. [`Once::keyed`] must run before the body is parsed: a repeat gets the first response
//!    without a new check of its content.
//! 5. Captures, refunds and voids read the header twice. [`LoadedTransaction`] loads the
//!    transaction together with the stored state of the key, which saves a read; a malformed key
//!    counts as none there.
//! 6. Handlers without [`Once`] ignore the header: `POST /apps`, `PUT`, `DELETE`, the
//!    routes of the payment page, `POST /acquirer/events`, where the ID of the notification makes
//!    repeats harmless, and the test of a webhook, which changes nothing.
//!
//! [`Payments::once`]: crate::app::Payments::once
//! [`LoadedTransaction`]: super::access::LoadedTransaction

use std::sync::Arc;

use axum::{
    extract::{FromRequest, Request},
    http::{HeaderMap, HeaderName, Method, Uri},
};
use payments_domain::{
    FieldError, Id,
    write::{Access, Action, Group, KeyedRequest},
};
use sha2::{Digest as _, Sha256};

use super::api::Api;
use crate::{
    app::{self, Payments, Written},
    web::{Body, Content, Error},
};

const HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// In characters.
const MAX_KEY: usize = 255;

/// A request that is executed once.
pub(super) struct Once<B = Body> {
    pub(super) payments: Arc<Payments>,
    pub(super) body: B,
    key: Result<Option<String>, FieldError>,
    method: Method,
    uri: Uri,
}

impl<B: FromRequest<Arc<Api>, Rejection = Error>> FromRequest<Arc<Api>> for Once<B> {
    type Rejection = Error;

    async fn from_request(request: Request, api: &Arc<Api>) -> Result<Self, Error> {
        let key = key(request.headers());
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let body = B::from_request(request, api).await?;
        Ok(Self { payments: Arc::clone(&api.payments), body, key, method, uri })
    }
}

impl<B: Content> Once<B> {
    /// Executes the request with `act`, unless it is a repeat.
    pub(super) async fn run<T: Group>(
        &self,
        app: Id,
        act: impl AsyncFnOnce(Option<KeyedRequest>) -> Result<Written<T>, app::Error>,
    ) -> Result<Written<T>, Error> {
        Ok(self.payments.once(self.keyed(app)?, act).await?)
    }

    /// Executes the action that `read` reads from the body, unless the request is a repeat.
    pub(super) async fn write<A: Action<Outcome: Group>>(
        &self,
        access: Access,
        read: impl FnOnce(&B) -> Result<A, Vec<FieldError>>,
    ) -> Result<Written<A::Outcome>, Error> {
        let act = async |keyed| self.payments.write_keyed(access, read(&self.body)?, keyed).await;
        self.run(access.app, act).await
    }

    /// The key with its app and the digest of the request; `None` without a key.
    pub(super) fn keyed(&self, app: Id) -> Result<Option<KeyedRequest>, Vec<FieldError>> {
        let key = self.key.clone().map_err(|invalid| vec![invalid])?;
        Ok(key.map(|key| {
            // A slash at the end selects the same route.
            let path = self.uri.path().trim_end_matches('/');
            let line = format!("{} {path}\n", self.method);
            let request = Sha256::new().chain_update(line);
            let request = self.body.add_to(request).finalize().into();
            KeyedRequest { app, key, request }
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
