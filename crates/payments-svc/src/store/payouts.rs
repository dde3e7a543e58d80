//! Reads of the `payout` command.

use std::sync::LazyLock;

use common::sql::{Columns, Group as _};
use payments_domain::{Currency, Iban, Id, PayoutRun, write::PayoutRow};

use super::{Store, StoreError, rows};

/// Selects merchants with a bank account and a positive balance. Selects no rows if the run is
/// closed.
const MERCHANTS_TO_PAY: &str = "SELECT id, currency, iban
     FROM merchants JOIN balances ON balances.merchant = id
     WHERE NOT EXISTS (
         SELECT 1 FROM payout_runs
         WHERE day = $1 AND payout_runs.test = $2 AND format = $3 AND closed
     ) AND merchants.test = $2 AND iban IS NOT NULL
     GROUP BY id HAVING sum(balance) > 0 ORDER BY id";

/// The payouts of a run, in order of creation.
static PAYOUTS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM payouts WHERE day = $1 AND test = $2 AND format = $3 ORDER BY id",
        PayoutRow::of("payouts")
    )
});

impl Store {
    /// The merchants with a balance and an account, and their currencies and accounts. None if the
    /// run is closed.
    pub(crate) async fn merchants_to_pay(
        &self,
        run: PayoutRun,
    ) -> Result<Vec<(Id, Currency, Iban)>, StoreError> {
        let account =
            |columns: &mut Columns<'_>| Ok((columns.read()?, columns.read()?, columns.read()?));
        self.query_all(MERCHANTS_TO_PAY, &rows::payout_run(&run), account).await
    }

    /// The payouts of a run, in order of creation.
    pub(crate) async fn payouts_of_run(
        &self,
        run: PayoutRun,
    ) -> Result<Vec<PayoutRow>, StoreError> {
        self.query_all(&PAYOUTS, &rows::payout_run(&run), PayoutRow::read).await
    }
}
