//! Limits on sign-ins: how many are in flight, and how many may be rejected for one username or
//! from one address.
//!
//! The two rate limits count differently:
//! 1. A username belongs to one person, so its limit is strict. Each sign-in counts when it begins,
//!    and the count is removed unless the sign-in is rejected.
//! 2. Many people may share an address. A rejection counts when it is known, so sign-ins in flight
//!    at the same moment may exceed the limit.

use std::{num::NonZeroUsize, sync::Arc};

use common::limits::{
    Budget, ClientAddress, HashedKey, KeyedHash, Permit, RateLimiter, Refused, Reserved,
};
use secrecy::{ExposeSecret as _, SecretString};

use crate::config::LimitsConfig;

/// Maximum number of usernames, and of addresses, in memory. Together they use 8 MiB.
const KEYS: NonZeroUsize = NonZeroUsize::new(40_000).unwrap();

/// Why a sign-in does not begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The limit of sign-ins in flight is reached.
    Busy,
    /// Too many sign-ins were rejected for the username or from the address.
    TooMany(Refused),
}

pub(crate) struct SignInLimits {
    in_flight: Arc<Budget>,
    usernames: Arc<RateLimiter<HashedKey>>,
    addresses: RateLimiter<ClientAddress>,
    hash: KeyedHash,
}

impl SignInLimits {
    /// Limits as configured, but at most `capacity` sign-ins in flight: a sign-in keeps a
    /// connection until the portal answers.
    pub(crate) fn new(config: &LimitsConfig, capacity: usize) -> Self {
        let LimitsConfig { max_sign_ins, sign_in_limit_username, sign_in_limit_address } = *config;
        Self {
            in_flight: Budget::new("sign_ins", max_sign_ins.min(capacity)),
            usernames: Arc::new(RateLimiter::new("sign_in_username", sign_in_limit_username, KEYS)),
            addresses: RateLimiter::new("sign_in_address", sign_in_limit_address, KEYS),
            hash: KeyedHash::new(),
        }
    }

    /// Checks the limits before a sign-in begins.
    pub(crate) fn admit(
        &self,
        username: &SecretString,
        address: ClientAddress,
    ) -> Result<Admitted<'_>, Denied> {
        self.addresses.check(address).map_err(Denied::TooMany)?;
        let permit = self.in_flight.take(1).ok_or(Denied::Busy)?;
        let username = self.hash.of(username.expose_secret().to_lowercase().as_bytes());
        let username = self.usernames.reserve(username).map_err(Denied::TooMany)?;
        Ok(Admitted { addresses: &self.addresses, username, address, _permit: permit })
    }
}

/// A sign-in in flight. If it is dropped without an outcome, it does not count for the username or
/// the address.
pub(crate) struct Admitted<'a> {
    addresses: &'a RateLimiter<ClientAddress>,
    username: Reserved<HashedKey>,
    address: ClientAddress,
    _permit: Permit,
}

impl Admitted<'_> {
    /// The portal rejected the credentials.
    pub(crate) fn rejected(self) {
        self.username.keep();
        self.addresses.record(self.address);
    }

    /// The portal accepted the credentials, so earlier rejections are forgotten.
    pub(crate) fn succeeded(self) {
        self.username.clear();
    }
}
