//! Deletes the objects whose time has passed, and keeps those whose client is present.
//!
//! 1. Each replica looks for them on its own. The clock of the store decides, under the lock of the
//!    batch, so several replicas delete an object once, and the clock of a replica does not matter.
//! 2. A presence lasts for the grace time after the last stream of its client. Each replica extends
//!    the presences of its own connected clients, before they are close to their end.
//! 3. After a jump of the clock, nothing is deleted or extended until it is right again
//!    ([`Store::expiry_time`]).
//! 4. While a replica or the database is down, clients cannot connect. So after a start, and after
//!    a failure, a replica waits for the grace time before it treats a client as gone. After a small
//!    jump, too: the other replicas must extend their presences first.

use std::{sync::Arc, time::Duration};

use common::outage::Outage;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::{
    domain::Timestamp,
    store::{PRESENCE_PAGE, Store, StoreError},
    watch::Connected,
};

/// How often a replica looks for objects to delete. So a deletion is late by this time and its
/// commit.
const EVERY: Duration = Duration::from_millis(250);

/// If presences could not be extended for this time, clients may have been unable to connect.
const OUTAGE: Duration = Duration::from_secs(2);

/// Why objects of clients that are gone stay.
#[derive(Debug, thiserror::Error)]
#[error("presences could not be extended for {} s", .0.as_secs())]
struct Late(Duration);

pub(crate) struct Expiry {
    pub(crate) store: Store,
    pub(crate) connected: Arc<Connected>,
    /// How long presence objects stay after the last stream of their client.
    pub(crate) grace: Duration,
}

impl Expiry {
    /// Runs until it is aborted.
    pub(crate) async fn run(self) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (log, slow) = (
            Outage::of("deleting expired objects"),
            Outage::of("deleting objects of gone clients"),
        );
        let (mut kept, mut outage) = (Kept::at(None), Instant::now());
        let mut has_more = false;
        loop {
            if !has_more {
                ticks.tick().await;
            }
            // Before each write: it can take longer than the presences last.
            let keeping = self.keep_presences().await;
            let now = keeping.as_ref().ok().copied().flatten();
            let late = kept.since(now);
            if now.is_none() || late > OUTAGE {
                outage = Instant::now();
            }
            slow.observe(if late > OUTAGE { Err(Late(late)) } else { Ok(()) });
            kept = Kept::at(now);
            // A client that connects at the last moment is noticed at the next tick.
            let gone = outage.elapsed() > self.grace + 2 * EVERY;
            let expiring = match now {
                Some(now) => self.store.expire(gone, now).await,
                None => Ok(false),
            };
            has_more = matches!(expiring, Ok(true));
            log.observe(keeping.and(expiring));
        }
    }

    /// Returns the time of the store before; `None`, and does nothing, after a jump of the clock.
    async fn keep_presences(&self) -> Result<Option<Timestamp>, StoreError> {
        let Some(now) = self.store.expiry_time().await? else { return Ok(None) };
        for left in self.connected.take_left().chunks(PRESENCE_PAGE) {
            self.store.keep_presences(left.to_vec(), false).await?;
        }
        let mut after = None;
        while !self.connected.is_empty() {
            let page = self.store.presences(after).await?;
            let connected = self.connected.among(page.iter().map(|presence| presence.client));
            if !connected.is_empty() {
                self.store.keep_presences(connected, true).await?;
            }
            if page.len() < PRESENCE_PAGE {
                break;
            }
            after = page.last().copied();
        }
        Ok(Some(now))
    }
}

/// When presences were last extended.
struct Kept {
    at: Instant,
    /// The time of the store.
    stored: Option<Timestamp>,
}

impl Kept {
    fn at(stored: Option<Timestamp>) -> Self {
        Self { at: Instant::now(), stored }
    }

    /// The time since then until `now`, by the clock by which more has passed.
    fn since(&self, now: Option<Timestamp>) -> Duration {
        let stored = now.zip(self.stored).map(|(now, then)| now.saturating_sub(then));
        let stored =
            stored.and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis);
        self.at.elapsed().max(stored.unwrap_or_default())
    }
}
