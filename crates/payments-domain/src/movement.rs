//! The rules of captures, refunds and voids.
//!
//! [`TransactionState::decide`] computes the result of a request, a [`TransactionChange`], from the
//! loaded state of one transaction. `write/booking.rs` turns it into row changes. The
//! rules:
//!
//! 1. **Exchange.** A transaction has its own currency. Balance, gross and fees are in the
//!    merchant's funding currency. Money is exchanged only at the capture: gross = amount × rate ×
//!    (1 − spread). A refund takes back the same share of the capture's gross. It uses no exchange
//!    rate. So a full refund debits exactly the gross of the capture, even if rates have changed.
//! 2. **Fees.** A capture costs a share of the gross (`rate`) and a flat fee (`flat`), which is
//!    exchanged too. The balance gains gross − fees. A refund returns its part of `rate`, and never
//!    `flat`.
//! 3. **Rounding.** Fractions are exact and rounded once. [`Capture::return_part`] rounds the total
//!    that was refunded so far, and subtracts the earlier parts. So rounding errors do not add up:
//!    after the last part, exactly the gross and the fee are refunded.
//! 4. **Order.** A refund uses the oldest captures first. The store relies on this: it loads only
//!    as many captures as the amount of the refund needs.
//! 5. **Acquirer.** What the acquirer cannot do with the authorization is refused: see
//!    [`Capabilities`]. If it captures once, the first capture also voids the rest.
//! 6. **Limits.** A refund is limited by captured − refunded − disputed, never by the balance: the
//!    balance can become negative. From [`MAX_STEPS`] steps on, a trail accepts only a void of the
//!    whole pending amount, a refund of the whole refundable amount, and decisions of disputes. So
//!    no authorization or money is stuck.

use num_rational::Ratio;
use sql::group;

use super::{
    dispute::Slice,
    ledger::{LedgerEntry, LineKind},
    merchant::Pricing,
    money::{Amount, Currency, Factor, Money, Overflow, Ppm, multiply_rounded},
    payment::{Capabilities, OutboxKind},
    rates::Exchange,
    transaction::{Amounts, Fee, Movement},
};

group! {
    /// A capture, and how much of it was refunded or is disputed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Capture {
        /// The index in the trail, from 0.
        step: u32 = [0],
        /// Minor units of the transaction's currency.
        amount: i64 = "amount",
        /// The value of the amount, in minor units of the funding currency.
        gross: i64 = "gross",
        /// The fee that depends on the amount, in minor units of the funding currency.
        fee: i64 = "fee",
        /// The part of `amount` that was refunded or is disputed. `gross_returned` and
        /// `fee_returned` are its parts of gross and fee.
        amount_returned: i64 = "amount_returned",
        gross_returned: i64 = "gross_returned",
        fee_returned: i64 = "fee_returned",
        /// The exchange rate, between minor units.
        rate: Factor = "rate",
        spread: Ppm = "spread",
        /// Whether the acquirer has refused the capture. Nothing of it can be refunded.
        is_refused: bool = "refused",
    }
}

impl Capture {
    /// The part that was neither refunded nor disputed.
    pub fn rest(&self) -> i64 {
        if self.is_refused { 0 } else { self.amount.saturating_sub(self.amount_returned) }
    }

    /// Marks `amount` as refunded or disputed. Returns its gross and its fee, which are never
    /// negative. With the last part, exactly the rest of the gross and of the fee is returned.
    pub(super) fn return_part(&mut self, amount: i64) -> Result<(i64, i64), Overflow> {
        let out = self.amount_returned.checked_add(amount).ok_or(Overflow)?;
        let share = Ratio::new(i128::from(out), i128::from(self.amount));
        let part = |whole: i64, already: i64| {
            let due = multiply_rounded(whole, &share)?.checked_sub(already).ok_or(Overflow)?;
            Ok(due.clamp(0, whole.saturating_sub(already)))
        };
        let gross = part(self.gross, self.gross_returned)?;
        let fee = part(self.fee, self.fee_returned)?;
        self.amount_returned = out;
        self.gross_returned = self.gross_returned.checked_add(gross).ok_or(Overflow)?;
        self.fee_returned = self.fee_returned.checked_add(fee).ok_or(Overflow)?;
        Ok((gross, fee))
    }

    /// Undoes [`Self::return_part`] for a slice, after its dispute was won.
    pub(super) fn undo_return(self, slice: &Slice) -> Self {
        Self {
            amount_returned: self.amount_returned.saturating_sub(slice.amount),
            gross_returned: self.gross_returned.saturating_sub(slice.gross),
            fee_returned: self.fee_returned.saturating_sub(slice.fee),
            ..self
        }
    }
}

