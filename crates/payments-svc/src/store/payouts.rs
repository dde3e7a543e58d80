//! Reads of the `payout` command.

use std::sync::LazyLock;

use common::sql::{Group as _, Stored as _};
use payments_domain::{Merchant, PayoutRun, write::PayoutRow};

use super::{Store, StoreError, rows};

/// Selects merchants with a bank account and a positive balance.
static MERCHANTS_TO_PAY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM merchants JOIN balances ON balances.merchant = id
         WHERE merchants.test = $1 AND iban IS NOT NULL
         GROUP BY id HAVING sum(balances.balance) > 0 ORDER BY id",
        Merchant::of("merchants")
    )
});

/// The payouts of a run, in order of creation.
static PAYOUTS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM payouts WHERE day = $1 AND test = $2 AND format = $3 ORDER BY id",
        PayoutRow::of("payouts")
    )
});

/// The runs of earlier days in the same format that have payouts and are not closed.
static INTERRUPTED: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM payout_runs
         WHERE day < $1 AND test = $2 AND format = $3 AND NOT closed AND EXISTS (
             SELECT 1 FROM payouts WHERE payouts.day = payout_runs.day
                 AND payouts.test = payout_runs.test AND payouts.format = payout_runs.format
         ) ORDER BY day",
        PayoutRun::of("payout_runs")
    )
});

impl Store {
    /// The merchants with a balance and an account.
    pub(crate) async fn merchants_to_pay(&self, test: bool) -> Result<Vec<Merchant>, StoreError> {
        self.query_all(&MERCHANTS_TO_PAY, &[test.param()], Merchant::read).await
    }

    /// The payouts of a run, in order of creation.
    pub(crate) async fn payouts_of_run(
        &self,
        run: PayoutRun,
    ) -> Result<Vec<PayoutRow>, StoreError> {
        self.query_all(&PAYOUTS, &rows::payout_run(&run), PayoutRow::read).await
    }

    /// The runs of earlier days in the same format that have payouts and are not closed.
    pub(crate) async fn interrupted_runs_before(
        &self,
        run: PayoutRun,
    ) -> Result<Vec<PayoutRun>, StoreError> {
        self.query_all(&INTERRUPTED, &rows::payout_run(&run), PayoutRun::read).await
    }
}
