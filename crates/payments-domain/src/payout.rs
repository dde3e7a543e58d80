//! Payouts: transfers of merchants' balances to their bank accounts.

use std::time::Duration;

use jiff::{Timestamp, civil::Date};
use sql::{group, named};

use super::{
    id::Id,
    ledger::LedgerEntry,
    merchant::{Iban, Merchant},
    money::{Currency, Money},
    sepa,
};

named! {
    /// The format of a file of transfers.
    pub enum PayoutFormat {
        /// Rows with the columns of all banks: any currency, any account.
        Csv = "csv",
        /// A credit transfer of ISO 20022 in SEPA.
        Pain001 = "pain001",
    }
}

impl PayoutFormat {
    /// Whether a file of this format can contain a transfer of this currency to this account.
    pub fn reaches(self, currency: Currency, iban: &Iban) -> bool {
        match self {
            Self::Csv => true,
            Self::Pain001 => sepa::reaches(currency, iban),
        }
    }

    /// The maximum amount of a transfer, in minor units. The rest stays in the balance.
    fn max_transfer(self) -> i64 {
        match self {
            Self::Csv => i64::MAX,
            Self::Pain001 => sepa::MAX_TRANSFER,
        }
    }
}

/// A run of payouts, and the file that lists them. A merchant is paid at most once a day, so that
/// it is in the file of one run only. When all merchants are paid the run is closed, and pays no
/// more merchants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayoutRun {
    pub day: Date,
    /// Whether the run pays the test merchants. Otherwise it pays the live merchants.
    pub test: bool,
    pub format: PayoutFormat,
}

/// A payout to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayoutRequest {
    pub run: PayoutRun,
    pub merchant: Id,
    /// Captures younger than this are not paid yet.
    pub delay: Duration,
}

group! {
    /// A transfer to a merchant's bank account.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Transfer {
        merchant: Id = "merchant",
        /// The name of the recipient: the merchant's title.
        name: String = "name",
        iban: Iban = "iban",
        /// Always positive.
        amount: Money = ..,
    }
}

impl Transfer {
    /// The balance of a merchant, less the balance of captures that are `held`. `None` if that is
    /// not positive, or if the merchant has no account that the format reaches.
    pub fn due(merchant: &Merchant, held: i64, format: PayoutFormat) -> Option<Self> {
        let currency = merchant.details.currency;
        let iban = merchant.details.iban.clone().filter(|iban| format.reaches(currency, iban))?;
        // A capture can cost more than it brings. Holding it back must not pay more than there is.
        let minor = merchant.balance.saturating_sub(held.max(0)).min(format.max_transfer());
        let name = merchant.details.title().to_owned();
        let amount = Money { currency, minor };
        (minor > 0).then_some(Self { merchant: merchant.id, name, iban, amount })
    }

    /// The negative change of the merchant's balance, and the ledger entry.
    pub fn booking(&self) -> (Money, LedgerEntry) {
        // A positive number can be negated without overflow.
        let debit = Money { minor: self.amount.minor.saturating_neg(), ..self.amount };
        (debit, LedgerEntry::for_payout(debit, self.amount))
    }
}

/// A payout that was booked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payout {
    pub id: Id,
    pub created: Timestamp,
    /// Whether the merchant is a test merchant.
    pub test: bool,
    /// The balance line.
    pub line: Id,
    /// Captures after this time were held back. `None` if none were.
    pub held_since: Option<Timestamp>,
    pub transfer: Transfer,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Country, Currency, Descriptor, Email, MerchantDetails, Name, Ppm, Pricing, Website,
    };

    fn merchant(balance: i64, iban: Option<&str>) -> Merchant {
        let eur = Money { currency: Currency::EUR, minor: 0 };
        Merchant {
            id: Id::MIN,
            key: String::new(),
            created: Timestamp::UNIX_EPOCH,
            details: MerchantDetails {
                name: None,
                currency: Currency::EUR,
                test: true,
                email: Email::new("ann@shop.example").unwrap(),
                website: Website::new("shop.example").unwrap(),
                descriptor: Descriptor::new("Shop").unwrap(),
                country: Country::new("DK").unwrap(),
                registration_number: None,
                iban: iban.map(|iban| Iban::new(iban).unwrap()),
            },
            pricing: Pricing { rate: Ppm::ZERO, flat: eur, dispute: eur },
            balance,
        }
    }

    fn due(merchant: &Merchant, held: i64) -> Option<Transfer> {
        Transfer::due(merchant, held, PayoutFormat::Csv)
    }

    #[test]
    fn a_positive_balance_is_due_if_there_is_an_iban() {
        let iban = Some("DK5000400440116243");
        for (balance, iban) in [(0, iban), (-1, iban), (i64::MIN, iban), (1, None)] {
            assert_eq!(due(&merchant(balance, iban), 0), None, "{balance}");
        }
        for balance in [1, 995, i64::MAX] {
            let transfer = due(&merchant(balance, iban), 0).unwrap();
            assert_eq!((transfer.amount.minor, transfer.name.as_str()), (balance, "shop.example"));
            let (debit, entry) = transfer.booking();
            assert_eq!(debit.minor, -balance);
            assert!(entry.is_balanced() && entry.postings().len() == 2);
        }
    }

    #[test]
    fn a_transfer_uses_the_name_of_the_merchant() {
        let mut merchant = merchant(1, Some("DK5000400440116243"));
        merchant.details.name = Some(Name::new("Ann").unwrap());
        assert_eq!(due(&merchant, 0).unwrap().name, "Ann");
    }

    #[test]
    fn held_captures_reduce_a_transfer_but_never_increase_it() {
        let iban = Some("DK5000400440116243");
        for (balance, held, expected) in [
            (900, 200, Some(700)),
            (900, 899, Some(1)),
            (900, 900, None),
            (900, 1000, None),
            (900, i64::MAX, None),
            (900, -15, Some(900)),
            (-15, -15, None),
            (i64::MIN, i64::MAX, None),
        ] {
            let transfer = due(&merchant(balance, iban), held);
            assert_eq!(
                transfer.map(|transfer| transfer.amount.minor),
                expected,
                "{balance} {held}"
            );
        }
    }

    #[test]
    fn a_sepa_transfer_has_the_currency_the_area_and_the_maximum_of_sepa() {
        let sepa = |merchant: &Merchant| {
            let transfer = Transfer::due(merchant, 0, PayoutFormat::Pain001);
            transfer.map(|transfer| transfer.amount.minor)
        };
        let danish = Some("DK5000400440116243");
        assert_eq!(sepa(&merchant(995, danish)), Some(995));
        assert_eq!(sepa(&merchant(i64::MAX, danish)), Some(99_999_999_999));
        assert_eq!(sepa(&merchant(995, Some("BR1800360305000010009795493C1"))), None);
        let mut krone = merchant(995, danish);
        krone.details.currency = "DKK".parse().unwrap();
        assert_eq!(sepa(&krone), None);
        assert!(due(&krone, 0).is_some());
    }
}
