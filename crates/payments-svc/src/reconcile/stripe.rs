//! Stripe's report "Itemized balance change from activity".
//!
//! 1. The report has a row for each change of the balance. Charges, refunds, disputes, and what takes
//!    them back are compared.
//! 2. A charge is named by its PaymentIntent. If it is captured in part, the report can have a charge
//!    of the whole amount, and a row that takes back the rest. A refund has its key as metadata. One
//!    that was made in Stripe's dashboard has none: the books do not know it. A dispute has its ID at
//!    Stripe.
//! 3. Stripe can settle in another currency than that of the payment. Then the columns
//!    `customer_facing_…` have the amount of the payment, but only for charges and refunds.

use payments_domain::{
    Currency, DifferenceKind, InvalidMajorUnits, Money, OperationKind, SettledOperation,
    SettledRow, UnknownCurrency,
};

use super::malformed::{Malformed, amount, check_width, text, value};
use crate::csv_file::{CsvFile, Row, date};

/// The columns that the report must have. It can have others.
const COLUMNS: [&str; 10] = [
    "balance_transaction_id",
    "created_utc",
    "reporting_category",
    "source_id",
    "currency",
    "gross",
    "fee",
    "customer_facing_amount",
    "customer_facing_currency",
    "payment_intent_id",
];

/// The key of a refund, which a report has only if somebody has refunded.
const REFUND_KEY: &str = "refund_metadata[operation]";

/// Fails unless the file has the columns of the format. The error says which.
pub(super) fn check_header(file: &CsvFile) -> Result<(), String> {
    let missing: Vec<_> = COLUMNS.into_iter().filter(|name| !file.has(name)).collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(format!("it must also have {}", missing.join(", ")))
    }
}

/// How the rows of a reporting category are read.
struct Category {
    kind: OperationKind,
    /// The column with the reference.
    reference: &'static str,
    /// Whether it is the part of a charge that was not captured.
    is_rest: bool,
}

impl Category {
    /// `None` if the rows are not compared.
    fn of(name: &str) -> Result<Option<Self>, &'static str> {
        let (kind, reference) = match name {
            "" => return Err("must not be empty"),
            "charge" | "partial_capture_reversal" => (OperationKind::Capture, "payment_intent_id"),
            "refund" => (OperationKind::Refund, REFUND_KEY),
            "refund_failure" => (OperationKind::RefundFailure, REFUND_KEY),
            "dispute" => (OperationKind::Dispute, "source_id"),
            "dispute_reversal" => (OperationKind::DisputeReversal, "source_id"),
            _ => return Ok(None),
        };
        Ok(Some(Self { kind, reference, is_rest: name == "partial_capture_reversal" }))
    }

    /// The change of the balance, which is negative if it takes money from it.
    fn gross(&self, currency: Currency, text: &str) -> Result<Money, String> {
        let takes = matches!(self.kind, OperationKind::Refund | OperationKind::Dispute);
        let digits = match self.is_rest || takes {
            true => text.strip_prefix('-').ok_or("must be negative")?,
            false => text,
        };
        self.amount(currency, digits)
    }

    /// The amount that the customer sees. That of a charge is never negative.
    fn customer_facing(&self, currency: Currency, text: &str) -> Result<Money, String> {
        let is_signed = self.is_rest || self.kind != OperationKind::Capture;
        let digits = text.strip_prefix('-').filter(|_| is_signed).unwrap_or(text);
        self.amount(currency, digits)
    }

    fn amount(&self, currency: Currency, digits: &str) -> Result<Money, String> {
        let Money { minor, .. } = amount(currency, &in_places(currency, digits))?;
        Ok(Money { currency, minor: if self.is_rest { -minor } else { minor } })
    }
}

