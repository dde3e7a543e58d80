//! The schedule of the outbox: which entry is sent next, when an entry is sent again, and when the
//! service gives up.
//!
//! 1. The entries of one transaction are sent in order, one at a time. Other transactions go on.
//! 2. If an entry fails, it and those behind it are postponed together. An entry that is read later
//!    waits, too: the store reports the earliest postponed entry of its transaction.
//! 3. A capture of a merchant whose payments are held is postponed until the release, or until its
//!    authorization ends: then it is refused, unless it was carried out before.
//! 4. [`OutboxQueue`] holds the entries that are sent or wait for it in this process. If the process
//!    ends, they are read again, and acquirers carry out each key once.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    time::Duration,
};

use jiff::Timestamp;

use super::{
    id::Id,
    payment::{OutboxEntry, OutboxKind},
};

/// The delay after the first failed attempt. It doubles with each further one.
const FIRST_DELAY: Duration = Duration::from_secs(1);

const MAX_DELAY: Duration = Duration::from_secs(3600);

/// The delay of a capture of a merchant whose payments are held.
const HELD_DELAY: Duration = Duration::from_secs(10);

/// Age at which an entry that the acquirer has not carried out is given up.
pub const GIVE_UP_AFTER: Duration = Duration::from_secs(3 * 24 * 3600);

/// It is given up after this number of attempts at least. The pause before the last question is then
/// longer than an acquirer works on a request.
pub const GIVE_UP_ATTEMPTS: u32 = 8;

/// An entry as the store holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedEntry {
    pub entry: OutboxEntry,
    /// The number of failed attempts.
    pub attempts: u32,
    /// The earliest postponed entry of the transaction, if it comes before this one, and the time of
    /// its next attempt.
    pub behind: Option<(Id, Timestamp)>,
    /// Whether the payments of its merchant are held.
    pub is_held: bool,
    /// When the authorization of its transaction ends.
    pub valid_until: Option<Timestamp>,
}

impl QueuedEntry {
    /// A capture of a held merchant is not sent, also if its authorization ends meanwhile.
    pub fn is_held_capture(&self) -> bool {
        self.is_held && self.entry.kind == OutboxKind::Capture
    }
}

/// The result of sending an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// The acquirer has carried it out, or has refused it: the next entry of the transaction follows.
    Answered,
    Failed,
}

/// The results of sending outbox entries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SendingReport {
    /// Entries that the acquirer has carried out.
    pub done: Vec<Id>,
    pub postponed: Vec<Postponed>,
}

impl SendingReport {
    pub fn count(&self) -> usize {
        self.done.len().saturating_add(self.postponed.len())
    }
}

/// An entry that is to be sent later: it failed, or it waits for an earlier one of its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Postponed {
    pub entry: Id,
    /// The number of failed attempts.
    pub attempts: u32,
    pub delay: Duration,
}

/// The entries that are sent or wait for it. The first one of a transaction is ready, or is being
/// sent.
#[derive(Debug, Default)]
pub struct OutboxQueue {
    /// By transaction; the entries by ID.
    transactions: HashMap<Id, BTreeMap<Id, QueuedEntry>>,
    /// Transactions whose first entry is ready.
    ready: VecDeque<Id>,
}

impl OutboxQueue {
    /// The number of entries.
    pub fn count(&self) -> usize {
        self.transactions.values().map(BTreeMap::len).sum()
    }

    /// Adds entries that were read together, those of a transaction in their order. A capture that is
    /// held is postponed until its authorization ends, and so are the entries behind it.
    pub fn add_all(
        &mut self,
        read: impl IntoIterator<Item = QueuedEntry>,
        now: Timestamp,
    ) -> Vec<Postponed> {
        let mut held = HashSet::new();
        let add = |queued: QueuedEntry| {
            let OutboxEntry { id: entry, transaction, .. } = queued.entry;
            let has_ended = queued.valid_until.is_some_and(|until| until <= now);
            let waits = queued.is_held_capture() && !has_ended;
            let known = self.transactions.get(&transaction);
            let is_sending = known.is_some_and(|known| known.contains_key(&entry));
            if !is_sending && (waits || queued.is_held && held.contains(&transaction)) {
                held.insert(transaction);
                return Some(Postponed { entry, attempts: queued.attempts, delay: HELD_DELAY });
            }
            self.add(queued, now)
        };
        read.into_iter().filter_map(add).collect()
    }

    /// Adds an entry, unless it is in the queue. If it must wait for a postponed entry that is not
    /// in the queue, it is postponed until then.
    fn add(&mut self, queued: QueuedEntry, now: Timestamp) -> Option<Postponed> {
        let (entry, transaction) = (queued.entry.id, queued.entry.transaction);
        let waiting = self.transactions.get_mut(&transaction);
        if let Some((first, due)) = queued.behind
            && waiting.as_ref().is_none_or(|waiting| !waiting.contains_key(&first))
        {
            let delay = due.duration_since(now).try_into().unwrap_or_default();
            return Some(Postponed { entry, attempts: queued.attempts, delay });
        }
        match waiting {
            Some(waiting) => {
                waiting.entry(entry).or_insert(queued);
            }
            None => {
                self.transactions.insert(transaction, BTreeMap::from([(entry, queued)]));
                self.ready.push_back(transaction);
            }
        }
        None
    }

    /// Forgets the entries that are not being sent, so that they can be read again.
    pub fn forget_waiting(&mut self) {
        for transaction in self.ready.drain(..) {
            self.transactions.remove(&transaction);
        }
        for entries in self.transactions.values_mut() {
            *entries = entries.pop_first().into_iter().collect();
        }
    }

    /// Takes the next entry to send.
    pub fn take_next(&mut self) -> Option<QueuedEntry> {
        let waiting = self.transactions.get(&self.ready.pop_front()?)?;
        waiting.first_key_value().map(|(_, queued)| queued.clone())
    }

    /// Takes the result of the first entry of a transaction. Returns the entries to postpone.
    pub fn finish(&mut self, transaction: Id, sent: Sent) -> Vec<Postponed> {
        let Some(waiting) = self.transactions.get_mut(&transaction) else { return Vec::new() };
        let first = waiting.pop_first();
        match (sent, first) {
            (Sent::Failed, Some((entry, failed))) => {
                let behind = self.transactions.remove(&transaction).unwrap_or_default();
                let attempts = failed.attempts.saturating_add(1);
                let delay = retry_delay(attempts);
                let failed = Postponed { entry, attempts, delay };
                let behind = behind.into_values().map(|queued| Postponed {
                    entry: queued.entry.id,
                    attempts: queued.attempts,
                    delay,
                });
                std::iter::once(failed).chain(behind).collect()
            }
            _ if waiting.is_empty() => {
                self.transactions.remove(&transaction);
                Vec::new()
            }
            _ => {
                self.ready.push_back(transaction);
                Vec::new()
            }
        }
    }
}

/// The delay after this number of failed attempts.
fn retry_delay(attempts: u32) -> Duration {
    let doubled = 2_u32.checked_pow(attempts.saturating_sub(1));
    doubled.map_or(MAX_DELAY, |factor| FIRST_DELAY.saturating_mul(factor).min(MAX_DELAY))
}

#[cfg(test)]
mod tests;
