//! The sandbox clock: an app makes its test merchants' things older, so that it can test deadlines
//! without waiting for them.
//!
//! 1. An advance concerns the things that exist then: transactions, disputes, payments that wait
//!    for 3-D Secure. Newer things have their real age.
//! 2. Advances add up. A thing is as much older as all advances since it was made.
//! 3. A job compares ages with deadlines once after each advance. It ends all that is due by then.
//!    No time that the API shows changes.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use sql::{BadCell, Column, ColumnError, Columns, Group, Param, Stored as _};

use super::id::Id;

/// The maximum number of advances that count. A further one replaces the oldest.
const MAX_ADVANCES: usize = 100;

/// Advances of the clock of one app.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SandboxClock {
    /// The oldest first.
    pub advances: Vec<Advance>,
    /// The last advance, until the job has ended all that it makes due.
    pub pending: Option<Id>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advance {
    /// Says when it was made.
    pub id: Id,
    pub by: AdvanceBy,
}

/// The length of an advance: 1 second to 366 days, in whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdvanceBy(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a duration from 1s to 366d, such as 15d")]
pub struct InvalidAdvance;

impl AdvanceBy {
    const MAX_SECONDS: u32 = 366 * 24 * 3600;

    pub fn new(by: Duration) -> Result<Self, InvalidAdvance> {
        let seconds = u32::try_from(by.as_secs()).map_err(|_| InvalidAdvance)?;
        if (1..=Self::MAX_SECONDS).contains(&seconds) {
            Ok(Self(seconds))
        } else {
            Err(InvalidAdvance)
        }
    }

    fn duration(self) -> Duration {
        Duration::from_secs(self.0.into())
    }
}

/// The advances as text: `ID:SECONDS`, separated by commas.
impl Group for SandboxClock {
    const COLUMNS: &'static [Column] =
        &[("advances", String::KIND), ("pending_advance", Option::<Id>::KIND)];

    fn read(columns: &mut Columns<'_>) -> Result<Self, ColumnError> {
        let advances = columns.read_as(|text: Option<String>| {
            let text = text.unwrap_or_default();
            let advances = text.split(',').filter(|advance| !advance.is_empty()).map(|advance| {
                let (id, seconds) = advance.split_once(':')?;
                Some(Advance { id: id.parse().ok()?, by: AdvanceBy(seconds.parse().ok()?) })
            });
            advances.collect::<Option<_>>().ok_or(BadCell)
        })?;
        Ok(Self { advances, pending: columns.read()? })
    }

    fn params<'a>(&'a self, params: &mut Vec<Param<'a>>) {
        let advances = self.advances.iter();
        let advances = advances.map(|Advance { id, by }| format!("{id}:{}", by.0));
        let advances = advances.collect::<Vec<_>>().join(",");
        params.extend([Param::Text(advances.into()), self.pending.param()]);
    }
}

impl SandboxClock {
    pub fn advance(&mut self, advance: Advance) {
        if self.advances.len() >= MAX_ADVANCES {
            self.advances.remove(0);
        }
        self.advances.push(advance);
        self.pending = Some(advance.id);
    }

    /// Ends the last advance, if it is this one. Returns whether it is.
    pub fn finish(&mut self, advance: Id) -> bool {
        self.pending.take_if(|pending| *pending == advance).is_some()
    }

    /// How much older the thing with this ID is: the sum of the advances since it was made.
    fn since(&self, made: Id) -> Duration {
        let later = self.advances.iter().filter(|advance| advance.id > made);
        later.map(|advance| advance.by.duration()).sum()
    }

    /// Whether the deadline of the thing with this ID has passed.
    pub fn is_due(&self, made: Id, (deadline, now): (Timestamp, Timestamp)) -> bool {
        let since = SignedDuration::try_from(self.since(made)).unwrap_or(SignedDuration::MAX);
        deadline.duration_since(now) <= since
    }

    /// The ID before which everything was made at least `age` ago. An ID has whole seconds, and the
    /// last of them counts: the job looks once, maybe in the second of the advance.
    pub fn old_before(&self, now: Timestamp, age: Duration) -> Id {
        let at = |ahead: Duration| {
            let next_second = ahead.saturating_add(Duration::from_secs(1));
            let at = now.checked_add(next_second).and_then(|now| now.checked_sub(age));
            Id::at(at.unwrap_or(Timestamp::UNIX_EPOCH))
        };
        let mut ahead = Duration::ZERO;
        let mut before = at(ahead);
        for advance in self.advances.iter().rev() {
            ahead = ahead.saturating_add(advance.by.duration());
            before = before.max(at(ahead).min(advance.id));
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(second: u32) -> Id {
        Id::at(Timestamp::from_second(second.into()).unwrap())
    }

    fn clock(advances: &[(u32, u32)]) -> SandboxClock {
        let mut clock = SandboxClock::default();
        for &(second, by) in advances {
            clock.advance(Advance { id: id(second), by: AdvanceBy(by) });
        }
        clock
    }

    #[test]
    fn an_advance_has_one_second_to_366_days() {
        let day = Duration::from_secs(24 * 3600);
        for by in [Duration::from_secs(1), 15 * day, 366 * day] {
            assert_eq!(AdvanceBy::new(by).map(AdvanceBy::duration), Ok(by));
        }
        for by in [
            Duration::ZERO,
            Duration::from_millis(999),
            366 * day + Duration::from_secs(1),
            Duration::MAX,
        ] {
            assert_eq!(AdvanceBy::new(by), Err(InvalidAdvance), "{by:?}");
        }
    }

    #[test]
    fn only_older_things_grow_older() {
        let clock = clock(&[(100, 1000), (200, 500)]);
        let since = [50, 100, 150, 200, 250].map(|second| clock.since(id(second)).as_secs());
        assert_eq!(since, [1500, 500, 500, 0, 0]);
        let at = |second| Timestamp::from_second(second).unwrap();
        for (deadline, is_due) in [(800, true), (801, false)] {
            assert_eq!(clock.is_due(id(150), (at(deadline), at(300))), is_due);
        }
    }

    #[test]
    fn an_advance_is_pending_until_it_is_finished() {
        let mut clock = clock(&[(100, 1), (200, 1)]);
        assert!(!clock.finish(id(100)));
        assert_eq!(clock.pending, Some(id(200)));
        assert!(clock.finish(id(200)));
        assert_eq!(clock.pending, None);
    }

    #[test]
    fn only_the_last_advances_count() {
        let mut clock = clock(&[(1, 9)]);
        for second in 2..=101 {
            clock.advance(Advance { id: id(second), by: AdvanceBy(1) });
        }
        assert_eq!((clock.since(Id::MIN).as_secs(), clock.advances.len()), (100, MAX_ADVANCES));
    }

    proptest! {
        #[test]
        fn everything_before_the_limit_is_old_enough(
            advances in prop::collection::btree_map(1_u32..1000, 1_u32..400, 0..6),
            age in 0_u64..600,
            now in 1000_u32..1200,
        ) {
            let clock = clock(&advances.into_iter().collect::<Vec<_>>());
            let at = Timestamp::from_second(now.into()).unwrap();
            let before = clock.old_before(at, Duration::from_secs(age));
            for second in 0..=now {
                let real = u64::from(now - second);
                let is_old = real + clock.since(id(second)).as_secs() >= age;
                prop_assert_eq!(id(second) < before, is_old, "made at {}", second);
            }
        }
    }
}
