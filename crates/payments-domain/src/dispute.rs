//! Disputes (chargebacks): a customer demands money back, and the acquirer decides who gets it.
//!
//! 1. A notification reports what has already happened at the acquirer. So no amount makes the
//!    service reject it, except when a sum overflows: the balance can become negative, and the
//!    dispute can be larger than the captures.
//! 2. Opening a dispute takes **slices** of the captures, the oldest first, as a refund would, with
//!    their part of the rate fee. The merchant also pays the dispute fee.
//! 3. If the captures do not have enough left, the dispute takes them again, although their money
//!    was refunded or disputed before. Each capture keeps its own rate and fee. Such slices are
//!    marked `again`. They do not change [`Capture`], so that winning the dispute does not undo
//!    the refund.
//! 4. If nothing was ever captured, the amount is exchanged at the current rate.
//! 5. The slices are stored, because a won dispute returns exactly these amounts. The dispute fee
//!    is returned only if the dispute was prevented. A lost dispute moves no money of the merchant:
//!    it was debited at the opening.
//! 6. A lost dispute can still be won, by an appeal. A won one stays won.
//! 7. An inquiry moves no money. It becomes a dispute when it is opened.
//! 8. Notifications can arrive in any order. A decision that arrives before the opening waits, and
//!    is applied then.
//! 9. The opening is not in the trail, but decisions are. They ignore the limit of steps.

use jiff::Timestamp;
use num_rational::Ratio;
use sql::{group, named};

use super::{
    acquirer_key::AcquirerKey,
    event::EventType,
    id::Id,
    ledger::{LedgerEntry, LineKind},
    money::{Amount, Money, Overflow, multiply_rounded},
    movement::{Booking, Capture, MovementError, TransactionChange, TransactionState},
    notification::AcquirerEvent,
    rates::Exchange,
    transaction::{Amounts, Fee, Movement},
};

/// A dispute, as the API shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispute {
    pub id: Id,
    pub merchant: Id,
    pub transaction: Id,
    /// The time of the inquiry or of the opening, by the acquirer's clock.
    pub created: Timestamp,
    /// Minor units of the transaction's currency.
    pub amount: i64,
    /// `None` if the acquirer gave no reason.
    pub reason: Option<Reason>,
    /// The deadline to answer the dispute, at the acquirer.
    pub due: Timestamp,
    /// Whether it is only an inquiry, which moves no money.
    pub is_inquiry: bool,
    /// When evidence was submitted.
    pub submitted: Option<Timestamp>,
    /// When the merchant accepted the loss.
    pub accepted: Option<Timestamp>,
}

impl Dispute {
    /// The dispute at its event of this type and time: an inquiry may have become a dispute since
    /// then, and an answer may have been given or refused.
    #[must_use]
    pub fn at(self, event_type: EventType, created: Timestamp) -> Self {
        let (submitted, accepted) = match event_type {
            EventType::DisputeEvidence => (Some(created), None),
            EventType::DisputeAccepted => (None, Some(created)),
            EventType::DisputeWon | EventType::DisputeLost => {
                let before = |time: &Timestamp| *time <= created;
                (self.submitted.filter(before), self.accepted.filter(before))
            }
            _ => (None, None),
        };
        let is_inquiry = self.is_inquiry || event_type == EventType::DisputeInquiry;
        Self { is_inquiry, submitted, accepted, ..self }
    }
}

group! {
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Reason {
        /// The code of the card scheme.
        code: i64 = "reason_code",
        /// The code in words.
        title: String = "reason_title",
    }
}

named! {
    pub enum Decision {
        /// The merchant gets the money back.
        Won = "won",
        /// The customer keeps the money.
        Lost = "lost",
        /// No chargeback was made: the merchant gets the money and the dispute fee back. The
        /// dispute is stored as won.
        Prevented = "prevented",
    }
}

impl Decision {
    /// The step of the trail that records the decision.
    pub fn movement(self) -> Movement {
        match self {
            Self::Won | Self::Prevented => Movement::Won,
            Self::Lost => Movement::Lost,
        }
    }

    /// The decision, as the dispute is stored.
    pub(crate) fn stored(self) -> Self {
        match self {
            Self::Won | Self::Prevented => Self::Won,
            Self::Lost => Self::Lost,
        }
    }

    /// Whether it still counts after another one.
    pub fn overrides(self, earlier: Self) -> bool {
        earlier == Self::Lost && self != Self::Lost
    }
}

group! {
    /// The part of a capture that a dispute debits.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Slice {
        /// The capture's index in the trail. `None` if nothing was ever captured.
        step: Option<u32> = "step",
        /// Minor units of the transaction's currency.
        amount: i64 = "amount",
        /// The value of the amount, in minor units of the funding currency.
        gross: i64 = "gross",
        /// The returned part of the rate fee, in minor units of the funding currency.
        fee: i64 = "fee",
        /// Whether this part exceeds what was left in the captures. Such a part does not change a
        /// capture.
        again: bool = "again",
    }
}

