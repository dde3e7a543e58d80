//! Checks that the recorded operations of clients are linearizable.
//!
//! Every change has a revision, so the order of changes is known. It remains to check that each
//! operation has a place in that order, between its beginning and its end: a write has the place of
//! its revision, a read has a place between two revisions.

use std::{
    collections::{BTreeMap, HashSet},
    iter,
};

/// A change of a key. `write` is the number of the write, or `None` for a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    pub(crate) key: usize,
    pub(crate) write: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) key: usize,
    /// The times of request and answer, on a clock shared by all clients.
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) outcome: Outcome,
}

/// The result of an operation.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// The change was made. A conditional write also proves the state `given` before it. A change of a
    /// batch `joins_next`, unless it is the last.
    Made { revision: u64, write: Option<u64>, given: Option<State>, joins_next: bool },
    /// An existing value was deleted.
    Deleted,
    /// The operation observed this state.
    Saw(State),
    /// The operation observed these states of keys at one moment.
    SawAll(Vec<(usize, State)>),
}

/// A statement about a key at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum State {
    /// The value has this write number.
    Written(u64),
    /// The value has this revision.
    At(u64),
    /// The value has another revision, or the key is absent.
    NotAt(u64),
    /// The key has a value.
    Present,
    /// The key has no value.
    Absent,
}

impl State {
    fn holds(self, last: Option<&Change>) -> bool {
        let present = last.filter(|change| change.write.is_some());
        match self {
            Self::Written(write) => present.is_some_and(|change| change.write == Some(write)),
            Self::At(revision) => present.is_some_and(|change| change.revision == revision),
            Self::NotAt(revision) => present.is_none_or(|change| change.revision != revision),
            Self::Present => present.is_some(),
            Self::Absent => present.is_none(),
        }
    }
}

/// `Err` describes an operation without a possible place, or a change that no operation made.
pub(crate) fn check(changes: &[Change], operations: &[Operation]) -> Result<(), String> {
    let ordered = changes.is_sorted_by(|one, next| one.revision < next.revision);
    if !ordered {
        return Err(format!("revisions go back: {changes:?}"));
    }
    let mut order = Order::new(changes, operations);
    let mut operations: Vec<_> = operations.iter().collect();
    operations.sort_by_key(|operation| operation.began);
    // For each end of an operation, the greatest place of the operations that ended by then.
    let mut places = BTreeMap::<u64, u64>::new();
    for operation in operations {
        let after = places.range(..operation.began).next_back().map_or(0, |(_, &place)| place);
        let place = order.place(operation, after)?;
        // Later ends have at least the place of earlier ends.
        let place_so_far = places.range(..operation.ended).next_back().map_or(0, |(_, &one)| one);
        places.insert(operation.ended, place.max(place_so_far));
        for (_, later) in places.range_mut(operation.ended..) {
            *later = place.max(*later);
        }
    }
    match order.unclaimed() {
        Some(change) => Err(format!("no operation made {change:?}")),
        None => Ok(()),
    }
}

/// The order of changes. Each change is claimed by exactly one operation. The change at revision r
/// has the place 2 r; reads between it and the next change have the place 2 r + 1. No read is between
/// changes of one batch.
struct Order<'a> {
    changes: &'a [Change],
    /// The revisions that join the next one.
    joined: HashSet<u64>,
    by_key: BTreeMap<usize, Vec<&'a Change>>,
    claimed: HashSet<u64>,
}

impl<'a> Order<'a> {
    fn new(changes: &'a [Change], operations: &[Operation]) -> Self {
        let mut by_key = BTreeMap::<_, Vec<_>>::new();
        for change in changes {
            by_key.entry(change.key).or_default().push(change);
        }
        let joined = operations.iter().filter_map(|operation| match operation.outcome {
            Outcome::Made { revision, joins_next: true, .. } => Some(revision),
            _ => None,
        });
        Self { changes, joined: joined.collect(), by_key, claimed: HashSet::new() }
    }

    /// The earliest possible place of an operation that is not before `after`.
    fn place(&mut self, operation: &Operation, after: u64) -> Result<u64, String> {
        let of_key = self.by_key.get(&operation.key).map_or(&[][..], Vec::as_slice);
        let place = match &operation.outcome {
            &Outcome::Made { revision, write, given, .. } => {
                let at = of_key.iter().position(|change| change.revision == revision);
                let made = at.filter(|&at| of_key[at].write == write);
                let before = made.map(|at| of_key[..at].last().copied());
                before
                    .filter(|last| given.is_none_or(|given| given.holds(*last)))
                    .filter(|_| self.claimed.insert(revision))
                    .map(|_| 2 * revision)
            }
            // Only one actor deletes this key, and its deletions do not overlap.
            Outcome::Deleted => of_key
                .iter()
                .find(|change| change.write.is_none() && !self.claimed.contains(&change.revision))
                .filter(|change| self.claimed.insert(change.revision))
                .map(|change| 2 * change.revision),
            Outcome::Saw(state) => self.place_of(&[(operation.key, *state)], after),
            Outcome::SawAll(states) => self.place_of(states, after),
        };
        let place = place.ok_or_else(|| format!("{operation:?} is impossible after {after}"))?;
        if place < after || (place == after && place % 2 == 0) {
            return Err(format!("{operation:?} has the place {place}, but began after {after}"));
        }
        Ok(place)
    }

    /// The earliest place from `after` on at which all states hold.
    fn place_of(&self, states: &[(usize, State)], after: u64) -> Option<u64> {
        let later = self.changes.partition_point(|change| 2 * change.revision < after);
        let later = self.changes[later..].iter().map(|change| 2 * change.revision + 1);
        let holds = |place: u64, (key, state): &(usize, State)| {
            let of_key = self.by_key.get(key).map_or(&[][..], Vec::as_slice);
            let next = of_key.partition_point(|change| change.revision <= place / 2);
            state.holds(of_key[..next].last().copied())
        };
        iter::once(after | 1).chain(later).find(|&place| {
            !self.joined.contains(&(place / 2)) && states.iter().all(|one| holds(place, one))
        })
    }

