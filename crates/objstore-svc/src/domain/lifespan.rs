//! How long an object stays.

use std::time::Duration;

use super::{ClientId, Timestamp};

/// The time to live of an object, counted from the commit of its set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ttl(Timestamp);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("ttl must be from 1s to 30d, such as 90s or 15m")]
pub(crate) struct InvalidTtl;

impl Ttl {
    const MIN: Timestamp = 1_000;
    const MAX: Timestamp = 30 * 24 * 60 * 60 * 1_000;

    /// Rounds up to a millisecond.
    pub(crate) fn new(duration: Duration) -> Result<Self, InvalidTtl> {
        let millis = duration.as_nanos().div_ceil(1_000_000);
        let millis = Timestamp::try_from(millis).map_err(|_| InvalidTtl)?;
        let is_allowed = (Self::MIN..=Self::MAX).contains(&millis);
        if is_allowed { Ok(Self(millis)) } else { Err(InvalidTtl) }
    }

    pub(crate) fn millis(self) -> Timestamp {
        self.0
    }
}

/// When the service deletes an object that is set. The default is never.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lifespan {
    pub(crate) ttl: Option<Ttl>,
    /// The client whose presence the object needs.
    pub(crate) presence: Option<ClientId>,
    /// Whether the object keeps what it has already.
    pub(crate) keeps: bool,
}

impl Lifespan {
    /// That of an object that is set at `now`, over one that has the lifespan `current`.
    pub(crate) fn stored(
        self,
        now: Timestamp,
        current: impl FnOnce() -> StoredLifespan,
    ) -> StoredLifespan {
        let Self { ttl, presence, keeps } = self;
        if keeps {
            let current = current();
            return StoredLifespan { present: presence.or(current.present), ..current };
        }
        let expires = ttl.map(|ttl| now.saturating_add(ttl.millis()));
        StoredLifespan { expires, present: presence }
    }
}

/// When the service deletes a stored object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StoredLifespan {
    /// The last millisecond.
    pub(crate) expires: Option<Timestamp>,
    /// The client whose presence the object needs.
    pub(crate) present: Option<ClientId>,
}

impl StoredLifespan {
    /// Appends the members `Expires` and `Presence`, where they apply, each with a comma before it.
    pub(crate) fn write_json(&self, json: &mut Vec<u8>) {
        if let Some(expires) = self.expires_at() {
            json.extend_from_slice(format!(",\"Expires\":\"{expires}\"").as_bytes());
        }
        if self.present.is_some() {
            json.extend_from_slice(b",\"Presence\":true");
        }
    }

    /// `expires`, which is written as in RFC 3339.
    pub(crate) fn expires_at(&self) -> Option<jiff::Timestamp> {
        let date =
            |millis| jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
        self.expires.map(date)
    }
}

/// How long presence objects stay after the last stream of their client: the setting
/// `OBJSTORE_PRESENCE_GRACE`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PresenceGrace(Timestamp);

impl PresenceGrace {
    /// Covers the time until a replica notices a client that reconnects at the last moment.
    const NOTICE: Timestamp = 500;

    /// A replica that is killed cannot write when its streams ended. So while a stream is open, the
    /// presence lasts for this time longer, and is extended after half of it.
    const LEASE: Timestamp = 5_000;

    pub(crate) fn new(grace: Duration) -> Self {
        // The bound is a hundred years, so that no sum overflows.
        Self(
            Timestamp::try_from(grace.as_millis()).unwrap_or(Timestamp::MAX).min(3_155_760_000_000),
        )
    }

    /// How long a presence lasts after a set, or after the last stream has ended.
    pub(crate) fn without_stream(self) -> Timestamp {
        self.0 + Self::NOTICE
    }

    /// How long a presence lasts while a stream is open.
    pub(crate) fn with_stream(self) -> Timestamp {
        self.0 + Self::LEASE
    }

    /// A presence that lasts less than this is extended if a stream is open.
    pub(crate) fn extend_below(self) -> Timestamp {
        self.0 + Self::LEASE / 2
    }
}

/// Why the service deleted an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Cause {
    /// Its time to live has passed.
    Expired,
    /// Its client has had no stream for the grace time.
    Gone,
}

impl Cause {
    /// The value of `Cause` in events.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Gone => "gone",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_to_live_is_from_1_s_to_30_days() {
        let [second, nano] = [Duration::from_secs(1), Duration::from_nanos(1)];
        let longest = Duration::from_hours(30 * 24);
        assert_eq!(Ttl::new(second).map(Ttl::millis), Ok(1_000));
        assert_eq!(Ttl::new(second + nano).map(Ttl::millis), Ok(1_001));
        assert_eq!(Ttl::new(longest).map(Ttl::millis), Ok(2_592_000_000));
        for refused in [Duration::ZERO, Duration::from_millis(999), longest + nano, Duration::MAX] {
            assert_eq!(Ttl::new(refused), Err(InvalidTtl), "{refused:?}");
        }
    }
}
