//! Rows that cannot be read.

use std::fmt::Display;

use payments_domain::{Currency, Difference, DifferenceKind, Money};

use crate::{csv_file::Row, formula};

/// A row that is not a capture or refund, although it should be one.
#[derive(Debug)]
pub(super) struct Malformed {
    kind: DifferenceKind,
    /// The rule that the value breaks.
    rule: String,
    value: String,
    /// The operation. Empty if it cannot be read.
    pub(super) reference: String,
}

impl Malformed {
    pub(super) fn new(kind: DifferenceKind, rule: impl Display, value: &str) -> Self {
        let value = formula::quote(value);
        Self { kind, rule: rule.to_string(), value, reference: String::new() }
    }

    /// Adds the operation. An empty text: it cannot be read.
    pub(super) fn of(self, reference: String) -> Self {
        Self { reference, ..self }
    }

    pub(super) fn into_difference(self, line: u64) -> Difference {
        Difference {
            kind: self.kind,
            line: Some(line),
            reference: self.reference,
            transaction: None,
            here: self.rule,
            there: self.value,
        }
    }
}

/// Fails unless the row has as many columns as the header.
pub(super) fn check_width(row: &Row<'_>) -> Result<(), Malformed> {
    let (width, expected) = (row.width(), row.header_width());
    if width == expected {
        return Ok(());
    }
    let rule = format_args!("must have {expected} columns");
    Err(Malformed::new(DifferenceKind::MalformedRow, rule, &format!("{width} columns")))
}

/// The text in a column.
pub(super) fn text<'a>(row: &Row<'a>, name: &str) -> Result<&'a str, Malformed> {
    let malformed =
        |_| Malformed::new(DifferenceKind::MalformedRow, format_args!("{name} must be UTF-8"), "");
    row.text(name).map_err(malformed)
}

/// The value in a column.
pub(super) fn value<T, E: Display>(
    row: &Row<'_>,
    name: &str,
    kind: DifferenceKind,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, Malformed> {
    let text = text(row, name)?;
    parse(text).map_err(|rule| Malformed::new(kind, rule, text))
}

/// An amount in major units that is more than 0.
pub(super) fn amount(currency: Currency, text: &str) -> Result<Money, String> {
    let amount = Money::of_decimal(currency, text).map_err(|error| error.to_string())?;
    if amount.minor == 0 { Err("must be more than 0".to_owned()) } else { Ok(amount) }
}
