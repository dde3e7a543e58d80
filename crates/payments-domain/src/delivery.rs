//! Deliveries: attempts to send an event to an endpoint, when a failed one is repeated, and the
//! record of both.

use std::time::Duration;

use jiff::Timestamp;
use sql::{BadCell, Column, ColumnError, Columns, Group, Param, Stored as _, group};

use super::{DisableReason, Id, jitter::with_jitter};

/// The delays after the first failed attempts.
const FIRST_DELAYS: [Duration; 6] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_mins(2),
    Duration::from_mins(10),
    Duration::from_hours(1),
    Duration::from_hours(3),
];

/// The delay after every later attempt.
const LATER_DELAY: Duration = Duration::from_hours(6);

/// No attempt is made later than this after the first one.
const GIVE_UP_AFTER: Duration = Duration::from_hours(5 * 24);

/// The longest pause that a receiver gets. A longer one counts as this.
const MAX_PAUSE: Duration = Duration::from_hours(1);

/// When a receiver asks for the next attempt: the value of `Retry-After`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAfter {
    Delay(Duration),
    Date(Timestamp),
}

impl RetryAfter {
    /// The value in an answer with this status. `None` if the value is malformed, or if the status
    /// is not 429 or 503: with others, it is not about the load of the receiver.
    pub fn of_answer(status: u16, value: &str) -> Option<Self> {
        if !matches!(status, 429 | 503) {
            return None;
        }
        if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(Self::Delay(value.parse().map_or(Duration::MAX, Duration::from_secs)));
        }
        let date = httpdate::parse_http_date(value).ok()?;
        Some(Self::Date(date.try_into().unwrap_or(Timestamp::MAX)))
    }

    /// The end of the pause that begins at `now`.
    pub(super) fn end(self, now: Timestamp) -> Timestamp {
        let longest = now.checked_add(MAX_PAUSE).unwrap_or(Timestamp::MAX);
        match self {
            Self::Delay(delay) => now.checked_add(delay).unwrap_or(longest).min(longest),
            Self::Date(date) => date.min(longest),
        }
    }
}

/// The time of the next attempt, after `attempts` failed ones, the first at `first` and the last at
/// `now`, and not before `earliest`. `None`: give up. `jitter`, any number, makes a delay up to 25 %
/// longer, so that the retries do not all reach a recovered receiver at the same time.
pub(super) fn next_attempt(
    attempts: u32,
    first: Timestamp,
    now: Timestamp,
    earliest: Option<Timestamp>,
    jitter: u16,
) -> Option<Timestamp> {
    let index = usize::try_from(attempts.saturating_sub(1)).unwrap_or(usize::MAX);
    let delay = FIRST_DELAYS.get(index).copied().unwrap_or(LATER_DELAY);
    let next = now.checked_add(with_jitter(delay, jitter)).ok()?.max(earliest.unwrap_or(now));
    let end = first.checked_add(GIVE_UP_AFTER).ok()?;
    (next <= end).then_some(next)
}

group! {
    /// The result of one attempt.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Delivery {
        outcome: DeliveryOutcome = ..,
        duration: Duration = "duration",
    }
}

/// The number of recorded attempts of each endpoint. A later one replaces the oldest one.
pub const MAX_RECORDED_ATTEMPTS: u32 = 100;

group! {
    /// How far the deliveries to an endpoint are.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Progress {
        /// Every event up to it is delivered, or is recorded as a [`Retry`].
        position: Id = "position",
        /// Grows with each change of the endpoint, and when another replica begins to deliver, so
        /// that the replica that delivers begins again.
        generation: u32 = "generation",
        /// Grows with each report and replay, and when another replica begins to deliver. A report
        /// of another epoch is rejected.
        epoch: u32 = "epoch",
        /// The number of the next recorded attempt, below [`MAX_RECORDED_ATTEMPTS`].
        next_attempt: u32 = "next_attempt",
        /// Until then, nothing is sent: the receiver has asked for a pause.
        paused_until: Option<Timestamp> = "paused_until",
    }
}

impl Progress {
    /// The progress of a new endpoint. It receives the events after its creation.
    pub fn new(webhook: Id) -> Self {
        Self { position: webhook, generation: 0, epoch: 0, next_attempt: 0, paused_until: None }
    }

    /// The number of the next recorded attempt.
    pub fn count_attempt(&mut self) -> u32 {
        let number = self.next_attempt;
        self.next_attempt = number.saturating_add(1) % MAX_RECORDED_ATTEMPTS;
        number
    }
}

