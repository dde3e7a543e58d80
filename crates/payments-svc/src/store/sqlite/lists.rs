//! Lists, in the order of ids.

use rusqlite::{Connection, Row};

use super::read::{
    LINE, MERCHANT, TRANSACTION, app, line_row, merchant_row, transaction_row, user, with_trail,
};
use crate::domain::{App, Id, Line, Merchant, Transaction, User, Window};

pub(super) fn merchants(
    db: &Connection,
    app: Id,
    window: &Window,
    test: Option<bool>,
) -> rusqlite::Result<Vec<Merchant>> {
    let filter = match test {
        None => "",
        Some(true) => "AND test",
        Some(false) => "AND NOT test",
    };
    let sql = format!(
        "SELECT {MERCHANT} FROM merchant_apps
         CROSS JOIN merchants ON merchants.id = merchant_apps.merchant
         CROSS JOIN balances ON balances.merchant = merchants.id WHERE app = ?1 {filter}"
    );
    page(db, &sql, "merchant_apps.merchant", app, window, merchant_row)
}

pub(super) fn users(db: &Connection, merchant: Id, window: &Window) -> rusqlite::Result<Vec<User>> {
    let sql = "SELECT users.id, email, created FROM merchant_users
               CROSS JOIN users ON users.id = user WHERE merchant = ?1";
    page(db, sql, "user", merchant, window, user)
}

pub(super) fn apps(db: &Connection, merchant: Id, window: &Window) -> rusqlite::Result<Vec<App>> {
    let sql = "SELECT apps.id, name, created FROM merchant_apps
               CROSS JOIN apps ON apps.id = app WHERE merchant = ?1";
    page(db, sql, "app", merchant, window, app)
}

pub(super) fn lines(db: &Connection, merchant: Id, window: &Window) -> rusqlite::Result<Vec<Line>> {
    page(db, &format!("{LINE} WHERE merchant = ?1"), "lines.id", merchant, window, line_row)
}

pub(super) fn transactions(
    db: &Connection,
    merchant: Id,
    window: &Window,
    successful: Option<bool>,
) -> rusqlite::Result<Vec<Transaction>> {
    let filter = match successful {
        None => "",
        Some(true) => "AND error IS NULL",
        Some(false) => "AND error IS NOT NULL",
    };
    let sql = format!("{TRANSACTION} WHERE transactions.merchant = ?1 {filter}");
    let found = page(db, &sql, "transactions.id", merchant, window, transaction_row)?;
    found.into_iter().map(|transaction| with_trail(db, transaction)).collect()
}

/// A window of what `sql` selects of one owner, in the order of the ids in `column`.
fn page<T>(
    db: &Connection,
    sql: &str,
    column: &str,
    owner: Id,
    window: &Window,
    item: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let order = if window.is_forward() { "ASC" } else { "DESC" };
    let sql =
        format!("{sql} AND {column} > ?2 AND {column} < ?3 ORDER BY {column} {order} LIMIT ?4");
    let (after, before) = (window.after.unwrap_or(Id::FIRST), window.before.unwrap_or(Id::LAST));
    let mut query = db.prepare_cached(&sql)?;
    query.query_map((owner, after, before, window.limit), item)?.collect()
}
