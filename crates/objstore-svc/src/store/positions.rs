//! Positions that clients have acknowledged and that are not on disk yet.

use std::collections::HashMap;

use crate::domain::{ClientId, Revision};

/// A position moves from `waiting` to `taken` to `writing`, and is gone when it is on disk.
#[derive(Default)]
pub(super) struct Positions {
    waiting: HashMap<ClientId, Revision>,
    /// The clients of this round, which are written before the next begins.
    taken: HashMap<ClientId, Revision>,
    /// Those in the batch being committed.
    writing: HashMap<ClientId, Revision>,
}

impl Positions {
    /// Notes a position; an older one is forgotten.
    pub(super) fn advance(&mut self, client: ClientId, position: Revision) {
        let known = self.waiting.entry(client).or_default();
        *known = position.max(*known);
    }

    /// The newest position noted of a client, 0 when everything is on disk.
    pub(super) fn of(&self, client: ClientId) -> Revision {
        let stages = [&self.waiting, &self.taken, &self.writing];
        stages.into_iter().filter_map(|stage| stage.get(&client)).copied().max().unwrap_or(0)
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.taken.is_empty()
    }

    /// Whether a round has been begun and not been written to its end.
    pub(super) fn is_amid(&self) -> bool {
        !self.taken.is_empty()
    }

    /// Takes up to `limit` positions to write, from this round or else from a new one.
    pub(super) fn take(&mut self, limit: usize) -> Vec<(ClientId, Revision)> {
        if self.taken.is_empty() {
            std::mem::swap(&mut self.taken, &mut self.waiting);
        }
        let batch: Vec<_> = self.taken.iter().take(limit).map(|(&id, &at)| (id, at)).collect();
        for &(client, position) in &batch {
            self.taken.remove(&client);
            self.writing.insert(client, position);
        }
        batch
    }

    /// What was taken last is on disk.
    pub(super) fn written(&mut self) {
        self.writing.clear();
    }

    /// What was taken last is not on disk.
    pub(super) fn put_back(&mut self) {
        for (client, position) in std::mem::take(&mut self.writing) {
            self.advance(client, position);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_behind_those_who_acknowledge_all_the_time() {
        let clients: Vec<ClientId> =
            (1..=10).map(|bits| ClientId::new(uuid::Uuid::from_u128(bits)).unwrap()).collect();
        let mut positions = Positions::default();
        let mut written = std::collections::HashSet::new();
        for round in 1..=4 {
            for &client in &clients {
                positions.advance(client, round);
            }
            written.extend(positions.take(3).into_iter().map(|(client, _)| client));
            positions.written();
        }
        assert_eq!(written.len(), clients.len());
    }

    #[test]
    fn the_newest_position_is_known_at_every_stage() {
        let client = ClientId::new(uuid::Uuid::from_u128(1)).unwrap();
        let mut positions = Positions::default();
        positions.advance(client, 5);
        positions.advance(client, 4);
        assert_eq!(positions.take(1), [(client, 5)]);
        assert_eq!(positions.of(client), 5);
        positions.put_back();
        assert_eq!(positions.of(client), 5);
        assert!(!positions.is_empty());
    }
}
