//! The fees that an acquirer has agreed to.

use super::OperationKind;
use crate::money::{Money, Overflow, Ppm, multiply_rounded};

/// The agreed fee of a capture. A refund costs nothing. What a dispute costs is not agreed.
#[derive(Debug, Clone)]
pub struct Tariff {
    pub rate: Ppm,
    /// Added to a capture in the same currency.
    pub flat: Vec<Money>,
}

impl Tariff {
    /// The fee in the currency of `amount`. The proportional part is rounded half up.
    pub fn fee(&self, kind: OperationKind, amount: Money) -> Result<Option<Money>, Overflow> {
        let Money { currency, minor } = amount;
        let minor = match kind {
            OperationKind::Capture => {
                let flat = self.flat.iter().find(|flat| flat.currency == currency);
                let rate = multiply_rounded(minor, &self.rate.factor())?;
                rate.checked_add(flat.map_or(0, |flat| flat.minor)).ok_or(Overflow)?
            }
            OperationKind::Refund => 0,
            OperationKind::Void
            | OperationKind::RefundFailure
            | OperationKind::Dispute
            | OperationKind::DisputeReversal => return Ok(None),
        };
        Ok(Some(Money { currency, minor }))
    }
}
