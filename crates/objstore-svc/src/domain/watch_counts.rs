//! How many watches a client may have.

use super::Refusal;

/// Watches of one client that the store keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WatchCounts {
    /// Watches without an end.
    pub(crate) open: u64,
    /// Ended watches, at most: it may be more than there are.
    pub(crate) ended: u64,
}

impl WatchCounts {
    /// One more open watch.
    ///
    /// It is refused while `limit` watches are open or `limit` ended ones are kept. Only a new watch
    /// adds to the two together, so the store never keeps more than `2 * limit` for a client.
    pub(crate) fn begin(self, limit: u64) -> Result<Self, Refusal> {
        if self.open >= limit || self.ended >= limit {
            return Err(Refusal::TooManyWatches);
        }
        Ok(Self { open: self.open + 1, ..self })
    }

    /// How many watches of a client the store keeps at most, by the rule of [`Self::begin`].
    pub(crate) fn most_kept(limit: usize) -> usize {
        limit.saturating_mul(2)
    }

    /// One open watch has ended.
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
