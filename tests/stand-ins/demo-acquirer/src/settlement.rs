//! The settlement file. A capture or refund settles on the UTC date of its execution.

use jiff::civil::Date;
use serde::Serialize;

use crate::{book::Book, key::Key, money::Currency, request::MovementKind};

/// The fee of a capture: one hundredth. A refund costs nothing.
const FEE_DIVISOR: u64 = 100;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    operation: &'a Key,
    r#type: &'static str,
    transaction_id: &'a str,
    currency: Currency,
    amount: String,
    fee: String,
    settled: Date,
}

/// The rows of a date as CSV, header first.
pub(crate) fn csv(book: &Book, date: Date) -> Result<Vec<u8>, csv::Error> {
    let mut file = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .has_headers(false)
        .from_writer(Vec::new());
    file.write_record(HEADER)?;
    for (operation, kind, movement) in book.settled(date) {
        let (r#type, fee) = match kind {
            MovementKind::Capture => ("capture", (movement.amount + FEE_DIVISOR / 2) / FEE_DIVISOR),
            MovementKind::Refund => ("refund", 0),
            MovementKind::Void => continue,
        };
        file.serialize(Row {
            operation,
            r#type,
            transaction_id: &movement.transaction_id,
            currency: movement.currency,
            amount: movement.currency.decimal(movement.amount),
            fee: movement.currency.decimal(fee),
            settled: date,
        })?;
    }
    file.into_inner().map_err(|error| error.into_error().into())
}

const HEADER: [&str; 7] =
    ["operation", "type", "transactionId", "currency", "amount", "fee", "settled"];