/// The part of a transaction that the decisions about movements and disputes depend on.
#[derive(Debug, Clone)]
pub struct TransactionState {
    /// The transaction's currency.
    pub currency: Currency,
    pub amounts: Amounts,
    /// The length of the trail.
    pub steps: u32,
    /// Oldest first. Only those that the request or notification needs are loaded: none for a
    /// capture or void.
    pub captures: Vec<Capture>,
    /// The currency of the merchant's balance.
    pub funding: Currency,
    pub pricing: Pricing,
    pub capabilities: Capabilities,
    /// Whether [`Capabilities::valid_until`] has passed.
    pub has_ended: bool,
}

/// A request for a movement of a transaction.
#[derive(Debug, Clone, PartialEq)]
pub enum MovementRequest {
    Capture {
        amount: Amount,
        /// The currency that the caller expects, if it sent one: another one is rejected.
        currency: Option<Currency>,
        /// From the transaction's currency to the merchant's.
        exchange: Exchange,
        /// From the currency of the flat fee to the merchant's.
        fee_exchange: Exchange,
    },
    Refund {
        amount: Amount,
    },
    /// Release the authorization, or a part of it.
    Void {
        /// `None`: all that is pending.
        amount: Option<Amount>,
    },
}

/// The maximum number of steps of a trail, because responses contain the whole trail. The last void
/// and the last refund are allowed beyond it: see [`TransactionState::is_final`].
pub(crate) const MAX_STEPS: u32 = 2_000;

/// Why a movement is rejected. A rejected movement changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MovementError {
    #[error("exceeds the pending amount")]
    ExceedsPending,
    #[error("exceeds the amount that can be refunded")]
    ExceedsRefundable,
    #[error("is not the currency of the transaction")]
    OtherCurrency,
    #[error("must be a multiple of {0}: the acquirer of this payment moves no other amounts")]
    NotAMultiple(i64),
    #[error("cannot be captured any more: the authorization has ended at the acquirer")]
    Ended,
    #[error(
        "must be the whole remaining amount, because the transaction already has {MAX_STEPS} steps"
    )]
    TooManySteps,
    #[error(transparent)]
    Overflow(#[from] Overflow),
}

/// The result of a movement or dispute. It is written completely or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct TransactionChange {
    /// `None` for the opening of a dispute, which is not in the trail.
    pub movement: Option<Movement>,
    /// Minor units of the transaction's currency.
    pub amount: i64,
    /// The transaction's amounts afterwards.
    pub amounts: Amounts,
    /// The new or changed captures.
    pub captures: Vec<Capture>,
    /// The change of the merchant's balance, in minor units of the funding currency.
    pub balance: i64,
    pub fee: Fee,
    /// `None` if no money moved.
    pub booking: Option<Booking>,
}

/// The balance line, and the ledger entry behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Booking {
    pub kind: LineKind,
    pub amount: Money,
    pub entry: LedgerEntry,
}

impl MovementRequest {
    /// The kind of the outbox entry for this request.
    pub(crate) fn outbox_kind(&self) -> OutboxKind {
        match self {
            Self::Capture { .. } => OutboxKind::Capture,
            Self::Refund { .. } => OutboxKind::Refund,
            Self::Void { .. } => OutboxKind::Void,
        }
    }
}

impl TransactionState {
    pub fn decide(&self, request: &MovementRequest) -> Result<TransactionChange, MovementError> {
        if self.steps >= MAX_STEPS && !self.is_final(request) {
            return Err(MovementError::TooManySteps);
        }
        match *request {
            MovementRequest::Capture { amount, currency, exchange, fee_exchange } => {
                if currency.is_some_and(|currency| currency != self.currency) {
                    return Err(MovementError::OtherCurrency);
                }
                if self.has_ended {
                    return Err(MovementError::Ended);
                }
                self.check_step(amount)?;
                self.capture(amount.minor(), exchange, fee_exchange)
            }
            MovementRequest::Refund { amount } => {
                self.check_step(amount)?;
                self.refund(amount.minor())
            }
            MovementRequest::Void { amount } => {
                self.void(amount.map_or(self.amounts.pending(), Amount::minor))
            }
        }
    }

    fn check_step(&self, amount: Amount) -> Result<(), MovementError> {
        let step = self.capabilities.amount_step;
        if amount.minor().checked_rem(step) == Some(0) {
            Ok(())
        } else {
            Err(MovementError::NotAMultiple(step))
        }
    }

    /// The void of the rest, which the acquirer releases after a capture. `None` if it releases
    /// nothing.
    pub(crate) fn released(&self) -> Option<TransactionChange> {
        let rest = Some(self.amounts.pending()).filter(|_| self.capabilities.captures_once);
        self.void(rest?).ok()
    }

