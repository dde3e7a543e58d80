//! The settlement file of an acquirer, compared with the books.
//!
//! 1. A settlement file lists captures and refunds. It names each by a reference, by which the books
//!    know it, too.
//! 2. A fault is reported as one [`Difference`]. If the currency differs, the amount and the fee are
//!    not compared. If the type differs, the fee is not compared.
//! 3. A refund that failed later is in a file twice: as it was paid, and as it came back. The books
//!    have reversed it.
//! 4. An operation that the acquirer refused later must not be in a file. One that it has not
//!    confirmed yet can be in the next file, so it is never missing.

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use super::{
    id::Id,
    money::{Money, Overflow, Ppm, multiply_rounded},
    payment::AcquirerName,
    transaction::Movement,
};

/// A capture or refund in a settlement file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettledOperation {
    /// The line in the file, from 1.
    pub line: u64,
    /// The key at the acquirer as text, or the acquirer's own ID.
    pub reference: String,
    /// [`Movement::Capture`] or [`Movement::Refund`].
    pub movement: Movement,
    /// `None` if the format of the file does not contain it.
    pub transaction: Option<Id>,
    /// Never negative, for refunds either.
    pub amount: Money,
    /// The amount that the acquirer keeps. It can be in another currency than the amount.
    pub fee: Money,
    pub date: Date,
    /// Whether the line says that a refund, which an earlier line or file has, failed.
    pub is_failure: bool,
    /// Whether another line of the file says this of the refund.
    pub has_failed: bool,
    /// Whether an earlier line of the file says the same of the reference.
    pub is_repeated: bool,
}

/// A capture, refund or void in the books.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookedOperation {
    /// As in [`SettledOperation::reference`].
    pub reference: String,
    pub movement: Movement,
    pub transaction: Id,
    pub amount: Money,
    pub booked: Timestamp,
    /// `None`: the sandbox.
    pub acquirer: Option<AcquirerName>,
    pub state: OperationState,
}

/// The acquirer's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationState {
    Confirmed,
    /// The operation is in the outbox.
    Unconfirmed,
    /// Another step of the trail reverses it.
    Refused,
}

impl BookedOperation {
    /// The day on which it was booked, in UTC.
    pub fn day(&self) -> Date {
        self.booked.to_zoned(TimeZone::UTC).date()
    }
}

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

/// The agreed fee of a capture. A refund costs nothing.
#[derive(Debug, Clone)]
pub struct Tariff {
    pub rate: Ppm,
    /// Added to a capture in the same currency.
    pub flat: Vec<Money>,
}

