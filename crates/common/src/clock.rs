//! The clock of jobs that delete or void by time. A wall clock that jumps ahead would make them
//! delete what is not old, so they stop until the clock is right again, or until an operator says
//! that it is right.
//!
//! 1. At each turn, the time that has passed by the clock of the store is compared with the time
//!    that has passed since the boot, which nobody can set. The store's clock is that of this
//!    machine with SQLite, and that of the database with PostgreSQL.
//! 2. The store keeps the time of the last turn for the next start. How long a service was stopped
//!    is unknown, so only a long gap counts as a jump then. After a jump, the store keeps its size and
//!    the time that it should be. A start then takes the clock as right only if the gap is smaller
//!    than the jump: a clock that is still wrong is further on.
//! 3. A clock that went back is as wrong: what is written until it is corrected would be deleted
//!    when it is corrected.
//! 4. `confirm-clock` stores the present time as a turn. A job that has stopped reads it, also in
//!    another replica.

use std::{
    mem::{replace, take},
    ops::RangeInclusive,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use prometheus::core::Collector;
use rusqlite::{OptionalExtension as _, params_from_iter};
use rustix::time::{ClockId, clock_gettime};
use tokio::task::{JoinError, spawn_blocking};
use tokio_postgres::{Row, types::ToSql};

use crate::{
    exit::{AWAY, Fatal, USAGE},
    postgres::{self, Pool, query},
    sqlite,
    telemetry::{Family, StatsCollector},
};

/// Milliseconds since 1970.
type Millis = i64;

/// A larger difference between two turns is a jump.
const TOLERANCE: Millis = 3600 * 1000;

/// A longer gap between the last turn before a start and the start is a jump.
const RESTART_TOLERANCE: Millis = 30 * 24 * 3600 * 1000;

/// Interval in which the time of the last turn is stored.
const SAVE_EVERY: Millis = 3600 * 1000;

const NOW: &str = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// Interval in which the right time is stored after a jump.
const NOTE_EVERY: Millis = 5 * 60 * 1000;

/// A gap this much below 0, or below a jump, is still as large.
const INEXACT: Millis = 60 * 1000;

const SAVED: &str = "SELECT turn, expected, jump FROM clock";

const FAMILIES: [Family<bool>; 1] = [Family::gauge(
    "clock_jumped",
    "Whether jobs that delete or void by time have stopped, because the clock jumped.",
    |has_jumped| (*has_jumped).into(),
)];

/// Why the clock could not be compared or confirmed.
#[derive(Debug, thiserror::Error)]
pub enum ClockError {
    /// SQLite failed.
    #[error("the clock of the store: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// PostgreSQL failed.
    #[error("the clock of the store: {0}")]
    Postgres(#[from] postgres::Error),
    /// A bug: the read or the write panicked.
    #[error("the clock of the store: {0}")]
    Panicked(#[from] JoinError),
}

impl Fatal for ClockError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Sqlite(error) => error.exit_code(),
            Self::Postgres(_) => AWAY,
            Self::Panicked(_) => USAGE,
        }
    }
}

/// The table `clock` of a store.
#[derive(Clone)]
pub enum ClockTable {
    /// Path of the database.
    Sqlite(PathBuf),
    /// Connections to the database.
    Postgres(Arc<Pool>),
}

impl ClockTable {
    /// The time of the store.
    async fn now(&self) -> Result<Millis, ClockError> {
        match self {
            Self::Sqlite(_) => Ok(wall_clock()),
            Self::Postgres(pool) => {
                let row = row(pool, NOW).await?.ok_or(postgres::Error::NoRow)?;
                Ok(row.try_get(0).map_err(postgres::Error::from)?)
            }
        }
    }

    async fn saved(&self) -> Result<Saved, ClockError> {
        match self {
            Self::Sqlite(path) => {
                let path = path.clone();
                Ok(spawn_blocking(move || read(&path)).await??)
            }
            Self::Postgres(pool) => {
                let Some(row) = row(pool, SAVED).await? else { return Ok(Saved::default()) };
                Ok(Saved::read(|column| row.try_get(column)).map_err(postgres::Error::from)?)
            }
        }
    }

