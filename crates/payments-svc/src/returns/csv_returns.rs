//! Returns as CSV.

use super::{
    Entry, Returned,
    book::{ProblemKind, malformed},
    file::ReadError,
};
use crate::csv_file::{CsvFile, Row};

const HEADER: [&str; 5] = ["end_to_end_id", "amount", "currency", "reason", "date"];

/// Fails unless the file has the columns of the format.
pub(super) fn check_header(file: &CsvFile) -> Result<(), ReadError> {
    let is_right = file.has_only(&HEADER);
    is_right.then_some(()).ok_or_else(|| {
        let header = HEADER.join(",");
        ReadError::Format(format!("it is no XML, and its first line is not {header}"))
    })
}

pub(super) fn entry(row: &Row<'_>) -> Entry {
    let problem = |rule, value: &str| {
        Entry::Named(row.line, String::new(), malformed(ProblemKind::MalformedRow, rule, value))
    };
    if row.width() != HEADER.len() {
        return problem("must have 5 columns", &format!("{} columns", row.width()));
    }
    let [id, amount, currency, reason, date] = HEADER.map(|name| row.text(name));
    match (id, amount, currency, reason, date) {
        (Ok(id), Ok(amount), Ok(currency), Ok(reason), Ok(date)) => Entry::Returned(Returned {
            line: row.line,
            end_to_end_id: id.to_owned(),
            amount: Some([currency, amount].map(str::to_owned)),
            date: Some(date.to_owned()),
            reason: reason.to_owned(),
        }),
        _ => problem("must be UTF-8", ""),
    }
}
