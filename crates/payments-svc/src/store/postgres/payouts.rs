//! Payouts in PostgreSQL, written by a command while any number of services use the database.

use std::time::Duration;

use common::{
    postgres::{Database, Error, Pool, query_all},
    progress::Progress,
    sql::{ColumnError, Columns, Param},
};
use payments_domain::{PayoutRun, write::Write};

use super::{
    super::{
        DatabaseConfig, PaidRun, PayoutError,
        batch::decide,
        payouts::{self, PayoutDatabase},
    },
    batch::{SETTINGS, load, write as write_changes},
    to_sql,
};

pub(in super::super) async fn pay_out(
    config: &DatabaseConfig,
    run: PayoutRun,
    delay: Duration,
    progress: &Progress,
) -> Result<PaidRun, PayoutError> {
    let database = Database::of(config)?;
    // Fails with the reason if the database cannot be reached.
    drop(database.connect().await?);
    let mut pool = Pool::new(&database, 1, SETTINGS)?;
    payouts::pay_out(&mut pool, run, delay, progress).await
}

impl PayoutDatabase for Pool {
    async fn query<T: Send>(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        read: fn(&mut Columns<'_>) -> Result<T, ColumnError>,
    ) -> Result<Vec<T>, PayoutError> {
        let params = to_sql(params);
        let statements = [(sql, &*params)];
        let results = self.acquire(async |session| query_all(session, &statements).await).await?;
        let values = results.iter().flatten().map(|row| read(&mut Columns::from(row)));
        Ok(values.collect::<Result<_, _>>().map_err(Error::from)?)
    }

    async fn write(&mut self, write: Write) -> Result<(), PayoutError> {
        let mut open = self.transaction().await?;
        let (known, _) = load(&mut open, &[&write]).await?;
        let decided = decide(known, &[&write]).map_err(|_| PayoutError::Panicked)?;
        if !decided.changes.is_empty() {
            write_changes(open, &decided.changes).await?;
        }
        Ok(())
    }
}
