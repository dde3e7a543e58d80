//! Reads for the command `returns`.

use std::collections::HashMap;

use common::sql::Stored as _;
use payments_domain::{Id, Payout, SepaMessage, write::PayoutRow};

use super::{Store, StoreError};

/// The payouts of the SEPA file whose message ID consists of `$1` and `$2`, after `$3`.
const OF_FILE: &str = "SELECT payouts.id
     FROM payouts AS first JOIN payouts ON payouts.day = first.day
         AND payouts.test = first.test AND payouts.format = first.format
     WHERE first.id = $1 AND first.day = $2 AND first.format = 'pain001' AND payouts.id > $3
         AND NOT EXISTS (
             SELECT 1 FROM payouts AS earlier
             WHERE earlier.day = first.day AND earlier.test = first.test
                 AND earlier.format = first.format AND earlier.id < first.id
         )
     ORDER BY payouts.id LIMIT 1000";

impl Store {
    /// Payouts by their IDs.
    pub(crate) async fn payouts_by_id(
        &self,
        ids: &[Id],
    ) -> Result<HashMap<Id, Payout>, StoreError> {
        let found = self.rows_by_id::<PayoutRow>(ids).await?;
        Ok(found.into_iter().map(|(id, row)| (id, row.payout())).collect())
    }

    /// The first of the payouts of a SEPA file after the payout `after`, in order of their IDs. None
    /// if there is no such file.
    pub(crate) async fn payouts_of_file(
        &self,
        file: SepaMessage,
        after: Id,
    ) -> Result<Vec<Id>, StoreError> {
        let params = [file.first.param(), file.day.param(), after.param()];
        self.query_all(OF_FILE, &params, |columns| columns.read()).await
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::sqlite::tests::{database, plan},
        *,
    };

    #[test]
    fn the_payouts_of_a_file_are_found_by_its_day() {
        let plan = plan(&database(), OF_FILE);
        assert!(!plan.iter().any(|step| step.starts_with("SCAN")), "{plan:?}");
    }
}
