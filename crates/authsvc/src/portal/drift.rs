//! Logs how the portal's answers differ from the known ones: names of members, never values.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use common::throttle::Throttle;
use tracing::field::display;

use super::{answer::ProfileFault, body::BodyFault};
use crate::domain::{Anomaly, Deviation};

/// How often the same deviation is logged at most.
const LOG_EVERY: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct DriftLog {
    /// The time when each deviation of a profile was logged last. Anomalies and members are
    /// constants of the program, so there are few.
    profiles: Mutex<BTreeMap<(Anomaly, &'static str), Instant>>,
    rejections: Throttle,
}

impl Default for DriftLog {
    fn default() -> Self {
        Self { profiles: Mutex::default(), rejections: Throttle::new(LOG_EVERY) }
    }
}

impl DriftLog {
    /// Logs that a 401 is not the portal's, unless one was logged in the last minute.
    pub(super) fn report_rejection(&self, fault: BodyFault) {
        if self.rejections.try_acquire() {
            tracing::warn!(cause = %fault, "a 401 differs from the portal's: it counts for no limit");
        }
    }

    /// Logs those deviations that were not logged in the last minute: one line for each anomaly. With
    /// the fault of an answer that is not a profile.
    pub(super) fn report(&self, deviations: &[Deviation], fault: Option<ProfileFault>) {
        if deviations.is_empty() {
            return;
        }
        for (anomaly, members) in self.due(deviations, Instant::now()) {
            let (reason, members) = (anomaly.name(), members.join(", "));
            let cause = fault.map(display);
            tracing::warn!(
                reason,
                members,
                cause,
                "the portal's profile differs from the known ones"
            );
        }
    }

    fn due(&self, deviations: &[Deviation], now: Instant) -> BTreeMap<Anomaly, Vec<&'static str>> {
        let mut logged = self.profiles.lock().unwrap_or_else(PoisonError::into_inner);
        let mut due: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for &Deviation { anomaly, member } in deviations {
            let last = logged.get(&(anomaly, member));
            if last.is_none_or(|&last| now.duration_since(last) >= LOG_EVERY) {
                logged.insert((anomaly, member), now);
                due.entry(anomaly).or_default().push(member);
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_deviation_is_due_once_a_minute() {
        let (log, start) = (DriftLog::default(), Instant::now());
        let missing = |member| Deviation { anomaly: Anomaly::MissingField, member };
        let unexpected = |member| Deviation { anomaly: Anomaly::UnexpectedValue, member };
        let due = |deviations: &[Deviation], seconds| {
            log.due(deviations, start + Duration::from_secs(seconds)).into_values().collect()
        };
        let none: [Vec<&str>; 0] = [];
        let seen: Vec<_> = due(&[missing("a"), missing("b"), unexpected("a")], 0);
        assert_eq!(seen, [vec!["a", "b"], vec!["a"]]);
        let seen: Vec<_> = due(&[missing("a"), missing("b"), missing("c")], 30);
        assert_eq!(seen, [vec!["c"]]);
        let seen: Vec<_> = due(&[missing("a"), unexpected("a")], 59);
        assert_eq!(seen, none);
        let seen: Vec<_> = due(&[missing("a"), missing("c")], 60);
        assert_eq!(seen, [vec!["a"]]);
    }
}
