//! The settlement file of an acquirer, compared with the books.
//!
//! 1. A settlement file lists what moved money: captures and refunds, and in Stripe's report also
//!    refunds that failed later, disputes, and disputes that were won. It names each by a reference,
//!    by which the books know it, too.
//! 2. The rows of one kind and one reference are added up, and compared with the sum of the books:
//!    Stripe names all captures of a payment by its PaymentIntent, and can report a partial capture
//!    as the whole amount and a negative rest.
//! 3. A fault is reported as one [`Difference`]. If the currency differs, the amount and the fee are
//!    not compared. If the type differs, the fee is not compared.
//! 4. A refund that failed later is in a file twice: as it was paid, and as it came back. The books
//!    have reversed it. So is a dispute that was won.
//! 5. An operation that the acquirer refused later must not be in a file. One that it has not
//!    confirmed yet can be in the next file, so it is never missing.

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use sql::{group, named};

use super::{
    id::Id,
    money::{Money, Overflow},
    payment::AcquirerName,
};

mod comparison;
mod tariff;

pub use comparison::{Comparison, Reconciliation};
pub use tariff::Tariff;

named! {
    pub enum OperationKind {
        Capture = "capture",
        Refund = "refund",
        /// It moves no money, so no file has it.
        Void = "void",
        /// A refund that was paid comes back.
        RefundFailure = "refund failure",
        /// The acquirer takes the money of a dispute.
        Dispute = "dispute",
        /// The acquirer gives the money of a dispute back.
        DisputeReversal = "dispute reversal",
    }
}

impl OperationKind {
    /// Whether it takes an earlier operation back, which has the same reference.
    fn is_reversal(self) -> bool {
        matches!(self, Self::RefundFailure | Self::DisputeReversal)
    }
}

group! {
    /// A row of a settlement file.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct SettledRow {
        /// A further row with this ID repeats the row.
        id: String = "id",
        /// The key at the acquirer as text, or the acquirer's own ID.
        reference: String = "reference",
        operation: SettledOperation = ..,
    }
}

group! {
    /// What a row of a settlement file reports, or the sum of several.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct SettledOperation {
        /// The first line in the file, from 1.
        line: u64 = "line",
        kind: OperationKind = "kind",
        /// `None` if the format of the file does not contain it.
        transaction: Option<Id> = "transaction",
        /// Positive, also if the acquirer takes it. Negative: the part of a capture that was not
        /// captured.
        amount: Money = ..,
        /// Whether the acquirer may have converted the amount. If its currency is not that of the
        /// payment, it is not compared.
        is_converted: bool = "converted",
        /// The amount that the acquirer keeps. It can be in another currency than the amount. `None`
        /// if it is in several.
        fee: Option<Money> = ("fee_currency", "fee"),
        /// The first one.
        date: Date = "date",
    }
}

group! {
    /// An operation in the books.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct BookedOperation {
        kind: OperationKind = "kind",
        transaction: Id = "transaction",
        amount: Money = ..,
        booked: Timestamp = "created",
        /// `None`: the sandbox.
        acquirer: Option<AcquirerName> = "acquirer",
        state: OperationState = "state",
    }
}

named! {
    /// The acquirer's answer.
    pub enum OperationState {
        Confirmed = "confirmed",
        /// The operation is in the outbox.
        Unconfirmed = "unconfirmed",
        /// Another step of the trail reverses it.
        Refused = "refused",
    }
}

impl BookedOperation {
    /// The day on which it was booked, in UTC.
    pub fn day(&self) -> Date {
        self.booked.to_zoned(TimeZone::UTC).date()
    }

    /// The failure of a refund that the books have reversed.
    fn failure(&self) -> Option<Self> {
        let is_reversed =
            self.kind == OperationKind::Refund && self.state == OperationState::Refused;
        let (kind, state) = (OperationKind::RefundFailure, OperationState::Confirmed);
        is_reversed.then_some(Self { kind, state, ..*self })
    }
}

/// What the file and the books have of one reference.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reference {
    pub name: String,
    /// The sums of the rows of the same kind and currency.
    settled: Vec<SettledOperation>,
    booked: Vec<BookedOperation>,
    /// The ID of the last row.
    last: Option<String>,
    is_unreadable: bool,
}

impl Reference {
    /// A reference with its operations in the books, in the order in which they were booked.
    pub fn new(name: &str, booked: Vec<BookedOperation>) -> Self {
        Self { name: name.to_owned(), booked, ..Self::default() }
    }

