//! Acknowledged positions of clients that are not written to the database yet.
//!
//! A client acknowledges often (with each WebSocket pong), so acknowledgements are not written one
//! by one: the engines write positions about once a second, in the batch of other writes or in
//! a separate one. A crash loses the unwritten positions: these clients receive some pushes again.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use crate::domain::{ClientId, Revision};

/// How often positions are written while other writes are pending.
const EVERY: Duration = Duration::from_secs(1);

/// Maximum number of positions in one batch while other writes are pending.
const BATCH: usize = 512;

/// Maximum number of positions in one batch while no write is pending.
const IDLE_BATCH: usize = 8 * BATCH;

/// A position moves from `pending` to `round` to `writing`, and is removed after its commit.
pub(super) struct Positions {
    pending: HashMap<ClientId, Revision>,
    /// Positions to write before the next round begins. Rounds are fair: a client that acknowledges
    /// all the time cannot delay the others.
    round: HashMap<ClientId, Revision>,
    /// Positions in the running batch.
    writing: HashMap<ClientId, Revision>,
    /// Time of the last call of [`Self::take_due`] that was due.
    last_due: Instant,
}

impl Default for Positions {
    fn default() -> Self {
        let [pending, round, writing] = Default::default();
        Self { pending, round, writing, last_due: Instant::now() }
    }
}

impl Positions {
    /// Records a position, unless a newer one is recorded.
    pub(super) fn advance(&mut self, client: ClientId, position: Revision) {
        let newest = self.pending.entry(client).or_default();
        *newest = position.max(*newest);
    }

    /// The newest position of a client in memory; 0 if there is none.
    pub(super) fn get(&self, client: ClientId) -> Revision {
        let stages = [&self.pending, &self.round, &self.writing];
        stages.into_iter().filter_map(|stage| stage.get(&client)).copied().max().unwrap_or(0)
    }

    /// Returns the positions for the next batch: the next ones of the round, or of a new round if
    /// the round is written and either one second has passed or no write is pending
    /// (`is_idle`). Call [`Self::written`] after the commit of the batch: otherwise the next call
    /// returns them again. Only one batch may run at a time.
    pub(super) fn take_due(&mut self, is_idle: bool) -> Vec<(ClientId, Revision)> {
        // If the last batch failed, its positions are still in `writing`.
        self.put_back();
        let is_due = is_idle || self.last_due.elapsed() >= EVERY;
        if is_due {
            self.last_due = Instant::now();
        }
        if is_due || !self.round.is_empty() {
            self.take(if is_idle { IDLE_BATCH } else { BATCH })
        } else {
            Vec::new()
        }
    }

    /// Takes up to `limit` positions of this round, or of a new one if this round is written.
    fn take(&mut self, limit: usize) -> Vec<(ClientId, Revision)> {
        if self.round.is_empty() {
            std::mem::swap(&mut self.round, &mut self.pending);
        }
        let batch: Vec<_> = self.round.iter().take(limit).map(|(&id, &at)| (id, at)).collect();
        for &(client, position) in &batch {
            self.round.remove(&client);
            self.writing.insert(client, position);
        }
        batch
    }

    /// Removes the positions that were taken last: their batch is committed.
    pub(super) fn written(&mut self) {
        self.writing.clear();
    }

    /// Removes all positions, also those of the running batch.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

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
    fn every_position_is_written_while_all_clients_acknowledge() {
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
        assert_eq!(positions.get(client), 5);
        positions.put_back();
        assert_eq!(positions.get(client), 5);
        assert_eq!(positions.take(1), [(client, 5)]);
    }
}