group! {
    /// The failed attempts to deliver an event.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Failures {
        attempts: u32 = "attempts",
        /// The time of the first attempt.
        first: Timestamp = "first",
        /// The time of the next attempt.
        due: Timestamp = "due",
    }
}

/// A recorded event that an endpoint has not received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    pub event: Id,
    /// `None` for a payout.
    pub transaction: Option<Id>,
    /// `None` if the event waits for an earlier one of its transaction, or starts again.
    pub failures: Option<Failures>,
}

group! {
    /// A recorded attempt to deliver an event.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct DeliveryAttempt {
        event: Id = "event",
        created: Timestamp = "created",
        delivery: Delivery = ..,
        /// The time of the next attempt, if this one failed.
        next: Option<Timestamp> = "next",
    }
}

/// Results of deliveries to an endpoint, since the last report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryReport {
    pub app: Id,
    pub webhook: Id,
    /// As in [`Progress`]. Failures of an earlier generation do not count: the change of the
    /// endpoint can be the reason that the next attempt succeeds.
    pub generation: u32,
    /// As in [`Progress`].
    pub epoch: u32,
    /// As in [`Progress`].
    pub position: Id,
    /// As in [`Progress`].
    pub paused_until: Option<Timestamp>,
    /// New or changed.
    pub retries: Vec<Retry>,
    /// Events of earlier retries that need no further attempt.
    pub finished: Vec<Id>,
    /// The last ones, at most [`MAX_RECORDED_ATTEMPTS`].
    pub attempts: Vec<DeliveryAttempt>,
    /// Why the endpoint is disabled, if the attempts are a reason.
    pub disables: Option<DisableReason>,
}

/// The outcome of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// The receiver answered with this status, 2xx.
    Delivered(u16),
    /// The receiver answered with another status. Redirects are not followed.
    Refused(u16),
    /// The receiver did not answer in time.
    TimedOut,
    /// The name has no address, the connection failed, or the answer is not HTTP.
    ConnectionFailed,
    /// The TLS handshake failed; for example, no trusted CA has signed the certificate.
    TlsFailed,
    /// The service must not connect to the address.
    AddressForbidden,
}

impl Group for DeliveryOutcome {
    const COLUMNS: &'static [Column] = &[("outcome", String::KIND), ("status", u16::KIND)];

    fn read(columns: &mut Columns<'_>) -> Result<Self, ColumnError> {
        let name: String = columns.read()?;
        columns.read_as(|status| Self::from_name(&name, status).ok_or(BadCell))
    }

    fn params<'a>(&'a self, params: &mut Vec<Param<'a>>) {
        let status = self.status().map_or(Param::Null, |status| Param::Int(status.into()));
        params.extend([Param::Text(self.name().into()), status]);
    }
}

impl DeliveryOutcome {
    /// The outcome of an answer with this status.
    pub fn of_status(status: u16) -> Self {
        match status {
            200..300 => Self::Delivered(status),
            _ => Self::Refused(status),
        }
    }

