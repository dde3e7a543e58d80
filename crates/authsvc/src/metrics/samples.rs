//! Samples of one request, collected while it is answered.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{Counters, Metrics};
use crate::domain::Anomaly;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Login,
    ProfileFetch,
}

impl Operation {
    pub(crate) const ALL: [Self; 2] = [Self::Login, Self::ProfileFetch];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::ProfileFetch => "profile_fetch",
        }
    }
}

/// Samples of one request. A handler finds them in the extensions of its request. Starts are
/// counted immediately. Outcomes are added when the response starts or the caller disconnects.
#[derive(Clone)]
pub(crate) struct Samples {
    metrics: Arc<Metrics>,
    gathered: Arc<Mutex<Gathered>>,
}

#[derive(Default)]
struct Gathered {
    /// `None` without a sign-in, otherwise whether it has succeeded.
    succeeded: Option<bool>,
    /// `None` without a profile, otherwise whether only some of its fields are requested.
    is_partial: Option<bool>,
    anomalies: Vec<Anomaly>,
    calls: Vec<EndedCall>,
}

struct EndedCall {
    operation: Operation,
    end: End,
}

enum End {
    Answered { status: u16, latency: Duration },
    Failed { latency: Duration },
    Cancelled,
}

impl Samples {
    pub(crate) fn new(metrics: &Arc<Metrics>) -> Self {
        Self { metrics: Arc::clone(metrics), gathered: Arc::default() }
    }

    /// Counts a sign-in that passed validation. It counts as failed unless [`Self::succeeded`]
    /// follows.
    pub(crate) fn attempted(&self, with_profile: bool) {
        self.gathered().succeeded = Some(false);
        self.metrics.counters().attempts[usize::from(with_profile)] += 1;
    }

    pub(crate) fn succeeded(&self) {
        self.gathered().succeeded = Some(true);
    }

    /// Records that a profile is fetched. `is_partial`: only some of its fields are requested.
    pub(crate) fn profile_fetched(&self, is_partial: bool) {
        self.gathered().is_partial = Some(is_partial);
    }

    pub(crate) fn anomalies(&self, anomalies: impl IntoIterator<Item = Anomaly>) {
        self.gathered().anomalies.extend(anomalies);
    }

    /// Counts a new HTTP client of the portal. It counts as closed when the result is dropped.
    pub(crate) fn client(&self) -> ClientOpen {
        self.metrics.counters().clients[0] += 1;
        ClientOpen(Arc::clone(&self.metrics))
    }

    /// Starts a call to the portal. It counts as cancelled if it is dropped.
    pub(crate) fn call(&self, operation: Operation) -> Call {
        Call { samples: self.clone(), operation, started: Instant::now(), ended: false }
    }

    /// The lock is never contended, because only one request uses these samples.
    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add_to(&self, counters: &mut Counters) {
        let gathered = self.gathered();
        if let Some(succeeded) = gathered.succeeded {
            counters.results[usize::from(succeeded)] += 1;
        }
        if let Some(is_partial) = gathered.is_partial {
            counters.filtering[usize::from(is_partial)] += 1;
        }
        for &anomaly in &gathered.anomalies {
            *counters.anomalies.entry(anomaly).or_default() += 1;
        }
        for EndedCall { operation, end } in &gathered.calls {
            let upstream = &mut counters.upstream[*operation as usize];
            match *end {
                End::Answered { status, latency } => {
                    upstream.success += 1;
                    upstream.latency.add(latency);
                    *upstream.statuses.entry(status).or_default() += 1;
                }
                End::Failed { latency } => {
                    upstream.error += 1;
                    upstream.latency.add(latency);
                }
                End::Cancelled => upstream.cancelled += 1,
            }
        }
    }
}

/// An open HTTP client of the portal.
pub(crate) struct ClientOpen(Arc<Metrics>);

impl Drop for ClientOpen {
    fn drop(&mut self) {
        self.0.counters().clients[1] += 1;
    }
}

/// A call to the portal that has not ended.
pub(crate) struct Call {
    samples: Samples,
    operation: Operation,
    started: Instant,
    ended: bool,
}

impl Call {
    pub(crate) fn answered(mut self, status: u16) {
        let latency = self.started.elapsed();
        self.end(End::Answered { status, latency });
    }

    /// The portal did not answer, or not in time.
    pub(crate) fn failed(mut self) {
        let latency = self.started.elapsed();
        self.end(End::Failed { latency });
    }

    fn end(&mut self, end: End) {
        if !self.ended {
            self.ended = true;
            self.samples.gathered().calls.push(EndedCall { operation: self.operation, end });
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.end(End::Cancelled);
    }
}
