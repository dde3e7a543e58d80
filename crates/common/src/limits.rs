//! Limits on the resources that callers use: memory, requests in a period, connections.
//!
//! Use a [`Budget`] for a buffer that grows with input, and a [`RateLimiter`] for an action whose
//! frequency must be limited. Both count rejections, so that an operator sees which limit was
//! reached.

mod address;
mod budget;
mod hash;
mod memory;
mod networks;
mod rate;

pub use address::{ClientAddress, TrustedProxies};
pub use budget::{Budget, Permit};
pub use hash::{HashedKey, KeyedHash};
pub use memory::available_memory;
pub use networks::{InvalidNetwork, Networks};
pub use rate::{InvalidRate, Rate, RateLimiter, Refused, Reserved};

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
    proto::{MetricFamily, MetricType},
};

use crate::{
    telemetry::{family, float, metric},
    throttle::Throttle,
};

/// Interval between two warnings about the same limit.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// The values of a limit in the metrics.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// Value of the label `limit`.
    pub name: &'static str,
    /// Current use: bytes, connections, writes or keys.
    pub used: u64,
    /// Maximum use, or 0 if the limit is off.
    pub limit: u64,
    /// Rejections since the start of the process.
    pub rejections: u64,
}

/// A limit that appears in the metrics.
pub trait Limited: Send + Sync {
    /// Reads the current values.
    fn usage(&self) -> Usage;
}

/// Converts a count for the metrics.
pub(crate) fn widen(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Counts rejections, and logs the first one of each minute.
#[derive(Debug)]
pub(crate) struct Rejections {
    count: AtomicU64,
    warned: Throttle,
}

impl Rejections {
    pub(crate) fn new() -> Self {
        Self { count: AtomicU64::new(0), warned: Throttle::new(WARN_EVERY) }
    }

    pub(crate) fn add(&self, limit: &'static str) {
        self.count.fetch_add(1, Ordering::Relaxed);
        if self.warned.try_acquire() {
            tracing::warn!(limit, "a limit is reached");
        }
    }

    pub(crate) fn get(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

/// A metric with the label `limit`.
struct Family {
    desc: Desc,
    kind: MetricType,
    read: fn(&Usage) -> u64,
}

impl Family {
    fn new(
        name: &str,
        help: &str,
        kind: MetricType,
        read: fn(&Usage) -> u64,
    ) -> Result<Self, prometheus::Error> {
        let labels = vec!["limit".to_owned()];
        let desc = Desc::new(name.to_owned(), help.to_owned(), labels, HashMap::new())?;
        Ok(Self { desc, kind, read })
    }
}

/// The metrics `limit_used`, `limit_max` and `limit_refusals_total`.
pub struct LimitMetrics {
    limits: Vec<Arc<dyn Limited>>,
    families: [Family; 3],
}

impl LimitMetrics {
    /// Reports these limits at each scrape.
    pub fn new(limits: Vec<Arc<dyn Limited>>) -> Result<Self, prometheus::Error> {
        let used = "Current use of a limit: bytes, connections, writes or keys.";
        let max = "Maximum use of a limit; 0 if the limit is off.";
        let rejections = "Rejections by a limit, and connections that it closed.";
        let (gauge, counter) = (MetricType::GAUGE, MetricType::COUNTER);
        let families = [
            Family::new("limit_used", used, gauge, |usage| usage.used)?,
            Family::new("limit_max", max, gauge, |usage| usage.limit)?,
            Family::new("limit_refusals_total", rejections, counter, |usage| usage.rejections)?,
        ];
        Ok(Self { limits, families })
    }
}

impl Collector for LimitMetrics {
    fn desc(&self) -> Vec<&Desc> {
        self.families.iter().map(|family| &family.desc).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let usages: Vec<Usage> = self.limits.iter().map(|limit| limit.usage()).collect();
        let families = self.families.iter().map(|Family { desc, kind, read }| {
            let metrics = usages
                .iter()
                .map(|usage| metric(*kind, float(read(usage)), &[("limit", usage.name)]));
            family(&desc.fq_name, &desc.help, *kind, metrics.collect())
        });
        families.collect()
    }
}
