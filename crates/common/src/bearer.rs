//! Bearer tokens: shared secrets that a request carries in `Authorization`.

use std::fmt;

use axum::http::{HeaderMap, HeaderValue, header};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::config::{SecretError, secret};

/// A configured token, kept as its SHA-256 digest.
#[derive(Clone)]
pub struct BearerToken([u8; 32]);

impl BearerToken {
    /// Reads the secret setting `name` with [`Self::of`]. `None` if it is unset or empty.
    pub fn configured(name: &'static str) -> Result<Option<Self>, SecretError> {
        secret(name)?.map(|token| Self::of(name, &token)).transpose()
    }

    /// The token of the secret setting `name`.
    ///
    /// White space around it is an error. No request can send it, so every request would fail.
    pub fn of(name: &'static str, token: &SecretString) -> Result<Self, SecretError> {
        match token.expose_secret().trim() == token.expose_secret() {
            true => Ok(Self::new(token)),
            false => Err(SecretError::WhiteSpace(name)),
        }
    }

    /// Hashes the configured `secret`.
    pub fn new(secret: &SecretString) -> Self {
        Self(Sha256::digest(secret.expose_secret()).into())
    }

    /// Whether a request has the token in `Authorization: Bearer <token>`. The comparison takes
    /// constant time.
    pub fn admits(&self, headers: &HeaderMap) -> bool {
        let Some(token) = bearer_token(headers) else { return false };
        let given: [u8; 32] = Sha256::digest(token).into();
        given.ct_eq(&self.0).into()
    }
}

/// The token of a request with `Authorization: Bearer <token>`. One or more spaces stand before it
/// (RFC 9110, section 11.4).
pub fn bearer_token(headers: &HeaderMap) -> Option<&[u8]> {
    let credential = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
    let (scheme, token) = credential?.split_at_checked(7)?;
    let spaces = token.iter().take_while(|&&byte| byte == b' ').count();
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(&token[spaces..])
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BearerToken")
    }
}
