//! The unanswered pings of one socket.
//!
//! Only a pong acknowledges, because it proves that the client has received everything sent before
//! the ping. See `docs/decisions/acknowledge-by-pong.md`.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use tokio::time::Instant;

use crate::domain::Revision;

/// Maximum number of unanswered pings.
const MAX_MARKS: usize = 64;

/// Unanswered pings, oldest first. Each has the cursor of the socket when the ping was sent: all
/// pushes up to this revision were sent before the ping.
#[derive(Default)]
pub(crate) struct Marks(Mutex<VecDeque<Mark>>);

struct Mark {
    payload: [u8; 8],
    revision: Revision,
    sent: Instant,
}

impl Marks {
    /// Records a ping that follows all pushes up to `revision`, and returns its payload. `None`
    /// while [`MAX_MARKS`] pings are unanswered.
    pub(crate) fn add(&self, revision: Revision) -> Option<Bytes> {
        let mut marks = self.marks();
        if marks.len() >= MAX_MARKS {
            return None;
        }
        let payload = rand::random();
        marks.push_back(Mark { payload, revision, sent: Instant::now() });
        Some(Bytes::copy_from_slice(&payload))
    }

    /// The revision that a pong acknowledges; `None` if no ping had this payload. Older pings are
    /// removed, too, since their pongs would acknowledge less.
    pub(crate) fn answered(&self, payload: &[u8]) -> Option<Revision> {
        let mut marks = self.marks();
        let index = marks.iter().position(|mark| mark.payload == payload)?;
        marks.drain(..=index).next_back().map(|mark| mark.revision)
    }

    /// Whether the oldest unanswered ping was sent at least `timeout` ago.
    pub(crate) fn is_overdue(&self, timeout: Duration) -> bool {
        self.marks().front().is_some_and(|mark| mark.sent.elapsed() >= timeout)
    }

    fn marks(&self) -> MutexGuard<'_, VecDeque<Mark>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pong_acknowledges_pushes_before_its_ping() {
        let marks = Marks::default();
        let payloads = [3, 5, 9].map(|revision| marks.add(revision).unwrap());
        assert_eq!(marks.answered(b"made up"), None);
        assert_eq!(marks.answered(&payloads[1]), Some(5));
        assert_eq!(marks.answered(&payloads[0]), None, "a newer ping was answered already");
        assert_eq!(marks.answered(&payloads[2]), Some(9));
    }

    #[test]
    fn the_number_of_unanswered_pings_is_limited() {
        let marks = Marks::default();
        assert!((0..MAX_MARKS).all(|_| marks.add(1).is_some()));
        assert!(marks.add(1).is_none());
        assert!(!marks.is_overdue(Duration::from_secs(1)));
    }
}
