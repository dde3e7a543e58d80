//! The clock of jobs that delete or void by time. A wall clock that jumps ahead would make them
//! delete what is not old, so they stop until the clock is right again, or until an operator says
//! that it is right.
//!
//! 1. At each turn, the time that has passed by the clock of the store is compared with the time
//!    that has passed since the boot, which nobody can set. The store's clock is that of this
//!    machine with SQLite, and that of the database with PostgreSQL.
//! 2. The store keeps the time of the last turn for the next start. How long a service was stopped
//!    is unknown, so only a long gap counts as a jump then.
//! 3. A clock that went back is as wrong: what is written until it is corrected would be deleted
//!    when it is corrected.
//! 4. `confirm-clock` stores the present time as a turn. A job that has stopped reads it, also in
//!    another replica.

use std::{
    mem::take,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use prometheus::core::Collector;
use rusqlite::{Connection, OptionalExtension as _};
use rustix::time::{ClockId, clock_gettime};
use tokio::task::{JoinError, spawn_blocking};

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

const LAST_TURN: &str = "SELECT turn FROM clock";

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

/// The table `clock` of a store. Its only row has the time of the last turn, or null.
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
            Self::Postgres(pool) => Ok(number(pool, NOW).await?.ok_or(postgres::Error::NoRow)?),
        }
    }

    async fn last_turn(&self) -> Result<Option<Millis>, ClockError> {
        match self {
            Self::Sqlite(path) => {
                let path = path.clone();
                Ok(spawn_blocking(move || last_turn(&path)).await??)
            }
            Self::Postgres(pool) => Ok(number(pool, LAST_TURN).await?),
        }
    }

    async fn save_turn(&self, now: Millis) -> Result<(), ClockError> {
        match self {
            Self::Sqlite(path) => {
                let path = path.clone();
                // A connection beside that of the writer, once an hour.
                let save = move || save_turn(&sqlite::open(&path)?, now);
                Ok(spawn_blocking(save).await??)
            }
            Self::Postgres(pool) => {
                let save = "UPDATE clock SET turn = $1";
                let save = async |session: &_| query(session, [(save, &[&now])]).await;
                Ok(pool.acquire(save).await.map(drop)?)
            }
        }
    }
}

async fn number(pool: &Pool, sql: &'static str) -> Result<Option<Millis>, postgres::Error> {
    let [rows] = pool.acquire(async |session| query(session, [(sql, &[])]).await).await?;
    let number = rows.first().map(|row| row.try_get(0)).transpose()?;
    Ok(number.flatten())
}

fn last_turn(path: &Path) -> rusqlite::Result<Option<Millis>> {
    let turn = sqlite::open_reader(path)?.query_row(LAST_TURN, [], |row| row.get(0)).optional();
    Ok(turn?.flatten())
}

fn save_turn(database: &Connection, now: Millis) -> rusqlite::Result<()> {
    database.execute("UPDATE clock SET turn = ?1", [now]).map(drop)
}

/// Compares the clock of the store with the time since the boot.
pub struct JobClock {
    table: ClockTable,
    state: Mutex<State>,
    /// The time of this machine at the boot in microseconds, by the first turn that was right.
    at_boot: OnceLock<i64>,
}

/// The last turn.
#[derive(Debug, Clone, Copy)]
struct State {
    /// The time of the store.
    at: Millis,
    /// The time since the boot.
    since_boot: Millis,
    /// A larger difference is a jump.
    tolerance: Millis,
    /// The time in the table.
    saved: Option<Millis>,
    has_jumped: bool,
    /// Whether the table was not read since the jump.
    is_new_jump: bool,
    /// The time of the store at the last turn of this process, if it was right.
    latest: Option<Millis>,
}

/// The result of a comparison.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    Right { must_save: bool },
    Jumped,
}

