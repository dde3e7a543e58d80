//! Transfers as an ISO 20022 credit transfer in SEPA: `pain.001.001.09`, one batch in euros.
//!
//! 1. The file depends on the payouts and the debtor only, so that a repeat writes the same bytes.
//!    The time of its creation is that of the last payout.
//! 2. `BtchBookg` is false: the bank books each transfer for itself. So each has a line with its
//!    end-to-end ID, which is the ID of the payout, on the statement.
//! 3. Banks recognise a file that they have received before by its `MsgId`. It consists of the day
//!    and the ID of the first payout.

use std::io;

use askama::Template;
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use payments_domain::{Debtor, Id, Payout, SepaMessage, SepaName, sepa_sum};

use super::reference;

#[derive(Template)]
#[template(path = "pain001.xml")]
struct CreditTransfer<'a> {
    id: String,
    created: Timestamp,
    sum: String,
    execution: Date,
    debtor: &'a Debtor,
    transfers: Vec<CreditTransferLine<'a>>,
}

struct CreditTransferLine<'a> {
    id: Id,
    amount: String,
    name: String,
    iban: &'a str,
    reference: String,
}

/// `None` if there are no payouts: the format has no empty file.
pub(super) fn pain001(
    payouts: &[Payout],
    day: Date,
    debtor: &Debtor,
) -> io::Result<Option<Vec<u8>>> {
    let (Some(first), Some(last)) = (payouts.first(), payouts.last()) else { return Ok(None) };
    let created = Timestamp::from_second(last.id.second().into()).map_err(io::Error::other)?;
    let document = CreditTransfer {
        id: SepaMessage { day, first: first.id }.to_string(),
        created,
        sum: sepa_sum(payouts.iter().map(|payout| payout.transfer.amount)).decimal(),
        // A run for a past day is booked and paid later.
        execution: day.max(created.to_zoned(TimeZone::UTC).date()),
        debtor,
        transfers: payouts.iter().map(|payout| line(payout, day)).collect(),
    };
    Ok(Some(document.render().map_err(io::Error::other)?.into_bytes()))
}

fn line(payout: &Payout, day: Date) -> CreditTransferLine<'_> {
    let Payout { id, transfer, .. } = payout;
    CreditTransferLine {
        id: *id,
        amount: transfer.amount.decimal(),
        name: match SepaName::new(&transfer.name) {
            Ok(name) => name.as_str().to_owned(),
            // The bank requires a name, and the merchant has none that it could read.
            Err(_) => format!("Merchant {}", transfer.merchant),
        },
        iban: transfer.iban.as_str(),
        reference: reference(payout, day),
    }
}
