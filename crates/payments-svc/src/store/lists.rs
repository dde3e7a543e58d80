//! Lists of one owner (an app, a merchant or a transaction), in the order of IDs.
//!
//! 1. A page is a range of IDs of one owner. An index in the order of the list serves it, so a page
//!    costs the same wherever it is in the list. A test checks the query plans in SQLite.
//! 2. In PostgreSQL, database transactions can commit in another order than the order of their IDs.
//!    A caller that continues after the last item of a page would then miss an item with a smaller
//!    ID that is committed later.
//! 3. So a page with `after` shows only settled items: those with an ID up to a limit, such that no
//!    open database transaction can add an item with an ID up to this limit. [`Store::settled`]
//!    waits for this, up to a second.
//! 4. A page without `after` does not wait, and shows everything that is committed. In SQLite,
//!    everything is settled, because one database transaction writes at a time.

use std::collections::HashMap;

use common::sql::{ColumnError, Columns, Group as _, Param, Stored as _};
use payments_domain::{
    ApiKeyDetails, App, BalanceLine, Dispute, FraudAlert, Id, Merchant, PageQuery, Step,
    Transaction, User, Webhook,
};

use super::{
    Engine, Owner, SHORT_TRAIL, Store, StoreError,
    rows::{self, LoadedTrail, Resource},
};

struct List {
    /// Selects the rows of the owner `$1`.
    select: String,
    /// The column that the list is sorted by.
    id: &'static str,
}

impl List {
    /// The resources of type `R` that satisfy a condition on their owner.
    fn of<R: Resource>(condition: &str, id: &'static str) -> Self {
        let (columns, from) = R::select();
        Self { select: format!("SELECT {columns} FROM {from} WHERE {condition}"), id }
    }

    /// `test_column` is the column that marks test merchants.
    fn merchants(test_column: &str, test: Option<bool>) -> Self {
        let filter = test.map(|test| format!("AND {test_column} = {test}")).unwrap_or_default();
        let (columns, _) = Merchant::select();
        let select = format!(
            "SELECT {columns}
             FROM merchant_apps JOIN merchants ON merchants.id = merchant_apps.merchant
             WHERE app = $1 {filter}"
        );
        Self { select, id: "merchant_apps.merchant" }
    }

    fn users() -> Self {
        let select = format!(
            "SELECT {} FROM merchant_users JOIN users ON users.id = \"user\" WHERE merchant = $1",
            User::of("users")
        );
        Self { select, id: "\"user\"" }
    }

    fn apps() -> Self {
        let select = format!(
            "SELECT {} FROM merchant_apps JOIN apps ON apps.id = app WHERE merchant = $1",
            App::of("apps")
        );
        Self { select, id: "app" }
    }

    fn api_keys() -> Self {
        let key = ApiKeyDetails::of("api_keys");
        Self { select: format!("SELECT {key} FROM api_keys WHERE app = $1"), id: "id" }
    }

    fn lines() -> Self {
        Self::of::<BalanceLine>("lines.merchant = $1", "lines.id")
    }

    fn transactions(successful: Option<bool>) -> Self {
        let filter = match successful {
            None => "",
            Some(true) => "AND error IS NULL",
            Some(false) => "AND error IS NOT NULL",
        };
        let condition = format!("transactions.merchant = $1 {filter}");
        Self::of::<LoadedTrail>(&condition, "transactions.id")
    }

    fn disputes(about: Owner) -> Self {
        Self::of::<Dispute>(&format!("{} = $1", owner(about).0), "id")
    }

    fn webhooks() -> Self {
        let webhook = Webhook::of("webhooks");
        Self { select: format!("SELECT {webhook} FROM webhooks WHERE app = $1"), id: "id" }
    }

    fn frauds(about: Owner) -> Self {
        Self::of::<FraudAlert>(&format!("{} = $1", owner(about).0), "id")
    }

    /// SQL of a page: items after `$2` and before `$3`, at most `$4`.
    fn page(&self, forward: bool) -> String {
        let Self { select, id } = self;
        let order = if forward { "ASC" } else { "DESC" };
        format!("{select} AND {id} > $2 AND {id} < $3 ORDER BY {id} {order} LIMIT $4")
    }
}

/// The column that selects rows, and its value.
fn owner(about: Owner) -> (&'static str, Id) {
    match about {
        Owner::Merchant(id) => ("merchant", id),
        Owner::Transaction(id) => ("\"transaction\"", id),
    }
}

impl Store {
    /// The merchants of an app: all, only test merchants (`true`), or only the others (`false`).
    pub(crate) async fn merchants(
        self,
        app: Id,
        page_query: PageQuery,
        test: Option<bool>,
    ) -> Result<Vec<Merchant>, StoreError> {
        let test_column = match &self.engine {
            // An index on this column has the order of the list.
            Engine::Sqlite(_) => "merchant_apps.test",
            // There is no such index.
            Engine::Postgres(_) => "merchants.test",
        };
        self.page(&List::merchants(test_column, test), app, page_query, Merchant::of_row).await
    }

    pub(crate) async fn users(
        self,
        merchant: Id,
        page_query: PageQuery,
    ) -> Result<Vec<User>, StoreError> {
        self.page(&List::users(), merchant, page_query, User::read).await
    }

    pub(crate) async fn apps(
        self,
        merchant: Id,
        page_query: PageQuery,
    ) -> Result<Vec<App>, StoreError> {
        self.page(&List::apps(), merchant, page_query, App::read).await
    }

    pub(crate) async fn api_keys(
        self,
        app: Id,
        page_query: PageQuery,
    ) -> Result<Vec<ApiKeyDetails>, StoreError> {
        self.page(&List::api_keys(), app, page_query, ApiKeyDetails::read).await
    }