/// Reads a row. `None` if it is not compared.
pub(super) fn settled(row: &Row<'_>) -> Result<Option<SettledRow>, Malformed> {
    let kind = DifferenceKind::MalformedType;
    let category = match value(row, "reporting_category", kind, Category::of) {
        Ok(Some(category)) => category,
        other => return check_width(row).and(other.map(|_| None)),
    };
    let id = text(row, "balance_transaction_id")?.to_owned();
    let reference = Some(text(row, category.reference)?.to_owned());
    let reference = reference.filter(|it| !it.is_empty()).unwrap_or_else(|| id.clone());
    match check_width(row).and_then(|()| operation(row, &category)) {
        Ok(operation) => Ok(Some(SettledRow { id, reference, operation })),
        Err(malformed) => Err(malformed.of(reference)),
    }
}

fn operation(row: &Row<'_>, category: &Category) -> Result<SettledOperation, Malformed> {
    let kind = DifferenceKind::MalformedCurrency;
    let settled_in = value(row, "currency", kind, currency)?;
    let paid_in = match text(row, "customer_facing_currency")? {
        "" => None,
        _ => Some(value(row, "customer_facing_currency", kind, currency)?),
    };
    let kind = DifferenceKind::MalformedAmount;
    let gross = value(row, "gross", kind, |text| category.gross(settled_in, text))?;
    let amount = match paid_in.filter(|paid_in| *paid_in != settled_in) {
        Some(paid_in) => value(row, "customer_facing_amount", kind, |text| {
            category.customer_facing(paid_in, text)
        })?,
        None => gross,
    };
    Ok(SettledOperation {
        line: row.line,
        kind: category.kind,
        transaction: None,
        amount,
        is_converted: paid_in.is_none(),
        fee: Some(value(row, "fee", DifferenceKind::MalformedFee, |text| fee(settled_in, text))?),
        date: value(row, "created_utc", DifferenceKind::MalformedDate, |time| {
            date(time.split(' ').next().unwrap_or_default())
        })?,
    })
}

/// A code in lower-case letters.
fn currency(code: &str) -> Result<Currency, UnknownCurrency> {
    Currency::current_or_former(&code.to_ascii_uppercase())
}

/// A fee is negative if Stripe returns it.
fn fee(currency: Currency, text: &str) -> Result<Money, InvalidMajorUnits> {
    let digits = text.strip_prefix('-');
    let fee = Money::of_decimal(currency, &in_places(currency, digits.unwrap_or(text)))?;
    let sign = if digits.is_some() { -1 } else { 1 };
    Ok(Money { minor: fee.minor * sign, ..fee })
}

/// A decimal number with the places of the currency: Stripe may write more zeros, or fewer. Digits
/// that are not zero remain.
fn in_places(currency: Currency, text: &str) -> String {
    let (whole, places) = text.split_once('.').unwrap_or((text, ""));
    let places = places.trim_end_matches('0');
    match usize::try_from(currency.exponent()).unwrap_or(0) {
        0 if places.is_empty() => whole.to_owned(),
        width => format!("{whole}.{places:0<width$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_get_the_places_of_their_currency() {
        for (code, text, places) in [
            ("EUR", "9.95", "9.95"),
            ("EUR", "9.9", "9.90"),
            ("EUR", "9", "9.00"),
            ("EUR", "9.9500", "9.95"),
            ("EUR", "9.951", "9.951"),
            ("JPY", "1000", "1000"),
            ("JPY", "1000.00", "1000"),
            ("JPY", "1000.5", "1000.5"),
            ("ISK", "1000.00", "1000"),
            ("KWD", "1.5", "1.500"),
            ("EUR", "9,95", "9,95.00"),
            ("EUR", "", ".00"),
        ] {
            assert_eq!(in_places(code.parse().unwrap(), text), places, "{code} {text}");
        }
    }

    #[test]
    fn a_returned_fee_is_negative() {
        let minor = |text| fee(Currency::EUR, text).map(|fee| fee.minor).ok();
        assert_eq!(["0.25", "-0.25", "0.00"].map(minor), [Some(25), Some(-25), Some(0)]);
        assert_eq!(["--1.00", "+1.00", "1,00", ""].map(minor), [None; 4]);
    }
}
