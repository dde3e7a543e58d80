//! What a request reads of a transaction before it moves it: enough to decide who may, to replay an
//! answer, and to answer from memory when nobody else has moved the transaction in between.

use common::sql::{ColumnError, Columns};

use super::{Found, outcomes, rows};
use crate::domain::{
    Id, Reservation, Step, Terms, Transaction,
    write::{KnownKey, LastStep},
};

/// A longer trail is not kept from before a write, but read back after it. It is read and shown on
/// a thread of its own.
pub(crate) const SHORT_TRAIL: u32 = 64;

/// The same of bytes of custom data.
const MAX_CUSTOM: u32 = 16 * 1024;

/// A transaction before it is moved.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// What of it never changes.
    pub(crate) reservation: Reservation,
    /// How many steps its trail had.
    pub(crate) steps: u32,
    /// The idempotency key of the request, if it came before.
    pub(crate) key: Option<KnownKey>,
    /// All of the transaction, unless it is long.
    transaction: Option<Box<Transaction>>,
}

impl Seen {
    /// The transaction after its next step, if it was seen whole and nobody added another step in
    /// between.
    pub(crate) fn after(self, steps: u32, last: &LastStep) -> Option<Transaction> {
        let is_next = steps == self.steps.saturating_add(1);
        let mut transaction = *self.transaction.filter(|_| is_next)?;
        transaction.trail.push(last.step.clone());
        transaction.amounts = last.amounts;
        Some(transaction)
    }
}

/// A transaction, as an app asks for it.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) transaction: Id,
    pub(super) app: Id,
    /// The idempotency key of the request.
    pub(super) key: Option<String>,
}

/// Three statements that answer questions. An engine says where the questions stand, each with its
/// number from 1: a transaction and an app; a transaction, joined with the first [`SHORT_TRAIL`]
/// steps of its trail; an app and a key.
pub(super) fn statements([asked, trails, asked_keys]: [&str; 3]) -> [String; 3] {
    let (step, key, transaction) = (rows::STEP, outcomes::KEY, rows::TRANSACTION);
    [
        format!(
            "SELECT question, EXISTS (
                 SELECT 1 FROM merchant_apps
                 WHERE merchant_apps.merchant = transactions.merchant
                     AND merchant_apps.app = asked.app
             ), merchants.currency, fee_rate, fee_flat_currency, fee_flat, fee_dispute_currency,
                 fee_dispute, has_custom, {transaction}
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

/// The answers to some questions, as their rows come in.
pub(super) struct Answers(Vec<Answer>);

/// What was found, and the steps of its trail, in any order.
type Answer = (Option<Found<Seen>>, Vec<(u32, Step)>);

impl Answers {
    pub(super) fn to(questions: usize) -> Self {
        Self(std::iter::repeat_with(Answer::default).take(questions).collect())
    }

    /// Reads a row of one of the three statements.
    pub(super) fn read(
        &mut self,
        statement: usize,
        columns: &mut Columns<'_>,
    ) -> Result<(), ColumnError> {
        let number: u32 = columns.read()?;
        let place = usize::try_from(number).unwrap_or(0).wrapping_sub(1);
        let Some((found, trail)) = self.0.get_mut(place) else { return Ok(()) };
        match (statement, found) {
            (0, found) => *found = Some(transaction(columns)?),
            (1, _) => trail.push((columns.read()?, rows::step(columns)?)),
            (_, Some(found)) => found.value.key = Some(outcomes::key(columns)?),
            (_, None) => {}
        }
        Ok(())
    }

    /// The answers in the order of the questions. Steps that came after a transaction had been read
    /// are left out.
    pub(super) fn finished(self) -> Vec<Option<Found<Seen>>> {
        let finished = |(mut found, mut trail): Answer| {
            if let Some(Found { value, .. }) = &mut found
                && let Some(transaction) = &mut value.transaction
            {
                trail.sort_unstable_by_key(|(number, _)| *number);
                let seen = trail.into_iter().filter(|(number, _)| *number < value.steps);
                transaction.trail = seen.map(|(_, step)| step).collect();
            }
            found
        };
        self.0.into_iter().map(finished).collect()
    }
}

fn transaction(columns: &mut Columns<'_>) -> Result<Found<Seen>, ColumnError> {
    let (is_member, currency) = (columns.read()?, columns.read()?);
    let (pricing, has_custom): (_, bool) = (rows::pricing(columns)?, columns.read()?);
    let (transaction, steps) = rows::transaction(columns)?;
    let terms = Terms { currency, test: transaction.test, pricing };
    let Transaction { id, merchant, currency, .. } = transaction;
    let reservation = Reservation { id, merchant, currency, terms };
    let is_whole = steps <= SHORT_TRAIL && has_custom == transaction.custom.is_some();
    let transaction = is_whole.then(|| Box::new(transaction));
    Ok(Found { value: Seen { reservation, steps, key: None, transaction }, is_member })
}
