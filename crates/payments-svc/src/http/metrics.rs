//! The service's own metrics.

use common::telemetry::{self, Family};
use prometheus::{IntGauge, Registry, core::Collector};

use crate::store::{Backlog, Figures, Store};

const FAMILIES: [Family<Figures>; 3] = [
    Family::counter("commits_total", "Batches committed.", |store| store.commits),
    Family::counter("writes_total", "Writes in committed batches.", |store| store.writes),
    Family::gauge("write_queue_bytes", "Bytes of writes that wait.", |store| store.waiting_bytes),
];

/// Reads the store at each scrape.
pub(crate) fn collector(store: Store) -> impl Collector {
    telemetry::Figures::new(&FAMILIES, move || store.figures())
}

/// How much waits for somebody else, as it was counted last.
#[derive(Clone)]
pub(crate) struct Waiting {
    invitations: IntGauge,
    instructions: IntGauge,
    operations: IntGauge,
}

impl Waiting {
    /// Gauges in a registry.
    pub(crate) fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let gauge = |name, help| {
            let gauge = IntGauge::new(name, help)?;
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, prometheus::Error>(gauge)
        };
        Ok(Self {
            invitations: gauge("invitations_waiting", "Invitations that are not sent yet.")?,
            instructions: gauge("instructions_waiting", "What acquirers are still to be told.")?,
            operations: gauge("operations_waiting", "Payments whose outcome is not known yet.")?,
        })
    }

    pub(crate) fn set(&self, backlog: Backlog) {
        self.invitations.set(backlog.invitations);
        self.instructions.set(backlog.instructions);
        self.operations.set(backlog.operations);
    }
}
