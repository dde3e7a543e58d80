//! Refusals: the acquirer refuses a capture or refund that was booked before.
//!
//! 1. A refusal edits no booking. It adds a step with the opposite amounts, which reverses the
//!    refused one.
//! 2. A reversed capture also returns its flat fee. Its amount is pending again, so it is voided:
//!    nothing stays reserved on the customer's card.
//! 3. A reversed refund gives its amount back to the captures, the newest first. Afterwards the
//!    captures are as if the refund had never been made. The parts that disputes have taken stay,
//!    with their gross and fee.
//! 4. A refused void is not reversed: no money has moved, and the authorization expires by itself.

use std::collections::BTreeMap;

use num_rational::Ratio;
use sql::group;

use super::{
    dispute::Slice,
    ledger::LineKind,
    money::{Overflow, multiply_rounded},
    movement::{Capture, TransactionChange, TransactionState},
    transaction::{Amounts, Fee, Movement},
};

group! {
    /// A step of a trail that the acquirer refuses.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct RefusedStep {
        /// The index in the trail, from 0.
        number: u32 = "step",
        movement: Movement = "movement",
        amount: i64 = "amount",
        balance: i64 = "balance",
        fee: Fee = ..,
    }
}

/// The part of a capture that open and lost disputes have taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DisputedPart {
    pub amount: i64,
    pub gross: i64,
    pub fee: i64,
}

/// The parts of all captures of a transaction, by their index in the trail.
pub type DisputedParts = BTreeMap<u32, DisputedPart>;

impl DisputedPart {
    /// Adds a slice of a dispute, or subtracts it.
    pub fn change(&mut self, slice: &Slice, change: fn(i64, i64) -> i64) {
        self.amount = change(self.amount, slice.amount);
        self.gross = change(self.gross, slice.gross);
        self.fee = change(self.fee, slice.fee);
    }
}

impl TransactionState {
    /// Reverses a capture or refund; `None` for any other step. All captures must be loaded.
    pub fn reverse(
        &self,
        step: &RefusedStep,
        disputed: &DisputedParts,
    ) -> Result<Option<TransactionChange>, Overflow> {
        match step.movement {
            Movement::Capture => self.reverse_capture(step).map(Some),
            Movement::Refund => self.reverse_refund(step, disputed).map(Some),
            Movement::Void | Movement::Won | Movement::Lost => Ok(None),
        }
    }

    fn reverse_capture(&self, step: &RefusedStep) -> Result<TransactionChange, Overflow> {
        let is_it = |captured: &&Capture| captured.step == step.number;
        let captured = *self.captures.iter().find(is_it).ok_or(Overflow)?;
        let opposite = |amount: i64| amount.checked_neg().ok_or(Overflow);
        let (amount, gross) = (opposite(step.amount)?, opposite(captured.gross)?);
        let balance = opposite(step.balance)?;
        let total = self.amounts.captured.checked_add(amount).ok_or(Overflow)?;
        Ok(TransactionChange {
            movement: Some(Movement::Capture),
            amount,
            amounts: Amounts { captured: total, ..self.amounts },
            captures: vec![Capture { is_refused: true, ..captured }],
            balance,
            fee: Fee { flat: opposite(step.fee.flat)?, rate: opposite(step.fee.rate)? },
            booking: Some(self.book(LineKind::Capture, amount, gross, balance)?),
        })
    }

    fn reverse_refund(
        &self,
        step: &RefusedStep,
        disputed: &DisputedParts,
    ) -> Result<TransactionChange, Overflow> {
        let (mut left, mut gross, mut rate) = (step.amount, 0_i64, 0_i64);
        let mut captures = Vec::new();
        for captured in self.captures.iter().rev() {
            let taken = disputed.get(&captured.step).copied().unwrap_or_default();
            let part = left.min(captured.amount_returned.saturating_sub(taken.amount).max(0));
            if part == 0 {
                continue;
            }
            let mut captured = *captured;
            let (part_gross, part_rate) = captured.take_back(part, taken)?;
            captures.push(captured);
            left = left.saturating_sub(part);
            gross = gross.checked_add(part_gross).ok_or(Overflow)?;
            rate = rate.checked_add(part_rate).ok_or(Overflow)?;
        }
        if left > 0 {
            return Err(Overflow);
        }
        let amount = step.amount.checked_neg().ok_or(Overflow)?;
        let balance = gross.checked_sub(rate).ok_or(Overflow)?;
        let refunded = self.amounts.refunded.checked_add(amount).ok_or(Overflow)?;
        Ok(TransactionChange {
            movement: Some(Movement::Refund),
            amount,
            amounts: Amounts { refunded, ..self.amounts },
            captures,
            balance,
            fee: Fee { flat: 0, rate },
            booking: Some(self.book(LineKind::Refund, step.amount, gross, balance)?),
        })
    }
}

impl Capture {
    /// Undoes a part of the refunds. Returns its gross and its fee, which are never negative.
    fn take_back(&mut self, amount: i64, kept: DisputedPart) -> Result<(i64, i64), Overflow> {
        let out = self.amount_returned.checked_sub(amount).ok_or(Overflow)?;
        let share = Ratio::new(i128::from(out), i128::from(self.amount));
        let part = |whole: i64, already: i64, kept: i64| {
            let rest = multiply_rounded(whole, &share)?.max(kept);
            Ok(already.checked_sub(rest).ok_or(Overflow)?.max(0))
        };
        let gross = part(self.gross, self.gross_returned, kept.gross)?;
        let fee = part(self.fee, self.fee_returned, kept.fee)?;
        self.amount_returned = out;
        self.gross_returned = self.gross_returned.checked_sub(gross).ok_or(Overflow)?;
        self.fee_returned = self.fee_returned.checked_sub(fee).ok_or(Overflow)?;
        Ok((gross, fee))
    }
}

#[cfg(test)]
mod tests;
