//! Payouts in PostgreSQL, written by a command while any number of services use the database.

use common::{
    postgres::{Database, Error, Pool, query_all},
    sql::{ColumnError, Columns, Param},
};

use super::{
    super::{
        DatabaseConfig, PayoutError,
        batch::{Decision, decide},
        payouts::{self, Books},
    },
    batch::{load, write as write_changes},
    to_sql,
};
use crate::domain::{Payout, PayoutRun, write::Write};

pub(in super::super) async fn pay_out(
    config: &DatabaseConfig,
    run: PayoutRun,
) -> Result<Vec<Payout>, PayoutError> {
    let database = Database::of(config)?;
    // Fails with the reason if the database cannot be reached.
    drop(database.connect().await?);
    let mut pool = Pool::new(&database, 1, "")?;
    Ok(payouts::pay_out(&mut pool, run).await?)
}

impl Books for Pool {
    type Error = Error;

    async fn query<T: Send>(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        read: fn(&mut Columns<'_>) -> Result<T, ColumnError>,
    ) -> Result<Vec<T>, Error> {
        let params = to_sql(params);
        let statements = [(sql, &*params)];
        let results = self.acquire(async |session| query_all(session, &statements).await).await?;
        let values = results.iter().flatten().map(|row| read(&mut Columns::from(row)));
        Ok(values.collect::<Result<_, _>>()?)
    }

    async fn write(&mut self, write: Write) -> Result<Decision, Error> {
        let mut open = self.transaction().await?;
        let (known, _) = load(&mut open, &[&write]).await?;
        let decided = decide(known, &[&write]).map_err(|_| Error::NoRow)?;
        if !decided.changes.is_empty() {
            write_changes(open, &decided.changes).await?;
        }
        decided.answers.into_iter().next().ok_or(Error::NoRow)
    }
}
