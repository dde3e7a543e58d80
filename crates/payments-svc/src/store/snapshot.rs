//! The read before a movement: the transaction, its trail and the idempotency key, read together.
//!
//! 1. A request needs it to check access, to answer a repeat, and to render the response from
//!    memory after the write.
//! 2. It takes no lock and may be stale. The batch decides over rows that it locks and reads again.
//! 3. The response comes from memory only if the trail has exactly one step more than this read saw
//!    ([`Snapshot::after`]). Otherwise another request added a step in between, and the caller
//!    reads the transaction again.
//! 4. A trail of more than [`SHORT_TRAIL`] steps, or a `custom` of more than [`MAX_CUSTOM`] bytes,
//!    is not read here. The caller reads such a transaction after the write.
//! 5. PostgreSQL reads the snapshots of many requests in one round trip, because a statement has a
//!    fixed cost, however few rows it finds. So each row starts with the number of its request.
//! 6. In PostgreSQL, each of the three statements has its own database snapshot. The trail may
//!    contain steps that the transaction did not have yet: [`SnapshotRows::finished`] drops them.

use common::sql::{ColumnError, Columns, Group};
use payments_domain::{
    ApiKeyDigest, Id, Pricing, Step, Terms, Transaction, TransactionTerms,
    write::{KeyRow, LastStep},
};

use super::{
    Found,
    rows::{self, LoadedTrail, Resource as _},
};

/// The maximum number of steps of a trail that a request reads and renders itself. Longer trails
/// are read and rendered on a separate thread, so that other requests do not wait.
pub(crate) const SHORT_TRAIL: u32 = 64;

/// The maximum number of bytes of custom data that is read before a movement.
const MAX_CUSTOM: u32 = 16 * 1024;

/// A transaction, as read before a movement.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    /// The part of it that never changes.
    pub(crate) transaction_terms: TransactionTerms,
    /// Whether the operator holds the payments of the merchant. A capture that is under way
    /// meanwhile is held in the outbox.
    pub(crate) is_held: bool,
    /// The number of steps of its trail.
    pub(crate) steps: u32,
    /// The idempotency key of the request, if an earlier request used it.
    pub(crate) key: Option<KeyRow>,
    /// `None` if the trail or the custom data is too long.
    transaction: Option<Box<Transaction>>,
}

impl Snapshot {
    /// The transaction with its new step. `None` if it was not read completely, or if another step
    /// was added in between. `steps` is the number of steps after the write.
    pub(crate) fn after(self, steps: u32, last: &LastStep) -> Option<Transaction> {
        let is_next = steps == self.steps.saturating_add(1);
        let mut transaction = *self.transaction.filter(|_| is_next)?;
        transaction.trail.push(last.step.clone());
        transaction.amounts = last.amounts;
        Some(transaction)
    }
}

/// A request to read a transaction for an app.
#[derive(Debug, Clone)]
pub(super) struct SnapshotRequest {
    pub(super) transaction: Id,
    pub(super) app: Id,
    /// The API key of the request.
    pub(super) caller: ApiKeyDigest,
    /// The idempotency key of the request.
    pub(super) key: Option<String>,
}

/// The three statements: for transactions, for trails, and for idempotency keys. The parameters are
/// `FROM` items of the engine. Each has a column `question`, the number of the request from 1:
///
/// 1. an item named `asked`, with columns `id` (of the transaction) and `caller` (an API key),
/// 2. the first [`SHORT_TRAIL`] steps of the trail of each transaction, as rows of `trail`,
/// 3. an item named `asked`, with columns `app` and `key`.
pub(super) fn statements([asked, trails, asked_keys]: [&str; 3]) -> [String; 3] {
    let (step, pricing) = (Step::of("trail"), Pricing::of("merchants"));
    let key = KeyRow::of("idempotency");
    let (transaction, _) = LoadedTrail::select();
    let is_member = rows::is_member_by("asked.caller", "transactions.merchant");
    [
        format!(
            "SELECT question, {is_member}, holds_payments, merchants.currency, {pricing}, has_custom, {transaction}
             FROM {asked} JOIN transactions ON transactions.id = asked.id
                 JOIN merchants ON merchants.id = transactions.merchant
                 LEFT JOIN customs ON has_custom AND customs.\"transaction\" = transactions.id
                     AND octet_length(custom) <= {MAX_CUSTOM}"
        ),
        format!("SELECT question, step, {step} FROM {trails}"),
        format!(
            "SELECT question, {key}
             FROM {asked_keys} JOIN idempotency
                 ON idempotency.app = asked.app AND idempotency.key = asked.key"
        ),
    ]
}

/// Collects the rows of the three statements into snapshots. The rows of one statement come in any
/// order; the statements come in their order.
pub(super) struct SnapshotRows(Vec<SnapshotParts>);

/// The transaction, and the numbered steps of its trail.
type SnapshotParts = (Option<Found<Snapshot>>, Vec<(u32, Step)>);

impl SnapshotRows {
    pub(super) fn to(questions: usize) -> Self {
        Self(std::iter::repeat_with(SnapshotParts::default).take(questions).collect())
    }

    /// Reads a row. `statement` is the index of its statement in [`statements`].
    pub(super) fn read(
        &mut self,
        statement: usize,
        columns: &mut Columns<'_>,
    ) -> Result<(), ColumnError> {
        let number: u32 = columns.read()?;
        let index = usize::try_from(number).unwrap_or(0).wrapping_sub(1);
        let Some((found, trail)) = self.0.get_mut(index) else { return Ok(()) };
        match (statement, found) {
            (0, found) => *found = Some(transaction(columns)?),
            (1, _) => trail.push((columns.read()?, Step::read(columns)?)),
            (_, Some(found)) => found.value.key = Some(Group::read(columns)?),
            (_, None) => {}
        }
        Ok(())
    }

    /// The snapshots, in the order of the requests. Drops steps that were added after the
    /// transaction was read.
    pub(super) fn finished(self) -> Vec<Option<Found<Snapshot>>> {
        let finished = |(mut found, mut trail): SnapshotParts| {
            if let Some(Found { value, .. }) = &mut found
                && let Some(transaction) = &mut value.transaction
            {
                trail.sort_unstable_by_key(|(number, _)| *number);
                let snapshot = trail.into_iter().filter(|(number, _)| *number < value.steps);
                transaction.trail = snapshot.map(|(_, step)| step).collect();
            }
            found
        };
        self.0.into_iter().map(finished).collect()
    }
}

fn transaction(columns: &mut Columns<'_>) -> Result<Found<Snapshot>, ColumnError> {
    let (is_member, is_held, currency) = (columns.read()?, columns.read()?, columns.read()?);
    let (pricing, has_custom): (_, bool) = (Pricing::read(columns)?, columns.read()?);
    let (transaction, steps) = LoadedTrail::of_row(columns)?;
    let terms = Terms { currency, test: transaction.test, pricing };
    let Transaction { id, merchant, currency, .. } = transaction;
    let transaction_terms = TransactionTerms { id, merchant, currency, terms };
    let is_whole = steps <= SHORT_TRAIL && has_custom == transaction.custom.is_some();
    let transaction = is_whole.then(|| Box::new(transaction));
    Ok(Found {
        value: Snapshot { transaction_terms, is_held, steps, key: None, transaction },
        is_member,
    })
}