    /// The state after a change.
    #[must_use]
    pub fn apply(mut self, change: &TransactionChange) -> Self {
        for captured in &change.captures {
            match self.captures.iter_mut().find(|known| known.step == captured.step) {
                Some(known) => *known = *captured,
                None => self.captures.push(*captured),
            }
        }
        self.amounts = change.amounts;
        self.steps = self.steps.saturating_add(change.movement.is_some().into());
        self
    }

    /// Whether the request voids all that is pending, or refunds all that is refundable. Such a
    /// request is allowed beyond [`MAX_STEPS`].
    fn is_final(&self, request: &MovementRequest) -> bool {
        match request {
            MovementRequest::Capture { .. } => false,
            MovementRequest::Refund { amount } => amount.minor() == self.amounts.refundable(),
            MovementRequest::Void { amount } => {
                amount.is_none_or(|amount| amount.minor() == self.amounts.pending())
            }
        }
    }

    /// Adds gross − fees to the balance.
    fn capture(
        &self,
        amount: i64,
        exchange: Exchange,
        fee_exchange: Exchange,
    ) -> Result<TransactionChange, MovementError> {
        if amount > self.amounts.pending() {
            return Err(MovementError::ExceedsPending);
        }
        let gross = exchange.proceeds(amount)?;
        let fee = Fee {
            flat: fee_exchange.cost(self.pricing.flat.minor)?,
            rate: multiply_rounded(gross, &self.pricing.rate.factor())?,
        };
        let balance = gross.checked_sub(fee.total()?).ok_or(Overflow)?;
        let captured = Capture {
            step: self.steps,
            amount,
            gross,
            fee: fee.rate,
            amount_returned: 0,
            gross_returned: 0,
            fee_returned: 0,
            rate: exchange.rate,
            spread: exchange.spread,
            is_refused: false,
        };
        let booking = self.book(LineKind::Capture, amount, gross, balance)?;
        let total = self.amounts.captured.checked_add(amount).ok_or(Overflow)?;
        Ok(TransactionChange {
            movement: Some(Movement::Capture),
            amount,
            amounts: Amounts { captured: total, ..self.amounts },
            captures: vec![captured],
            balance,
            fee,
            booking: Some(booking),
        })
    }

    /// Uses the oldest captures first. The flat fees are not refunded.
    fn refund(&self, amount: i64) -> Result<TransactionChange, MovementError> {
        if amount > self.amounts.refundable() {
            return Err(MovementError::ExceedsRefundable);
        }
        let (mut left, mut gross, mut rate) = (amount, 0_i64, 0_i64);
        let mut captures = Vec::new();
        for captured in &self.captures {
            let part = left.min(captured.rest());
            if part == 0 {
                continue;
            }
            let mut captured = *captured;
            let (part_gross, part_rate) = captured.return_part(part)?;
            captures.push(captured);
            left = left.saturating_sub(part);
            gross = gross.checked_sub(part_gross).ok_or(Overflow)?;
            rate = rate.checked_sub(part_rate).ok_or(Overflow)?;
        }
        let balance = gross.checked_sub(rate).ok_or(Overflow)?;
        let booking = self.book(LineKind::Refund, amount.saturating_neg(), gross, balance)?;
        let refunded = self.amounts.refunded.checked_add(amount).ok_or(Overflow)?;
        Ok(TransactionChange {
            movement: Some(Movement::Refund),
            amount,
            amounts: Amounts { refunded, ..self.amounts },
            captures,
            balance,
            fee: Fee { flat: 0, rate },
            booking: Some(booking),
        })
    }

    pub(super) fn void(&self, amount: i64) -> Result<TransactionChange, MovementError> {
        if amount == 0 || amount > self.amounts.pending() {
            return Err(MovementError::ExceedsPending);
        }
        let voided = self.amounts.voided.checked_add(amount).ok_or(Overflow)?;
        Ok(TransactionChange {
            movement: Some(Movement::Void),
            amount,
            amounts: Amounts { voided, ..self.amounts },
            captures: Vec::new(),
            balance: 0,
            fee: Fee::default(),
            booking: None,
        })
    }

    pub(super) fn book(
        &self,
        kind: LineKind,
        amount: i64,
        gross: i64,
        balance: i64,
    ) -> Result<Booking, Overflow> {
        let amount = Money { currency: self.currency, minor: amount };
        let proceeds = Money { currency: self.funding, minor: gross };
        let entry = LedgerEntry::for_capture(amount, proceeds, balance).ok_or(Overflow)?;
        Ok(Booking { kind, amount, entry })
    }
}

#[cfg(test)]
mod tests;
