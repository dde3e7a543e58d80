//! Leases for jobs that run in one process at a time.

use std::time::Duration;

use tokio::time::sleep;

use crate::store::{Store, StoreError};

/// Interval between two renewals. A lease lasts ten seconds.
const RENEW_EVERY: Duration = Duration::from_secs(1);

/// The right of one process to run a job.
pub(super) struct Lease {
    store: Store,
    job: String,
}

impl Lease {
    pub(super) fn new(store: Store, job: impl Into<String>) -> Self {
        Self { store, job: job.into() }
    }

    /// Runs the job, unless another process holds the lease. If the lease is lost, the job is
    /// aborted at its current `await`.
    pub(super) async fn hold<E: From<StoreError>>(
        &self,
        job: impl Future<Output = Result<(), E>>,
    ) -> Result<(), E> {
        if !self.take().await? {
            return Ok(());
        }
        tokio::select! {
            done = job => done,
            lost = self.lost() => Ok(lost?),
        }
    }

    /// Takes or renews the lease. False if another process holds it.
    async fn take(&self) -> Result<bool, StoreError> {
        self.store.lease(&self.job).await
    }

    /// Renews the lease, and returns when it is lost.
    async fn lost(&self) -> Result<(), StoreError> {
        loop {
            sleep(RENEW_EVERY).await;
            if !self.take().await? {
                return Ok(());
            }
        }
    }
}