    /// Stores the time of a turn that was right.
    async fn save_turn(&self, now: Millis) -> Result<(), ClockError> {
        let sql = "UPDATE clock SET turn = $1, expected = NULL, jump = NULL";
        self.update(sql, [now]).await
    }

    /// Leaves the time of the last turn as it is: it may be of `confirm-clock` by now.
    async fn save_jump(&self, Jump { expected, by }: Jump) -> Result<(), ClockError> {
        self.update("UPDATE clock SET expected = $1, jump = $2", [expected, by]).await
    }

    async fn update<const N: usize>(
        &self,
        sql: &'static str,
        values: [Millis; N],
    ) -> Result<(), ClockError> {
        match self {
            Self::Sqlite(path) => {
                let path = path.clone();
                // A connection beside that of the writer, a few times an hour.
                let values = params_from_iter(values);
                let update = move || sqlite::open(&path)?.execute(sql, values).map(drop);
                Ok(spawn_blocking(update).await??)
            }
            Self::Postgres(pool) => {
                let values = values.each_ref().map(|value| value as &(dyn ToSql + Sync));
                let update = async |session: &_| query(session, [(sql, &values[..])]).await;
                Ok(pool.acquire(update).await.map(drop)?)
            }
        }
    }
}

/// The only row of the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Saved {
    /// The time of the last turn.
    turn: Option<Millis>,
    /// The jump since that turn.
    jump: Option<Jump>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Jump {
    /// The time that it should be.
    expected: Millis,
    by: Millis,
}

impl Saved {
    fn read<E>(column: impl Fn(usize) -> Result<Option<Millis>, E>) -> Result<Self, E> {
        let jump = column(1)?.zip(column(2)?).map(|(expected, by)| Jump { expected, by });
        Ok(Self { turn: column(0)?, jump })
    }
}

impl Jump {
    /// A replica that has started after the jump expects an earlier time than others. The latest counts.
    fn is_older_than(self, other: Self) -> bool {
        self.expected.saturating_add(NOTE_EVERY) <= other.expected
    }
}

async fn row(pool: &Pool, sql: &'static str) -> Result<Option<Row>, postgres::Error> {
    let [rows] = pool.acquire(async |session| query(session, [(sql, &[])]).await).await?;
    Ok(rows.into_iter().next())
}

fn read(path: &Path) -> rusqlite::Result<Saved> {
    let row = |row: &rusqlite::Row<'_>| Saved::read(|column| row.get(column));
    let saved = sqlite::open_reader(path)?.query_row(SAVED, [], row).optional();
    Ok(saved?.unwrap_or_default())
}

/// Compares the clock of the store with the time since the boot.
pub struct JobClock {
    table: ClockTable,
    state: Mutex<State>,
    /// The time of this machine at the boot in microseconds, by the first turn that was right.
    at_boot: OnceLock<i64>,
}

/// The last turn.
#[derive(Debug)]
struct State {
    /// The time of the store.
    at: Millis,
    /// The time since the boot.
    since_boot: Millis,
    /// Another difference is a jump.
    tolerated: RangeInclusive<Millis>,
    /// The row of the table, as far as known.
    saved: Saved,
    has_jumped: bool,
    /// Whether the table was not read since the jump.
    is_new_jump: bool,
    /// By how much the clock had jumped before the start, until a turn is right.
    jumped_before: Option<Millis>,
    /// The time of the store at the last turn of this process, if it was right.
    latest: Option<Millis>,
}

/// The result of a comparison.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    Right { must_save: bool },
    Jumped(Jump),
}

impl JobClock {
    /// Reads the time of the last turn.
    pub async fn open(table: ClockTable) -> Result<Self, ClockError> {
        let (now, saved) = (table.now().await?, table.saved().await?);
        let state = Mutex::new(State::new(now, since_boot(), saved));
        Ok(Self { table, state, at_boot: OnceLock::new() })
    }

    /// The time of the store in milliseconds since 1970, for a job that deletes or voids what is
    /// old at that time. `None` after a jump: the job must do nothing.
    pub async fn turn(&self) -> Result<Option<Millis>, ClockError> {
        let now = self.compare().await;
        let right = now.as_ref().ok().copied().flatten();
        self.state().latest = right;
        if right.is_some() {
            self.at_boot.get_or_init(wall_clock_at_boot);
        }
        now
    }