impl Tariff {
    /// The fee in the currency of `amount`. The proportional part is rounded half up.
    pub fn fee(&self, movement: Movement, amount: Money) -> Result<Money, Overflow> {
        let Money { currency, minor } = amount;
        if movement != Movement::Capture {
            return Ok(Money { currency, minor: 0 });
        }
        let flat = self.flat.iter().find(|flat| flat.currency == currency);
        let rate = multiply_rounded(minor, &self.rate.factor())?;
        let minor = rate.checked_add(flat.map_or(0, |flat| flat.minor)).ok_or(Overflow)?;
        Ok(Money { currency, minor })
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

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum DifferenceKind { $($(#[$doc])* $kind,)* }

        impl DifferenceKind {
            /// The name in the output.
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }
        }
    };
}

kinds! {
    /// The books do not know the operation.
    MissingHere "missing-here",
    /// The file does not have the operation.
    MissingThere "missing-there",
    /// The file has the operation in an earlier line, too.
    Twice "twice",
    /// Another acquirer has executed the operation.
    Acquirer "acquirer",
    /// The acquirer has refused the operation.
    RefusedHere "refused-here",
    /// The refund has failed, and the books have not reversed it.
    FailedThere "failed-there",
    /// The acquirer has not confirmed the operation.
    UnconfirmedHere "unconfirmed-here",
    Type "type",
    Transaction "transaction",
    Currency "currency",
    Amount "amount",
    Fee "fee",
    /// The operation was settled before it was booked.
    Date "date",
    /// The columns of the row cannot be separated.
    MalformedRow "malformed-row",
    MalformedOperation "malformed-operation",
    MalformedType "malformed-type",
    MalformedTransaction "malformed-transaction",
    MalformedCurrency "malformed-currency",
    MalformedAmount "malformed-amount",
    MalformedFee "malformed-fee",
    MalformedDate "malformed-date",
}

impl Reconciliation {
    /// The differences of a line of the file.
    pub fn differences(
        &self,
        settled: &SettledOperation,
        booked: Option<&BookedOperation>,
    ) -> Result<Vec<Difference>, Overflow> {
        let difference = |kind, here: String, there: String| Difference {
            kind,
            line: Some(settled.line),
            reference: settled.reference.clone(),
            transaction: booked.map(|booked| booked.transaction).or(settled.transaction),
            here,
            there,
        };
        let there = described(settled.movement, settled.amount);
        let whole = |kind, here: &str| Ok(vec![difference(kind, here.to_owned(), there.clone())]);
        if settled.is_repeated {
            return whole(DifferenceKind::Twice, "once");
        }
        let Some(booked) = booked else { return whole(DifferenceKind::MissingHere, "") };
        if !self.is_own(booked) {
            let acquirer = booked.acquirer.unwrap_or(AcquirerName::Sandbox);
            return whole(DifferenceKind::Acquirer, acquirer.name());
        }
        match booked.state {
            OperationState::Refused if settled.is_failure => return Ok(Vec::new()),
            _ if settled.is_failure => return whole(DifferenceKind::FailedThere, "not reversed"),
            OperationState::Refused if settled.has_failed => {}
            OperationState::Refused => return whole(DifferenceKind::RefusedHere, "refused"),
            OperationState::Confirmed => {}
            OperationState::Unconfirmed => {
                return whole(DifferenceKind::UnconfirmedHere, "unconfirmed");
            }
        }
        let fee = self.fee(booked)?.filter(|fee| fee.currency == settled.fee.currency);
        let same_type = booked.movement == settled.movement;
        let same_currency = booked.amount.currency == settled.amount.currency;
        let values = [
            (
                DifferenceKind::Type,
                !same_type,
                (booked.movement.name().to_owned(), settled.movement.name().to_owned()),
            ),
            (
                DifferenceKind::Transaction,
                settled.transaction.is_some_and(|transaction| transaction != booked.transaction),
                (booked.transaction.to_string(), text(settled.transaction)),
            ),
            (
                DifferenceKind::Currency,
                !same_currency,
                (priced(booked.amount), priced(settled.amount)),
            ),
            (
                DifferenceKind::Amount,
                same_currency && booked.amount.minor != settled.amount.minor,
                (priced(booked.amount), priced(settled.amount)),
            ),
            (
                DifferenceKind::Fee,
                same_type && same_currency && fee.is_some_and(|fee| fee.minor != settled.fee.minor),
                (fee.map(priced).unwrap_or_default(), priced(settled.fee)),
            ),
            (
                DifferenceKind::Date,
                is_before(settled.date, booked.day()),
                (booked.day().to_string(), settled.date.to_string()),
            ),
        ];
        let differing = values.into_iter().filter(|(_, differs, _)| *differs);
        Ok(differing.map(|(kind, _, (here, there))| difference(kind, here, there)).collect())
    }

    /// Whether the operation must be in the file.
    pub fn is_due(&self, booked: &BookedOperation) -> bool {
        let [first, last] = self.period;
        self.settles(booked) && (first..=last).contains(&booked.day())
    }

    /// Whether the operation can be in a file of the acquirer.
    pub fn settles(&self, booked: &BookedOperation) -> bool {
        self.is_own(booked)
            && matches!(booked.movement, Movement::Capture | Movement::Refund)
            && booked.state == OperationState::Confirmed
    }

    /// The difference of an operation that must be in the file, and is not.
    pub fn missing(&self, booked: &BookedOperation) -> Difference {
        Difference {
            kind: DifferenceKind::MissingThere,
            line: None,
            reference: booked.reference.clone(),
            transaction: Some(booked.transaction),
            here: described(booked.movement, booked.amount),
            there: String::new(),
        }
    }

    /// The agreed fee of an operation. `None` if fees are not compared.
    pub fn fee(&self, booked: &BookedOperation) -> Result<Option<Money>, Overflow> {
        let fee = |tariff: &Tariff| tariff.fee(booked.movement, booked.amount);
        self.tariff.as_ref().map(fee).transpose()
    }

    fn is_own(&self, booked: &BookedOperation) -> bool {
        booked.acquirer == Some(self.acquirer)
    }
}

/// Whether a date is before a day in UTC in every time zone: the acquirer's can be half a day behind.
fn is_before(date: Date, day: Date) -> bool {
    date.tomorrow().is_ok_and(|next| next < day)
}

fn described(movement: Movement, amount: Money) -> String {
    format!("{} {}", movement.name(), priced(amount))
}

fn priced(amount: Money) -> String {
    format!("{} {}", amount.currency, amount.decimal())
}

fn text(id: Option<Id>) -> String {
    id.map(|id| id.to_string()).unwrap_or_default()
}

/// The sums of one currency, in minor units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    pub captures: i64,
    pub refunds: i64,
    pub fees: i64,
}

impl Totals {
    /// Adds a capture or a refund.
    pub fn add(&mut self, movement: Movement, minor: i64) -> Result<(), Overflow> {
        let sum = match movement {
            Movement::Capture => &mut self.captures,
            Movement::Refund => &mut self.refunds,
            Movement::Void | Movement::Won | Movement::Lost => return Ok(()),
        };
        *sum = sum.checked_add(minor).ok_or(Overflow)?;
        Ok(())
    }

