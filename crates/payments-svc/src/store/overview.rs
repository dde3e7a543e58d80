//! Reads for the first page of a merchant at the desk.

use common::sql::{Group as _, Param, Stored as _};
use jiff::Timestamp;
use payments_domain::{Id, Webhook};

use super::{Range, Store, StoreError};

/// The sum of the captures of the merchant `$1` since `$3`. No line since then has an ID up to `$2`.
const CAPTURED: &str = "SELECT CAST(coalesce(sum(balance), 0) AS bigint) FROM lines
     WHERE merchant = $1 AND id > $2 AND kind = 'capture' AND created > $3";

/// The endpoints of the apps of the merchant `$1` that the service has disabled, at most `$2`.
const DISABLED: &str = "merchant_apps JOIN webhooks ON webhooks.app = merchant_apps.app
     WHERE merchant_apps.merchant = $1 AND disabled <> 'request' ORDER BY webhooks.id LIMIT $2";

/// The maximum number of endpoints.
const MOST: Param<'static> = Param::Int(10);

impl Store {
    /// What the captures since a time have changed the balance of a merchant by.
    pub(crate) async fn captured_since(
        &self,
        merchant: Id,
        since: Timestamp,
    ) -> Result<i64, StoreError> {
        let [after, _] = Range { from: Some(since), to: None }.ids();
        let params = [merchant.param(), after.param(), since.param()];
        let sum = self.query_all(CAPTURED, &params, |columns| columns.read()).await?;
        Ok(sum.first().copied().unwrap_or(0))
    }

    pub(crate) async fn disabled_webhooks(&self, merchant: Id) -> Result<Vec<Webhook>, StoreError> {
        let sql = format!("SELECT {} FROM {DISABLED}", Webhook::of("webhooks"));
        self.query_all(&sql, &[merchant.param(), MOST], Webhook::read).await
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::sqlite::tests::{database, plan},
        *,
    };

    #[test]
    fn indexes_find_what_the_overview_shows() {
        for sql in [CAPTURED, &format!("SELECT webhooks.id FROM {DISABLED}")] {
            let plan = plan(&database(), sql);
            let is_search = |step: &String| !step.starts_with("SCAN");
            assert!(plan.iter().all(is_search), "{plan:?}");
        }
    }
}
