//! Lists, in the order of ids. Where other processes write, a page that begins after an id shows
//! only what is settled: whoever goes on after its last item misses nothing, though transactions
//! end in another order than the one in which they drew their ids.

use std::collections::HashMap;

use common::sql::{ColumnError, Columns, Param, Stored as _};

use super::{About, Engine, SHORT_TRAIL, Store, StoreError, rows};
use crate::domain::{
    App, Dispute, FraudAlert, Id, Line, Merchant, Step, Transaction, User, Window,
};

/// The rows of one owner, `$1`, and the column of the ids that they are in the order of.
struct List {
    select: String,
    id: &'static str,
}

impl List {
    /// `kind` is the column that says whether a merchant is one for tests.
    fn merchants(kind: &str, test: Option<bool>) -> Self {
        let filter = test.map(|test| format!("AND {kind} = {test}")).unwrap_or_default();
        let select = format!(
            "SELECT {} FROM merchant_apps JOIN merchants ON merchants.id = merchant_apps.merchant
             WHERE app = $1 {filter}",
            rows::MERCHANT
        );
        Self { select, id: "merchant_apps.merchant" }
    }

    fn users() -> Self {
        let select = format!(
            "SELECT {} FROM merchant_users JOIN users ON users.id = \"user\" WHERE merchant = $1",
            rows::USER
        );
        Self { select, id: "\"user\"" }
    }

    fn apps() -> Self {
        let select = format!(
            "SELECT {} FROM merchant_apps JOIN apps ON apps.id = app WHERE merchant = $1",
            rows::APP
        );
        Self { select, id: "app" }
    }

    fn lines() -> Self {
        let select =
            format!("SELECT {} FROM {} WHERE lines.merchant = $1", rows::LINE, rows::LINES);
        Self { select, id: "lines.id" }
    }

    fn transactions(successful: Option<bool>) -> Self {
        let filter = match successful {
            None => "",
            Some(true) => "AND error IS NULL",
            Some(false) => "AND error IS NOT NULL",
        };
        let select = format!(
            "SELECT {} FROM {} WHERE transactions.merchant = $1 {filter}",
            rows::TRANSACTION,
            rows::TRANSACTIONS
        );
        Self { select, id: "transactions.id" }
    }

    fn disputes(about: About) -> Self {
        let select =
            format!("SELECT {} FROM disputes WHERE {} = $1", rows::DISPUTE, owner(about).0);
        Self { select, id: "id" }
    }

    fn frauds(about: About) -> Self {
        let select = format!("SELECT {} FROM frauds WHERE {} = $1", rows::FRAUD, owner(about).0);
        Self { select, id: "id" }
    }

    /// The statement of a page after `$2` and before `$3` with at most `$4` items.
    fn page(&self, forward: bool) -> String {
        let Self { select, id } = self;
        let order = if forward { "ASC" } else { "DESC" };
        format!("{select} AND {id} > $2 AND {id} < $3 ORDER BY {id} {order} LIMIT $4")
    }
}

/// The column that says what a row is about, and what that has to be.
fn owner(about: About) -> (&'static str, Id) {
    match about {
        About::Merchant(id) => ("merchant", id),
        About::Transaction(id) => ("\"transaction\"", id),
    }
}

impl Store {
    /// The merchants of an app: all, those for tests, or the others.
    pub(crate) async fn merchants(
        self,
        app: Id,
        window: Window,
        test: Option<bool>,
    ) -> Result<Vec<Merchant>, StoreError> {
        let kind = match &self.engine {
            // The index is in the order of the list for each kind.
            Engine::Sqlite(_) => "merchant_apps.test",
            // Replicas of the release before this one leave the other column empty.
            Engine::Postgres(_) => "merchants.test",
        };
        self.page(&List::merchants(kind, test), app, window, rows::merchant).await
    }

    /// The users of a merchant.
    pub(crate) async fn users(self, merchant: Id, window: Window) -> Result<Vec<User>, StoreError> {
        self.page(&List::users(), merchant, window, rows::user).await
    }

    /// The apps of a merchant.
    pub(crate) async fn apps(self, merchant: Id, window: Window) -> Result<Vec<App>, StoreError> {
        self.page(&List::apps(), merchant, window, rows::app).await
    }

