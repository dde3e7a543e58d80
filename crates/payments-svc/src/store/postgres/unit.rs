//! One database transaction: what is asked, decided, and written together.

use common::postgres::{Asked, Error, ask_all};
use deadpool_postgres::ClientWrapper;
use futures_util::FutureExt as _;
use tokio_postgres::{Row, types::ToSql};

use super::{
    super::{Keyed, Known, Receipt},
    column::Columns,
    read::first,
};
use crate::domain::Id;

/// What is known of an idempotency key.
pub(super) const KNOWN: &str =
    "SELECT request, receipt, operation, \"transaction\", steps, disputed
     FROM idempotency WHERE app = $1 AND key = $2";

/// Two ids that are new, in their order.
pub(super) const NEW_IDS: Asked<'static> = ("SELECT new_id(), new_id()", &[]);

/// Values to put into a statement.
pub(super) type Parameters<'a> = Vec<Box<dyn ToSql + Sync + Send + 'a>>;

/// Values of any types to put into a statement.
macro_rules! parameters {
    ($($value:expr),* $(,)?) => { vec![$(Box::new($value)),*] };
}
pub(super) use parameters;

/// A transaction. It takes two round trips: the first begins it, locks and reads; the second writes
/// and commits. One that is dropped before is rolled back.
pub(super) struct Unit<'a> {
    session: &'a ClientWrapper,
    keyed: Option<&'a Keyed>,
    known: Option<Known>,
    is_open: bool,
    writes: Vec<(&'static str, Parameters<'a>)>,
}

impl<'a> Unit<'a> {
    /// A transaction that is not begun yet, of a write with this idempotency key.
    pub(super) fn new(session: &'a ClientWrapper, keyed: Option<&'a Keyed>) -> Self {
        Self { session, keyed, known: None, is_open: false, writes: Vec::new() }
    }

    /// Asks for all of this, in this order. The first time, what is known of the idempotency key is
    /// asked at last: whoever had to wait for a lock learns what was done by whoever held it.
    pub(super) async fn ask<const N: usize>(
        &mut self,
        asked: [Asked<'_>; N],
    ) -> Result<[Vec<Row>; N], Error> {
        let mut all = Vec::with_capacity(N + 2);
        let begins = !std::mem::replace(&mut self.is_open, true);
        if begins {
            all.push(("BEGIN", &[][..]));
        }
        all.extend(asked);
        let key: [&(dyn ToSql + Sync); 2];
        if let (true, Some(keyed)) = (begins, self.keyed) {
            key = [&keyed.app, &keyed.key];
            all.push((KNOWN, &key));
        }
        let mut answers = ask_all(self.session, &all).await?.into_iter();
        let _begun = begins.then(|| answers.next());
        let answered = std::array::from_fn(|_| answers.next().unwrap_or_default());
        if let (Some(keyed), Some(known)) = (self.keyed, answers.next()) {
            self.known = first(&known, |columns| self::known(columns, keyed))?;
        }
        Ok(answered)
    }

    /// Notes a write, which is sent with the commit.
    pub(super) fn write(&mut self, sql: &'static str, parameters: Parameters<'a>) {
        self.writes.push((sql, parameters));
    }

    /// What is known of the idempotency key, if it came before.
    pub(super) fn take_known(&mut self) -> Option<Known> {
        self.known.take()
    }

    /// Writes and commits. Where a write fails, the database makes a roll-back of the commit.
    pub(super) async fn commit(mut self) -> Result<(), Error> {
        let begins = !std::mem::replace(&mut self.is_open, true);
        let writes = std::mem::take(&mut self.writes);
        let parameters: Vec<Vec<&(dyn ToSql + Sync)>> = writes
            .iter()
            .map(|(_, values)| values.iter().map(|value| &**value as _).collect())
            .collect();
        let mut all: Vec<Asked<'_>> = Vec::with_capacity(writes.len() + 2);
        if begins {
            all.push(("BEGIN", &[]));
        }
        all.extend(writes.iter().zip(&parameters).map(|((sql, _), values)| (*sql, &values[..])));
        all.push(("COMMIT", &[]));
        ask_all(self.session, &all).await?;
        self.is_open = false;
        Ok(())
    }
}

impl Drop for Unit<'_> {
    /// Sends the roll-back and does not wait for it: whoever uses the session next comes after it.
    fn drop(&mut self) {
        if self.is_open {
            let _ = self.session.batch_execute("ROLLBACK").now_or_never();
        }
    }
}

/// What [`NEW_IDS`] was answered with.
pub(super) fn ids(rows: &[Row]) -> Result<(Id, Id), Error> {
    let mut columns = Columns::of(rows.first().ok_or(Error::NoRow)?);
    Ok((columns.next()?, columns.next()?))
}

/// What [`KNOWN`] was answered with.
pub(super) fn known(columns: &mut Columns<'_>, keyed: &Keyed) -> Result<Known, Error> {
    let (request, told): (Vec<u8>, Option<Vec<u8>>) = (columns.next()?, columns.next()?);
    let operation: Option<Id> = columns.next()?;
    if request != keyed.request {
        return Ok(Known::OtherRequest);
    }
    if let Some(told) = told {
        return Ok(Known::Answered(Receipt::Told(told.into())));
    }
    if let Some(operation) = operation {
        return Ok(Known::InFlight(operation));
    }
    let (transaction, steps, disputed) = (columns.next()?, columns.count()?, columns.next()?);
    Ok(Known::Answered(Receipt::Moved { transaction, steps, disputed }))
}
