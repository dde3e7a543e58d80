//! Positions that clients have acknowledged and that are not on disk yet.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use crate::domain::{ClientId, Revision};

/// How often positions are written, while there are other writes.
const EVERY: Duration = Duration::from_secs(1);

/// Positions written with one batch.
const BATCH: usize = 512;

/// Positions written at once while no operation waits.
const IDLE_BATCH: usize = 8 * BATCH;

/// A position moves from `waiting` to `taken` to `writing`, and is gone when it is on disk.
pub(super) struct Positions {
    waiting: HashMap<ClientId, Revision>,
    /// The clients of this round, which are written before the next begins.
    taken: HashMap<ClientId, Revision>,
    /// Those in the batch being committed.
    writing: HashMap<ClientId, Revision>,
    /// When a round was due last.
    due: Instant,
}

impl Default for Positions {
    fn default() -> Self {
        let [waiting, taken, writing] = Default::default();
        Self { waiting, taken, writing, due: Instant::now() }
    }
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

    /// Takes those to be written with the next batch, which is the only one: some of a round, which
    /// begins once a second, or sooner while no operation waits.
    pub(super) fn take_due(&mut self, is_idle: bool) -> Vec<(ClientId, Revision)> {
        // Those of a batch that failed.
        self.put_back();
        let is_due = is_idle || self.due.elapsed() >= EVERY;
        if is_due {
            self.due = Instant::now();
        }
        if is_due || !self.taken.is_empty() {
            self.take(if is_idle { IDLE_BATCH } else { BATCH })
        } else {
            Vec::new()
        }
    }

    /// Takes up to `limit` positions to write, from this round or else from a new one.
    fn take(&mut self, limit: usize) -> Vec<(ClientId, Revision)> {
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
    fn put_back(&mut self) {
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
        assert_eq!(positions.take(1), [(client, 5)]);
    }
}
