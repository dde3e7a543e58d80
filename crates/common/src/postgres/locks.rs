//! Finds who holds a lock that a service needs.

use std::{error::Error, sync::Arc, time::Duration};

use sql::Columns;

use super::{Database, query};
use crate::{error::reason, throttle::Throttle};

const REPORT_EVERY: Duration = Duration::from_secs(60);

/// The oldest transaction that holds a lock on a table of the schema, and waits for none itself. Only
/// a superuser sees how long a transaction of another user has run.
const HOLDER: &str =
    "SELECT pid::bigint, coalesce(usename::text, ''), coalesce(application_name, ''),
         coalesce(extract(epoch FROM clock_timestamp() - xact_start)::bigint, 0)
     FROM pg_stat_activity
     WHERE pid <> pg_backend_pid() AND wait_event_type IS DISTINCT FROM 'Lock'
         AND pid IN (SELECT locks.pid
             FROM pg_locks locks JOIN pg_class ON pg_class.oid = locks.relation
             WHERE locks.granted AND locks.mode <> 'AccessShareLock' AND relkind = 'r'
                 AND relnamespace = current_schema()::regnamespace)
     ORDER BY xact_start NULLS FIRST LIMIT 1";

/// Reports the locks of others.
pub(super) struct Locks {
    database: Database,
    reports: Throttle,
}

impl Locks {
    pub(super) fn new(database: Database) -> Self {
        Self { database, reports: Throttle::new(REPORT_EVERY) }
    }

    /// Logs who holds a lock, at most once a minute. Uses a connection of its own, because the pool
    /// may wait for this lock.
    pub(super) fn report(self: &Arc<Self>) {
        if self.reports.try_acquire() {
            let this = Arc::clone(self);
            tokio::spawn(async move { this.report_holder().await });
        }
    }

    async fn report_holder(&self) {
        let said = "somebody else holds a lock in the database";
        match self.holder().await {
            Ok(Some(Holder { pid, user, application, seconds })) => tracing::warn!(
                holder.pid = pid,
                holder.user = user,
                holder.application = application,
                holder.seconds = seconds,
                "{said}"
            ),
            Ok(None) => tracing::warn!("{said}, and has just ended"),
            Err(error) => tracing::warn!(cause = reason(&*error), "{said}"),
        }
    }

    async fn holder(&self) -> Result<Option<Holder>, Box<dyn Error + Send + Sync>> {
        let client = self.database.connect_patiently().await?;
        let [rows] = query(&client, [(HOLDER, &[])]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let mut columns = Columns::from(row);
        Ok(Some(Holder {
            pid: columns.read()?,
            user: columns.read()?,
            application: columns.read()?,
            seconds: columns.read()?,
        }))
    }
}

struct Holder {
    pid: i64,
    user: String,
    application: String,
    /// Since the transaction began.
    seconds: i64,
}
