//! Reads for the first page of a merchant at the desk.

use common::sql::{Group as _, Param, Stored as _};
use jiff::Timestamp;
use payments_domain::{Id, Webhook};

use super::{Range, Store, StoreError, desk::MANAGES};

/// The sum of the captures of the merchant `$1` since `$3`. No line since then has an ID up to `$2`.
const CAPTURED: &str = "SELECT CAST(coalesce(sum(balance), 0) AS bigint) FROM lines
     WHERE merchant = $1 AND id > $2 AND kind = 'capture' AND amount > 0 AND created > $3";

/// The endpoints that the service has disabled, at most `$3`: of the apps of the merchant `$2` that
/// the user `$1` manages. Others must not see their addresses, which can contain secrets.
fn disabled() -> String {
    format!(
        "merchant_apps JOIN apps ON apps.id = merchant_apps.app
             JOIN webhooks ON webhooks.app = apps.id
         WHERE {MANAGES} AND merchant_apps.merchant = $2 AND disabled <> 'request'
         ORDER BY webhooks.id LIMIT $3"
    )
}

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

    pub(crate) async fn disabled_webhooks(
        &self,
        user: Id,
        merchant: Id,
    ) -> Result<Vec<Webhook>, StoreError> {
        let sql = format!("SELECT {} FROM {}", Webhook::of("webhooks"), disabled());
        self.query_all(&sql, &[user.param(), merchant.param(), MOST], Webhook::read).await
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
        for sql in [CAPTURED, &format!("SELECT webhooks.id FROM {}", disabled())] {
            let plan = plan(&database(), sql);
            let is_search = |step: &String| !step.starts_with("SCAN");
            assert!(plan.iter().all(is_search), "{plan:?}");
        }
    }
}
