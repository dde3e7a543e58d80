//! The settlement file of the acquirer protocol. `docs/acquirer-protocol.md` describes it.

use payments_domain::{
    AcquirerKey, Currency, DifferenceKind, Id, Money, Movement, SettledOperation,
};

use super::{
    file::{Row, SettlementFile},
    malformed::{Malformed, amount, check_width, date, value},
};

const HEADER: [&str; 7] =
    ["operation", "type", "transactionId", "currency", "amount", "fee", "settled"];

/// Fails unless the file has the columns of the format. The error says which.
pub(super) fn check_header(file: &SettlementFile) -> Result<(), String> {
    let is_right = file.has_only(&HEADER);
    is_right.then_some(()).ok_or_else(|| format!("its first line must be {}", HEADER.join(",")))
}

/// Reads a row.
pub(super) fn operation(row: &Row<'_>) -> Result<SettledOperation, Malformed> {
    let key =
        value(row, "operation", DifferenceKind::MalformedOperation, str::parse::<AcquirerKey>);
    let reference = key.as_ref().map(AcquirerKey::to_string).unwrap_or_default();
    let operation = check_width(row).and(key).and_then(|_| values(row, &reference));
    operation.map_err(|malformed| malformed.of(reference))
}

fn values(row: &Row<'_>, reference: &str) -> Result<SettledOperation, Malformed> {
    let movement = value(row, "type", DifferenceKind::MalformedType, movement)?;
    let transaction =
        value(row, "transactionId", DifferenceKind::MalformedTransaction, str::parse::<Id>)?;
    let currency =
        value(row, "currency", DifferenceKind::MalformedCurrency, Currency::current_or_former)?;
    let fee = |text: &str| Money::of_decimal(currency, text);
    Ok(SettledOperation {
        line: row.line,
        reference: reference.to_owned(),
        movement,
        transaction: Some(transaction),
        amount: value(row, "amount", DifferenceKind::MalformedAmount, |text| {
            amount(currency, text)
        })?,
        fee: value(row, "fee", DifferenceKind::MalformedFee, fee)?,
        date: value(row, "settled", DifferenceKind::MalformedDate, date)?,
        is_failure: false,
        has_failed: false,
        is_repeated: false,
    })
}

fn movement(name: &str) -> Result<Movement, &'static str> {
    match Movement::from_name(name) {
        Some(movement @ (Movement::Capture | Movement::Refund)) => Ok(movement),
        _ => Err("must be capture or refund"),
    }
}
