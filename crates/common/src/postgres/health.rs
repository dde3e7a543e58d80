//! Checks whether a database answers and accepts writes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use deadpool_postgres::ClientWrapper;
use tokio::{task::JoinSet, time::sleep};

use super::{Database, OpenError, pool::is_primary};
use crate::throttle::Throttle;

/// Interval of the checks.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// Interval of the log lines about a database that cannot be used.
const REPORT_EVERY: Duration = Duration::from_secs(60);

/// Checks once a second whether a database answers and accepts writes. A standby does not.
pub(super) struct Health {
    is_up: Arc<AtomicBool>,
    _checks: JoinSet<()>,
}

impl Health {
    /// Checks until the value is dropped. Uses a connection of its own, because the pool may be in
    /// use.
    pub(super) fn watch(database: Database) -> Self {
        let is_up = Arc::new(AtomicBool::new(true));
        let mut checks = JoinSet::new();
        checks.spawn(check_repeatedly(database, Arc::clone(&is_up)));
        Self { is_up, _checks: checks }
    }

    /// Whether the last check succeeded. True before the first one.
    pub(super) fn is_up(&self) -> bool {
        self.is_up.load(Ordering::Relaxed)
    }
}

/// An old primary may have returned, or a pooler may have come in between.
async fn check(database: &Database, client: &ClientWrapper) -> Result<(), OpenError> {
    database.check_timeline(client).await?;
    database.check_sessions().await
}

async fn check_repeatedly(database: Database, is_up: Arc<AtomicBool>) {
    let refused = Throttle::new(REPORT_EVERY);
    loop {
        if let Ok(client) = database.connect().await
            && is_primary(&client).await
        {
            let checked = check(&database, &client).await;
            while checked.is_ok() && is_primary(&client).await {
                is_up.store(true, Ordering::Relaxed);
                sleep(CHECK_EVERY).await;
            }
            if let Err(error @ OpenError::Refused { .. }) = checked
                && refused.try_acquire()
            {
                tracing::error!(cause = %error, "the database cannot be used");
            }
        }
        is_up.store(false, Ordering::Relaxed);
        sleep(CHECK_EVERY).await;
    }
}
