//! Lists, in the order of ids. A page that begins after an id shows only what is settled: whoever
//! goes on after its last item misses nothing, though transactions end in another order than the one
//! in which they drew their ids.

use std::{sync::PoisonError, time::Duration};

use common::postgres::Error;
use tokio::time::{Instant, sleep};
use tokio_postgres::Row;

use super::{
    super::About,
    Postgres,
    column::Columns,
    read::{self, all, first},
};
use crate::domain::{App, Dispute, FraudAlert, Id, Line, Merchant, Transaction, User, Window};

/// How long a page waits for the transactions that were under way when it was asked for. They
/// take milliseconds, unless somebody is stuck: then the page ends with what was settled before.
const SETTLE: Duration = Duration::from_secs(1);

/// How often it looks.
const SETTLE_POLL: Duration = Duration::from_millis(1);

/// What is said in the migration of the function `settling`.
const SETTLING: &str = "SELECT id, xid::text FROM settling()";
const HAS_SETTLED: &str = "SELECT $1::text::xid8 < pg_snapshot_xmin(pg_current_snapshot())";

/// The rows of one owner that a page is made of.
struct Rows<'a> {
    columns: &'a str,
    tables: &'a str,
    filter: &'a str,
    id: &'a str,
}

/// What says that a row is about this, and what that has to be.
fn of(about: About) -> (&'static str, Id) {
    match about {
        About::Merchant(id) => ("merchant = $1", id),
        About::Transaction(id) => ("\"transaction\" = $1", id),
    }
}

impl Postgres {
    pub(in super::super) async fn merchants(
        &self,
        app: Id,
        window: Window,
        test: Option<bool>,
    ) -> Result<Vec<Merchant>, Error> {
        let filter = match test {
            None => "app = $1",
            Some(true) => "app = $1 AND test",
            Some(false) => "app = $1 AND NOT test",
        };
        let rows = Rows {
            columns: read::MERCHANT,
            tables: "merchant_apps JOIN merchants ON merchants.id = merchant",
            filter,
            id: "merchant",
        };
        all(&self.page(rows, app, window).await?, read::merchant)
    }

    pub(in super::super) async fn users(
        &self,
        merchant: Id,
        window: Window,
    ) -> Result<Vec<User>, Error> {
        let rows = Rows {
            columns: read::USER,
            tables: "merchant_users JOIN users ON users.id = \"user\"",
            filter: "merchant = $1",
            id: "\"user\"",
        };
        all(&self.page(rows, merchant, window).await?, read::user)
    }

    pub(in super::super) async fn apps(
        &self,
        merchant: Id,
        window: Window,
    ) -> Result<Vec<App>, Error> {
        let rows = Rows {
            columns: read::APP,
            tables: "merchant_apps JOIN apps ON apps.id = app",
            filter: "merchant = $1",
            id: "app",
        };
        all(&self.page(rows, merchant, window).await?, read::app)
    }

    pub(in super::super) async fn lines(
        &self,
        merchant: Id,
        window: Window,
    ) -> Result<Vec<Line>, Error> {
        let rows = Rows {
            columns: read::LINE,
            tables: read::LINES,
            filter: "merchant = $1",
            id: "lines.id",
        };
        all(&self.page(rows, merchant, window).await?, read::line)
    }

    pub(in super::super) async fn transactions(
        &self,
        merchant: Id,
        window: Window,
        successful: Option<bool>,
    ) -> Result<Vec<Transaction>, Error> {
        let filter = match successful {
            None => "transactions.merchant = $1",
            Some(true) => "transactions.merchant = $1 AND error IS NULL",
            Some(false) => "transactions.merchant = $1 AND error IS NOT NULL",
        };
        let rows = Rows {
            columns: read::TRANSACTION,
            tables: read::TRANSACTIONS,
            filter,
            id: "transactions.id",
        };
        let found = all(&self.page(rows, merchant, window).await?, read::transaction)?;
        self.with_trails(found).await
    }

    pub(in super::super) async fn disputes(
        &self,
        about: About,
        window: Window,
    ) -> Result<Vec<Dispute>, Error> {
        let (filter, owner) = of(about);
        let rows = Rows { columns: read::DISPUTE, tables: "disputes", filter, id: "id" };
        all(&self.page(rows, owner, window).await?, read::dispute)
    }

    pub(in super::super) async fn frauds(
        &self,
        about: About,
        window: Window,
    ) -> Result<Vec<FraudAlert>, Error> {
        let (filter, owner) = of(about);
        let rows = Rows { columns: read::FRAUD, tables: "frauds", filter, id: "id" };
        all(&self.page(rows, owner, window).await?, read::fraud)
    }

    async fn with_trails(&self, found: Vec<(Transaction, u32)>) -> Result<Vec<Transaction>, Error> {
        let moved: Vec<Id> =
            found.iter().filter(|(_, steps)| *steps > 0).map(|(found, _)| found.id).collect();
        let sql = format!(
            "SELECT {} FROM trail WHERE \"transaction\" = ANY($1) ORDER BY \"transaction\", step",
            read::STEP
        );
        let [rows] = self.ask([(&sql, &[&moved])]).await?;
        let mut trails = read::trails(&rows)?;
        Ok(found.into_iter().map(|found| read::with_trail(found, &mut trails)).collect())
    }

    /// A window of the rows of one owner.
    async fn page(&self, rows: Rows<'_>, owner: Id, window: Window) -> Result<Vec<Row>, Error> {
        let Rows { columns, tables, filter, id } = rows;
        let order = if window.is_forward() { "ASC" } else { "DESC" };
        let sql = format!(
            "SELECT {columns} FROM {tables}
             WHERE {filter} AND {id} > $2 AND {id} < $3 AND {id} <= $4
             ORDER BY {id} {order} LIMIT $5"
        );
        let settled = match window.after {
            Some(_) => self.settle().await?,
            None => Id::LAST,
        };
        let after = window.after.unwrap_or(Id::FIRST);
        let before = window.before.unwrap_or(Id::LAST);
        let limit = i64::from(window.limit);
        let [rows] = self.ask([(&sql, &[&owner, &after, &before, &settled, &limit])]).await?;
        Ok(rows)
    }

    /// An id such that whatever is ever to come up to it can be read from now on.
    async fn settle(&self) -> Result<Id, Error> {
        let deadline = Instant::now() + SETTLE;
        let [rows] = self.ask([(SETTLING, &[])]).await?;
        let mark = |columns: &mut Columns<'_>| Ok((columns.next()?, columns.next()?));
        let (id, xid): (Id, String) = first(&rows, mark)?.ok_or(Error::NoRow)?;
        loop {
            let [rows] = self.ask([(HAS_SETTLED, &[&xid])]).await?;
            let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
            if first(&rows, |columns| columns.next())?.ok_or(Error::NoRow)? {
                *settled = (*settled).max(id);
                return Ok(id);
            }
            if Instant::now() > deadline {
                return Ok(*settled);
            }
            drop(settled);
            sleep(SETTLE_POLL).await;
        }
    }
}
