//! Lists, in the order of ids.

use rusqlite::{Connection, Row};

use super::{
    super::About,
    cases::{DISPUTE, FRAUD, dispute_row, fraud_row},
    read::{
        LINE, MERCHANT, TRANSACTION, app, line_row, merchant_row, transaction_row, user, with_trail,
    },
};
use crate::domain::{App, Dispute, FraudAlert, Id, Line, Merchant, Transaction, User, Window};

/// What belongs to an owner, `?1`, and the column of the ids that it is in the order of.
struct List {
    select: String,
    id: &'static str,
}

impl List {
    fn merchants(test: Option<bool>) -> Self {
        let filter = match test {
            None => "",
            Some(true) => "AND merchant_apps.test = 1",
            Some(false) => "AND merchant_apps.test = 0",
        };
        let select = format!(
            "SELECT {MERCHANT} FROM merchant_apps
             CROSS JOIN merchants ON merchants.id = merchant_apps.merchant
             CROSS JOIN balances ON balances.merchant = merchants.id WHERE app = ?1 {filter}"
        );
        Self { select, id: "merchant_apps.merchant" }
    }

    fn users() -> Self {
        let select = "SELECT users.id, email, created FROM merchant_users
                      CROSS JOIN users ON users.id = user WHERE merchant = ?1";
        Self { select: select.to_owned(), id: "user" }
    }

    fn apps() -> Self {
        let select = "SELECT apps.id, name, created FROM merchant_apps
                      CROSS JOIN apps ON apps.id = app WHERE merchant = ?1";
        Self { select: select.to_owned(), id: "app" }
    }

    fn lines() -> Self {
        Self { select: format!("{LINE} WHERE merchant = ?1"), id: "lines.id" }
    }

    fn transactions(successful: Option<bool>) -> Self {
        let filter = match successful {
            None => "",
            Some(true) => "AND error IS NULL",
            Some(false) => "AND error IS NOT NULL",
        };
        let select = format!("{TRANSACTION} WHERE merchant = ?1 {filter}");
        Self { select, id: "transactions.id" }
    }

    fn disputes(about: About) -> Self {
        let select = format!("SELECT {DISPUTE} FROM disputes WHERE {} = ?1", owner(about).0);
        Self { select, id: "id" }
    }

    fn frauds(about: About) -> Self {
        let select = format!("SELECT {FRAUD} FROM frauds WHERE {} = ?1", owner(about).0);
        Self { select, id: "id" }
    }

    /// The statement of a page after `?2` and before `?3` with at most `?4` items.
    fn page(&self, forward: bool) -> String {
        let Self { select, id } = self;
        let order = if forward { "ASC" } else { "DESC" };
        format!("{select} AND {id} > ?2 AND {id} < ?3 ORDER BY {id} {order} LIMIT ?4")
    }

    fn read<T>(
        &self,
        db: &Connection,
        owner: Id,
        window: &Window,
        item: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        let after = window.after.unwrap_or(Id::FIRST);
        let before = window.before.unwrap_or(Id::LAST);
        let mut query = db.prepare_cached(&self.page(window.is_forward()))?;
        query.query_map((owner, after, before, window.limit), item)?.collect()
    }
}

/// The column that says what a row is about, and what that has to be.
fn owner(about: About) -> (&'static str, Id) {
    match about {
        About::Merchant(id) => ("merchant", id),
        About::Transaction(id) => ("\"transaction\"", id),
    }
}

pub(super) fn disputes(
    db: &Connection,
    about: About,
    window: &Window,
) -> rusqlite::Result<Vec<Dispute>> {
    List::disputes(about).read(db, owner(about).1, window, dispute_row)
}

pub(super) fn frauds(
    db: &Connection,
    about: About,
    window: &Window,
) -> rusqlite::Result<Vec<FraudAlert>> {
    List::frauds(about).read(db, owner(about).1, window, fraud_row)
}

pub(super) fn merchants(
    db: &Connection,
    app: Id,
    window: &Window,
    test: Option<bool>,
) -> rusqlite::Result<Vec<Merchant>> {
    List::merchants(test).read(db, app, window, merchant_row)
}

pub(super) fn users(db: &Connection, merchant: Id, window: &Window) -> rusqlite::Result<Vec<User>> {
    List::users().read(db, merchant, window, user)
}

pub(super) fn apps(db: &Connection, merchant: Id, window: &Window) -> rusqlite::Result<Vec<App>> {
    List::apps().read(db, merchant, window, app)
}

pub(super) fn lines(db: &Connection, merchant: Id, window: &Window) -> rusqlite::Result<Vec<Line>> {
    List::lines().read(db, merchant, window, line_row)
}

pub(super) fn transactions(
    db: &Connection,
    merchant: Id,
    window: &Window,
    successful: Option<bool>,
) -> rusqlite::Result<Vec<Transaction>> {
    let list = List::transactions(successful);
    let found = list.read(db, merchant, window, transaction_row)?;
    found.into_iter().map(|found| with_trail(db, found)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_found_by_an_index_in_its_order_however_deep_it_is() {
        let mut db = Connection::open_in_memory().unwrap();
        super::super::migrations::migrations::runner().run(&mut db).unwrap();
        let mut lists = vec![List::users(), List::apps(), List::lines()];
        for filter in [None, Some(true), Some(false)] {
            lists.extend([List::merchants(filter), List::transactions(filter)]);
        }
        for about in [About::Merchant(Id::FIRST), About::Transaction(Id::FIRST)] {
            lists.extend([List::disputes(about), List::frauds(about)]);
        }
        for list in lists {
            for forward in [true, false] {
                let sql = format!("EXPLAIN QUERY PLAN {}", list.page(forward));
                let (owner, limit) = (Id::FIRST, 100);
                let plan: Vec<String> = db
                    .prepare(&sql)
                    .unwrap()
                    .query_map((owner, Id::FIRST, Id::LAST, limit), |row| row.get("detail"))
                    .unwrap()
                    .collect::<Result<_, _>>()
                    .unwrap();
                // The first table gives the order; the others are looked up for each item.
                let (first, others) = plan.split_first().unwrap();
                assert!(first.contains("=? AND ") && first.contains(">? AND "), "{plan:?}");
                let looked_up = |step: &String| step.starts_with("SEARCH") && step.contains("=?");
                assert!(others.iter().all(looked_up), "{plan:?}");
            }
        }
    }
}