impl JobClock {
    /// Reads the time of the last turn.
    pub async fn open(table: ClockTable) -> Result<Self, ClockError> {
        let (now, saved) = (table.now().await?, table.last_turn().await?);
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
        if turn == Turn::Jumped {
            let saved = self.table.last_turn().await?;
            turn = self.state().confirmed(saved, now, since_boot());
        }
        match turn {
            Turn::Jumped => return Ok(None),
            Turn::Right { must_save: false } => {}
            Turn::Right { must_save: true } => match self.table.save_turn(now).await {
                Ok(()) => self.state().saved = Some(now),
                Err(error) => tracing::debug!(cause = %error, "the time is not stored"),
            },
        }
        Ok(Some(now))
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
    fn new(now: Millis, since_boot: Millis, saved: Option<Millis>) -> Self {
        let at = saved.unwrap_or(now);
        Self {
            at,
            since_boot,
            tolerance: RESTART_TOLERANCE,
            saved,
            has_jumped: false,
            is_new_jump: false,
            latest: None,
        }
    }

    fn turn(&mut self, now: Millis, since_boot: Millis) -> Turn {
        let expected = self.at.saturating_add(since_boot - self.since_boot);
        let difference = now.saturating_sub(expected);
        if difference.saturating_abs() > self.tolerance {
            if !self.has_jumped {
                tracing::error!(
                    seconds = difference / 1000,
                    "the clock jumped: correct it, or run confirm-clock if it is right"
                );
                (self.has_jumped, self.is_new_jump) = (true, true);
            }
            return Turn::Jumped;
        }
        self.goes_on(now, since_boot)
    }

    /// As [`Self::turn`], after the table was read again. The time in it is of `confirm-clock`, or
    /// of another replica, if it is newer than the jump; it is about this jump if it is about the
    /// present time.
    fn confirmed(&mut self, saved: Option<Millis>, now: Millis, since_boot: Millis) -> Turn {
        if take(&mut self.is_new_jump) {
            self.saved = saved;
        }
        let is_new = saved != self.saved;
        let is_now = saved.is_some_and(|at| now.saturating_sub(at).saturating_abs() <= TOLERANCE);
        if !is_new || !is_now {
            return Turn::Jumped;
        }
        self.saved = saved;
        self.goes_on(now, since_boot)
    }

    fn goes_on(&mut self, now: Millis, since_boot: Millis) -> Turn {
        self.is_new_jump = false;
        if take(&mut self.has_jumped) {
            tracing::warn!("the clock is right: what is due by time is deleted and voided again");
        }
        (self.at, self.since_boot, self.tolerance) = (now, since_boot, TOLERANCE);
        let is_saved = |saved: Millis| now.saturating_sub(saved).saturating_abs() < SAVE_EVERY;
        Turn::Right { must_save: !self.saved.is_some_and(is_saved) }
    }
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

    fn has_stopped(state: &mut State, now: Millis, since_boot: Millis) -> bool {
        state.turn(now, since_boot) == Turn::Jumped
    }

    #[test]
    fn a_jump_stops_the_jobs_until_it_is_gone() {
        for jump in [HOUR + 1, 100 * DAY, -HOUR - 1, -100 * DAY] {
            let mut state = State::new(1000 * DAY, 0, None);
            assert!(!has_stopped(&mut state, 1000 * DAY + 5, 5), "{jump}");
            assert!(has_stopped(&mut state, 1000 * DAY + jump + 10, 10), "{jump}");
            assert!(has_stopped(&mut state, 1000 * DAY + jump + 2 * HOUR, 2 * HOUR), "{jump}");
            assert!(!has_stopped(&mut state, 1000 * DAY + 3 * HOUR, 3 * HOUR), "{jump}");
        }
    }

    #[test]
    fn a_long_pause_of_the_machine_is_no_jump() {
        let mut state = State::new(0, 0, None);
        assert!(!has_stopped(&mut state, 5, 5));
        assert!(!has_stopped(&mut state, 90 * DAY, 90 * DAY));
        assert!(!has_stopped(&mut state, 91 * DAY + HOUR, 91 * DAY), "an hour is tolerated");
    }

    #[test]
    fn a_gap_of_a_month_before_the_start_is_a_jump() {
        for (gap, expected) in [(0, false), (30, false), (31, true), (-31, true)] {
            let mut state = State::new(gap * DAY, 7, Some(0));
            assert_eq!(has_stopped(&mut state, gap * DAY, 7), expected, "{gap} days");
        }
        assert!(!has_stopped(&mut State::new(9000 * DAY, 7, None), 9000 * DAY, 7), "a new store");
    }

    #[test]
    fn a_confirmation_is_for_one_jump() {
        let mut state = State::new(0, 0, Some(0));
        assert!(has_stopped(&mut state, 100 * DAY, 10));
        assert_eq!(state.confirmed(Some(0), 100 * DAY, 10), Turn::Jumped, "nobody confirmed it");
        assert_eq!(state.confirmed(Some(50 * DAY), 100 * DAY, 10), Turn::Jumped, "another time");
        let confirmed = Some(100 * DAY - HOUR);
        let right = Turn::Right { must_save: true };
        assert_eq!(state.confirmed(confirmed, 100 * DAY, 10), right);
        assert!(!has_stopped(&mut state, 100 * DAY + 10, 20));
        assert!(has_stopped(&mut state, 100 * DAY - HOUR, 30));
        assert_eq!(state.confirmed(confirmed, 100 * DAY - HOUR, 30), Turn::Jumped, "used before");
    }

    #[test]
    fn what_another_replica_stored_before_a_jump_confirms_nothing() {
        let mut state = State::new(0, 0, Some(0));
        assert!(!has_stopped(&mut state, 0, 0));
        // An hour and a minute back, to a time that another replica has stored.
        assert!(has_stopped(&mut state, DAY, DAY + HOUR + 60_000));
        let by_another = Some(DAY + HOUR / 2);
        for now in [DAY, DAY + HOUR] {
            assert_eq!(state.confirmed(by_another, now, 0), Turn::Jumped, "{now}");
        }
        let confirmed = state.confirmed(Some(DAY + HOUR), DAY + HOUR, 0);
        assert!(matches!(confirmed, Turn::Right { .. }));
    }

    #[test]
    fn the_time_of_a_turn_is_saved_each_hour() {
        let mut state = State::new(0, 0, None);
        assert_eq!(state.turn(5, 5), Turn::Right { must_save: true });
        state.saved = Some(5);
        assert_eq!(state.turn(HOUR, HOUR), Turn::Right { must_save: false });
        assert_eq!(state.turn(HOUR + 5, HOUR + 5), Turn::Right { must_save: true });
    }
}
