//! Jobs that one process does at a time.

use std::time::Duration;

use tokio::time::sleep;

use crate::store::{Store, StoreError};

/// How often a lease is renewed. It lasts ten seconds.
const RENEW_EVERY: Duration = Duration::from_secs(1);

/// The right of one process to do a job.
pub(super) struct Lease {
    store: Store,
    job: &'static str,
}

impl Lease {
    pub(super) fn new(store: Store, job: &'static str) -> Self {
        Self { store, job }
    }

    /// Does the job, unless another process does it. When the lease is lost, the job is stopped
    /// where it waits.
    pub(super) async fn hold(
        &self,
        job: impl Future<Output = Result<(), StoreError>>,
    ) -> Result<(), StoreError> {
        if !self.is_held().await? {
            return Ok(());
        }
        tokio::select! {
            done = job => done,
            lost = self.lose() => lost,
        }
    }

    async fn is_held(&self) -> Result<bool, StoreError> {
        self.store.lease(self.job).await
    }

    /// Renews the lease until it is lost.
    async fn lose(&self) -> Result<(), StoreError> {
        loop {
            sleep(RENEW_EVERY).await;
            if !self.is_held().await? {
                return Ok(());
            }
        }
    }
}
