//! The unanswered pings of one socket.
//!
//! Only a pong acknowledges, because it proves that the client has received everything sent before
//! the ping. See `docs/decisions/acknowledge-by-pong.md`.

use std::{collections::VecDeque, sync::PoisonError, time::Duration};

use bytes::Bytes;
use tokio::time::Instant;

use crate::{
    domain::Revision,
    lock::{Mutex, MutexGuard},
};

/// Maximum number of unanswered pings.
const MAX_UNANSWERED: usize = 64;

/// Unanswered pings, oldest first. Each has the cursor of the socket when the ping was sent: all
/// pushes up to this revision were sent before the ping.
#[derive(Default)]
pub(crate) struct UnansweredPings(Mutex<VecDeque<Ping>>);

struct Ping {
    payload: [u8; 8],
    revision: Revision,
    sent: Instant,
}

impl UnansweredPings {
    /// Records a ping that follows all pushes up to `revision`, and returns its payload. `None`
    /// while [`MAX_UNANSWERED`] pings are unanswered.
    pub(crate) fn add(&self, revision: Revision) -> Option<Bytes> {
        let mut pings = self.pings();
        if pings.len() >= MAX_UNANSWERED {
            return None;
        }
        let payload = rand::random();
        pings.push_back(Ping { payload, revision, sent: Instant::now() });
        Some(Bytes::copy_from_slice(&payload))
    }

    /// The revision that a pong acknowledges; `None` if no ping had this payload. Older pings are
    /// removed, too, since their pongs would acknowledge less.
    pub(crate) fn answered(&self, payload: &[u8]) -> Option<Revision> {
        let mut pings = self.pings();
        let index = pings.iter().position(|ping| ping.payload == payload)?;
        pings.drain(..=index).next_back().map(|ping| ping.revision)
    }

    /// Whether the oldest unanswered ping was sent at least `timeout` ago.
    pub(crate) fn is_overdue(&self, timeout: Duration) -> bool {
        self.pings().front().is_some_and(|ping| ping.sent.elapsed() >= timeout)
    }

    fn pings(&self) -> MutexGuard<'_, VecDeque<Ping>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pong_acknowledges_pushes_before_its_ping() {
        let pings = UnansweredPings::default();
        let payloads = [3, 5, 9].map(|revision| pings.add(revision).unwrap());
        assert_eq!(pings.answered(b"made up"), None);
        assert_eq!(pings.answered(&payloads[1]), Some(5));
        assert_eq!(pings.answered(&payloads[0]), None, "a newer ping was answered already");
        assert_eq!(pings.answered(&payloads[2]), Some(9));
    }

    #[test]
    fn the_number_of_unanswered_pings_is_limited() {
        let pings = UnansweredPings::default();
        assert!((0..MAX_UNANSWERED).all(|_| pings.add(1).is_some()));
        assert!(pings.add(1).is_none());
        assert!(!pings.is_overdue(Duration::from_secs(1)));
    }
}
