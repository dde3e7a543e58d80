//! Metrics of deliveries.

use payments_domain::DeliveryOutcome;
use prometheus::{IntCounterVec, IntGauge, Opts, Registry};

/// Counts of this process.
#[derive(Clone)]
pub(crate) struct DeliveryMetrics {
    deliveries: IntCounterVec,
    oldest: IntGauge,
}

impl DeliveryMetrics {
    /// Registers the metrics.
    pub(crate) fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let help = "Attempts to deliver an event to a webhook, by outcome.";
        let deliveries = Opts::new("webhook_deliveries_total", help);
        let deliveries = IntCounterVec::new(deliveries, &["outcome"])?;
        registry.register(Box::new(deliveries.clone()))?;
        for outcome in DeliveryOutcome::all(0) {
            deliveries.with_label_values(&[outcome.name()]);
        }
        let help = "Age in seconds of the oldest undelivered event of an enabled webhook.";
        let oldest = IntGauge::new("webhook_oldest_event_seconds", help)?;
        registry.register(Box::new(oldest.clone()))?;
        Ok(Self { deliveries, oldest })
    }

    pub(super) fn count(&self, outcome: DeliveryOutcome) {
        self.deliveries.with_label_values(&[outcome.name()]).inc();
    }

    pub(super) fn set_oldest(&self, seconds: i64) {
        self.oldest.set(seconds);
    }
}
