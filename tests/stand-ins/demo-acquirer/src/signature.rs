//! Signatures of requests, answers and notifications.

use std::fmt;

use common::config::{SecretError, secret};
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;

use crate::config::SECRET;

/// How far the time of a signature may differ from the clock of this machine.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

/// The secret that payments-svc shares.
pub(crate) struct SignatureKey(Hmac<Sha256>);

/// Why the secret cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SignatureKeyError {
    #[error("{SECRET} is not set")]
    Unset,
    #[error(transparent)]
    Secret(#[from] SecretError),
}

/// Why a request is not that of payments-svc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SignatureError {
    #[error("the header Acquirer-Signature is missing")]
    Missing,
    #[error("the header Acquirer-Signature must be t=<unix seconds>,v1=<64 hexadecimal digits>")]
    Malformed,
    #[error("the time of the signature is more than five minutes off")]
    OutOfTime,
    #[error("the signature is wrong")]
    Wrong,
}

/// The value of `v1`, which the signature of the answer covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tag(String);

impl SignatureKey {
    pub(crate) fn from_environment() -> Result<Self, SignatureKeyError> {
        let secret = secret(SECRET)?.ok_or(SignatureKeyError::Unset)?;
        Self::new(&secret).ok_or(SignatureKeyError::Unset)
    }

    fn new(secret: &SecretString) -> Option<Self> {
        Hmac::new_from_slice(secret.expose_secret().as_bytes()).ok().map(Self)
    }

    /// Verifies the signature of a request. `text` is `<method>.<path>.<idempotency key>.`, before
    /// the body.
    pub(crate) fn verify(
        &self,
        signature: &str,
        (text, body): (&str, &[u8]),
        now: Timestamp,
    ) -> Result<Tag, SignatureError> {
        let parts = signature.strip_prefix("t=").and_then(|rest| rest.split_once(",v1="));
        let (time, tag) = parts.ok_or(SignatureError::Malformed)?;
        let signed_at = time.parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
        let signed_at = signed_at.ok_or(SignatureError::Malformed)?;
        let bytes = hex::decode(tag).ok().filter(|bytes| bytes.len() == 32);
        let bytes = bytes.ok_or(SignatureError::Malformed)?;
        if now.duration_since(signed_at).abs() > TOLERANCE {
            return Err(SignatureError::OutOfTime);
        }
        let signed = self.signed(&format!("{time}.{text}"), body);
        signed.verify_slice(&bytes).map_err(|_| SignatureError::Wrong)?;
        Ok(Tag(tag.to_owned()))
    }

    /// The signature of the answer to the request with this tag.
    pub(crate) fn answer(&self, tag: &Tag, status: u16, body: &str, now: Timestamp) -> String {
        let Tag(tag) = tag;
        self.header(&format!("{status}.{tag}."), body, now)
    }

    pub(crate) fn notification(&self, body: &str, now: Timestamp) -> String {
        self.header("", body, now)
    }

    fn header(&self, text: &str, body: &str, now: Timestamp) -> String {
        let seconds = now.as_second();
        let tag = self.signed(&format!("{seconds}.{text}"), body.as_bytes()).finalize();
        format!("t={seconds},v1={}", hex::encode(tag.into_bytes()))
    }

    fn signed(&self, text: &str, body: &[u8]) -> Hmac<Sha256> {
        self.0.clone().chain_update(text).chain_update(body)
    }
}

impl fmt::Debug for SignatureKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SignatureKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "POST./voids.6b016ea40000000000000005.";

    /// Made with `openssl dgst -sha256 -hmac whsec_test` over `1763700000.`, [`TEXT`] and `{}`.
    const SIGNED: &str = "becdd0c9ff5a4ee9460380ae674d01a5c48d7b55a2feb7476cc4179b328f48db";

    fn key() -> SignatureKey {
        SignatureKey::new(&SecretString::from("whsec_test")).unwrap()
    }

    fn verify(
        signature: &str,
        text: &str,
        body: &[u8],
        seconds: i64,
    ) -> Result<Tag, SignatureError> {
        key().verify(signature, (text, body), Timestamp::from_second(seconds).unwrap())
    }

    #[test]
    fn a_signature_covers_time_request_and_body() {
        let signature = format!("t=1763700000,v1={SIGNED}");
        for seconds in [1_763_700_000, 1_763_699_700, 1_763_700_300] {
            assert_eq!(verify(&signature, TEXT, b"{}", seconds), Ok(Tag(SIGNED.to_owned())));
        }
        for seconds in [1_763_699_699, 1_763_700_301, 0] {
            assert_eq!(verify(&signature, TEXT, b"{}", seconds), Err(SignatureError::OutOfTime));
        }
        let now = 1_763_700_000;
        assert_eq!(verify(&signature, TEXT, b"{ }", now), Err(SignatureError::Wrong));
        let other = TEXT.replace("voids", "refunds");
        assert_eq!(verify(&signature, &other, b"{}", now), Err(SignatureError::Wrong));
        let later = format!("t=1763700001,v1={SIGNED}");
        assert_eq!(verify(&later, TEXT, b"{}", now), Err(SignatureError::Wrong));
    }

    #[test]
    fn a_malformed_signature_is_recognized() {
        for malformed in [
            "",
            "t=1763700000",
            &format!("v1={SIGNED}"),
            &format!("t=,v1={SIGNED}"),
            &format!("t=99999999999999999999,v1={SIGNED}"),
            &format!("t=1763700000,v1={}", &SIGNED[2..]),
            &format!("t=1763700000,v1={SIGNED},v1={SIGNED}"),
        ] {
            let verified = verify(malformed, TEXT, b"{}", 1_763_700_000);
            assert_eq!(verified, Err(SignatureError::Malformed), "{malformed}");
        }
    }

    #[test]
    fn an_answer_belongs_to_one_request() {
        let now = Timestamp::from_second(1_763_700_001).unwrap();
        let sign = |tag: &str| key().answer(&Tag(tag.to_owned()), 200, "{}", now);
        assert_eq!(
            sign(SIGNED),
            "t=1763700001,v1=c327ac96cf714631cee63c129d3bd38c387e8fb28d0fc675212637f2a5aeb12e"
        );
        assert_ne!(sign(SIGNED), sign(&"0".repeat(64)));
    }
}