    /// Adds a row of the file. Rows are in the order of their IDs. Of a row that repeats the last one,
    /// the difference is returned. If a row cannot be read (`None`), nothing is compared.
    pub fn add(&mut self, row: Option<SettledRow>) -> Result<Option<Difference>, Overflow> {
        let Some(SettledRow { id, reference: _, operation }) = row else {
            self.is_unreadable = true;
            return Ok(None);
        };
        if self.last.as_ref() == Some(&id) {
            return Ok(Some(self.repeated(&operation)));
        }
        self.last = Some(id);
        let of_same = |sum: &&mut SettledOperation| {
            (sum.kind, sum.amount.currency) == (operation.kind, operation.amount.currency)
        };
        match self.settled.iter_mut().find(of_same) {
            Some(sum) => sum.add(&operation)?,
            None => self.settled.push(operation),
        }
        Ok(None)
    }

    fn repeated(&self, settled: &SettledOperation) -> Difference {
        let known = self.booked.first().map(|booked| booked.transaction);
        Difference {
            kind: DifferenceKind::Twice,
            line: Some(settled.line),
            reference: self.name.clone(),
            transaction: known.or(settled.transaction),
            here: "once".to_owned(),
            there: described(settled.kind, settled.amount),
        }
    }
}

impl SettledOperation {
    /// Adds what another row reports, of the same kind and currency.
    fn add(&mut self, other: &Self) -> Result<(), Overflow> {
        let fees = self.fee.zip(other.fee).filter(|(one, other)| one.currency == other.currency);
        self.fee = fees.map(|(one, other)| plus(one, other)).transpose()?;
        self.amount = plus(self.amount, other.amount)?;
        self.line = self.line.min(other.line);
        self.date = self.date.min(other.date);
        self.is_converted |= other.is_converted;
        Ok(())
    }
}

/// A difference between the file and the books.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub kind: DifferenceKind,
    /// `None` if the file has no such line.
    pub line: Option<u64>,
    /// Empty if it cannot be read.
    pub reference: String,
    pub transaction: Option<Id>,
    /// The value in the books; of a malformed value, what it must be.
    pub here: String,
    /// The value in the file.
    pub there: String,
}

named! {
    pub enum DifferenceKind {
        /// The books do not know the operation.
        MissingHere = "missing-here",
        /// The file does not have the operation.
        MissingThere = "missing-there",
        /// An earlier line of the file is the same.
        Twice = "twice",
        /// Another acquirer has executed the operation.
        Acquirer = "acquirer",
        /// The acquirer has refused the operation.
        RefusedHere = "refused-here",
        /// The acquirer has not confirmed the operation.
        UnconfirmedHere = "unconfirmed-here",
        Type = "type",
        Transaction = "transaction",
        Currency = "currency",
        Amount = "amount",
        Fee = "fee",
        /// The operation was settled before it was booked.
        Date = "date",
        /// The columns of the row cannot be separated.
        MalformedRow = "malformed-row",
        MalformedOperation = "malformed-operation",
        MalformedType = "malformed-type",
        MalformedTransaction = "malformed-transaction",
        MalformedCurrency = "malformed-currency",
        MalformedAmount = "malformed-amount",
        MalformedFee = "malformed-fee",
        MalformedDate = "malformed-date",
    }
}

/// The sum of two amounts in one currency.
fn plus(one: Money, other: Money) -> Result<Money, Overflow> {
    Ok(Money { minor: one.minor.checked_add(other.minor).ok_or(Overflow)?, ..one })
}

fn described(kind: OperationKind, amount: Money) -> String {
    format!("{} {}", kind.name(), priced(amount))
}

fn priced(amount: Money) -> String {
    format!("{} {}", amount.currency, amount.decimal())
}

/// The sums of one currency, in minor units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Without the parts that were not captured.
    pub captures: i64,
    /// Without those that failed later.
    pub refunds: i64,
    /// Without those that were given back.
    pub disputes: i64,
    pub fees: i64,
}

impl Totals {
    pub fn add(&mut self, kind: OperationKind, minor: i64) -> Result<(), Overflow> {
        let (sum, minor) = match kind {
            OperationKind::Capture => (&mut self.captures, Some(minor)),
            OperationKind::Refund => (&mut self.refunds, Some(minor)),
            OperationKind::RefundFailure => (&mut self.refunds, minor.checked_neg()),
            OperationKind::Dispute => (&mut self.disputes, Some(minor)),
            OperationKind::DisputeReversal => (&mut self.disputes, minor.checked_neg()),
            OperationKind::Void => return Ok(()),
        };
        *sum = minor.and_then(|minor| sum.checked_add(minor)).ok_or(Overflow)?;
        Ok(())
    }

    pub fn add_fee(&mut self, minor: i64) -> Result<(), Overflow> {
        self.fees = self.fees.checked_add(minor).ok_or(Overflow)?;
        Ok(())
    }

    /// The amount that the acquirer pays out.
    pub fn net(&self) -> Result<i64, Overflow> {
        let kept = [self.refunds, self.disputes, self.fees];
        let net = kept.iter().try_fold(self.captures, |net, &kept| net.checked_sub(kept));
        net.ok_or(Overflow)
    }
}

#[cfg(test)]
mod tests;
