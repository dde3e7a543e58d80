//! Reads for the first page of a merchant at the desk.

use common::sql::{Group as _, Param, Stored as _};
use payments_domain::{Id, Webhook};

use super::{Store, StoreError, desk::manages};

/// The endpoints that the service has disabled, at most `$3`: of the apps of the merchant `$2` that
/// the user `$1` manages. Others must not see their addresses, which can contain secrets.
fn disabled() -> String {
    format!(
        "merchant_apps JOIN apps ON apps.id = merchant_apps.app
             JOIN webhooks ON webhooks.app = apps.id
         WHERE {} AND merchant_apps.merchant = $2 AND disabled <> 'request'
         ORDER BY webhooks.id LIMIT $3",
        manages("$1")
    )
}

/// The maximum number of endpoints.
const MOST: Param<'static> = Param::Int(10);

impl Store {
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
        let plan = plan(&database(), &format!("SELECT webhooks.id FROM {}", disabled()));
        let is_search = |step: &String| !step.starts_with("SCAN");
        assert!(plan.iter().all(is_search), "{plan:?}");
    }
}
