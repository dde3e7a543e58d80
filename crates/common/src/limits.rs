//! Limits on what clients may cost: bytes of memory, requests in a period, connections.
//!
//! Every buffer that grows with what clients send belongs to a [`Budget`], and every action that a
//! script could repeat without end belongs to a [`RateLimiter`]. Both count their refusals, so
//! that an operator sees which limit was met.

mod address;
mod budget;
mod hash;
mod memory;
mod rate;

pub use address::{ClientAddress, TrustedProxies};
pub use budget::{Budget, Permit};
pub use hash::{HashedKey, KeyedHash};
pub use memory::available_memory;
pub use rate::{InvalidRate, Rate, RateLimiter, Refused};

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use prometheus::{
    core::{Collector, Desc},
    proto::{LabelPair, MetricFamily, MetricType},
};

use crate::{
    telemetry::{family, metric},
    throttle::Throttle,
};

/// The label that tells limits apart.
const LABEL: &str = "limit";

/// How often the log says that a limit refuses.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// What the metrics show of a limit.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// The value of the label `limit`.
    pub name: &'static str,
    /// How much is in use now.
    pub used: u64,
    /// How much may be.
    pub limit: u64,
    /// How often something was refused since the start.
    pub refusals: u64,
}

/// Something with a limit.
pub trait Limited: Send + Sync {
    /// Its usage now.
    fn usage(&self) -> Usage;
}

/// Counts refusals and logs the first of each minute.
#[derive(Debug)]
pub(crate) struct Refusals {
    count: AtomicU64,
    warned: Throttle,
}

impl Refusals {
    pub(crate) fn new() -> Self {
        Self { count: AtomicU64::new(0), warned: Throttle::new(WARN_EVERY) }
    }

    pub(crate) fn add(&self, limit: &'static str) {
        self.count.fetch_add(1, Ordering::Relaxed);
        if self.warned.is_due() {
            tracing::warn!(limit, "a limit is reached: clients are refused");
        }
    }

    pub(crate) fn get(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

/// The families `limit_used`, `limit_max` and `limit_refusals_total`, labelled by limit.
pub struct LimitMetrics {
    limits: Vec<Arc<dyn Limited>>,
    /// The registry refuses a second collector that describes nothing.
    descs: Vec<Desc>,
}

const USED: (&str, &str) =
    ("limit_used", "How much of a limit is in use: bytes, connections or keys.");
const MAX: (&str, &str) = ("limit_max", "How much of a limit may be in use; 0 where it is off.");
const REFUSALS: (&str, &str) =
    ("limit_refusals_total", "How often a limit refused something or closed a connection.");

impl LimitMetrics {
    /// Shows these limits at each scrape.
    pub fn new(limits: Vec<Arc<dyn Limited>>) -> Result<Self, prometheus::Error> {
        let desc = |(name, help): (&str, &str)| {
            Desc::new(name.to_owned(), help.to_owned(), vec![LABEL.to_owned()], HashMap::new())
        };
        let descs = [USED, MAX, REFUSALS].into_iter().map(desc).collect::<Result<_, _>>()?;
        Ok(Self { limits, descs })
    }
}

impl Collector for LimitMetrics {
    fn desc(&self) -> Vec<&Desc> {
        self.descs.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let usages: Vec<Usage> = self.limits.iter().map(|limit| limit.usage()).collect();
        let labelled = |(name, help), kind, read: fn(&Usage) -> u64| {
            let metrics = usages.iter().map(|usage| metric(kind, read(usage), label(usage)));
            family(name, help, kind, metrics.collect())
        };
        vec![
            labelled(USED, MetricType::GAUGE, |usage| usage.used),
            labelled(MAX, MetricType::GAUGE, |usage| usage.limit),
            labelled(REFUSALS, MetricType::COUNTER, |usage| usage.refusals),
        ]
    }
}

fn label(usage: &Usage) -> Vec<LabelPair> {
    let mut label = LabelPair::default();
    label.set_name(LABEL.to_owned());
    label.set_value(usage.name.to_owned());
    vec![label]
}

#[cfg(test)]
mod tests {
    use prometheus::Registry;

    use super::*;
    use crate::telemetry::{Family, Figures};

    #[test]
    fn limits_register_beside_other_collectors() {
        const NONE: &[Family<()>] = &[];
        let registry = Registry::new();
        let limits: Vec<Arc<dyn Limited>> = vec![Budget::new("bytes", 10)];
        registry.register(Box::new(Figures::new(NONE, || ()))).unwrap();
        registry.register(Box::new(LimitMetrics::new(limits).unwrap())).unwrap();
        let names: Vec<_> = registry.gather().iter().map(|it| it.name().to_owned()).collect();
        assert_eq!(names, [MAX.0, REFUSALS.0, USED.0]);
    }
}
