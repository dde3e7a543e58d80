//! Compares what a settlement file and the books have of one reference.

use jiff::civil::Date;

use super::{
    BookedOperation, Difference, DifferenceKind, OperationKind, OperationState, Reference,
    SettledOperation, Tariff, described, plus, priced,
};
use crate::{
    money::{Currency, Money, Overflow},
    payment::AcquirerName,
};

/// The scope of a comparison.
#[derive(Debug, Clone)]
pub struct Reconciliation {
    /// The acquirer that wrote the file.
    pub acquirer: AcquirerName,
    /// The first and the last day whose operations must be in the file, in UTC.
    pub period: [Date; 2],
    /// `None`: fees are not compared.
    pub tariff: Option<Tariff>,
}

/// The result of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    pub differences: Vec<Difference>,
    /// The operations of the books that are in the file, or must be.
    pub booked: Vec<BookedOperation>,
}

impl Reconciliation {
    /// Compares what the file and the books have of a reference.
    pub fn compare(&self, reference: &Reference) -> Result<Comparison, Overflow> {
        let mut comparison = Comparison::default();
        if reference.is_unreadable {
            return Ok(comparison);
        }
        for is_reversal in [false, true] {
            let failures = reference.booked.iter().filter_map(BookedOperation::failure);
            let booked = reference.booked.iter().copied().chain(failures);
            let booked = booked.filter(|booked| booked.kind.is_reversal() == is_reversal).collect();
            let settled = reference.settled.iter();
            let settled = settled.filter(|settled| settled.kind.is_reversal() == is_reversal);
            let side = Side { scope: self, reference, booked, settled: settled.collect() };
            side.compare(&mut comparison)?;
        }
        Ok(comparison)
    }

    /// Whether operations of this kind are compared: the acquirer protocol has no disputes.
    pub fn covers(&self, kind: OperationKind) -> bool {
        match kind {
            OperationKind::Capture
            | OperationKind::Refund
            | OperationKind::Void
            | OperationKind::RefundFailure => true,
            OperationKind::Dispute | OperationKind::DisputeReversal => {
                self.acquirer == AcquirerName::Stripe
            }
        }
    }

    /// Whether the operation must be in the file.
    pub fn is_due(&self, booked: &BookedOperation) -> bool {
        let [first, last] = self.period;
        let is_settled = match booked.kind {
            OperationKind::Void | OperationKind::RefundFailure => false,
            kind => self.covers(kind) && booked.state == OperationState::Confirmed,
        };
        is_settled && self.is_own(booked) && (first..=last).contains(&booked.day())
    }

    /// The agreed fee of an operation. `None` if its fee is not compared.
    pub fn fee(&self, booked: &BookedOperation) -> Result<Option<Money>, Overflow> {
        let Some(tariff) = &self.tariff else { return Ok(None) };
        tariff.fee(booked.kind, booked.amount)
    }

    /// The sum of the agreed fees. `None` if they are not compared.
    fn fees(&self, booked: &[BookedOperation]) -> Result<Option<Money>, Overflow> {
        let fees = booked.iter().map(|booked| self.fee(booked));
        let fees = fees.collect::<Result<Option<Vec<_>>, _>>()?.unwrap_or_default();
        let currency = fees.first().map(|fee| fee.currency);
        currency.map(|currency| total(currency, fees)).transpose()
    }

    fn is_own(&self, booked: &BookedOperation) -> bool {
        booked.acquirer == Some(self.acquirer)
    }
}

/// The operations that have a reference, or their reversals.
struct Side<'a> {
    scope: &'a Reconciliation,
    reference: &'a Reference,
    settled: Vec<&'a SettledOperation>,
    booked: Vec<BookedOperation>,
}

/// Booked operations with the amount of settled ones.
struct Match {
    /// The state of all of them, or the worst.
    state: OperationState,
    booked: Vec<BookedOperation>,
    /// Other ones that the file must have.
    missing: Vec<BookedOperation>,
}