/// The result of opening a dispute. It is written completely or not at all.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OpenedDispute {
    pub change: TransactionChange,
    /// Returned if the dispute is won.
    pub slices: Vec<Slice>,
}

/// The part of a dispute that the effect of its decision depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisputeState {
    pub id: Id,
    pub is_inquiry: bool,
    /// The dispute fee, in minor units of the funding currency.
    pub fee: i64,
    pub decision: Option<Decision>,
    pub slices: Vec<Slice>,
}

/// The result of a notification. It is written completely or not at all.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NotificationResult {
    /// Nothing to do: it was booked before.
    None,
    Alert,
    /// The acquirer refuses this operation, which was booked before.
    Refuse(AcquirerKey),
    /// The authorization has ended: its rest is voided.
    Void(TransactionChange),
    Inquire,
    /// The decision waits for its dispute, which is not opened yet.
    Wait(Decision),
    /// The dispute is opened, and also ended if its decision was waiting.
    Open(OpenedDispute, Option<(Decision, TransactionChange)>),
    End {
        dispute: Id,
        decision: Decision,
        change: TransactionChange,
    },
}

impl NotificationResult {
    /// The decision that waits for its dispute, if any.
    pub(crate) fn waiting_decision(&self) -> Option<Decision> {
        match self {
            Self::Wait(decision) => Some(*decision),
            Self::None
            | Self::Alert
            | Self::Refuse(_)
            | Self::Void(_)
            | Self::Inquire
            | Self::Open(..)
            | Self::End { .. } => None,
        }
    }
}

impl TransactionState {
    /// Computes the result of an event. `dispute` is `None` if the service does not know the dispute
    /// of the event. `waiting` is a decision that arrived before the opening. `exchange` converts
    /// money that was never captured, and `fee_exchange` converts the dispute fee.
    pub(crate) fn decide_notification(
        &self,
        event: &AcquirerEvent,
        (dispute, waiting): (Option<&DisputeState>, Option<Decision>),
        (exchange, fee_exchange): (Exchange, Exchange),
    ) -> Result<NotificationResult, MovementError> {
        let opened = dispute.filter(|dispute| !dispute.is_inquiry);
        Ok(match (event, opened) {
            (AcquirerEvent::Fraud { .. }, _) => NotificationResult::Alert,
            (AcquirerEvent::Refused { operation, .. }, _) => NotificationResult::Refuse(*operation),
            (AcquirerEvent::Expired, _) => match self.amounts.pending() {
                0 => NotificationResult::None,
                rest => NotificationResult::Void(self.void(rest)?),
            },
            (AcquirerEvent::Inquired(_), None) if dispute.is_none() => NotificationResult::Inquire,
            (AcquirerEvent::Opened(claim), None) => {
                let opening = self.open(claim.amount, exchange, fee_exchange)?;
                let fee = opening.change.fee.flat;
                let end = |decision| {
                    let opened = self.clone().apply(&opening.change);
                    let change = opened.end(&opening.slices, fee, None, decision)?;
                    Ok::<_, Overflow>((decision, change))
                };
                let ended = waiting.map(end).transpose()?;
                NotificationResult::Open(opening, ended)
            }
            (AcquirerEvent::Decided { decision, .. }, None) => NotificationResult::Wait(*decision),
            (AcquirerEvent::Decided { decision, .. }, Some(opened))
                if opened.decision.is_none_or(|earlier| decision.overrides(earlier)) =>
            {
                let DisputeState { id: dispute, fee, slices, decision: earlier, .. } = opened;
                let change = self.end(slices, *fee, *earlier, *decision)?;
                NotificationResult::End { dispute: *dispute, decision: *decision, change }
            }
            (AcquirerEvent::Inquired(_) | AcquirerEvent::Opened(_), _)
            | (AcquirerEvent::Decided { .. }, Some(_)) => NotificationResult::None,
        })
    }

    /// Opens a dispute over `amount`: takes the remaining part of the captures, oldest first, as a
    /// refund does. [`beyond_captures`] takes the rest of the amount.
    fn open(
        &self,
        amount: Amount,
        exchange: Exchange,
        fee_exchange: Exchange,
    ) -> Result<OpenedDispute, Overflow> {
        let amount = amount.minor();
        let (mut captures, mut slices) = (Vec::new(), Vec::new());
        let mut left = amount;
        for captured in &self.captures {
            let part = left.min(captured.rest());
            if part == 0 {
                continue;
            }
            let mut captured = *captured;
            let (gross, fee) = captured.return_part(part)?;
            let step = Some(captured.step);
            slices.push(Slice { step, amount: part, gross, fee, again: false });
            captures.push(captured);
            left = left.saturating_sub(part);
        }
        slices.extend(beyond_captures(&self.captures, left, exchange)?);
        let gross = sum(&slices, |slice| slice.gross)?;
        let fee = Fee {
            flat: fee_exchange.cost(self.pricing.dispute.minor)?,
            rate: sum(&slices, |slice| slice.fee)?.checked_neg().ok_or(Overflow)?,
        };
        let balance = gross.checked_add(fee.total()?).and_then(i64::checked_neg).ok_or(Overflow)?;
        let disputed = self.amounts.disputed.checked_add(amount).ok_or(Overflow)?;
        let change = TransactionChange {
            movement: None,
            amount,
            amounts: Amounts { disputed, ..self.amounts },
            captures,
            balance,
            fee,
            booking: Some(Booking {
                kind: LineKind::Dispute,
                amount: Money { currency: self.currency, minor: amount.saturating_neg() },
                entry: LedgerEntry::for_dispute(self.funds(gross), balance).ok_or(Overflow)?,
            }),
        };
        Ok(OpenedDispute { change, slices })
    }