    /// The name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delivered(_) => "delivered",
            Self::Refused(_) => "refused",
            Self::TimedOut => "timed_out",
            Self::ConnectionFailed => "connection_failed",
            Self::TlsFailed => "tls_failed",
            Self::AddressForbidden => "address_forbidden",
        }
    }

    /// All outcomes. `status` is for those that have one.
    pub fn all(status: u16) -> [Self; 6] {
        [
            Self::Delivered(status),
            Self::Refused(status),
            Self::TimedOut,
            Self::ConnectionFailed,
            Self::TlsFailed,
            Self::AddressForbidden,
        ]
    }

    /// The outcome with this name. `status` is for those that have one.
    fn from_name(name: &str, status: Option<u16>) -> Option<Self> {
        let all = Self::all(status.unwrap_or_default());
        all.into_iter().find(|outcome| outcome.name() == name)
    }

    pub fn is_delivered(self) -> bool {
        matches!(self, Self::Delivered(_))
    }

    /// The status of the answer, if there was one.
    pub fn status(self) -> Option<u16> {
        match self {
            Self::Delivered(status) | Self::Refused(status) => Some(status),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    /// The delays between attempts that all fail at once, in seconds, until the service gives up.
    fn delays(jitter: u16) -> Vec<i64> {
        let first = Timestamp::from_second(1_790_000_000).unwrap();
        let (mut now, mut delays) = (first, Vec::new());
        let mut attempts = 1;
        while let Some(next) = next_attempt(attempts, first, now, None, jitter) {
            delays.push(next.duration_since(now).as_secs());
            (now, attempts) = (next, attempts + 1);
        }
        let lasted = now.duration_since(first);
        let end = SignedDuration::from_hours(5 * 24);
        assert!(lasted <= end && lasted + SignedDuration::from_hours(8) > end, "{lasted:?}");
        delays
    }

    #[test]
    fn attempts_follow_the_schedule_for_five_days() {
        let delays = delays(0);
        assert_eq!(delays[..6], [5, 30, 2 * 60, 10 * 60, 3600, 3 * 3600]);
        assert!(delays[6..].iter().all(|delay| *delay == 6 * 3600), "{delays:?}");
        assert_eq!(delays.len(), 6 + 19);
    }

    #[test]
    fn jitter_adds_up_to_a_quarter() {
        let (least, most) = (delays(0), delays(u16::MAX));
        for (least, most) in least.iter().zip(&most) {
            assert_eq!(*most, least * 5 / 4);
        }
        let half = delays(u16::MAX / 2);
        assert!(least[5] < half[5] && half[5] < most[5]);
        assert!(most.len() < least.len());
    }

    #[test]
    fn a_late_attempt_is_the_last_one() {
        let first = Timestamp::from_second(1_790_000_000).unwrap();
        let after = |hours| first + SignedDuration::from_hours(hours);
        // The service was down for days after the second attempt.
        assert_eq!(next_attempt(3, first, after(120), None, 0), None);
        assert!(next_attempt(3, first, after(119), None, 0).is_some());
        assert_eq!(next_attempt(u32::MAX, first, after(113), None, 0), Some(after(119)));
        assert_eq!(next_attempt(u32::MAX, first, after(115), None, 0), None);
        assert!(next_attempt(1, Timestamp::MAX, Timestamp::MAX, None, 0).is_none());
    }

    #[test]
    fn a_pause_delays_an_attempt_and_never_hastens_it() {
        let first = Timestamp::from_second(1_790_000_000).unwrap();
        let after = |seconds| first + SignedDuration::from_secs(seconds);
        let next = |earliest| next_attempt(1, first, first, Some(after(earliest)), 0);
        for (earliest, expected) in [(-9, 5), (0, 5), (4, 5), (6, 6), (3600, 3600)] {
            assert_eq!(next(earliest), Some(after(expected)), "{earliest}");
        }
        let end = 5 * 24 * 3600;
        assert_eq!((next(end), next(end + 1)), (Some(after(end)), None));
    }

    #[test]
    fn a_receiver_gets_a_pause_of_at_most_an_hour() {
        let now: Timestamp = "2026-11-22T10:00:00Z".parse().unwrap();
        let pause = |value| {
            let end = RetryAfter::of_answer(503, value)?.end(now);
            Some(end.duration_since(now).as_secs())
        };
        for (value, seconds) in [
            ("0", 0),
            ("007", 7),
            ("3600", 3600),
            ("3601", 3600),
            ("99999999999999999999999", 3600),
            ("Sun, 22 Nov 2026 10:00:30 GMT", 30),
            ("Sunday, 22-Nov-26 10:00:30 GMT", 30),
            ("Sun Nov 22 10:00:30 2026", 30),
            ("Sun, 22 Nov 2026 09:59:30 GMT", -30),
            ("Sun, 22 Nov 2026 11:00:01 GMT", 3600),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 3600),
        ] {
            assert_eq!(pause(value), Some(seconds), "{value}");
        }
        for value in ["", "-1", "+1", "1.5", "1s", "1 ", "soon", "\u{663}", "2026-11-22T10:00:30Z"]
        {
            assert_eq!(pause(value), None, "{value}");
        }
        let longest = RetryAfter::Delay(Duration::MAX);
        assert_eq!(longest.end(Timestamp::MAX), Timestamp::MAX);
    }

    #[test]
    fn only_429_and_503_ask_for_a_pause() {
        for status in [429, 503] {
            let pause = Some(RetryAfter::Delay(Duration::from_secs(60)));
            assert_eq!(RetryAfter::of_answer(status, "60"), pause);
        }
        for status in [200, 301, 400, 410, 413, 500, 502] {
            assert_eq!(RetryAfter::of_answer(status, "60"), None, "{status}");
        }
    }

    #[test]
    fn any_2xx_is_a_delivery() {
        for status in [200, 204, 299] {
            assert_eq!(DeliveryOutcome::of_status(status), DeliveryOutcome::Delivered(status));
        }
        for status in [100, 199, 300, 302, 404, 410, 500, 999] {
            assert_eq!(DeliveryOutcome::of_status(status), DeliveryOutcome::Refused(status));
        }
    }
}
