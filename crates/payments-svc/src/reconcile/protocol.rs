//! The settlement file of the acquirer protocol. `docs/acquirer-protocol.md` describes it.

use payments_domain::{
    AcquirerKey, Currency, DifferenceKind, Id, Money, OperationKind, SettledOperation, SettledRow,
};

use super::malformed::{Malformed, amount, check_width, value};
use crate::csv_file::{CsvFile, Row, date};

const HEADER: [&str; 7] =
    ["operation", "type", "transactionId", "currency", "amount", "fee", "settled"];

/// Fails unless the file has the columns of the format. The error says which.
pub(super) fn check_header(file: &CsvFile) -> Result<(), String> {
    let is_right = file.has_only(&HEADER);
    is_right.then_some(()).ok_or_else(|| format!("its first line must be {}", HEADER.join(",")))
}

/// Reads a row.
pub(super) fn settled(row: &Row<'_>) -> Result<SettledRow, Malformed> {
    let key =
        value(row, "operation", DifferenceKind::MalformedOperation, str::parse::<AcquirerKey>);
    let reference = key.as_ref().map(AcquirerKey::to_string).unwrap_or_default();
    match check_width(row).and(key).and_then(|_| operation(row)) {
        Ok(operation) => Ok(SettledRow { id: reference.clone(), reference, operation }),
        Err(malformed) => Err(malformed.of(reference)),
    }
}

fn operation(row: &Row<'_>) -> Result<SettledOperation, Malformed> {
    let kind = value(row, "type", DifferenceKind::MalformedType, kind)?;
    let transaction =
        value(row, "transactionId", DifferenceKind::MalformedTransaction, str::parse::<Id>)?;
    let currency =
        value(row, "currency", DifferenceKind::MalformedCurrency, Currency::current_or_former)?;
    let fee = |text: &str| Money::of_decimal(currency, text);
    Ok(SettledOperation {
        line: row.line,
        kind,
        transaction: Some(transaction),
        amount: value(row, "amount", DifferenceKind::MalformedAmount, |text| {
            amount(currency, text)
        })?,
        is_converted: false,
        fee: Some(value(row, "fee", DifferenceKind::MalformedFee, fee)?),
        date: value(row, "settled", DifferenceKind::MalformedDate, date)?,
    })
}

fn kind(name: &str) -> Result<OperationKind, &'static str> {
    match OperationKind::from_name(name) {
        Some(kind @ (OperationKind::Capture | OperationKind::Refund)) => Ok(kind),
        _ => Err("must be capture or refund"),
    }
}
