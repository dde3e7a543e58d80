//! Payouts, booked by the `payout` command. Services may use the store meanwhile.
//!
//! A run may be interrupted at any point and started again: a write pays one merchant at most once
//! in a run, and a closed run makes no more payouts.

use common::sql::{ColumnError, Columns, Param};

use super::{batch::Decision, rows};
use crate::domain::{
    Id, Payout, PayoutRun,
    write::{Action, Write},
};

const OPEN: &str = "INSERT INTO payout_runs (day, test) VALUES ($1, $2) ON CONFLICT DO NOTHING";

/// Merchants with a bank account and a positive balance. None if the run is closed.
const CREDITORS: &str = "SELECT id FROM merchants JOIN balances ON balances.merchant = id
     WHERE test = $1 AND iban IS NOT NULL AND NOT EXISTS (
         SELECT 1 FROM payout_runs WHERE payout_runs.test = $1 AND day = $2 AND closed
     )
     GROUP BY id HAVING sum(balance) > 0 ORDER BY id";

const CLOSE: &str =
    "UPDATE payout_runs SET closed = true WHERE day = $1 AND test = $2 AND NOT closed";

/// The payouts of a run, in order of creation.
const PAYOUTS: &str = "SELECT id, line, merchant, name, iban, currency, amount FROM payouts
     WHERE day = $1 AND test = $2 ORDER BY id";

/// The operations that the command needs of an engine.
pub(super) trait Books {
    type Error;

    /// Executes a statement and reads its rows.
    async fn query<T: Send>(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        read: fn(&mut Columns<'_>) -> Result<T, ColumnError>,
    ) -> Result<Vec<T>, Self::Error>;

    /// Commits a batch of one write.
    async fn write(&mut self, write: Write) -> Result<Decision, Self::Error>;
}

/// Pays the balances of all merchants of the run and closes it, unless it is closed. Returns all
/// payouts of the run.
pub(super) async fn pay_out<B: Books>(
    books: &mut B,
    run: PayoutRun,
) -> Result<Vec<Payout>, B::Error> {
    let no_rows = |_: &mut Columns<'_>| Ok(());
    let day = || Param::Text(run.day.to_string().into());
    let run_params = [day(), Param::Bool(run.test)];
    books.query(OPEN, &run_params, no_rows).await?;
    let id = |columns: &mut Columns<'_>| columns.read::<Id>();
    for merchant in books.query(CREDITORS, &[Param::Bool(run.test), day()], id).await? {
        // The write does nothing if another process has paid the merchant meanwhile.
        let _ = books.write(Action::PayOut { run, merchant }.into()).await?;
    }
    books.query(CLOSE, &run_params, no_rows).await?;
    books.query(PAYOUTS, &run_params, rows::payout).await
}
