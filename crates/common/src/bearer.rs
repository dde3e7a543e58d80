//! Bearer tokens: shared secrets that a request carries in `Authorization`.

use std::fmt;

use axum::http::{HeaderMap, HeaderValue, header};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// A configured token, kept as its SHA-256 digest.
#[derive(Clone)]
pub struct BearerToken([u8; 32]);

impl BearerToken {
    /// Hashes the configured `secret`.
    pub fn new(secret: &SecretString) -> Self {
        Self(Sha256::digest(secret.expose_secret()).into())
    }

    /// Whether a request has the token in `Authorization: Bearer <token>`. The comparison takes
    /// constant time.
    pub fn admits(&self, headers: &HeaderMap) -> bool {
        let credential = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
        let Some((scheme, token)) = credential.and_then(|value| value.split_at_checked(7)) else {
            return false;
        };
        let given: [u8; 32] = Sha256::digest(token).into();
        scheme.eq_ignore_ascii_case(b"Bearer ") & bool::from(given.ct_eq(&self.0))
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BearerToken")
    }
}
