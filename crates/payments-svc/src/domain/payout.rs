//! Payouts: what merchants have goes to their bank accounts.

use jiff::civil::Date;

use super::{
    id::Id,
    journal::Entry,
    merchant::{Iban, Merchant},
    money::Money,
};

/// A run of payouts. In each, a merchant is paid once; when all are, it is closed, and nobody is
/// paid in it any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PayoutRun {
    /// The day.
    pub(crate) day: Date,
    /// Whether merchants for tests are paid, or the others.
    pub(crate) test: bool,
}

/// Money that is to go to a merchant's bank account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// The merchant.
    pub(crate) merchant: Id,
    /// Whom the bank is told it is for.
    pub(crate) name: String,
    /// The account.
    pub(crate) iban: Iban,
    /// How much; it is positive.
    pub(crate) amount: Money,
}

impl Transfer {
    /// All that a merchant has, if it has something and an account to get it at.
    pub(crate) fn due(merchant: &Merchant) -> Option<Self> {
        let iban = merchant.details.iban.clone()?;
        let amount = Money { currency: merchant.details.currency, minor: merchant.balance };
        let name = merchant.details.title().to_owned();
        (amount.minor > 0).then_some(Self { merchant: merchant.id, name, iban, amount })
    }

    /// What it takes from the merchant's balance and gives to the bank; negative for the first.
    pub(crate) fn booking(&self) -> (Money, Entry) {
        // Negating what is positive never overflows.
        let taken = Money { minor: self.amount.minor.saturating_neg(), ..self.amount };
        (taken, Entry::paid_out(taken, self.amount))
    }
}

/// A payout that was booked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Payout {
    /// Its id.
    pub(crate) id: Id,
    /// Its line on the merchant's balance.
    pub(crate) line: Id,
    /// What is transferred.
    pub(crate) transfer: Transfer,
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::domain::{
        Country, Currency, Descriptor, Email, MerchantDetails, Name, Ppm, Pricing, Website,
    };

    fn merchant(balance: i64, iban: Option<&str>) -> Merchant {
        let eur = Money { currency: Currency::EUR, minor: 0 };
        Merchant {
            id: Id::FIRST,
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
                number: None,
                iban: iban.map(|iban| Iban::new(iban).unwrap()),
            },
            pricing: Pricing { rate: Ppm::NONE, flat: eur, dispute: eur },
            balance,
        }
    }

    #[test]
    fn what_is_due_is_all_that_a_merchant_with_an_account_has() {
        let iban = Some("DK5000400440116243");
        for (balance, iban) in [(0, iban), (-1, iban), (i64::MIN, iban), (1, None)] {
            assert_eq!(Transfer::due(&merchant(balance, iban)), None, "{balance}");
        }
        for balance in [1, 995, i64::MAX] {
            let transfer = Transfer::due(&merchant(balance, iban)).unwrap();
            assert_eq!((transfer.amount.minor, transfer.name.as_str()), (balance, "shop.example"));
            let (taken, entry) = transfer.booking();
            assert_eq!(taken.minor, -balance);
            assert!(entry.is_balanced() && entry.postings().len() == 2);
        }
    }

    #[test]
    fn a_transfer_is_for_the_merchant_by_its_name_if_it_has_one() {
        let mut merchant = merchant(1, Some("DK5000400440116243"));
        merchant.details.name = Some(Name::new("Ann").unwrap());
        assert_eq!(Transfer::due(&merchant).unwrap().name, "Ann");
    }
}
