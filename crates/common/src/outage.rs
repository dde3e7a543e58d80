//! Log lines of work that is repeated until it succeeds.

use std::{
    error::Error,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::error::Cause;

const LOG_EVERY: Duration = Duration::from_secs(60);

/// Logs the failures of a job: the first one, then one a minute, and the end with its length. Its
/// lines are `job not done` and `job done again`.
#[derive(Debug)]
pub struct Outage {
    job: &'static str,
    state: Mutex<State>,
}

impl Outage {
    /// `job` says what is done, for example `reading the change log`.
    pub fn of(job: &'static str) -> Self {
        Self { job, state: Mutex::default() }
    }

    /// Logs the error of a turn, or the end of the outage.
    pub fn observe<T>(&self, turn: Result<T, impl Error + Send + Sync + 'static>) -> Option<T> {
        match turn {
            Ok(done) => {
                self.succeeded();
                Some(done)
            }
            Err(error) => {
                self.failed(error);
                None
            }
        }
    }

    /// The outage begins, or goes on.
    pub fn failed(&self, error: impl Error + Send + Sync + 'static) {
        let is_logged = self.state().fail(Instant::now());
        if is_logged {
            tracing::warn!(job = self.job, cause = %Cause::new(error), "job not done");
        }
    }

    /// Ends the outage, if there is one.
    pub fn succeeded(&self) {
        let ended = self.state().end(Instant::now());
        if let Some(Ended { failures, length }) = ended {
            let seconds = length.as_secs();
            tracing::info!(job = self.job, failures, seconds, "job done again");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
struct State {
    began: Option<Instant>,
    failures: u64,
    is_logged: bool,
    /// Also past the end of an outage, so that one that comes and goes is not logged more often.
    silent_until: Option<Instant>,
}

#[derive(Debug, PartialEq, Eq)]
struct Ended {
    failures: u64,
    length: Duration,
}

impl State {
    /// Returns whether the failure is logged.
    fn fail(&mut self, now: Instant) -> bool {
        self.began.get_or_insert(now);
        self.failures += 1;
        let is_silent = self.silent_until.is_some_and(|until| now < until);
        if !is_silent {
            (self.silent_until, self.is_logged) = (Some(now + LOG_EVERY), true);
        }
        !is_silent
    }

    /// Returns what to log, if the outage was.
    fn end(&mut self, now: Instant) -> Option<Ended> {
        let began = self.began.take()?;
        let ended = Ended { failures: self.failures, length: now - began };
        self.failures = 0;
        std::mem::take(&mut self.is_logged).then_some(ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_a_minute_and_the_end_are_logged() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut state = State::default();
        assert_eq!(state.end(at(0)), None);
        let logged: Vec<_> = (0..=130).filter(|&second| state.fail(at(second))).collect();
        assert_eq!(logged, [0, 60, 120]);
        let ended = Ended { failures: 131, length: Duration::from_secs(131) };
        assert_eq!(state.end(at(131)), Some(ended));
        assert_eq!(state.end(at(132)), None);
    }

    #[test]
    fn an_outage_that_comes_and_goes_is_logged_once_a_minute() {
        let begin = Instant::now();
        let mut state = State::default();
        let mut lines = (0, 0);
        for second in 0..120 {
            let now = begin + Duration::from_secs(second);
            lines.0 += usize::from(state.fail(now));
            lines.1 += usize::from(state.end(now).is_some());
        }
        assert_eq!(lines, (2, 2));
    }
}
