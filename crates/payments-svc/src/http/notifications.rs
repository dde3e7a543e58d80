//! `POST /acquirer/events` and `POST /stripe/events`: signed notifications of acquirers.
//!
//! A notification that the service cannot book is accepted and counted: see [`app::Payments::book`].
//! Acquirers add types, and would repeat a refused notification for days.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{FromRequest, Request, State},
    http::{HeaderMap, StatusCode},
};
use payments_domain::AcquirerName;

use super::api::Api;
use crate::{
    app::{self, Report, SignatureError, SignatureKey, http_report, now, stripe_report},
    web::{Body, Error, Fields, Reported},
};

/// In bytes. A dispute of Stripe comes with its evidence, and the one before, in characters of up to
/// 12 bytes.
const MAX_NOTIFICATION: usize = 1024 * 1024;

pub(super) struct Notification(Body);

impl<S: Sync> FromRequest<S> for Notification {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        Ok(Self(Body::receive(request, MAX_NOTIFICATION).await?))
    }
}

/// Books a notification of an acquirer that speaks our protocol.
pub(super) async fn receive(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    Notification(body): Notification,
) -> Result<StatusCode, Error> {
    let key = api.signature.as_ref().ok_or(app::Error::NotFound)?;
    verify(&key.borrow(), "Acquirer-Signature", &headers, &body)?;
    book(&api, AcquirerName::Http, &body, http_report).await
}

/// Books an event of Stripe.
pub(super) async fn receive_stripe(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    Notification(body): Notification,
) -> Result<StatusCode, Error> {
    let key = api.stripe_signature.as_ref().ok_or(app::Error::NotFound)?;
    verify(&key.borrow(), "Stripe-Signature", &headers, &body)?;
    book(&api, AcquirerName::Stripe, &body, stripe_report).await
}

/// Verifies the signature of a body, which is in the header of this name.
fn verify(
    key: &SignatureKey,
    header: &'static str,
    headers: &HeaderMap,
    body: &Body,
) -> Result<(), Error> {
    let signature = headers.get(header).ok_or(SignatureError::Missing);
    let signature = signature.and_then(|it| it.to_str().map_err(|_| SignatureError::Malformed));
    let verified = signature.and_then(|it| key.verify(it, &[body.as_bytes()], now()));
    verified.map_err(|error| Error::Unsigned { header, error })
}

async fn book(
    api: &Api,
    acquirer: AcquirerName,
    body: &Body,
    report: fn(&mut Fields<'_>, Duration) -> Result<Report, Reported>,
) -> Result<StatusCode, Error> {
    let report = body.read(|fields| report(fields, api.payments.dispute_due()))?;
    api.payments.book(acquirer, report).await?;
    Ok(StatusCode::NO_CONTENT)
}
