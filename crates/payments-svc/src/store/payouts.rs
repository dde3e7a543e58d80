//! Payouts, booked by the `payout` command. Running services can keep using the store.
//!
//! A run may be interrupted at any point and started again: a write pays one merchant at most once
//! in a run, and a closed run makes no more payouts.

use std::{sync::LazyLock, time::Duration};

use common::{
    progress::Progress,
    sql::{ColumnError, Columns, Group as _, Param},
};
use payments_domain::{
    Currency, Iban, Id, PayoutRequest, PayoutRun,
    actions::PayOut,
    write::{PayoutRow, Write},
};

use super::{PaidRun, PayoutError, rows};

const OPEN: &str =
    "INSERT INTO payout_runs (day, test, format) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";

/// Selects merchants with a bank account and a positive balance. Selects no rows if the run is
/// closed.
const MERCHANTS_TO_PAY: &str = "SELECT id, currency, iban
     FROM merchants JOIN balances ON balances.merchant = id
     WHERE NOT EXISTS (
         SELECT 1 FROM payout_runs
         WHERE day = $1 AND payout_runs.test = $2 AND format = $3 AND closed
     ) AND merchants.test = $2 AND iban IS NOT NULL
     GROUP BY id HAVING sum(balance) > 0 ORDER BY id";

const CLOSE: &str = "UPDATE payout_runs SET closed = true
     WHERE day = $1 AND test = $2 AND format = $3 AND NOT closed";

/// The payouts of a run, in order of creation.
static PAYOUTS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM payouts WHERE day = $1 AND test = $2 AND format = $3 ORDER BY id",
        PayoutRow::of("payouts")
    )
});

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

/// Pays the merchants of the run that its format reaches, and closes it, unless it is closed.
/// Captures younger than `delay` are not paid.
pub(super) async fn pay_out<D: PayoutDatabase>(
    database: &mut D,
    run: PayoutRun,
    delay: Duration,
    progress: &Progress,
) -> Result<PaidRun, PayoutError> {
    let no_rows = |_: &mut Columns<'_>| Ok(());
    let params = rows::payout_run(&run);
    database.query(OPEN, &params, no_rows).await?;
    let account = |columns: &mut Columns<'_>| {
        Ok((columns.read::<Id>()?, columns.read::<Currency>()?, columns.read::<Iban>()?))
    };
    let (reached, others): (Vec<_>, Vec<_>) = database
        .query(MERCHANTS_TO_PAY, &params, account)
        .await?
        .into_iter()
        .partition(|(_, currency, iban)| run.format.reaches(*currency, iban));
    progress.begin("merchants", reached.len().try_into().unwrap_or(u64::MAX));
    for (merchant, ..) in reached {
        progress.check()?;
        // The write does nothing if another process has paid the merchant in the meantime.
        database.write(PayOut(PayoutRequest { run, merchant, delay }).into()).await?;
        progress.advance();
    }
    progress.check()?;
    database.query(CLOSE, &params, no_rows).await?;
    let payouts = database.query(&PAYOUTS, &params, PayoutRow::read).await?;
    let payouts = payouts.into_iter().map(PayoutRow::payout).collect();
    let left_out = others.into_iter().map(|(_, currency, iban)| (currency, iban)).collect();
    Ok(PaidRun { payouts, left_out })
}
