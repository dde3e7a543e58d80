//! Disputes: a customer wants money back, and the acquirer decides who has it. What an acquirer tells
//! is a fact, so nothing here is refused that can be counted.

use jiff::Timestamp;
use num_rational::Ratio;

use super::{
    id::Id,
    journal::{Entry, LineKind},
    money::{Amount, Money, Overflow, scale},
    movement::{Booking, Captured, Change, Holding},
    notification::Event,
    rates::Exchange,
    transaction::{Amounts, Fee, Movement},
};

/// A dispute, as clients are told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dispute {
    /// Its id.
    pub(crate) id: Id,
    /// The merchant.
    pub(crate) merchant: Id,
    /// The transaction.
    pub(crate) transaction: Id,
    /// When it was opened.
    pub(crate) created: Timestamp,
    /// Minor units of the transaction's currency.
    pub(crate) amount: i64,
    /// Why, if the acquirer said so.
    pub(crate) reason: Option<Reason>,
    /// Until when it can be answered.
    pub(crate) due: Timestamp,
}

/// Why money is disputed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reason {
    /// The scheme's code.
    pub(crate) code: i64,
    /// The same in words.
    pub(crate) title: String,
}

/// How a dispute ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The merchant has the money back.
    Won,
    /// The customer keeps it.
    Lost,
}

impl Decision {
    /// Its name, as it is stored.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Won => "won",
            Self::Lost => "lost",
        }
    }

    /// The one with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Won, Self::Lost].into_iter().find(|decision| decision.name() == name)
    }

    /// The step of the trail that tells of it.
    pub(crate) fn movement(self) -> Movement {
        match self {
            Self::Won => Movement::Won,
            Self::Lost => Movement::Lost,
        }
    }
}

/// What a dispute took out of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slice {
    /// The capture's place in the trail. None where nothing was ever captured.
    pub(crate) step: Option<u32>,
    /// Minor units of the transaction's currency.
    pub(crate) amount: i64,
    /// What it was worth, in minor units of the funding currency.
    pub(crate) gross: i64,
    /// The fee that depends on the amount.
    pub(crate) fee: i64,
    /// Whether it had been given back before, so that the money goes twice.
    pub(crate) again: bool,
}

/// What a new dispute changes, to be written whole.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Opening {
    /// The transaction, and the merchant's balance.
    pub(crate) change: Change,
    /// What is returned if the dispute is won.
    pub(crate) slices: Vec<Slice>,
}

/// A dispute, as far as its end is decided over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Contest {
    /// Its id.
    pub(crate) id: Id,
    /// How it ended, if it did.
    pub(crate) decision: Option<Decision>,
    /// What it took.
    pub(crate) slices: Vec<Slice>,
}

/// What comes of an acquirer's notification, to be written whole.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Consequence {
    /// Nothing: that was known.
    None,
    /// An alert.
    Alert,
    /// It is about a dispute that nobody has heard of: it waits for it.
    Wait(Decision),
    /// A dispute is opened, and ended where its end had been waiting for it.
    Open(Opening, Option<(Decision, Change)>),
    /// A dispute is ended.
    End {
        /// The dispute.
        dispute: Id,
        /// How.
        decision: Decision,
        /// The transaction, and the merchant's balance.
        change: Change,
    },
}

impl Consequence {
    /// The end of a dispute that has to wait.
    pub(crate) fn waits(&self) -> Option<Decision> {
        match self {
            Self::Wait(decision) => Some(*decision),
            Self::None | Self::Alert | Self::Open(..) | Self::End { .. } => None,
        }
    }
}

impl Holding {
    /// What comes of an event, when this is known of the dispute that it is about, and this end of
    /// it is waiting. `exchange` says what money is worth that was never captured, `fee_exchange`
    /// what the merchant's fee for disputes is.
    pub(crate) fn notice(
        &self,
        event: &Event,
        (contest, waiting): (Option<&Contest>, Option<Decision>),
        (exchange, fee_exchange): (Exchange, Exchange),
    ) -> Result<Consequence, Overflow> {
        Ok(match (event, contest) {
            (Event::Fraud { .. }, _) => Consequence::Alert,
            (Event::Opened { amount, .. }, None) => {
                let opening = self.open(*amount, exchange, fee_exchange)?;
                let end = |decision| {
                    let opened = self.clone().after(&opening.change);
                    Ok((decision, opened.end(&opening.slices, decision)?))
                };
                let ended = waiting.map(end).transpose()?;
                Consequence::Open(opening, ended)
            }
            (Event::Decided { decision, .. }, None) => Consequence::Wait(*decision),
            (Event::Decided { decision, .. }, Some(contest)) if contest.decision.is_none() => {
                let change = self.end(&contest.slices, *decision)?;
                Consequence::End { dispute: contest.id, decision: *decision, change }
            }
            (Event::Opened { .. } | Event::Decided { .. }, Some(_)) => Consequence::None,
        })
    }

