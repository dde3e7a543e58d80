//! The second factor of a user at the desk: an authenticator app, which makes a new code in every
//! step of a clock, and recovery codes. The store has the sealed secret of the app, and digests of
//! the recovery codes. The caller opens the secret, and finds the step of a code.

use std::{fmt, time::Duration};

use sql::{group, named, stored};

use crate::TokenDigest;

/// How long money and keys are open after a code.
pub const FRESH: Duration = Duration::from_mins(10);

/// The number of wrong codes after which no code works for a while.
pub(crate) const MAX_WRONG_CODES: u32 = 5;

/// How long no code works.
pub(crate) const LOCK: Duration = Duration::from_mins(15);

/// The secret of an authenticator, encrypted: a nonce, 20 bytes, and a tag.
#[derive(Clone, Copy, PartialEq)]
pub struct SealedSecret([u8; Self::BYTES]);
stored! { SealedSecret([u8; Self::BYTES]) }

impl SealedSecret {
    pub const BYTES: usize = 12 + 20 + 16;

    pub fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

impl fmt::Debug for SealedSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SealedSecret")
    }
}

/// What a user typed as a code.
#[derive(Debug, Clone, Copy)]
pub enum Code {
    /// A code of the authenticator, by its step. Steps count from 1970.
    Step(i64),
    /// Any other text. It may be a recovery code.
    Other(TokenDigest),
}

named! {
    pub enum CodeResult {
        Right = "right",
        /// Wrong, or used before.
        Wrong = "wrong",
        /// After too many wrong codes, none works for a while.
        Locked = "locked",
    }
}

group! {
    /// A code was checked.
    #[derive(Debug)]
    pub struct CodeEntered { result: CodeResult = "result" }
}