    pub fn add_fee(&mut self, minor: i64) -> Result<(), Overflow> {
        self.fees = self.fees.checked_add(minor).ok_or(Overflow)?;
        Ok(())
    }

    /// The amount that the acquirer pays out.
    pub fn net(&self) -> Result<i64, Overflow> {
        let kept = self.refunds.checked_add(self.fees).ok_or(Overflow)?;
        self.captures.checked_sub(kept).ok_or(Overflow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money(text: &str) -> Money {
        text.parse().unwrap()
    }

    fn id(digit: u8) -> Id {
        Id::stored([digit; Id::BYTES])
    }

    fn booked() -> BookedOperation {
        BookedOperation {
            reference: id(5).to_string(),
            movement: Movement::Capture,
            transaction: id(4),
            amount: money("EUR:995"),
            booked: "2026-11-22T23:59:59Z".parse().unwrap(),
            acquirer: Some(AcquirerName::Http),
            state: OperationState::Confirmed,
        }
    }

    fn settled() -> SettledOperation {
        SettledOperation {
            line: 2,
            reference: id(5).to_string(),
            movement: Movement::Capture,
            transaction: Some(id(4)),
            amount: money("EUR:995"),
            fee: money("EUR:35"),
            date: "2026-11-23".parse().unwrap(),
            is_failure: false,
            has_failed: false,
            is_repeated: false,
        }
    }

    fn reconciliation() -> Reconciliation {
        Reconciliation {
            acquirer: AcquirerName::Http,
            period: ["2026-11-22", "2026-11-22"].map(|day| day.parse().unwrap()),
            tariff: Some(Tariff { rate: "0.01".parse().unwrap(), flat: vec![money("EUR:25")] }),
        }
    }

    fn kinds(settled: &SettledOperation, booked: Option<&BookedOperation>) -> Vec<&'static str> {
        let found = reconciliation().differences(settled, booked).unwrap();
        found.iter().map(|difference| difference.kind.name()).collect()
    }

    #[test]
    fn equal_operations_have_no_difference() {
        assert!(kinds(&settled(), Some(&booked())).is_empty());
        let unknown = SettledOperation { transaction: None, ..settled() };
        assert!(kinds(&unknown, Some(&booked())).is_empty());
    }

    #[test]
    fn each_wrong_value_has_its_own_kind() {
        for (kind, settled) in [
            ("type", SettledOperation { movement: Movement::Refund, ..settled() }),
            ("transaction", SettledOperation { transaction: Some(id(6)), ..settled() }),
            ("currency", SettledOperation { amount: money("USD:995"), ..settled() }),
            ("currency", SettledOperation { amount: money("JPY:996"), ..settled() }),
            ("amount", SettledOperation { amount: money("EUR:994"), ..settled() }),
            ("fee", SettledOperation { fee: money("EUR:34"), ..settled() }),
            ("date", SettledOperation { date: "2026-11-20".parse().unwrap(), ..settled() }),
            ("twice", SettledOperation { is_repeated: true, ..settled() }),
        ] {
            assert_eq!(kinds(&settled, Some(&booked())), [kind], "{settled:?}");
        }
        // The acquirer's day can begin later than ours.
        let yesterday = SettledOperation { date: "2026-11-21".parse().unwrap(), ..settled() };
        assert!(kinds(&yesterday, Some(&booked())).is_empty());
        assert_eq!(kinds(&settled(), None), ["missing-here"]);
    }

    #[test]
    fn several_wrong_values_are_all_reported() {
        let wrong = SettledOperation {
            transaction: Some(id(6)),
            amount: money("EUR:1"),
            fee: money("EUR:1"),
            ..settled()
        };
        assert_eq!(kinds(&wrong, Some(&booked())), ["transaction", "amount", "fee"]);
    }

    #[test]
    fn only_confirmed_captures_and_refunds_of_the_period_are_due() {
        let scope = reconciliation();
        assert!(scope.is_due(&booked()));
        assert!(scope.is_due(&BookedOperation { movement: Movement::Refund, ..booked() }));
        let refused = BookedOperation { state: OperationState::Refused, ..booked() };
        let unconfirmed = BookedOperation { state: OperationState::Unconfirmed, ..booked() };
        for (kind, other) in [
            (Some("type"), BookedOperation { movement: Movement::Void, ..booked() }),
            (Some("acquirer"), BookedOperation { acquirer: None, ..booked() }),
            (
                Some("acquirer"),
                BookedOperation { acquirer: Some(AcquirerName::Stripe), ..booked() },
            ),
            (Some("refused-here"), refused),
            (Some("unconfirmed-here"), unconfirmed),
            (None, BookedOperation { booked: "2026-11-21T23:59:59Z".parse().unwrap(), ..booked() }),
            (None, BookedOperation { booked: "2026-11-23T00:00:00Z".parse().unwrap(), ..booked() }),
        ] {
            assert!(!scope.is_due(&other), "{other:?}");
            assert_eq!(
                kinds(&settled(), Some(&other)),
                kind.into_iter().collect::<Vec<_>>(),
                "{other:?}"
            );
        }
    }

    #[test]
    fn a_refund_that_failed_is_reversed_in_the_books() {
        let refund = SettledOperation {
            movement: Movement::Refund,
            fee: money("EUR:0"),
            has_failed: true,
            ..settled()
        };
        let failure = SettledOperation { is_failure: true, ..refund.clone() };
        let confirmed = BookedOperation { movement: Movement::Refund, ..booked() };
        let refused = BookedOperation { state: OperationState::Refused, ..confirmed.clone() };
        for settled in [&refund, &failure] {
            assert_eq!(kinds(settled, Some(&refused)), [""; 0]);
            assert_eq!(kinds(settled, None), ["missing-here"]);
        }
        assert_eq!(kinds(&refund, Some(&confirmed)), [""; 0]);
        assert_eq!(kinds(&failure, Some(&confirmed)), ["failed-there"]);
        let other = SettledOperation { amount: money("EUR:994"), ..refund };
        assert_eq!(kinds(&other, Some(&refused)), ["amount"]);
    }

    #[test]
    fn the_agreed_fee_is_rounded_half_up() {
        let tariff = reconciliation().tariff.unwrap();
        for (amount, fee) in
            [("EUR:995", 35), ("EUR:949", 34), ("EUR:950", 35), ("JPY:50", 1), ("JPY:49", 0)]
        {
            let agreed = tariff.fee(Movement::Capture, money(amount)).unwrap();
            assert_eq!(agreed.minor, fee, "{amount}");
        }
        assert_eq!(tariff.fee(Movement::Refund, money("EUR:995")), Ok(money("EUR:0")));
        let unchecked = Reconciliation { tariff: None, ..reconciliation() };
        let free = SettledOperation { fee: money("EUR:0"), ..settled() };
        assert!(unchecked.differences(&free, Some(&booked())).unwrap().is_empty());
    }

    #[test]
    fn sums_never_wrap() {
        let mut totals = Totals::default();
        totals.add(Movement::Capture, i64::MAX).unwrap();
        assert_eq!(totals.add(Movement::Capture, 1), Err(Overflow));
        totals.add(Movement::Refund, 3).unwrap();
        totals.add_fee(4).unwrap();
        assert_eq!(totals.net(), Ok(i64::MAX - 7));
    }
}
