//! Payouts, booked by the `payout` command. Running services can keep using the store.
//!
//! A run may be interrupted at any point and started again: a write pays one merchant at most once
//! in a run, and a closed run makes no more payouts.

use common::{
    progress::Progress,
    sql::{ColumnError, Columns, Param},
};

use super::{PayoutError, rows};
use crate::domain::{
    Id, Payout, PayoutRun,
    write::{Action, Write},
};

const OPEN: &str = "INSERT INTO payout_runs (day, test) VALUES ($1, $2) ON CONFLICT DO NOTHING";

/// Selects merchants with a bank account and a positive balance. Selects no rows if the run is
/// closed.
const MERCHANTS_TO_PAY: &str = "SELECT id FROM merchants JOIN balances ON balances.merchant = id
     WHERE test = $1 AND iban IS NOT NULL AND NOT EXISTS (
         SELECT 1 FROM payout_runs WHERE payout_runs.test = $1 AND day = $2 AND closed
     )
     GROUP BY id HAVING sum(balance) > 0 ORDER BY id";

const CLOSE: &str =
    "UPDATE payout_runs SET closed = true WHERE day = $1 AND test = $2 AND NOT closed";

/// The payouts of a run, in order of creation: [`rows::PAYOUT`].
const PAYOUTS: &str = "SELECT id, line, merchant, name, iban, currency, amount FROM payouts
     WHERE day = $1 AND test = $2 ORDER BY id";

/// The part of an engine that the `payout` command needs.
pub(super) trait PayoutDatabase {
    /// Executes a statement and reads its rows.
    async fn query<T: Send>(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        read: fn(&mut Columns<'_>) -> Result<T, ColumnError>,
    ) -> Result<Vec<T>, PayoutError>;

    /// Commits a batch of one write. Does not return whether the write was rejected: a rejection
    /// changes nothing, and the run continues.
    async fn write(&mut self, write: Write) -> Result<(), PayoutError>;
}

/// Pays the balances of all merchants of the run and closes it, unless it is closed. Returns all
/// payouts of the run.
pub(super) async fn pay_out<D: PayoutDatabase>(
    database: &mut D,
    run: PayoutRun,
    progress: &Progress,
) -> Result<Vec<Payout>, PayoutError> {
    let no_rows = |_: &mut Columns<'_>| Ok(());
    let day = || Param::Text(run.day.to_string().into());
    let run_params = [day(), Param::Bool(run.test)];
    database.query(OPEN, &run_params, no_rows).await?;
    let id = |columns: &mut Columns<'_>| columns.read::<Id>();
    let merchants = database.query(MERCHANTS_TO_PAY, &[Param::Bool(run.test), day()], id).await?;
    progress.begin("merchants", merchants.len().try_into().unwrap_or(u64::MAX));
    for merchant in merchants {
        progress.check()?;
        // The write does nothing if another process has paid the merchant in the meantime.
        database.write(Action::PayOut { run, merchant }.into()).await?;
        progress.advance();
    }
    progress.check()?;
    database.query(CLOSE, &run_params, no_rows).await?;
    database.query(PAYOUTS, &run_params, rows::payout).await
}
