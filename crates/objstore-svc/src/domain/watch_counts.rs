//! The limit of watches of a client.

use super::Refusal;

/// The numbers of watches of one client in the store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WatchCounts {
    pub(crate) open: u64,
    /// An upper bound of the number of ended watches: a trim of the change log deletes watches but
    /// does not update this number.
    pub(crate) ended: u64,
}

impl WatchCounts {
    /// Counts a new open watch.
    ///
    /// Rejected while `limit` watches are open, or while `limit` ended ones are kept. Only a new
    /// watch raises the sum of the two, so the store keeps at most `2 * limit` for a client.
    pub(crate) fn begin(self, limit: u64) -> Result<Self, Refusal> {
        if self.open >= limit || self.ended >= limit {
            return Err(Refusal::TooManyWatches);
        }
        Ok(Self { open: self.open + 1, ..self })
    }

    /// The maximum number of watches that the store keeps for a client, open and ended: see
    /// [`Self::begin`].
    pub(crate) fn max_stored(limit: usize) -> usize {
        limit.saturating_mul(2)
    }

    /// Counts the end of an open watch.
    #[must_use]
    pub(crate) fn end(self) -> Self {
        Self { open: self.open.saturating_sub(1), ended: self.ended.saturating_add(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_keeps_at_most_twice_the_limit() {
        const LIMIT: u64 = 5;
        let mut counts = WatchCounts::default();
        for _ in 0..100 {
            while let Ok(more) = counts.begin(LIMIT) {
                counts = more;
                assert!(counts.open + counts.ended <= 2 * LIMIT, "{counts:?}");
            }
            counts = counts.end();
        }
        assert!(counts.ended >= LIMIT, "{counts:?}");
    }
}