    pub(crate) async fn lines(
        self,
        merchant: Id,
        page_query: PageQuery,
    ) -> Result<Vec<BalanceLine>, StoreError> {
        self.page(&List::lines(), merchant, page_query, BalanceLine::of_row).await
    }

    /// The transactions of a merchant: all, only successful ones (`true`), or only failed ones.
    pub(crate) async fn transactions(
        self,
        merchant: Id,
        page_query: PageQuery,
        successful: Option<bool>,
    ) -> Result<Vec<Transaction>, StoreError> {
        let list = List::transactions(successful);
        let found = self.page(&list, merchant, page_query, LoadedTrail::of_row).await?;
        self.with_trails(found).await
    }

    pub(crate) async fn disputes(
        self,
        about: Owner,
        page_query: PageQuery,
    ) -> Result<Vec<Dispute>, StoreError> {
        self.page(&List::disputes(about), owner(about).1, page_query, Dispute::of_row).await
    }

    pub(crate) async fn frauds(
        self,
        about: Owner,
        page_query: PageQuery,
    ) -> Result<Vec<FraudAlert>, StoreError> {
        self.page(&List::frauds(about), owner(about).1, page_query, FraudAlert::of_row).await
    }

    pub(crate) async fn webhooks(
        self,
        app: Id,
        page_query: PageQuery,
    ) -> Result<Vec<Webhook>, StoreError> {
        self.page(&List::webhooks(), app, page_query, Webhook::read).await
    }

    /// Adds the trails to these transactions. The numbers are the lengths of the trails.
    pub(super) async fn with_trails(
        &self,
        found: Vec<(Transaction, u32)>,
    ) -> Result<Vec<Transaction>, StoreError> {
        let mut trails = self.trails(&found).await?;
        let with_trail = |found: (Transaction, u32)| {
            let trail = trails.remove(&found.0.id).unwrap_or_default();
            rows::with_trail(found, trail)
        };
        Ok(found.into_iter().map(with_trail).collect())
    }

    async fn trails(
        &self,
        transactions: &[(Transaction, u32)],
    ) -> Result<HashMap<Id, Vec<Step>>, StoreError> {
        let moved = transactions.iter().filter(|(_, steps)| *steps > 0);
        let (ids, steps): (Vec<Id>, Vec<u64>) =
            moved.map(|(transaction, steps)| (transaction.id, u64::from(*steps))).unzip();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let sql = format!(
            "SELECT \"transaction\", {} FROM trail WHERE \"transaction\" IN ({})
             ORDER BY \"transaction\", step",
            Step::of("trail"),
            placeholders(ids.len())
        );
        let params: Vec<Param<'_>> = ids.iter().map(Id::param).collect();
        let step = |columns: &mut Columns<'_>| Ok((columns.read::<Id>()?, Step::read(columns)?));
        let steps = if steps.iter().sum::<u64>() <= SHORT_TRAIL.into() {
            self.query_all(&sql, &params, step).await?
        } else {
            self.query_all_in_background(sql, &params, step).await?
        };
        let mut trails = HashMap::<_, Vec<_>>::new();
        for (transaction, step) in steps {
            trails.entry(transaction).or_default().push(step);
        }
        Ok(trails)
    }

    /// A page of a list; see the module for `after`.
    async fn page<T: Send + 'static>(
        &self,
        list: &List,
        owner: Id,
        page_query: PageQuery,
        item: fn(&mut Columns<'_>) -> Result<T, ColumnError>,
    ) -> Result<Vec<T>, StoreError> {
        let [after, before] = self.window(page_query).await?;
        let limit = Param::Int(page_query.limit.into());
        let params = [owner.param(), after.param(), before.param(), limit];
        self.query_all(&list.page(page_query.is_forward()), &params, item).await
    }

    /// The IDs before and after the items of a page; see the module for `after`.
    pub(super) async fn window(&self, page_query: PageQuery) -> Result<[Id; 2], StoreError> {
        let settled = match page_query.after {
            Some(_) => self.settled().await?,
            None => Id::MAX,
        };
        let after = page_query.after.unwrap_or(Id::MIN);
        Ok([after, page_query.before.unwrap_or(Id::MAX).min(settled.successor())])
    }
}

/// Parameters from `$1` for an `IN` of so many values.
pub(super) fn placeholders(count: usize) -> String {
    (1..=count).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{
        super::sqlite::tests::{database, plan},
        *,
    };

    #[test]
    fn every_page_is_an_index_range_that_needs_no_sort() {
        let db = database();
        let mut lists =
            vec![List::users(), List::apps(), List::api_keys(), List::lines(), List::webhooks()];
        for filter in [None, Some(true), Some(false)] {
            lists.extend([
                List::merchants("merchant_apps.test", filter),
                List::transactions(filter),
            ]);
        }
        for about in [Owner::Merchant(Id::MIN), Owner::Transaction(Id::MIN)] {
            lists.extend([List::disputes(about), List::frauds(about)]);
        }
        for list in lists {
            for forward in [true, false] {
                let plan = plan(&db, &list.page(forward));
                let is_window =
                    |step: &&String| step.contains("=? AND ") && step.contains(">? AND ");
                assert_eq!(plan.iter().filter(is_window).count(), 1, "{plan:?}");
                // All other steps look up single rows. None sorts.
                let is_looked_up =
                    |step: &String| !step.starts_with("SCAN") && !step.contains("TEMP B-TREE");
                assert!(plan.iter().all(is_looked_up), "{plan:?}");
            }
        }
    }
}
