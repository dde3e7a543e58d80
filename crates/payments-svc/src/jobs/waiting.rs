//! How much waits for somebody else, in the metrics.

use prometheus::{IntGauge, Registry};

use crate::store::Backlog;

/// What was counted last.
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

    pub(super) fn set(&self, backlog: Backlog) {
        self.invitations.set(backlog.invitations);
        self.instructions.set(backlog.instructions);
        self.operations.set(backlog.operations);
    }
}