impl Side<'_> {
    fn compare(&self, comparison: &mut Comparison) -> Result<(), Overflow> {
        let mut booked = Vec::new();
        for settled in &self.settled {
            let found = self.compare_settled(settled, &mut comparison.differences)?;
            // Rows in several currencies can be about the same operations.
            if booked.is_empty() {
                booked = found;
            }
        }
        if self.settled.is_empty() {
            booked = self.due();
            comparison.differences.extend(self.missing_there(&booked)?);
        }
        comparison.booked.append(&mut booked);
        Ok(())
    }

    /// Compares what the file has of one kind in one currency. Returns the operations of the books
    /// that are in the file, or must be.
    fn compare_settled(
        &self,
        settled: &SettledOperation,
        differences: &mut Vec<Difference>,
    ) -> Result<Vec<BookedOperation>, Overflow> {
        let Some(best) = self.own().map(|booked| self.state(&booked)).min() else {
            differences.push(self.unknown(settled));
            return Ok(Vec::new());
        };
        let found = self.matching(settled);
        let state = found.as_ref().map_or(best, |found| found.state);
        let unsettled = match state {
            OperationState::Confirmed => None,
            OperationState::Unconfirmed => Some(DifferenceKind::UnconfirmedHere),
            OperationState::Refused => Some(DifferenceKind::RefusedHere),
        };
        if let Some(kind) = unsettled {
            differences.push(self.whole(settled, kind, state.name()));
            return Ok(self.due());
        }
        let is_equal = found.is_some();
        let (booked, missing) = match found {
            Some(Match { booked, missing, .. }) => (booked, missing),
            None => (self.expected(), Vec::new()),
        };
        differences.extend(self.values(settled, &booked, is_equal)?);
        differences.extend(self.missing_there(&missing)?);
        Ok([booked, missing].concat())
    }

    /// The difference of an operation that the books do not have with this acquirer.
    fn unknown(&self, settled: &SettledOperation) -> Difference {
        let known = self.known().filter(|known| !self.scope.is_own(known));
        match known.map(|known| known.acquirer.unwrap_or(AcquirerName::Sandbox)) {
            Some(acquirer) => self.whole(settled, DifferenceKind::Acquirer, acquirer.name()),
            None => self.whole(settled, DifferenceKind::MissingHere, ""),
        }
    }

    /// The values that differ. `is_equal` says whether the amount is the same.
    fn values(
        &self,
        settled: &SettledOperation,
        booked: &[BookedOperation],
        is_equal: bool,
    ) -> Result<Vec<Difference>, Overflow> {
        let Some(first) = booked.first() else { return Ok(Vec::new()) };
        let here = total(first.amount.currency, booked.iter().map(|booked| booked.amount))?;
        let there = settled.amount;
        let has_type = first.kind == settled.kind;
        let has_currency = here.currency == there.currency;
        let is_comparable = has_currency && !self.is_converted(settled.kind, here.currency);
        let agreed = self.scope.fees(booked)?.filter(|_| has_type && is_comparable);
        let fees = agreed.zip(settled.fee).filter(|(here, there)| here.currency == there.currency);
        let transaction = settled.transaction.filter(|there| *there != first.transaction);
        // The books have a capture or refund first, the acquirer everything else.
        let is_ours = matches!(settled.kind, OperationKind::Capture | OperationKind::Refund);
        let is_early = is_ours && is_before(settled.date, first.day());
        let types = (first.kind.name().to_owned(), settled.kind.name().to_owned());
        let transactions =
            transaction.map(|there| (first.transaction.to_string(), there.to_string()));
        let amounts = (priced(here), priced(there));
        let is_other_currency = !has_currency && !settled.is_converted;
        let fees = fees.filter(|(here, there)| here != there);
        let differing = [
            (DifferenceKind::Type, (!has_type).then_some(types)),
            (DifferenceKind::Transaction, transactions),
            (DifferenceKind::Currency, is_other_currency.then(|| amounts.clone())),
            (DifferenceKind::Amount, (is_comparable && !is_equal).then_some(amounts)),
            (DifferenceKind::Fee, fees.map(|(here, there)| (priced(here), priced(there)))),
            (
                DifferenceKind::Date,
                is_early.then(|| (first.day().to_string(), settled.date.to_string())),
            ),
        ];
        let differing = differing.into_iter().filter_map(|(kind, values)| Some((kind, values?)));
        let difference = |(kind, (here, there))| self.difference(settled, kind, here, there);
        Ok(differing.map(difference).collect())
    }

    /// The difference of operations that must be in the file, and are not.
    fn missing_there(&self, booked: &[BookedOperation]) -> Result<Option<Difference>, Overflow> {
        let Some(first) = booked.first() else { return Ok(None) };
        let amounts = booked.iter().map(|booked| booked.amount);
        Ok(Some(Difference {
            kind: DifferenceKind::MissingThere,
            line: None,
            reference: self.reference.name.clone(),
            transaction: Some(first.transaction),
            here: described(first.kind, total(first.amount.currency, amounts)?),
            there: String::new(),
        }))
    }

    /// A difference that is not about a single value.
    fn whole(&self, settled: &SettledOperation, kind: DifferenceKind, here: &str) -> Difference {
        let there = described(settled.kind, settled.amount);
        self.difference(settled, kind, here.to_owned(), there)
    }

    fn difference(
        &self,
        settled: &SettledOperation,
        kind: DifferenceKind,
        here: String,
        there: String,
    ) -> Difference {
        Difference {
            kind,
            line: Some(settled.line),
            reference: self.reference.name.clone(),
            transaction: self.known().map(|known| known.transaction).or(settled.transaction),
            here,
            there,
        }
    }

    /// An operation of the books with this reference.
    fn known(&self) -> Option<&BookedOperation> {
        self.booked.first().or(self.reference.booked.first())
    }

    fn own(&self) -> impl Iterator<Item = BookedOperation> {
        self.booked.iter().copied().filter(|booked| self.scope.is_own(booked))
    }

    /// The operations that must be in the file.
    fn due(&self) -> Vec<BookedOperation> {
        self.own().filter(|booked| self.scope.is_due(booked)).collect()
    }

    /// The state of an operation. A refund that failed later was confirmed before.
    fn state(&self, booked: &BookedOperation) -> OperationState {
        let mut settled = self.reference.settled.iter();
        let has_failed = booked.kind == OperationKind::Refund
            && settled.any(|settled| settled.kind == OperationKind::RefundFailure);
        if has_failed { OperationState::Confirmed } else { booked.state }
    }

    /// The operations in this state, or in a better one.
    fn up_to(&self, state: OperationState) -> Vec<BookedOperation> {
        self.own().filter(|booked| self.state(booked) <= state).collect()
    }

    /// What the amount is compared with if it matches nothing.
    fn expected(&self) -> Vec<BookedOperation> {
        let due = self.due();
        if due.is_empty() { self.up_to(OperationState::Confirmed) } else { due }
    }

    /// Whether the acquirer has converted amounts of rows of this kind.
    fn is_converted(&self, kind: OperationKind, currency: Currency) -> bool {
        let mut settled = self.settled.iter().filter(|settled| settled.kind == kind);
        settled.any(|settled| settled.is_converted && settled.amount.currency != currency)
    }

    /// The operations that the settled ones may be: consecutive ones with the same sum, because
    /// earlier and later ones can be in other files. Of several, those in the best state, and then
    /// those that leave out the fewest that must be in the file.
    fn matching(&self, settled: &SettledOperation) -> Option<Match> {
        OperationState::ALL.into_iter().find_map(|state| {
            let booked = self.up_to(state);
            let matches = (0..booked.len()).filter_map(|first| {
                let (before, rest) = booked.split_at(first);
                let (booked, after) = rest.split_at(length(rest, settled.amount)?);
                let others = before.iter().chain(after).copied();
                let missing = others.filter(|booked| self.scope.is_due(booked)).collect();
                Some(Match { state, booked: booked.to_vec(), missing })
            });
            matches.min_by_key(|found| found.missing.len())
        })
    }
}

/// How many operations, from the first one on, have this sum.
fn length(booked: &[BookedOperation], sum: Money) -> Option<usize> {
    let has_currency = booked.first()?.amount.currency == sum.currency;
    let sums = booked.iter().scan(0_i64, |sum, booked| {
        *sum = sum.saturating_add(booked.amount.minor);
        Some(*sum)
    });
    let (length, _) = (1..).zip(sums).find(|(_, minor)| has_currency && *minor == sum.minor)?;
    Some(length)
}

/// The sum of amounts in one currency.
fn total(currency: Currency, amounts: impl IntoIterator<Item = Money>) -> Result<Money, Overflow> {
    amounts.into_iter().try_fold(Money { currency, minor: 0 }, plus)
}

/// Whether a date is before a day in UTC in every time zone: the acquirer's can be half a day behind.
fn is_before(date: Date, day: Date) -> bool {
    date.tomorrow().is_ok_and(|next| next < day)
}
