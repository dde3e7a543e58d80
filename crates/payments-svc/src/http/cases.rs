//! The lists of disputes and of suspicions: what they are about, and who may see them.

use axum::response::Response;

use super::{
    Api, Error,
    fields::Fields,
    page::{self, Item},
};
use crate::{
    domain::{App, Id, Window},
    store::{About, Found, Store, StoreError},
};

/// The cases that a query asks for, as `read` gives them.
pub(super) async fn list<T: Item, F>(
    api: &Api,
    app: &App,
    query: Option<&str>,
    read: fn(Store, About, Window) -> F,
) -> Result<Response, Error>
where
    F: Future<Output = Result<Vec<T>, StoreError>> + Send + 'static,
{
    let Some((about, window)) = asked(api, app, query).await? else { return Ok(page::empty()) };
    let store = api.store.clone();
    page::list(&api.responses, window, move |window| read(store.clone(), about, window)).await
}

/// Which cases a query asks for: those of a merchant of the app, or of one of its transactions.
/// None, if the transaction is not the merchant's.
async fn asked(
    api: &Api,
    app: &App,
    query: Option<&str>,
) -> Result<Option<(About, Window)>, Error> {
    let filters = |fields: &mut Fields<'_>| {
        let mut filter = fields.object("filter");
        let merchant = filter.required("merchantId", str::parse);
        let transaction = filter.given("transactionId", str::parse);
        Ok::<(Id, Option<Id>), _>((merchant?, transaction?))
    };
    let (window, (merchant, transaction)) = page::read(query, filters)?;
    match api.store.merchant(merchant, app.id).await? {
        None => return Err(Error::field("filter.merchantId", "is no merchant")),
        Some(Found { is_member: false, .. }) => return Err(Error::Forbidden),
        Some(_) => {}
    }
    let Some(transaction) = transaction else {
        return Ok(Some((About::Merchant(merchant), window)));
    };
    let found = api.store.reservation_of(transaction).await?;
    let own = found.filter(|reservation| reservation.merchant == merchant);
    Ok(own.map(|_| (About::Transaction(transaction), window)))
}
