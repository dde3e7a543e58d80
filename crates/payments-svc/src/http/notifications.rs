//! `POST /acquirer/events`: what acquirers tell of their own accord, signed.

use std::{fmt, sync::Arc};

use axum::{
    extract::State,
    http::{HeaderMap, HeaderName, StatusCode},
};
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;

use super::{
    Api, Error,
    body::Body,
    fields::{Fields, Noted},
};
use crate::{
    cases::{Cases, NoticeError},
    domain::{Amount, Decision, Event, FraudReason, Name, Notification, Reason, Reference},
    store::now,
};

const SIGNATURE: HeaderName = HeaderName::from_static("acquirer-signature");

/// How far the time of a signature may be from ours.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

/// What acquirers sign with.
pub(crate) struct SignatureKey(Hmac<Sha256>);

impl fmt::Debug for SignatureKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SignatureKey")
    }
}

impl SignatureKey {
    /// The key that is this secret.
    pub(crate) fn new(secret: &SecretString) -> Option<Self> {
        Hmac::new_from_slice(secret.expose_secret().as_bytes()).ok().map(Self)
    }

    /// Whether a signature `t=<unix seconds>,v1=<hex>` is one of this body, and of these minutes. Of
    /// several, as while the secret is changed, one has to be.
    fn accepts(&self, signature: &str, body: &[u8], now: Timestamp) -> bool {
        let parts = || signature.split(',').filter_map(|part| part.trim().split_once('='));
        let time = parts().find(|(name, _)| *name == "t").map(|(_, seconds)| seconds);
        let Some(time) = time else { return false };
        let signed_at = time.parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
        if signed_at.is_none_or(|at| now.duration_since(at).abs() > TOLERANCE) {
            return false;
        }
        let signed = self.0.clone().chain_update(time).chain_update(".").chain_update(body);
        let is_it =
            |hex: &str| hex::decode(hex).is_ok_and(|tag| signed.clone().verify_slice(&tag).is_ok());
        parts().any(|(name, value)| name == "v1" && is_it(value))
    }
}

/// Takes what an acquirer tells. What it told before changes nothing.
pub(super) async fn take(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Error> {
    let signature = headers.get(SIGNATURE).and_then(|value| value.to_str().ok());
    let accepted = signature.zip(api.signature.as_ref());
    if !accepted.is_some_and(|(it, key)| key.accepts(it, body.as_bytes(), now())) {
        return Err(Error::Unauthenticated);
    }
    let notification = body.read(|fields| notification(fields, &api.cases))?;
    api.cases.notice(notification).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn notification(fields: &mut Fields<'_>, cases: &Cases) -> Result<Notification, Noted> {
    let id = fields.required("id", str::parse);
    let transaction = fields.required("transactionId", str::parse);
    let created = fields.required("created", str::parse);
    let opened = created.unwrap_or_else(|_| now());
    let event = match fields.required("type", |name| Ok::<_, String>(name.to_owned()))?.as_str() {
        "dispute.opened" => opening(fields, cases.due(opened)),
        "dispute.won" => decided(fields, Decision::Won),
        "dispute.lost" => decided(fields, Decision::Lost),
        "fraud.reported" => {
            let reported = fields.optional("reported", str::parse);
            let reason = fields.optional_number("reason", FraudReason::new);
            Ok(Event::Fraud { reported: reported?, reason: reason? })
        }
        _ => Err(fields.note("type", "is no type of event that is known here")),
    };
    Ok(Notification { id: id?, transaction: transaction?, created: created?, event: event? })
}

fn opening(fields: &mut Fields<'_>, otherwise_due: Timestamp) -> Result<Event, Noted> {
    let dispute = fields.required("disputeId", str::parse::<Reference>);
    let amount = fields.required_number("amount", Amount::new);
    let due = fields.optional("due", str::parse);
    let mut reason = fields.object("reason");
    let code = reason.optional_number("code", Ok::<_, String>);
    let title = reason.optional("title", Name::new);
    let reason = match (code?, title?) {
        (None, None) => None,
        (Some(code), Some(title)) => Some(Reason { code, title: title.as_str().to_owned() }),
        _ => return Err(fields.note("reason", "must have a code and a title")),
    };
    let due = due?.unwrap_or(otherwise_due);
    Ok(Event::Opened { dispute: dispute?, amount: amount?, reason, due })
}

fn decided(fields: &mut Fields<'_>, decision: Decision) -> Result<Event, Noted> {
    Ok(Event::Decided { dispute: fields.required("disputeId", str::parse)?, decision })
}

impl From<NoticeError> for Error {
    fn from(error: NoticeError) -> Self {
        match error {
            NoticeError::NoSuchTransaction => {
                Self::field("transactionId", "is not one that was made here")
            }
            NoticeError::NoRate(error) => Self::NoRate(error),
            NoticeError::Refused(refusal) => refusal.into(),
            NoticeError::Store(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with `openssl dgst -sha256 -hmac whsec_test` over `1763700000.{}`.
    const SIGNED: &str = "5e25a4ef27a0327f141ab04dab088b0b591b2d707b4dbb5fc692811fc1537bee";

    fn key() -> SignatureKey {
        SignatureKey::new(&SecretString::from("whsec_test")).unwrap()
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn a_signature_is_of_its_time_and_body() {
        let signature = format!("t=1763700000,v1={SIGNED}");
        for seconds in [1_763_700_000, 1_763_699_700, 1_763_700_300] {
            assert!(key().accepts(&signature, b"{}", at(seconds)), "{seconds}");
        }
        for seconds in [1_763_699_699, 1_763_700_301, 0] {
            assert!(!key().accepts(&signature, b"{}", at(seconds)), "{seconds}");
        }
        assert!(!key().accepts(&signature, b"{ }", at(1_763_700_000)));
        let other = SignatureKey::new(&SecretString::from("whsec_other")).unwrap();
        assert!(!other.accepts(&signature, b"{}", at(1_763_700_000)));
    }

    #[test]
    fn one_of_several_signatures_is_enough_and_none_is_not() {
        let now = at(1_763_700_000);
        let several = format!("t=1763700000, v1={}, v1={SIGNED}, v0=x", "0".repeat(64));
        assert!(key().accepts(&several, b"{}", now));
        for none in [
            "",
            "t=1763700000",
            &format!("v1={SIGNED}"),
            &format!("t=,v1={SIGNED}"),
            &format!("t=1763700000,v0={SIGNED}"),
            &format!("t=1763700000,v1={}", &SIGNED[2..]),
            "t=1763700000,v1=zz",
            &format!("t=99999999999999999999,v1={SIGNED}"),
            &format!("t=1763700001,v1={SIGNED}"),
        ] {
            assert!(!key().accepts(none, b"{}", now), "{none}");
        }
    }
}