    /// A time of this machine in milliseconds since 1970 that no jump changes: that of the first turn
    /// that was right, and what has passed since. `None` before this turn.
    pub fn steady(&self) -> Option<Millis> {
        self.at_boot.get().map(|at_boot| at_boot.saturating_add(micros(boot_clock())) / 1000)
    }

    /// Tells the jobs of all processes that the clock is right, at their next turn.
    pub async fn confirm(&self) -> Result<(), ClockError> {
        self.table.save_turn(self.table.now().await?).await
    }

    async fn compare(&self) -> Result<Option<Millis>, ClockError> {
        let now = self.table.now().await?;
        let mut turn = self.state().turn(now, since_boot());
        if let Turn::Jumped(jump) = turn {
            let saved = self.table.saved().await?;
            turn = self.state().confirmed(saved, (now, jump), since_boot());
        }
        let known = self.state().saved;
        let (stored, saved) = match turn {
            Turn::Right { must_save: true } => {
                (self.table.save_turn(now).await, Saved { turn: Some(now), jump: None })
            }
            Turn::Jumped(jump) if known.jump.is_none_or(|known| known.is_older_than(jump)) => {
                (self.table.save_jump(jump).await, Saved { jump: Some(jump), ..known })
            }
            _ => (Ok(()), known),
        };
        match stored {
            Ok(()) => self.state().saved = saved,
            Err(error) => tracing::debug!(cause = %error, "the time is not stored"),
        }
        Ok(matches!(turn, Turn::Right { .. }).then_some(now))
    }

    /// The time of the last turn. `None` before the first one, and after a jump.
    pub fn latest(&self) -> Option<Millis> {
        self.state().latest
    }

    /// Whether the jobs have stopped.
    pub fn metrics(self: Arc<Self>) -> impl Collector {
        StatsCollector::new(&FAMILIES, move || self.state().has_jumped)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn new(now: Millis, since_boot: Millis, saved: Saved) -> Self {
        let (at, tolerated) = match saved.jump {
            None => (saved.turn.unwrap_or(now), within(RESTART_TOLERANCE)),
            Some(Jump { expected, by }) if by > 0 => {
                (expected, -TOLERANCE..=RESTART_TOLERANCE.min(by - INEXACT))
            }
            Some(Jump { expected, .. }) => (expected, -INEXACT..=RESTART_TOLERANCE),
        };
        Self {
            at,
            since_boot,
            tolerated,
            saved,
            has_jumped: false,
            is_new_jump: false,
            jumped_before: saved.jump.map(|jump| jump.by),
            latest: None,
        }
    }

    fn turn(&mut self, now: Millis, since_boot: Millis) -> Turn {
        let expected = self.at.saturating_add(since_boot - self.since_boot);
        let difference = now.saturating_sub(expected);
        if !self.tolerated.contains(&difference) {
            if !self.has_jumped {
                tracing::error!(
                    seconds = difference / 1000,
                    "the clock jumped: correct it, or run confirm-clock if it is right"
                );
                (self.has_jumped, self.is_new_jump) = (true, true);
            }
            let by = self.jumped_before.unwrap_or(difference);
            return Turn::Jumped(Jump { expected, by });
        }
        self.goes_on(now, since_boot)
    }

    /// As [`Self::turn`], after the table was read again. The time in it is of `confirm-clock`, or
    /// of another replica, if it is newer than the jump; it is about this jump if it is about the
    /// present time.
    fn confirmed(&mut self, saved: Saved, (now, jump): (Millis, Jump), since_boot: Millis) -> Turn {
        let last = replace(&mut self.saved, saved);
        let is_new = !take(&mut self.is_new_jump) && saved.turn != last.turn;
        let is_now = |at: Millis| within(TOLERANCE).contains(&now.saturating_sub(at));
        if !is_new || !saved.turn.is_some_and(is_now) {
            return Turn::Jumped(jump);
        }
        self.goes_on(now, since_boot)
    }

    fn goes_on(&mut self, now: Millis, since_boot: Millis) -> Turn {
        (self.is_new_jump, self.jumped_before) = (false, None);
        if take(&mut self.has_jumped) {
            tracing::warn!("the clock is right: what is due by time is deleted and voided again");
        }
        (self.at, self.since_boot, self.tolerated) = (now, since_boot, within(TOLERANCE));
        let Saved { turn, jump } = self.saved;
        let is_saved = |saved: Millis| now.saturating_sub(saved).saturating_abs() < SAVE_EVERY;
        Turn::Right { must_save: jump.is_some() || !turn.is_some_and(is_saved) }
    }
}

fn within(tolerance: Millis) -> RangeInclusive<Millis> {
    -tolerance..=tolerance
}

fn wall_clock() -> Millis {
    millis(wall())
}

#[expect(clippy::disallowed_methods, reason = "the clock of the store with SQLite")]
fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn since_boot() -> Millis {
    millis(boot_clock())
}

/// Includes the time in which the machine was suspended.
fn boot_clock() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}

