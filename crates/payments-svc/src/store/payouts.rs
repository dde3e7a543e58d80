//! Payouts, made by a command while services may use the store.

use common::sql::{ColumnError, Columns, Param};

use super::{batch::Decision, rows};
use crate::domain::{
    Id, Payout, PayoutRun,
    write::{Action, Write},
};

const OPEN: &str = "INSERT INTO payout_runs (day, test) VALUES ($1, $2) ON CONFLICT DO NOTHING";

/// Merchants that something may be due to, unless the run is closed.
const CREDITORS: &str = "SELECT id FROM merchants JOIN balances ON balances.merchant = id
     WHERE test = $1 AND iban IS NOT NULL AND NOT EXISTS (
         SELECT 1 FROM payout_runs WHERE payout_runs.test = $1 AND day = $2 AND closed
     )
     GROUP BY id HAVING sum(balance) > 0 ORDER BY id";

const CLOSE: &str =
    "UPDATE payout_runs SET closed = true WHERE day = $1 AND test = $2 AND NOT closed";

/// The payouts of a run, in the order in which they were made.
const PAYOUTS: &str = "SELECT id, line, merchant, name, iban, currency, amount FROM payouts
     WHERE day = $1 AND test = $2 ORDER BY id";

/// An engine, as the command uses it.
pub(super) trait Books {
    /// Why the database did not do it.
    type Error;

    /// Executes a statement and reads its rows.
    async fn ask<T: Send>(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        read: fn(&mut Columns<'_>) -> Result<T, ColumnError>,
    ) -> Result<Vec<T>, Self::Error>;

    /// Runs a batch of one write.
    async fn write(&mut self, write: Write) -> Result<Decision, Self::Error>;
}

/// Pays every merchant to whom something is due, unless the run is closed, and closes it. Returns
/// all payouts of the run.
pub(super) async fn pay_out<B: Books>(
    books: &mut B,
    run: PayoutRun,
) -> Result<Vec<Payout>, B::Error> {
    let nothing = |_: &mut Columns<'_>| Ok(());
    let day = || Param::Text(run.day.to_string().into());
    let of_run = [day(), Param::Bool(run.test)];
    books.ask(OPEN, &of_run, nothing).await?;
    let id = |columns: &mut Columns<'_>| columns.read::<Id>();
    for merchant in books.ask(CREDITORS, &[Param::Bool(run.test), day()], id).await? {
        // A merchant that was paid by another run of the command is left out.
        let _ = books.write(Action::PayOut { run, merchant }.into()).await?;
    }
    books.ask(CLOSE, &of_run, nothing).await?;
    books.ask(PAYOUTS, &of_run, rows::payout).await
}
