//! Apps, and the users of merchants.

use std::fmt;

use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};

use super::{
    id::Id,
    merchant::{Email, Name},
};

/// A program that calls the service with an API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct App {
    pub(crate) id: Id,
    pub(crate) name: Option<Name>,
    pub(crate) created: Timestamp,
}

/// A person who is a member of a merchant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) id: Id,
    pub(crate) email: Email,
    /// The time of the first invitation.
    pub(crate) created: Timestamp,
}

/// An app's credential. Only the response that creates the app contains it.
pub(crate) struct ApiKey(SecretString);

impl ApiKey {
    pub(crate) fn new(key: SecretString) -> Self {
        Self(key)
    }

    pub(crate) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    pub(crate) fn digest(&self) -> ApiKeyDigest {
        ApiKeyDigest::of(self.expose())
    }
}

/// The stored form of an API key. SHA-256 is enough, because keys are random and cannot be guessed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ApiKeyDigest([u8; 32]);

impl ApiKeyDigest {
    /// Hashes a key, or any text that a caller sent as one.
    pub(crate) fn of(key: &str) -> Self {
        Self(Sha256::digest(key).into())
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for ApiKeyDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKeyDigest")
    }
}