/// The wall clock at the boot in microseconds. Two clocks cannot be read at once, so it is read where
/// the shortest time passes between the two.
fn wall_clock_at_boot() -> i64 {
    let read = || {
        let (before, wall, after) = (boot_clock(), wall(), boot_clock());
        (after.saturating_sub(before), micros(wall).saturating_sub(micros(before)))
    };
    (0..10).map(|_| read()).min().map_or(0, |(_, at_boot)| at_boot)
}

fn micros(duration: Duration) -> i64 {
    duration.as_micros().try_into().unwrap_or(i64::MAX)
}

fn millis(duration: Duration) -> Millis {
    duration.as_millis().try_into().unwrap_or(Millis::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Millis = TOLERANCE;
    const DAY: Millis = 24 * HOUR;

    fn turned(at: Millis) -> Saved {
        Saved { turn: Some(at), jump: None }
    }

    fn has_stopped(state: &mut State, now: Millis, since_boot: Millis) -> bool {
        matches!(state.turn(now, since_boot), Turn::Jumped(_))
    }

    #[test]
    fn a_jump_stops_the_jobs_until_it_is_gone() {
        for jump in [HOUR + 1, 100 * DAY, -HOUR - 1, -100 * DAY] {
            let mut state = State::new(1000 * DAY, 0, Saved::default());
            assert!(!has_stopped(&mut state, 1000 * DAY + 5, 5), "{jump}");
            assert!(has_stopped(&mut state, 1000 * DAY + jump + 10, 10), "{jump}");
            assert!(has_stopped(&mut state, 1000 * DAY + jump + 2 * HOUR, 2 * HOUR), "{jump}");
            assert!(!has_stopped(&mut state, 1000 * DAY + 3 * HOUR, 3 * HOUR), "{jump}");
        }
    }

    #[test]
    fn a_long_pause_of_the_machine_is_no_jump() {
        let mut state = State::new(0, 0, Saved::default());
        assert!(!has_stopped(&mut state, 5, 5));
        assert!(!has_stopped(&mut state, 90 * DAY, 90 * DAY));
        assert!(!has_stopped(&mut state, 91 * DAY + HOUR, 91 * DAY), "an hour is tolerated");
    }

    #[test]
    fn a_gap_of_a_month_before_the_start_is_a_jump() {
        for (gap, expected) in [(0, false), (30, false), (31, true), (-31, true)] {
            let mut state = State::new(gap * DAY, 7, turned(0));
            assert_eq!(has_stopped(&mut state, gap * DAY, 7), expected, "{gap} days");
        }
        let mut state = State::new(9000 * DAY, 7, Saved::default());
        assert!(!has_stopped(&mut state, 9000 * DAY, 7), "a new store");
    }

    /// A start at this time, after a jump. At the jump, the time should have been 0.
    fn start(by: Millis, now: Millis) -> State {
        let jump = Some(Jump { expected: 0, by });
        State::new(now, 7, Saved { jump, ..turned(-DAY) })
    }

    #[test]
    fn a_jump_before_the_start_counts_until_the_clock_is_corrected() {
        const MINUTE: Millis = 60 * 1000;
        for (by, now, expected) in [
            // Stopped for no time, and for an hour, with the wrong time and the right one.
            (2 * DAY, 2 * DAY, true),
            (2 * DAY, 2 * DAY + HOUR, true),
            (2 * DAY, 0, false),
            (2 * DAY, HOUR, false),
            (-2 * DAY, -2 * DAY, true),
            (-2 * DAY, -2 * DAY + HOUR, true),
            (-2 * DAY, 0, false),
            (-2 * DAY, HOUR, false),
            // The smallest jumps.
            (61 * MINUTE, 61 * MINUTE, true),
            (61 * MINUTE, 30 * MINUTE, false),
            (-61 * MINUTE, -31 * MINUTE, true),
            (-61 * MINUTE, 30 * MINUTE, false),
            // Too long to tell, and corrected too far.
            (100 * DAY, 40 * DAY, true),
            (-100 * DAY, 40 * DAY, true),
            (2 * DAY, -2 * HOUR, true),
        ] {
            let mut state = start(by, now);
            assert_eq!(has_stopped(&mut state, now, 7), expected, "{by}, {now}");
        }
        let right = start(2 * DAY, HOUR).turn(HOUR, 7);
        assert_eq!(right, Turn::Right { must_save: true }, "or it would count again");
    }

    #[test]
    fn a_service_that_started_after_a_jump_notes_what_it_knows() {
        let mut state = start(3 * HOUR, 4 * HOUR);
        let jump = Jump { expected: 10, by: 3 * HOUR };
        assert_eq!(state.turn(4 * HOUR + 10, 17), Turn::Jumped(jump), "an hour is unknown");
        assert!(!has_stopped(&mut state, HOUR + 20, 27), "corrected");
        let later = Jump { expected: jump.expected + NOTE_EVERY, ..jump };
        assert!(jump.is_older_than(later) && !jump.is_older_than(jump));
        assert!(!later.is_older_than(jump), "another replica knows more");
    }

    /// As [`State::confirmed`], if the table has this time.
    fn is_confirmed(state: &mut State, at: Millis, now: Millis) -> bool {
        let jump = Jump { expected: 0, by: now };
        let turn = state.confirmed(turned(at), (now, jump), 10);
        matches!(turn, Turn::Right { .. })
    }

    #[test]
    fn a_confirmation_is_for_one_jump() {
        let mut state = State::new(0, 0, turned(0));
        assert!(has_stopped(&mut state, 100 * DAY, 10));
        assert!(!is_confirmed(&mut state, 0, 100 * DAY), "nobody confirmed it");
        assert!(!is_confirmed(&mut state, 50 * DAY, 100 * DAY), "another time");
        assert!(is_confirmed(&mut state, 100 * DAY - HOUR, 100 * DAY));
        assert!(!has_stopped(&mut state, 100 * DAY + 10, 20));
        assert!(has_stopped(&mut state, 100 * DAY - HOUR, 30));
        assert!(!is_confirmed(&mut state, 100 * DAY - HOUR, 100 * DAY - HOUR), "used before");
    }

    #[test]
    fn what_another_replica_stored_before_a_jump_confirms_nothing() {
        let mut state = State::new(0, 0, turned(0));
        assert!(!has_stopped(&mut state, 0, 0));
        // An hour and a minute back, to a time that another replica has stored.
        assert!(has_stopped(&mut state, DAY, DAY + HOUR + 60_000));
        for now in [DAY, DAY + HOUR] {
            assert!(!is_confirmed(&mut state, DAY + HOUR / 2, now), "{now}");
        }
        assert!(is_confirmed(&mut state, DAY + HOUR, DAY + HOUR));
    }

    #[test]
    fn the_time_of_a_turn_is_saved_each_hour() {
        let mut state = State::new(0, 0, Saved::default());
        assert_eq!(state.turn(5, 5), Turn::Right { must_save: true });
        state.saved = turned(5);
        assert_eq!(state.turn(HOUR, HOUR), Turn::Right { must_save: false });
        assert_eq!(state.turn(HOUR + 5, HOUR + 5), Turn::Right { must_save: true });
    }
}
