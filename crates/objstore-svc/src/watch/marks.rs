//! What was sent on one socket and is not acknowledged.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use tokio::time::Instant;

use crate::domain::Revision;

/// Pings that may be unanswered at once.
const MAX_MARKS: usize = 64;

/// The pings that were sent, each marking how far the client had been served before it. A pong
/// comes after everything that was sent before its ping, so it proves that much.
#[derive(Default)]
pub(crate) struct Marks(Mutex<VecDeque<Mark>>);

struct Mark {
    payload: [u8; 8],
    revision: Revision,
    sent: Instant,
}

impl Marks {
    /// The payload of a ping that follows everything up to `revision`; none while too many are
    /// unanswered.
    pub(crate) fn add(&self, revision: Revision) -> Option<Bytes> {
        let mut marks = self.marks();
        if marks.len() >= MAX_MARKS {
            return None;
        }
        let payload = rand::random();
        marks.push_back(Mark { payload, revision, sent: Instant::now() });
        Some(Bytes::copy_from_slice(&payload))
    }

    /// What the answer to a ping proves. Answers to nothing prove nothing.
    pub(crate) fn answered(&self, payload: &[u8]) -> Option<Revision> {
        let mut marks = self.marks();
        let index = marks.iter().position(|mark| mark.payload == payload)?;
        marks.drain(..=index).next_back().map(|mark| mark.revision)
    }

    /// Whether a ping has been unanswered for so long.
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
    fn the_answer_to_a_ping_proves_what_was_sent_before_it() {
        let marks = Marks::default();
        let payloads = [3, 5, 9].map(|revision| marks.add(revision).unwrap());
        assert_eq!(marks.answered(b"made up"), None);
        assert_eq!(marks.answered(&payloads[1]), Some(5));
        assert_eq!(marks.answered(&payloads[0]), None, "an older ping proves nothing more");
        assert_eq!(marks.answered(&payloads[2]), Some(9));
    }

    #[test]
    fn unanswered_pings_are_bounded() {
        let marks = Marks::default();
        assert!((0..MAX_MARKS).all(|_| marks.add(1).is_some()));
        assert!(marks.add(1).is_none());
        assert!(!marks.is_overdue(Duration::from_secs(1)));
    }
}
