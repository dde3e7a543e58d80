//! Signatures `t=<unix seconds>,v1=<hex HMAC-SHA256>` between the service and an acquirer. They sign
//! `<t>.` and then the signed text: the body of a notification; of a request and its answer, see
//! [`super::http`].

use std::fmt;

use common::config::SecretError;
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;

/// How far the time of a signature may differ from the clock of this machine.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

/// Why a signature was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SignatureError {
    #[error("the header with the signature is missing")]
    Missing,
    #[error("the signature must be t=<unix seconds>,v1=<hex>")]
    Malformed,
    #[error("the time in the signature is more than {tolerance:#} off the service's clock")]
    OutOfTime { tolerance: SignedDuration },
    #[error("no v1 in the signature is the HMAC-SHA256 of <t>.<body> with the agreed secret")]
    Wrong,
}

/// The secret that the service shares with an acquirer.
#[derive(Clone)]
pub(crate) struct SignatureKey(Hmac<Sha256>);

impl fmt::Debug for SignatureKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SignatureKey")
    }
}

impl SignatureKey {
    /// The key of the secret setting `name`.
    pub(crate) fn of(name: &'static str, secret: &SecretString) -> Result<Self, SecretError> {
        let key = Hmac::new_from_slice(secret.expose_secret().as_bytes());
        key.map(Self).map_err(|_| SecretError::Empty(name))
    }

    /// Signs a text in parts. Returns the time and the hex digits of `v1`.
    pub(super) fn sign(&self, parts: &[&[u8]], now: Timestamp) -> Signature {
        let seconds = now.as_second();
        let tag = self.over(&seconds.to_string(), parts).finalize().into_bytes();
        Signature { seconds, tag: hex::encode(tag) }
    }

    /// Verifies the signature of a text in parts. Its time must be within [`TOLERANCE`] of `now`. If
    /// there are several `v1`, as during a change of the secret, one valid one is enough.
    pub(crate) fn verify(
        &self,
        signature: &str,
        signed: &[&[u8]],
        now: Timestamp,
    ) -> Result<(), SignatureError> {
        let parts = || signature.split(',').filter_map(|part| part.trim().split_once('='));
        let tags = || parts().filter(|(name, _)| *name == "v1").map(|(_, hex)| hex);
        let time = parts().find(|(name, _)| *name == "t").map(|(_, seconds)| seconds);
        let time = time.filter(|_| tags().next().is_some()).ok_or(SignatureError::Malformed)?;
        let signed_at = time.parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
        let signed_at = signed_at.ok_or(SignatureError::Malformed)?;
        if now.duration_since(signed_at).abs() > TOLERANCE {
            return Err(SignatureError::OutOfTime { tolerance: TOLERANCE });
        }
        let signed = self.over(time, signed);
        let is_valid =
            |hex: &str| hex::decode(hex).is_ok_and(|tag| signed.clone().verify_slice(&tag).is_ok());
        tags().any(is_valid).then_some(()).ok_or(SignatureError::Wrong)
    }

    fn over(&self, seconds: &str, parts: &[&[u8]]) -> Hmac<Sha256> {
        let signed = self.0.clone().chain_update(seconds).chain_update(".");
        parts.iter().fold(signed, |signed, part| signed.chain_update(part))
    }
}

/// A signature that this service made. [`fmt::Display`] gives the value of the header.
pub(super) struct Signature {
    seconds: i64,
    /// The hex digits of `v1`.
    pub(super) tag: String,
}

impl fmt::Display for Signature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "t={},v1={}", self.seconds, self.tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with `openssl dgst -sha256 -hmac whsec_test` over `1763700000.{}`.
    const SIGNED: &str = "5e25a4ef27a0327f141ab04dab088b0b591b2d707b4dbb5fc692811fc1537bee";

    fn key() -> SignatureKey {
        SignatureKey::of("KEY", &SecretString::from("whsec_test")).unwrap()
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    const LATE: SignatureError = SignatureError::OutOfTime { tolerance: TOLERANCE };

    #[test]
    fn a_signature_covers_time_body_and_secret() {
        let signature = format!("t=1763700000,v1={SIGNED}");
        for seconds in [1_763_700_000, 1_763_699_700, 1_763_700_300] {
            assert_eq!(key().verify(&signature, &[b"{}"], at(seconds)), Ok(()), "{seconds}");
        }
        for seconds in [1_763_699_699, 1_763_700_301, 0] {
            assert_eq!(key().verify(&signature, &[b"{}"], at(seconds)), Err(LATE), "{seconds}");
        }
        let now = at(1_763_700_000);
        assert_eq!(key().verify(&signature, &[b"{ }"], now), Err(SignatureError::Wrong));
        let other = SignatureKey::of("KEY", &SecretString::from("whsec_other")).unwrap();
        assert_eq!(other.verify(&signature, &[b"{}"], now), Err(SignatureError::Wrong));
    }

    #[test]
    fn one_valid_signature_is_enough() {
        let now = at(1_763_700_000);
        let several = format!("t=1763700000, v1={}, v1={SIGNED}, v0=x", "0".repeat(64));
        assert_eq!(key().verify(&several, &[b"{}"], now), Ok(()));
        for (invalid, error) in [
            ("", SignatureError::Malformed),
            ("t=1763700000", SignatureError::Malformed),
            (&format!("v1={SIGNED}"), SignatureError::Malformed),
            (&format!("t=,v1={SIGNED}"), SignatureError::Malformed),
            (&format!("t=1763700000,v0={SIGNED}"), SignatureError::Malformed),
            (&format!("t=99999999999999999999,v1={SIGNED}"), SignatureError::Malformed),
            (&format!("t=1763700000,v1={}", &SIGNED[2..]), SignatureError::Wrong),
            ("t=1763700000,v1=zz", SignatureError::Wrong),
            (&format!("t=1763700001,v1={SIGNED}"), SignatureError::Wrong),
        ] {
            assert_eq!(key().verify(invalid, &[b"{}"], now), Err(error), "{invalid}");
        }
    }
}
