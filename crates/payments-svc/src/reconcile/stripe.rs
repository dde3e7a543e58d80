//! Stripe's report "Itemized balance change from activity".
//!
//! 1. The report has a row for each change of the balance. Only charges, refunds and their failures
//!    are compared.
//! 2. A charge is named by its PaymentIntent, which Stripe captures once. A refund has its key as
//!    metadata. One that was made in Stripe's dashboard has none: the books do not know it.
//! 3. Stripe can settle in another currency than that of the payment. The columns
//!    `customer_facing_…` have the amount of the payment.

use payments_domain::{
    Currency, DifferenceKind, InvalidMajorUnits, Money, Movement, SettledOperation, UnknownCurrency,
};

use super::{
    file::{Row, SettlementFile},
    malformed::{Malformed, amount, check_width, date, text, value},
};

/// The columns that the report must have. It can have others.
const COLUMNS: [&str; 9] = [
    "balance_transaction_id",
    "created_utc",
    "reporting_category",
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
pub(super) fn check_header(file: &SettlementFile) -> Result<(), String> {
    let missing: Vec<_> = COLUMNS.into_iter().filter(|name| !file.has(name)).collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(format!("it must also have {}", missing.join(", ")))
    }
}

/// Reads a row. `None` if it is neither a charge nor a refund or its failure.
pub(super) fn operation(row: &Row<'_>) -> Result<Option<SettledOperation>, Malformed> {
    let (movement, is_failure) = match text(row, "reporting_category")? {
        "charge" => (Movement::Capture, false),
        "refund" => (Movement::Refund, false),
        "refund_failure" => (Movement::Refund, true),
        _ => return Ok(None),
    };
    let name = if movement == Movement::Capture { "payment_intent_id" } else { REFUND_KEY };
    let reference = match text(row, name)? {
        "" => text(row, "balance_transaction_id")?,
        reference => reference,
    };
    let operation = check_width(row).and_then(|()| values(row, movement, reference));
    let operation = operation.map(|operation| SettledOperation { is_failure, ..operation });
    operation.map(Some).map_err(|malformed| malformed.of(reference.to_owned()))
}

fn values(
    row: &Row<'_>,
    movement: Movement,
    reference: &str,
) -> Result<SettledOperation, Malformed> {
    let kind = DifferenceKind::MalformedCurrency;
    let settled_in = value(row, "currency", kind, currency)?;
    // A refund reduces the balance.
    let unsigned = |text: &str| match movement {
        Movement::Refund => text.strip_prefix('-').unwrap_or(text).to_owned(),
        _ => text.to_owned(),
    };
    let paid = |name: &str, currency: Currency| {
        value(row, name, DifferenceKind::MalformedAmount, |text| {
            amount(currency, &in_places(currency, &unsigned(text)))
        })
    };
    let gross = paid("gross", settled_in)?;
    let amount = match text(row, "customer_facing_currency")? {
        "" => gross,
        _ => {
            paid("customer_facing_amount", value(row, "customer_facing_currency", kind, currency)?)?
        }
    };
    Ok(SettledOperation {
        line: row.line,
        reference: reference.to_owned(),
        movement,
        transaction: None,
        amount,
        fee: value(row, "fee", DifferenceKind::MalformedFee, |text| fee(settled_in, text))?,
        date: value(row, "created_utc", DifferenceKind::MalformedDate, |time| {
            date(time.split(' ').next().unwrap_or_default())
        })?,
        is_failure: false,
        has_failed: false,
        is_repeated: false,
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
