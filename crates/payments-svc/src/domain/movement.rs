//! What is done to transactions: the rules of captures, refunds and voids.

use num_rational::Ratio;

use super::{
    dispute::Slice,
    journal::{Entry, LineKind},
    merchant::Pricing,
    money::{Amount, Currency, Factor, Money, Overflow, Ppm, scale},
    operation::Order,
    rates::Exchange,
    transaction::{Amounts, Fee, Movement},
};

/// A capture, and what of it was given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Captured {
    /// Its place in the trail, from 0.
    pub(crate) step: u32,
    /// Minor units of the transaction's currency.
    pub(crate) amount: i64,
    /// What it was worth, in minor units of the funding currency.
    pub(crate) gross: i64,
    /// The fee that depends on the amount.
    pub(crate) fee: i64,
    /// Of the amount, what was given back.
    pub(crate) amount_out: i64,
    /// Of the gross.
    pub(crate) gross_out: i64,
    /// Of the fee.
    pub(crate) fee_out: i64,
    /// The rate it was exchanged at, between minor units.
    pub(crate) rate: Factor,
    /// The spread.
    pub(crate) spread: Ppm,
}

impl Captured {
    /// Gives `amount` more of it back: the gross and the fee that go with it. Nothing turns negative,
    /// and when all of the amount is back, so are they.
    pub(super) fn give_back(&mut self, amount: i64) -> Result<(i64, i64), Overflow> {
        let out = self.amount_out.checked_add(amount).ok_or(Overflow)?;
        let share = Ratio::new(i128::from(out), i128::from(self.amount));
        let part = |whole: i64, already: i64| {
            let due = scale(whole, &share)?.checked_sub(already).ok_or(Overflow)?;
            Ok(due.clamp(0, whole.saturating_sub(already)))
        };
        let gross = part(self.gross, self.gross_out)?;
        let fee = part(self.fee, self.fee_out)?;
        self.amount_out = out;
        self.gross_out = self.gross_out.checked_add(gross).ok_or(Overflow)?;
        self.fee_out = self.fee_out.checked_add(fee).ok_or(Overflow)?;
        Ok((gross, fee))
    }

    /// The capture with what a dispute took out of it back in it.
    pub(super) fn returned(self, slice: &Slice) -> Self {
        Self {
            amount_out: self.amount_out.saturating_sub(slice.amount),
            gross_out: self.gross_out.saturating_sub(slice.gross),
            fee_out: self.fee_out.saturating_sub(slice.fee),
            ..self
        }
    }
}

/// What an operation on a transaction is decided over, as it is at this moment.
#[derive(Debug, Clone)]
pub(crate) struct Holding {
    /// The transaction's currency.
    pub(crate) currency: Currency,
    /// Its amounts.
    pub(crate) amounts: Amounts,
    /// Steps of its trail.
    pub(crate) steps: u32,
    /// Its captures, oldest first. A capture and a void do not need them.
    pub(crate) captures: Vec<Captured>,
    /// The merchant's currency.
    pub(crate) funding: Currency,
    /// What the merchant pays.
    pub(crate) pricing: Pricing,
}

/// What is to be done to a transaction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Request {
    /// Take money.
    Capture {
        /// How much.
        amount: Amount,
        /// The currency the caller believes in, if it says so.
        currency: Option<Currency>,
        /// From the transaction's currency to the merchant's.
        exchange: Exchange,
        /// From the currency of the flat fee to the merchant's.
        fee_exchange: Exchange,
    },
    /// Give money back.
    Refund {
        /// How much.
        amount: Amount,
    },
    /// Give up the reservation, or a part of it.
    Void {
        /// How much; all that is pending, if nothing is said.
        amount: Option<Amount>,
    },
}

/// Steps that a trail may have, but for the last of its kind. It is told whole, so it must not grow
/// without end.
pub(crate) const MAX_STEPS: u32 = 2_000;

/// Why it is not done. Nothing has changed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// More than is pending.
    #[error("exceeds the pending amount")]
    ExceedsPending,
    /// More than can be refunded.
    #[error("exceeds the amount that can be refunded")]
    ExceedsRefundable,
    /// Not the transaction's currency.
    #[error("is not the currency of the transaction")]
    OtherCurrency,
    /// More than [`MAX_STEPS`].
    #[error("exceeds the number of times that something can be done to a transaction")]
    TooManySteps,
    /// More than can be counted.
    #[error(transparent)]
    Overflow(#[from] Overflow),
}

/// What an operation changes, to be written whole.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    /// What was done, where the trail tells of it.
    pub(crate) movement: Option<Movement>,
    /// How much, in minor units of the transaction's currency.
    pub(crate) amount: i64,
    /// The transaction's amounts afterwards.
    pub(crate) amounts: Amounts,
    /// The captures that are new or of which something was given back.
    pub(crate) captures: Vec<Captured>,
    /// What the merchant's balance gains.
    pub(crate) balance: i64,
    /// The fees in it.
    pub(crate) fee: Fee,
    /// What is booked, if money moved.
    pub(crate) booking: Option<Booking>,
}

/// The merchant's line, and the journal's entry behind it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Booking {
    /// What it is about.
    pub(crate) kind: LineKind,
    /// What moved.
    pub(crate) amount: Money,
    /// The postings.
    pub(crate) entry: Entry,
}

