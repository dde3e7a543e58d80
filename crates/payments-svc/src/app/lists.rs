//! Lists of an app or a merchant. They are read one piece at a time, so that a long list is never
//! in memory as a whole.

use futures_util::{FutureExt as _, future::BoxFuture};
use payments_domain::{
    ApiKeyDetails, ApiKeyDigest, App, BalanceLine, Dispute, Event, FraudAlert, Id, MAX_PAGE_SIZE,
    Merchant, PageQuery, Payout, Transaction, TransactionTerms, Webhook, write::AttemptRow,
};

use super::{access::Credentials, error::Error, payments::Payments};
use crate::store::{
    EventFilter, Found, LogEntry, Member, Owner, Range, Store, StoreError, TransactionFilter,
};

/// Reads one piece of a list.
pub(crate) type List<T> =
    Box<dyn Fn(PageQuery) -> BoxFuture<'static, Result<Vec<T>, StoreError>> + Send + Sync>;

impl Payments {
    pub(super) fn list<T, F>(
        &self,
        read: impl Fn(Store, PageQuery) -> F + Send + Sync + 'static,
    ) -> List<T>
    where
        F: Future<Output = Result<Vec<T>, StoreError>> + Send + 'static,
    {
        let store = self.store.clone();
        Box::new(move |page_query| read(store.clone(), page_query).boxed())
    }

    /// `test`: `Some(true)` for test merchants, `Some(false)` for live merchants, `None` for both.
    pub(crate) fn merchants(&self, app: Id, test: Option<bool>) -> List<Merchant> {
        self.list(move |store, page_query| store.merchants(app, page_query, test))
    }

    pub(crate) fn users(&self, merchant: Id) -> List<Member> {
        self.list(move |store, page_query| store.users(merchant, page_query))
    }

    pub(crate) fn apps(&self, merchant: Id) -> List<App> {
        self.list(move |store, page_query| store.apps(merchant, page_query))
    }

    pub(crate) fn api_keys(&self, app: Id) -> List<ApiKeyDetails> {
        self.list(move |store, page_query| store.api_keys(app, page_query))
    }

    pub(crate) fn lines(&self, merchant: Id, created: Range) -> List<BalanceLine> {
        self.list(move |store, page_query| store.lines(merchant, page_query, created))
    }

    pub(crate) fn webhooks(&self, app: Id) -> List<Webhook> {
        self.list(move |store, page_query| store.webhooks(app, page_query))
    }

    /// The last attempts to deliver events to an endpoint.
    pub(crate) fn deliveries(&self, webhook: Id) -> List<AttemptRow> {
        self.list(move |store, page_query| store.deliveries(webhook, page_query))
    }

    pub(crate) fn transactions(
        &self,
        merchant: Id,
        filter: TransactionFilter,
    ) -> List<Transaction> {
        self.list(move |store, page_query| store.transactions(merchant, page_query, filter.clone()))
    }

    /// Like [`Self::transactions`], without their trails.
    pub(crate) fn found(&self, merchant: Id, filter: TransactionFilter) -> List<Transaction> {
        self.list(move |store, page_query| {
            store.bare_transactions(merchant, page_query, filter.clone())
        })
    }

    /// The disputes of a merchant, or of one of its transactions; `None` if the transaction is not
    /// the merchant's. Fails if there is no such merchant, or the app is not a member of it.
    pub(crate) async fn disputes(
        &self,
        caller: &Credentials,
        (merchant, transaction): (Id, Option<Id>),
    ) -> Result<Option<List<Dispute>>, Error> {
        let about = self.about(caller, merchant, transaction).await?;
        Ok(about.map(|about| self.list(move |store, page_query| store.disputes(about, page_query))))
    }

    /// Like [`Self::disputes`], for fraud alerts.
    pub(crate) async fn frauds(
        &self,
        caller: &Credentials,
        (merchant, transaction): (Id, Option<Id>),
    ) -> Result<Option<List<FraudAlert>>, Error> {
        let about = self.about(caller, merchant, transaction).await?;
        Ok(about.map(|about| self.list(move |store, page_query| store.frauds(about, page_query))))
    }

    /// The payouts of a merchant. Fails as [`Self::disputes`] does.
    pub(crate) async fn payouts(
        &self,
        caller: &Credentials,
        merchant: Id,
    ) -> Result<List<Payout>, Error> {
        self.about(caller, merchant, None).await?;
        Ok(self.payouts_of(merchant))
    }

    pub(crate) fn payouts_of(&self, merchant: Id) -> List<Payout> {
        self.list(move |store, page_query| store.payouts(merchant, page_query))
    }

    /// The lines that a payout paid.
    pub(crate) fn lines_of_payout(&self, payout: Payout) -> List<BalanceLine> {
        self.list(move |store, page_query| store.lines_of_payout(payout.clone(), page_query))
    }

    /// The events of a merchant, or of all merchants of the app. Fails as [`Self::disputes`] does.
    pub(crate) async fn events(
        &self,
        caller: &Credentials,
        filter: EventFilter,
    ) -> Result<List<Event>, Error> {
        if let Some(merchant) = filter.merchant {
            self.about(caller, merchant, None).await?;
        }
        let app = caller.app.id;
        Ok(self.list(move |store, page_query| store.events(app, filter, page_query)))
    }

    /// All events of a merchant.
    pub(crate) fn events_of_merchant(&self, merchant: Id) -> List<Event> {
        let filter = EventFilter { merchant: Some(merchant), event_type: None };
        self.list(move |store, page_query| store.events(merchant, filter, page_query))
    }

    /// What was done to the members of a merchant, and to the keys and webhooks of those of its apps
    /// that the user manages.
    pub(crate) async fn log(&self, user: Id, merchant: Id) -> Result<List<LogEntry>, Error> {
        let all = PageQuery { limit: MAX_PAGE_SIZE, before: None, after: None };
        let apps = self.apps_of_user(user, merchant)(all).await?.into_iter();
        let apps = apps.filter(|(_, manages)| *manages).map(|(app, _)| app.id);
        let owners: Vec<Id> = apps.chain([merchant]).collect();
        Ok(self.list(move |store, page_query| store.log(owners.clone(), page_query)))
    }

    async fn about(
        &self,
        caller: &Credentials,
        merchant: Id,
        transaction: Option<Id>,
    ) -> Result<Option<Owner>, Error> {
        match self.store.resource::<Merchant>(merchant, caller.key).await? {
            None => return Err(Error::field("filter.merchantId", "is not the ID of a merchant")),
            Some(Found { is_member: false, .. }) => return Err(Error::Forbidden),
            Some(_) => {}
        }
        let Some(transaction) = transaction else { return Ok(Some(Owner::Merchant(merchant))) };
        let found = self.store.resource(transaction, ApiKeyDigest::NONE).await?;
        let own = found.filter(|found: &Found<TransactionTerms>| found.value.merchant == merchant);
        Ok(own.map(|_| Owner::Transaction(transaction)))
    }
}
