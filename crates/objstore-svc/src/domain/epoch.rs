//! Epochs. A new epoch begins when a store is made, and when acknowledged changes may be lost: a backup
//! was restored, or PostgreSQL failed over to a server that lacks commits.
//!
//! Clients and replicas may remember revisions that do not exist anymore. So two rules keep the
//! epochs apart:
//!
//! 1. **An entity tag contains the ID of its epoch.** So no tag from before matches.
//! 2. **No revision is used in two epochs.** An epoch starts with a revision greater than every
//!    earlier one, lost ones included. So a remembered revision, such as the position of a client
//!    or the cursor of a socket, is from another epoch if it is less than the start. Its owner may
//!    have seen lost values, and gets all current values.
//!
//! Decision: the start is the time in microseconds. Counting is not enough: the next epoch may begin
//! on a server or in a new store that does not know this one, and would repeat its revisions. A store changes less
//! than a million times a second, so revisions stay behind the time. Until the year 2255 they stay
//! below 2^53, up to which JavaScript can count. If the clock is behind, the start is at least 2^20
//! after the newest revision. A greater distance would be more than the time between two failovers,
//! and the second one could repeat the start of the first.

use super::Revision;

/// A random number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct EpochId(u64);

impl EpochId {
    /// Makes an ID from random bits.
    pub(crate) const fn new(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Epoch {
    pub(crate) id: EpochId,
    /// The newest revision when the epoch began.
    pub(crate) start: Revision,
}