impl Request {
    /// What the acquirer has to be told of it.
    pub(crate) fn order(&self) -> Order {
        match self {
            Self::Capture { .. } => Order::Capture,
            Self::Refund { .. } => Order::Refund,
            Self::Void { .. } => Order::Void,
        }
    }
}

impl Holding {
    /// Decides over a request, at this moment.
    pub(crate) fn decide(&self, request: &Request) -> Result<Change, Refused> {
        if self.steps >= MAX_STEPS && !self.ends(request) {
            return Err(Refused::TooManySteps);
        }
        match *request {
            Request::Capture { amount, currency, exchange, fee_exchange } => {
                if currency.is_some_and(|currency| currency != self.currency) {
                    return Err(Refused::OtherCurrency);
                }
                self.capture(amount.minor(), exchange, fee_exchange)
            }
            Request::Refund { amount } => self.refund(amount.minor()),
            Request::Void { amount } => {
                self.void(amount.map_or(self.amounts.pending(), Amount::minor))
            }
        }
    }

    /// What it is after a change of it.
    #[must_use]
    pub(crate) fn after(mut self, change: &Change) -> Self {
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

    /// Whether nothing of its kind can follow: all that is pending is given up, or all that was
    /// taken is given back. That is never too much.
    fn ends(&self, request: &Request) -> bool {
        match request {
            Request::Capture { .. } => false,
            Request::Refund { amount } => amount.minor() == self.amounts.refundable(),
            Request::Void { amount } => {
                amount.is_none_or(|amount| amount.minor() == self.amounts.pending())
            }
        }
    }

    /// Gross less fees, all in the merchant's currency.
    fn capture(
        &self,
        amount: i64,
        exchange: Exchange,
        fee_exchange: Exchange,
    ) -> Result<Change, Refused> {
        if amount > self.amounts.pending() {
            return Err(Refused::ExceedsPending);
        }
        let gross = exchange.proceeds(amount)?;
        let fee = Fee {
            flat: fee_exchange.cost(self.pricing.flat.minor)?,
            rate: scale(gross, &self.pricing.rate.factor())?,
        };
        let balance = gross.checked_sub(fee.total()?).ok_or(Overflow)?;
        let captured = Captured {
            step: self.steps,
            amount,
            gross,
            fee: fee.rate,
            amount_out: 0,
            gross_out: 0,
            fee_out: 0,
            rate: exchange.rate,
            spread: exchange.spread,
        };
        let booking = self.book(LineKind::Capture, amount, gross, balance)?;
        let total = self.amounts.captured.checked_add(amount).ok_or(Overflow)?;
        Ok(Change {
            movement: Some(Movement::Capture),
            amount,
            amounts: Amounts { captured: total, ..self.amounts },
            captures: vec![captured],
            balance,
            fee,
            booking: Some(booking),
        })
    }

    /// Out of the captures, the oldest first; the flat fees stay.
    fn refund(&self, amount: i64) -> Result<Change, Refused> {
        if amount > self.amounts.refundable() {
            return Err(Refused::ExceedsRefundable);
        }
        let (mut left, mut gross, mut rate) = (amount, 0_i64, 0_i64);
        let mut captures = Vec::new();
        for captured in &self.captures {
            let part = left.min(captured.amount.saturating_sub(captured.amount_out));
            if part == 0 {
                continue;
            }
            let mut captured = *captured;
            let (part_gross, part_rate) = captured.give_back(part)?;
            captures.push(captured);
            left = left.saturating_sub(part);
            gross = gross.checked_sub(part_gross).ok_or(Overflow)?;
            rate = rate.checked_sub(part_rate).ok_or(Overflow)?;
        }
        let balance = gross.checked_sub(rate).ok_or(Overflow)?;
        let booking = self.book(LineKind::Refund, amount.saturating_neg(), gross, balance)?;
        let refunded = self.amounts.refunded.checked_add(amount).ok_or(Overflow)?;
        Ok(Change {
            movement: Some(Movement::Refund),
            amount,
            amounts: Amounts { refunded, ..self.amounts },
            captures,
            balance,
            fee: Fee { flat: 0, rate },
            booking: Some(booking),
        })
    }

    /// No money moves.
    fn void(&self, amount: i64) -> Result<Change, Refused> {
        if amount == 0 || amount > self.amounts.pending() {
            return Err(Refused::ExceedsPending);
        }
        let voided = self.amounts.voided.checked_add(amount).ok_or(Overflow)?;
        Ok(Change {
            movement: Some(Movement::Void),
            amount,
            amounts: Amounts { voided, ..self.amounts },
            captures: Vec::new(),
            balance: 0,
            fee: Fee::default(),
            booking: None,
        })
    }

    fn book(
        &self,
        kind: LineKind,
        amount: i64,
        gross: i64,
        balance: i64,
    ) -> Result<Booking, Overflow> {
        let amount = Money { currency: self.currency, minor: amount };
        let proceeds = Money { currency: self.funding, minor: gross };
        let entry = Entry::collected(amount, proceeds, balance).ok_or(Overflow)?;
        Ok(Booking { kind, amount, entry })
    }
}

#[cfg(test)]
mod tests;