    /// Ends a dispute that took these slices and this fee. A won dispute returns exactly the slices,
    /// a prevented one also the fee, and a lost one nothing. `earlier` is an earlier decision.
    fn end(
        &self,
        slices: &[Slice],
        fee: i64,
        earlier: Option<Decision>,
        decision: Decision,
    ) -> Result<TransactionChange, Overflow> {
        let amount = sum(slices, |slice| slice.amount)?;
        let gross = sum(slices, |slice| slice.gross)?;
        let charged = Money { currency: self.currency, minor: amount };
        let change = TransactionChange {
            movement: Some(decision.movement()),
            amount,
            amounts: self.amounts,
            captures: Vec::new(),
            balance: 0,
            fee: Fee::default(),
            booking: None,
        };
        if decision == Decision::Lost {
            let entry =
                LedgerEntry::for_lost_dispute(charged, self.funds(gross)).ok_or(Overflow)?;
            // The opening has debited the merchant, so the line has no amount.
            let amount = Money { minor: 0, ..charged };
            let booking = Some(Booking { kind: LineKind::Lost, amount, entry });
            return Ok(TransactionChange { booking, ..change });
        }
        let returned = slices.iter().filter(|slice| !slice.again).filter_map(|slice| {
            let is_source = |captured: &&Capture| slice.step == Some(captured.step);
            self.captures.iter().find(is_source).map(|captured| captured.undo_return(slice))
        });
        let returned_fee = if decision == Decision::Prevented { fee } else { 0 };
        let fee = Fee { flat: returned_fee.saturating_neg(), rate: sum(slices, |it| it.fee)? };
        let balance = gross.checked_sub(fee.total()?).ok_or(Overflow)?;
        // The money of a lost dispute comes back from the acquirer, that of an open one from the
        // reserve.
        let entry = match earlier {
            Some(_) => LedgerEntry::for_capture(charged, self.funds(gross), balance),
            None => {
                let reserved = self.funds(gross.checked_neg().ok_or(Overflow)?);
                LedgerEntry::for_dispute(reserved, balance)
            }
        };
        let entry = entry.ok_or(Overflow)?;
        let disputed = self.amounts.disputed.saturating_sub(amount);
        Ok(TransactionChange {
            amounts: Amounts { disputed, ..self.amounts },
            captures: returned.collect(),
            balance,
            fee,
            booking: Some(Booking { kind: LineKind::Won, amount: charged, entry }),
            ..change
        })
    }

    fn funds(&self, minor: i64) -> Money {
        Money { currency: self.funding, minor }
    }
}

/// Takes `amount` from captures that have nothing left: each capture once, oldest first. The newest
/// capture takes the rest, even if it is more than was captured. Without captures, returns one
/// slice at the current exchange rate.
fn beyond_captures(
    captures: &[Capture],
    amount: i64,
    exchange: Exchange,
) -> Result<Vec<Slice>, Overflow> {
    let captures: Vec<_> = captures.iter().filter(|captured| !captured.is_refused).collect();
    let mut slices = Vec::new();
    let mut left = amount;
    for (number, captured) in (1..).zip(&captures) {
        let is_last = number == captures.len();
        let part = if is_last { left } else { left.min(captured.amount) };
        if part == 0 {
            return Ok(slices);
        }
        let share = Ratio::new(i128::from(part), i128::from(captured.amount));
        let (gross, fee) =
            (multiply_rounded(captured.gross, &share)?, multiply_rounded(captured.fee, &share)?);
        slices.push(Slice { step: Some(captured.step), amount: part, gross, fee, again: true });
        left = left.saturating_sub(part);
    }
    if left > 0 {
        let gross = exchange.proceeds(left)?;
        slices.push(Slice { step: None, amount: left, gross, fee: 0, again: true });
    }
    Ok(slices)
}

fn sum(slices: &[Slice], of: fn(&Slice) -> i64) -> Result<i64, Overflow> {
    let sum = slices.iter().try_fold(0_i64, |sum, slice| sum.checked_add(of(slice)));
    sum.ok_or(Overflow)
}

#[cfg(test)]
mod tests;
