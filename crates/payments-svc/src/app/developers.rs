//! What users do with the keys and webhooks of apps.

use std::time::Duration;

use payments_domain::{
    App, Id, PageQuery, Webhook,
    write::{KeyRow, KeyedRequest, WebhookRow},
};

use super::{error::Error, lists::List, payments::Payments};

/// The time in which a browser repeats a request because its user has clicked twice.
const DOUBLE_CLICK: Duration = Duration::from_secs(10);

impl Payments {
    /// The apps of a merchant, each with whether the user may manage its keys and webhooks.
    ///
    /// Decision: they serve all merchants of the app, so the user must be a member of each.
    pub(crate) fn apps_of_user(&self, user: Id, merchant: Id) -> List<(App, bool)> {
        self.list(move |store, PageQuery { limit, before, .. }| {
            let range = [Id::MIN, before.unwrap_or(Id::MAX)];
            store.apps_of_user((user, merchant), range, limit)
        })
    }

    /// An app of the merchant, whose keys and webhooks the user may manage.
    pub(crate) async fn managed_app(&self, user: Id, merchant: Id, app: Id) -> Result<App, Error> {
        let store = self.store.clone();
        let found = store.apps_of_user((user, merchant), [app, app.successor()], 1).await?.pop();
        let managed = found.filter(|(_, manages)| *manages);
        managed.map(|(app, _)| app).ok_or(Error::NotFound)
    }

    /// An endpoint of the app.
    pub(crate) async fn webhook_of_app(&self, app: Id, webhook: Id) -> Result<Webhook, Error> {
        let row = self.row::<WebhookRow>(&webhook).await?.filter(|row| row.app == app);
        row.map(|row| row.webhook()).ok_or(Error::NotFound)
    }

    /// Whether the first request with this key was made a moment ago.
    pub(crate) async fn is_double_click(&self, keyed: &KeyedRequest) -> Result<bool, Error> {
        let first = self.row::<KeyRow>(&(keyed.app, keyed.key.clone())).await?;
        let now = self.store.database_time().await?;
        let end = first.and_then(|first| first.created.checked_add(DOUBLE_CLICK).ok());
        Ok(end.is_some_and(|end| now < end))
    }
}
