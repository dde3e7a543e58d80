//! How users of merchants sign in at the desk: with links that work once, which begin sessions. The
//! store keeps digests. Browsers and mails have the secrets.

use std::{fmt, time::Duration};

use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use sql::{named, stored};

/// How long a session lasts without a request.
pub const SESSION_IDLE: Duration = Duration::from_mins(30);

/// How long a session lasts in all.
pub const SESSION_TTL: Duration = Duration::from_hours(12);

/// The maximum number of sessions of a user. A further one ends the oldest.
pub(crate) const MAX_SESSIONS: usize = 10;

/// The maximum number of links of a user, of each kind. A further one replaces the oldest.
pub(crate) const MAX_LINKS: usize = 20;

named! {
    pub enum LinkKind {
        /// The user asked for it. Only the browser that asked can use it.
        SignIn = "sign_in",
        /// A member invited the user.
        Invitation = "invitation",
        /// The operator made it. The first browser that opens it can use it.
        Operator = "operator",
    }
}

impl LinkKind {
    /// How long a link works.
    fn ttl(self) -> Duration {
        match self {
            Self::SignIn | Self::Operator => Duration::from_mins(15),
            Self::Invitation => Duration::from_hours(72),
        }
    }

    /// When a link ends whose time runs from here.
    pub(crate) fn until(self, from: Timestamp) -> Timestamp {
        from.checked_add(self.ttl()).unwrap_or(Timestamp::MAX)
    }
}

/// The random secret of a link, a session or a browser.
#[derive(Clone)]
pub struct Token(SecretString);

impl Token {
    pub fn new(random: [u8; 32]) -> Self {
        let text = random.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Self(text.into())
    }

    /// Any text that a browser sent as a token.
    pub fn sent(text: &str) -> Self {
        Self(text.into())
    }

    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    pub fn digest(&self) -> TokenDigest {
        TokenDigest(Sha256::digest(self.expose()).into())
    }
}

/// The stored form of a [`Token`]. SHA-256 is enough, because tokens cannot be guessed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenDigest([u8; 32]);
stored! { TokenDigest([u8; 32]) }

impl TokenDigest {
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TokenDigest")
    }
}
