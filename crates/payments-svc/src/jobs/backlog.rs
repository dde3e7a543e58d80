//! Gauges of the backlog: work that waits for an acquirer, a customer or a mail server.

use prometheus::{IntGauge, Registry};

use crate::store::Backlog;

/// The last count. Each replica counts the shared store, so all replicas report the same numbers.
#[derive(Clone)]
pub(crate) struct BacklogMetrics {
    mails: IntGauge,
    outbox_entries: IntGauge,
    pending_payments: IntGauge,
    disabled_webhooks: IntGauge,
}

impl BacklogMetrics {
    /// Registers the gauges.
    pub(crate) fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let gauge = |name, help| {
            let gauge = IntGauge::new(name, help)?;
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, prometheus::Error>(gauge)
        };
        Ok(Self {
            mails: gauge("mails_waiting", "Mails that are not sent yet.")?,
            outbox_entries: gauge(
                "outbox_entries",
                "Outbox entries that no acquirer has confirmed yet.",
            )?,
            pending_payments: gauge(
                "pending_payments",
                "Pending payments: they wait for the acquirer or for 3-D Secure.",
            )?,
            disabled_webhooks: gauge(
                "webhooks_disabled",
                "Webhooks that are disabled, because deliveries of an event failed for five days, or the \
                 receiver answered with 410.",
            )?,
        })
    }

    pub(super) fn set(&self, backlog: Backlog) {
        self.mails.set(backlog.mails);
        self.outbox_entries.set(backlog.outbox_entries);
        self.pending_payments.set(backlog.pending_payments);
        self.disabled_webhooks.set(backlog.disabled_webhooks);
    }
}