    fn unclaimed(&self) -> Option<&Change> {
        self.changes.iter().find(|change| !self.claimed.contains(&change.revision))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGES: [Change; 4] = [
        Change { revision: 3, key: 0, write: Some(30) },
        Change { revision: 4, key: 1, write: Some(40) },
        Change { revision: 5, key: 0, write: Some(50) },
        Change { revision: 8, key: 0, write: None },
    ];

    fn operation(key: usize, began: u64, ended: u64, outcome: Outcome) -> Operation {
        Operation { key, began, ended, outcome }
    }

    fn set(key: usize, began: u64, ended: u64, revision: u64) -> Operation {
        operation(key, began, ended, made(revision, None, false))
    }

    fn made(revision: u64, given: Option<State>, joins_next: bool) -> Outcome {
        Outcome::Made { revision, write: Some(revision * 10), given, joins_next }
    }

    /// Checks the operations that made the changes, one after another, and these.
    fn with(more: &[Operation]) -> Result<(), String> {
        let mut operations = vec![
            set(0, 10, 20, 3),
            set(1, 30, 40, 4),
            set(0, 50, 60, 5),
            operation(0, 70, 80, Outcome::Deleted),
        ];
        operations.extend_from_slice(more);
        check(&CHANGES, &operations)
    }

    #[test]
    fn possible_reads_are_no_violation() {
        let saw = |began, ended, state| operation(0, began, ended, Outcome::Saw(state));
        for state in [State::Written(30), State::Written(50), State::At(3), State::NotAt(3)] {
            with(&[saw(55, 56, state)]).unwrap();
        }
        with(&[saw(1, 2, State::Absent), saw(90, 91, State::Absent)]).unwrap();
        with(&[saw(51, 57, State::Written(30)), saw(52, 58, State::Written(50))]).unwrap();
    }

    #[test]
    fn a_stale_read_is_a_violation() {
        let saw = |began, ended, state| operation(0, began, ended, Outcome::Saw(state));
        with(&[saw(61, 62, State::Written(30))]).unwrap_err();
        with(&[saw(61, 62, State::Absent)]).unwrap_err();
        with(&[saw(81, 82, State::Present)]).unwrap_err();
        with(&[saw(61, 62, State::NotAt(5))]).unwrap_err();
    }

    #[test]
    fn a_value_from_the_future_is_a_violation() {
        let saw = |began, ended, state| operation(0, began, ended, Outcome::Saw(state));
        with(&[saw(41, 42, State::Written(50))]).unwrap_err();
        with(&[saw(61, 62, State::Absent)]).unwrap_err();
        with(&[saw(61, 62, State::Written(60))]).unwrap_err();
    }

    #[test]
    fn reads_that_go_back_are_a_violation() {
        let saw = |began, ended, state| operation(0, began, ended, Outcome::Saw(state));
        let (old, new) = (State::Written(30), State::Written(50));
        with(&[saw(51, 52, old), saw(53, 54, new)]).unwrap();
        with(&[saw(51, 52, new), saw(53, 54, old)]).unwrap_err();
    }

    #[test]
    fn writes_against_real_time_order_are_a_violation() {
        check(&CHANGES[..2], &[set(1, 10, 20, 4), set(0, 30, 40, 3)]).unwrap_err();
        check(&CHANGES[..2], &[set(1, 10, 35, 4), set(0, 30, 40, 3)]).unwrap();
    }

    #[test]
    fn lost_and_invented_writes_are_a_violation() {
        check(&CHANGES[..1], &[set(0, 10, 20, 3), set(0, 30, 40, 5)]).unwrap_err();
        check(&CHANGES[..2], &[set(0, 10, 20, 3)]).unwrap_err();
        check(&CHANGES[..1], &[set(0, 10, 20, 3), set(0, 30, 40, 3)]).unwrap_err();
    }

    #[test]
    fn a_condition_that_did_not_hold_is_a_violation() {
        let conditional = |given| {
            let outcome = made(5, Some(given), false);
            let more = [set(0, 10, 20, 3), set(1, 10, 20, 4), operation(0, 30, 40, outcome)];
            check(&CHANGES[..3], &more)
        };
        conditional(State::At(3)).unwrap();
        conditional(State::At(4)).unwrap_err();
        conditional(State::Absent).unwrap_err();
    }

    #[test]
    fn states_without_a_common_moment_are_a_violation() {
        let saw = |states: &[_]| operation(0, 15, 65, Outcome::SawAll(states.to_vec()));
        let [old, new] = [(0, State::Written(30)), (0, State::Written(50))];
        let other = (1, State::Written(40));
        for (states, possible) in [
            ([old, (1, State::Absent)], true),
            ([old, other], true),
            ([new, other], true),
            ([new, (1, State::Absent)], false),
        ] {
            assert_eq!(with(&[saw(&states)]).is_ok(), possible, "{states:?}");
        }
    }

    #[test]
    fn a_part_of_a_batch_is_a_violation() {
        let batch = |joins_next| {
            let first = operation(0, 10, 20, made(3, None, joins_next));
            let states = vec![(0, State::Written(30)), (1, State::Absent)];
            let saw = operation(0, 10, 20, Outcome::SawAll(states));
            check(&CHANGES[..2], &[first, set(1, 10, 20, 4), saw])
        };
        batch(false).unwrap();
        batch(true).unwrap_err();
    }
}
