//! Payouts, made beside any number of services.

use common::{
    postgres::{Database, Error, Pool, ask_all},
    sql::{ColumnError, Columns, Param},
};

use super::{
    super::{
        DatabaseConfig, PayoutError,
        batch::{Decision, decide},
        payouts::{self, Books},
    },
    batch::{load, write},
    params,
};
use crate::domain::{Payout, PayoutRun, write::Write};

pub(in super::super) async fn pay_out(
    config: &DatabaseConfig,
    run: PayoutRun,
) -> Result<Vec<Payout>, PayoutError> {
    let database = Database::of(config)?;
    // A URL that leads nowhere is told as such.
    drop(database.connect().await?);
    let mut pool = Pool::new(&database, 1, "")?;
    Ok(payouts::pay_out(&mut pool, run).await?)
}

impl Books for Pool {
    type Error = Error;

    async fn ask<T: Send>(
        &mut self,
        sql: &'static str,
        asked: &[Param<'_>],
        read: fn(&mut Columns<'_>) -> Result<T, ColumnError>,
    ) -> Result<Vec<T>, Error> {
        let params = params(asked);
        let asked = [(sql, &*params)];
        let answers = self.acquire(async |session| ask_all(session, &asked).await).await?;
        let things = answers.iter().flatten().map(|row| read(&mut Columns::from(row)));
        Ok(things.collect::<Result<_, _>>()?)
    }

    async fn write(&mut self, asked: Write) -> Result<Decision, Error> {
        let mut open = self.transaction().await?;
        let (known, _) = load(&mut open, &[&asked]).await?;
        let decided = decide(known, &[&asked]).map_err(|_| Error::NoRow)?;
        if !decided.changes.is_empty() {
            write(open, &decided.changes).await?;
        }
        decided.answers.into_iter().next().ok_or(Error::NoRow)
    }
}