    /// The lines of a merchant.
    pub(crate) async fn lines(self, merchant: Id, window: Window) -> Result<Vec<Line>, StoreError> {
        self.page(&List::lines(), merchant, window, rows::line).await
    }

    /// The transactions of a merchant: all, those that succeeded, or the others.
    pub(crate) async fn transactions(
        self,
        merchant: Id,
        window: Window,
        successful: Option<bool>,
    ) -> Result<Vec<Transaction>, StoreError> {
        let list = List::transactions(successful);
        let found = self.page(&list, merchant, window, rows::transaction).await?;
        let mut trails = self.trails(&found).await?;
        Ok(found.into_iter().map(|found| rows::with_trail(found, &mut trails)).collect())
    }

    /// The disputes about a merchant or a transaction.
    pub(crate) async fn disputes(
        self,
        about: About,
        window: Window,
    ) -> Result<Vec<Dispute>, StoreError> {
        self.page(&List::disputes(about), owner(about).1, window, rows::dispute).await
    }

    /// The suspicions of fraud about a merchant or a transaction.
    pub(crate) async fn frauds(
        self,
        about: About,
        window: Window,
    ) -> Result<Vec<FraudAlert>, StoreError> {
        self.page(&List::frauds(about), owner(about).1, window, rows::fraud).await
    }

    /// The trails of transactions with these numbers of steps.
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
        let places: Vec<String> = (1..=ids.len()).map(|number| format!("${number}")).collect();
        let sql = format!(
            "SELECT \"transaction\", {} FROM trail WHERE \"transaction\" IN ({})
             ORDER BY \"transaction\", step",
            rows::STEP,
            places.join(", ")
        );
        let params: Vec<Param<'_>> = ids.iter().map(Id::param).collect();
        let step = |columns: &mut Columns<'_>| Ok((columns.read::<Id>()?, rows::step(columns)?));
        let steps = if steps.iter().sum::<u64>() <= SHORT_TRAIL.into() {
            self.all(&sql, &params, step).await?
        } else {
            self.many(sql, &params, step).await?
        };
        let mut trails = HashMap::<_, Vec<_>>::new();
        for (transaction, step) in steps {
            trails.entry(transaction).or_default().push(step);
        }
        Ok(trails)
    }

    /// A window of a list.
    async fn page<T: Send + 'static>(
        &self,
        list: &List,
        owner: Id,
        window: Window,
        item: fn(&mut Columns<'_>) -> Result<T, ColumnError>,
    ) -> Result<Vec<T>, StoreError> {
        let settled = match window.after {
            Some(_) => self.settled().await?,
            None => Id::LAST,
        };
        let after = window.after.unwrap_or(Id::FIRST);
        let before = window.before.unwrap_or(Id::LAST).min(settled.successor());
        let limit = Param::Int(window.limit.into());
        let params = [owner.param(), after.param(), before.param(), limit];
        self.all(&list.page(window.is_forward()), &params, item).await
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn a_page_is_found_by_an_index_in_its_order_however_deep_it_is() {
        let mut db = Connection::open_in_memory().unwrap();
        super::super::sqlite::migrate(&mut db).unwrap();
        let mut lists = vec![List::users(), List::apps(), List::lines()];
        for filter in [None, Some(true), Some(false)] {
            lists.extend([
                List::merchants("merchant_apps.test", filter),
                List::transactions(filter),
            ]);
        }
        for about in [About::Merchant(Id::FIRST), About::Transaction(Id::FIRST)] {
            lists.extend([List::disputes(about), List::frauds(about)]);
        }
        for list in lists {
            for forward in [true, false] {
                let sql = format!("EXPLAIN QUERY PLAN {}", list.page(forward));
                let plan: Vec<String> = db
                    .prepare(&sql)
                    .unwrap()
                    .query_map(([0; 12], [0; 12], [0xff; 12], 100), |row| row.get("detail"))
                    .unwrap()
                    .collect::<Result<_, _>>()
                    .unwrap();
                let is_window =
                    |step: &&String| step.contains("=? AND ") && step.contains(">? AND ");
                assert_eq!(plan.iter().filter(is_window).count(), 1, "{plan:?}");
                // Everything else is a row that is looked up, and nothing is sorted.
                let is_looked_up =
                    |step: &String| !step.starts_with("SCAN") && !step.contains("TEMP B-TREE");
                assert!(plan.iter().all(is_looked_up), "{plan:?}");
            }
        }
    }
}
