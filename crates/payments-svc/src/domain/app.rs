//! Apps, and the users of merchants.

use std::fmt;

use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};

use super::{
    id::Id,
    merchant::{Email, Name},
};

/// A machine that uses the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct App {
    /// Its id.
    pub(crate) id: Id,
    /// Its name, if it has one.
    pub(crate) name: Option<Name>,
    /// When it was made.
    pub(crate) created: Timestamp,
}

/// A person who may use a merchant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    /// Their id.
    pub(crate) id: Id,
    /// Their address.
    pub(crate) email: Email,
    /// When they were first invited.
    pub(crate) created: Timestamp,
}

/// An app's credential. It is told once, when the app is made.
pub(crate) struct ApiKey(SecretString);

impl ApiKey {
    /// A key that is to be told.
    pub(crate) fn new(key: SecretString) -> Self {
        Self(key)
    }

    /// The key itself.
    pub(crate) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// What is kept of it.
    pub(crate) fn digest(&self) -> KeyDigest {
        KeyDigest::of(self.expose())
    }
}

/// What is kept of a key. Keys are random, so that nobody can guess one from its digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct KeyDigest([u8; 32]);

impl KeyDigest {
    /// The digest of a key, or of what somebody takes for one.
    pub(crate) fn of(key: &str) -> Self {
        Self(Sha256::digest(key).into())
    }

    /// Its bytes.
    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for KeyDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("KeyDigest")
    }
}
