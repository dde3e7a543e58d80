//! What a request gathers for the metrics while it is answered.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{Counters, Metrics};
use crate::domain::Anomaly;

/// An operation of the portal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Credentials are checked.
    Login,
    /// A profile is fetched.
    ProfileFetch,
}

impl Operation {
    /// Every operation.
    pub(crate) const ALL: [Self; 2] = [Self::Login, Self::ProfileFetch];

    /// Its label.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::ProfileFetch => "profile_fetch",
        }
    }
}

/// The samples of one request. A handler finds them in the extensions of its request. What begins is
/// counted at once, and what came of it when the response starts or the client has gone away.
#[derive(Clone)]
pub(crate) struct Samples {
    metrics: Arc<Metrics>,
    gathered: Arc<Mutex<Gathered>>,
}

#[derive(Default)]
struct Gathered {
    /// Whether a sign-in was attempted, and then whether it has succeeded.
    succeeded: Option<bool>,
    /// Whether a profile was fetched, and then whether some of its fields were left out.
    narrowed: Option<bool>,
    anomalies: Vec<Anomaly>,
    calls: Vec<Called>,
}

struct Called {
    operation: Operation,
    end: End,
}

enum End {
    Answered { status: u16, latency: Duration },
    Failed { latency: Duration },
    Cancelled,
}

impl Samples {
    pub(super) fn new(metrics: &Arc<Metrics>) -> Self {
        Self { metrics: Arc::clone(metrics), gathered: Arc::default() }
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// A sign-in passed validation. Unless it succeeds it has failed.
    pub(crate) fn attempted(&self, with_profile: bool) {
        self.gathered().succeeded = Some(false);
        self.metrics.counters().attempts[usize::from(with_profile)] += 1;
    }

    /// It succeeded.
    pub(crate) fn succeeded(&self) {
        self.gathered().succeeded = Some(true);
    }

    /// A profile is fetched: all of it, or some of its fields.
    pub(crate) fn filtered(&self, narrowed: bool) {
        self.gathered().narrowed = Some(narrowed);
    }

    /// Something was odd about the profile.
    pub(crate) fn odd(&self, anomalies: impl IntoIterator<Item = Anomaly>) {
        self.gathered().anomalies.extend(anomalies);
    }

    /// A client of the portal is made. It counts as closed when what this returns is dropped.
    pub(crate) fn client(&self) -> ClientOpen {
        self.metrics.counters().clients[0] += 1;
        ClientOpen(Arc::clone(&self.metrics))
    }

    /// A call of the portal begins. It counts as cancelled unless it ends otherwise.
    pub(crate) fn call(&self, operation: Operation) -> Call {
        Call { samples: self.clone(), operation, started: Instant::now(), ended: false }
    }

    /// Uncontended: a request's samples are its own.
    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add_to(&self, counters: &mut Counters) {
        let gathered = self.gathered();
        if let Some(succeeded) = gathered.succeeded {
            counters.results[usize::from(succeeded)] += 1;
        }
        if let Some(narrowed) = gathered.narrowed {
            counters.filtering[usize::from(narrowed)] += 1;
        }
        for &anomaly in &gathered.anomalies {
            *counters.anomalies.entry(anomaly).or_default() += 1;
        }
        for Called { operation, end } in &gathered.calls {
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

/// A client of the portal, for as long as it is open.
pub(crate) struct ClientOpen(Arc<Metrics>);

impl Drop for ClientOpen {
    fn drop(&mut self) {
        self.0.counters().clients[1] += 1;
    }
}

/// A call of the portal.
pub(crate) struct Call {
    samples: Samples,
    operation: Operation,
    started: Instant,
    ended: bool,
}

impl Call {
    /// The portal answered with this status.
    pub(crate) fn answered(mut self, status: u16) {
        let latency = self.started.elapsed();
        self.end(End::Answered { status, latency });
    }

    /// There was no answer, or not in time.
    pub(crate) fn failed(mut self) {
        let latency = self.started.elapsed();
        self.end(End::Failed { latency });
    }

    fn end(&mut self, end: End) {
        if !self.ended {
            self.ended = true;
            self.samples.gathered().calls.push(Called { operation: self.operation, end });
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.end(End::Cancelled);
    }
}
