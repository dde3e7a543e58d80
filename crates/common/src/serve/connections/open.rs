//! The open connections, and which one is closed for a new one: of all, or of one address.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Weak},
};

use slab::Slab;

use super::Activity;
use crate::limits::ClientAddress;

/// Connections that one search selects for closing: the ones that have been idle longest. A search
/// visits every connection, which is too slow for each new one.
const CANDIDATES: usize = 64;

/// An idle connection, and the start of its idle time.
type Candidate = (u64, Weak<Activity>);

#[derive(Default)]
pub(super) struct Open {
    activities: Slab<Arc<Activity>>,
    by_address: HashMap<ClientAddress, Address>,
    candidates: Candidates,
}

/// The connections of an address.
#[derive(Default)]
struct Address {
    /// Includes new connections that have no slot yet.
    count: usize,
    slots: HashSet<usize>,
    candidates: Candidates,
    /// Connections that were told to close. One that becomes active first does not close.
    closing: Vec<Candidate>,
}

/// Whether a new connection is within the limit of its address, and whether it is admitted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) is_within: bool,
    pub(super) is_admitted: bool,
}

impl Open {
    pub(super) fn activities(&self) -> impl Iterator<Item = &Arc<Activity>> {
        self.activities.iter().map(|(_, activity)| activity)
    }

    /// Adds a connection and returns its slot. [`Self::count`] has counted it.
    pub(super) fn insert(
        &mut self,
        activity: Arc<Activity>,
        client: Option<ClientAddress>,
    ) -> usize {
        let slot = self.activities.insert(activity);
        if let Some(address) = client.and_then(|client| self.by_address.get_mut(&client)) {
            address.slots.insert(slot);
        }
        slot
    }

    pub(super) fn remove(&mut self, slot: usize, client: Option<ClientAddress>) {
        self.activities.remove(slot);
        let Some(client) = client else { return };
        let Some(address) = self.by_address.get_mut(&client) else { return };
        address.slots.remove(&slot);
        address.count -= 1;
        if address.count == 0 {
            self.by_address.remove(&client);
        }
    }

    /// The number of connections of the address that has the most.
    pub(super) fn most_of_an_address(&self) -> usize {
        self.by_address.values().map(|address| address.count).max().unwrap_or_default()
    }

    /// Counts a new connection of `client`. If the address would have more than `max` connections,
    /// closes the ones that have been idle longest; if too few are idle, does not admit the new one.
    pub(super) fn count(&mut self, client: ClientAddress, max: usize) -> Counted {
        let address = self.by_address.entry(client).or_default();
        address.closing.retain(is_idle);
        let mut excess = (address.count + 1).saturating_sub(max + address.closing.len());
        let is_within = address.count < max;
        while excess > 0 {
            let activities = address.slots.iter().filter_map(|&slot| self.activities.get(slot));
            let Some(closing) = address.candidates.close_one(activities) else { break };
            address.closing.push(closing);
            excess -= 1;
        }
        let is_admitted = excess == 0;
        if is_admitted {
            address.count += 1;
        }
        Counted { is_within, is_admitted }
    }

    /// Closes the connection that has been idle longest. False if all connections are busy.
    pub(super) fn evict_one(&mut self) -> bool {
        let activities = self.activities.iter().map(|(_, activity)| activity);
        self.candidates.close_one(activities).is_some()
    }
}

/// Connections to close next. The last one has been idle longest.
#[derive(Default)]
struct Candidates(Vec<Candidate>);

impl Candidates {
    /// Closes the connection that has been idle longest, by waking its task. `all` are the
    /// connections to choose from when the candidates are used up.
    fn close_one<'a>(&mut self, all: impl Iterator<Item = &'a Arc<Activity>>) -> Option<Candidate> {
        if let Some(closed) = self.close_candidate() {
            return Some(closed);
        }
        self.select(all);
        self.close_candidate()
    }

    fn close_candidate(&mut self) -> Option<Candidate> {
        while let Some(candidate) = self.0.pop() {
            let (since, activity) = &candidate;
            if let Some(activity) = activity.upgrade()
                && activity.idle_since() == Some(*since)
                && !activity.is_closing()
            {
                activity.close_if_idle_since(*since);
                return Some(candidate);
            }
        }
        None
    }

    fn select<'a>(&mut self, all: impl Iterator<Item = &'a Arc<Activity>>) {
        let idle = all.filter(|activity| !activity.is_closing());
        let mut idle: Vec<_> =
            idle.filter_map(|activity| Some((activity.idle_since()?, activity))).collect();
        if idle.len() > CANDIDATES {
            idle.select_nth_unstable_by_key(CANDIDATES, |&(since, _)| since);
            idle.truncate(CANDIDATES);
        }
        idle.sort_unstable_by_key(|&(since, _)| std::cmp::Reverse(since));
        let weak = |(since, activity)| (since, Arc::downgrade(activity));
        self.0 = idle.into_iter().map(weak).collect();
    }
}

/// Whether the connection is still idle since that time.
fn is_idle((since, activity): &Candidate) -> bool {
    activity.upgrade().is_some_and(|activity| activity.idle_since() == Some(*since))
}

#[cfg(test)]
mod tests;