    /// Opens a dispute over `amount`. What is left of the captures goes first, the oldest before
    /// the others, as with a refund. What was given back before goes again, at the worth it had.
    fn open(
        &self,
        amount: Amount,
        exchange: Exchange,
        fee_exchange: Exchange,
    ) -> Result<Opening, Overflow> {
        let amount = amount.minor();
        let (mut captures, mut slices) = (Vec::new(), Vec::new());
        let mut left = amount;
        for captured in &self.captures {
            let part = left.min(captured.amount.saturating_sub(captured.amount_out));
            if part == 0 {
                continue;
            }
            let mut captured = *captured;
            let (gross, fee) = captured.give_back(part)?;
            let step = Some(captured.step);
            slices.push(Slice { step, amount: part, gross, fee, again: false });
            captures.push(captured);
            left = left.saturating_sub(part);
        }
        slices.extend(again(&self.captures, left, exchange)?);
        let gross = sum(&slices, |slice| slice.gross)?;
        let fee = Fee {
            flat: fee_exchange.cost(self.pricing.dispute.minor)?,
            rate: sum(&slices, |slice| slice.fee)?.checked_neg().ok_or(Overflow)?,
        };
        let balance = gross.checked_add(fee.total()?).and_then(i64::checked_neg).ok_or(Overflow)?;
        let disputed = self.amounts.disputed.checked_add(amount).ok_or(Overflow)?;
        let change = Change {
            movement: None,
            amount,
            amounts: Amounts { disputed, ..self.amounts },
            captures,
            balance,
            fee,
            booking: Some(Booking {
                kind: LineKind::Dispute,
                amount: Money { currency: self.currency, minor: amount.saturating_neg() },
                entry: Entry::reserved(self.funds(gross), balance).ok_or(Overflow)?,
            }),
        };
        Ok(Opening { change, slices })
    }

    /// Ends a dispute that took these slices. Won, exactly they come back; lost, they stay where
    /// they are. The fee for disputes is never returned.
    fn end(&self, slices: &[Slice], decision: Decision) -> Result<Change, Overflow> {
        let amount = sum(slices, |slice| slice.amount)?;
        let gross = sum(slices, |slice| slice.gross)?;
        let charged = Money { currency: self.currency, minor: amount };
        let change = Change {
            movement: Some(decision.movement()),
            amount,
            amounts: self.amounts,
            captures: Vec::new(),
            balance: 0,
            fee: Fee::default(),
            booking: None,
        };
        if decision == Decision::Lost {
            let entry = Entry::charged_back(charged, self.funds(gross)).ok_or(Overflow)?;
            let amount = Money { minor: 0, ..charged };
            let booking = Some(Booking { kind: LineKind::Lost, amount, entry });
            return Ok(Change { booking, ..change });
        }
        let returned = slices.iter().filter(|slice| !slice.again).filter_map(|slice| {
            let own = |captured: &&Captured| slice.step == Some(captured.step);
            self.captures.iter().find(own).map(|captured| captured.returned(slice))
        });
        let fee = Fee { flat: 0, rate: sum(slices, |slice| slice.fee)? };
        let balance = gross.checked_sub(fee.rate).ok_or(Overflow)?;
        let reserved = self.funds(gross.checked_neg().ok_or(Overflow)?);
        let entry = Entry::reserved(reserved, balance).ok_or(Overflow)?;
        let disputed = self.amounts.disputed.saturating_sub(amount);
        Ok(Change {
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

/// `amount` once more out of these captures, the oldest first and the last as often as it takes.
fn again(captures: &[Captured], amount: i64, exchange: Exchange) -> Result<Vec<Slice>, Overflow> {
    let mut slices = Vec::new();
    let mut left = amount;
    for (number, captured) in (1..).zip(captures) {
        let is_last = number == captures.len();
        let part = if is_last { left } else { left.min(captured.amount) };
        if part == 0 {
            return Ok(slices);
        }
        let share = Ratio::new(i128::from(part), i128::from(captured.amount));
        let (gross, fee) = (scale(captured.gross, &share)?, scale(captured.fee, &share)?);
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
