//! Tests disputes alone, and mixed with captures and refunds.

use proptest::prelude::*;

use super::*;
use crate::{Account, Capabilities, Currency, MovementRequest, Pricing};

/// EUR to DKK.
fn kroner() -> Exchange {
    Exchange { rate: Ratio::new(74_735, 10_000), spread: "0.02".parse().unwrap() }
}

/// An authorized transaction of EUR 1000, of a merchant whose balance is in DKK.
fn authorized() -> TransactionState {
    TransactionState {
        currency: Currency::EUR,
        amounts: Amounts { amount: 100_000, successful: true, ..Amounts::default() },
        steps: 0,
        captures: Vec::new(),
        funding: "DKK".parse().unwrap(),
        pricing: Pricing {
            rate: "0.025".parse().unwrap(),
            flat: "EUR:25".parse().unwrap(),
            dispute: "EUR:3500".parse().unwrap(),
        },
        capabilities: Capabilities::default(),
        has_ended: false,
    }
}

fn amount(minor: i64) -> Amount {
    Amount::new(minor).unwrap()
}

fn capture(minor: i64) -> MovementRequest {
    let (exchange, fee_exchange) = (kroner(), kroner());
    MovementRequest::Capture { amount: amount(minor), currency: None, exchange, fee_exchange }
}

/// The stored state of one transaction, in memory.
struct State {
    state: TransactionState,
    balance: i64,
    flat: i64,
    /// The slices and the fee of each.
    open: Vec<(Vec<Slice>, i64)>,
    lost: Vec<(Vec<Slice>, i64)>,
}

impl State {
    fn new() -> Self {
        Self { state: authorized(), balance: 0, flat: 0, open: Vec::new(), lost: Vec::new() }
    }

    fn write(&mut self, change: &TransactionChange) {
        let booking = change.booking.as_ref().unwrap();
        assert!(booking.entry.is_balanced(), "{booking:?}");
        self.state = self.state.clone().apply(change);
        self.balance += change.balance;
        self.flat += change.fee.flat;
    }

    /// Returns whether the request was executed.
    fn request(&mut self, request: &MovementRequest) -> bool {
        let change = self.state.decide(request);
        change.inspect(|change| self.write(change)).is_ok()
    }

    fn open(&mut self, minor: i64) -> TransactionChange {
        let opening = self.state.open(amount(minor), kroner(), kroner()).unwrap();
        assert_eq!(opening.slices.iter().map(|slice| slice.amount).sum::<i64>(), minor);
        self.write(&opening.change);
        self.open.push((opening.slices, opening.change.fee.flat));
        opening.change
    }

    fn end(&mut self, decision: Decision) -> Option<TransactionChange> {
        let (slices, fee) = self.open.pop()?;
        let change = self.state.end(&slices, fee, None, decision).unwrap();
        self.write(&change);
        if decision == Decision::Lost {
            self.lost.push((slices, fee));
        }
        Some(change)
    }

    /// Wins the dispute that was lost last.
    fn appeal(&mut self, decision: Decision) -> Option<TransactionChange> {
        let (slices, fee) = self.lost.pop()?;
        let change = self.state.end(&slices, fee, Some(Decision::Lost), decision).unwrap();
        self.write(&change);
        Some(change)
    }

    /// Checks that the amounts, the captures and the balance agree.
    fn check(&self) {
        let Amounts { captured, refunded, disputed, .. } = self.state.amounts;
        let slices = || self.open.iter().chain(&self.lost).flat_map(|(slices, _)| slices);
        assert_eq!(disputed, slices().map(|slice| slice.amount).sum::<i64>());
        let out: i64 = self.state.captures.iter().map(|captured| captured.amount_returned).sum();
        let held: i64 = slices().filter(|slice| !slice.again).map(|slice| slice.amount).sum();
        assert_eq!(out, refunded + held);
        assert!(out <= captured);
        let mut worth = 0;
        for c in &self.state.captures {
            assert!((0..=c.amount).contains(&c.amount_returned), "{c:?}");
            assert!((0..=c.gross).contains(&c.gross_returned), "{c:?}");
            assert!((0..=c.fee).contains(&c.fee_returned), "{c:?}");
            assert!(c.amount_returned < c.amount || c.gross_returned == c.gross, "{c:?}");
            worth += c.gross - c.gross_returned - c.fee + c.fee_returned;
        }
        let again = slices().filter(|slice| slice.again);
        let again: i64 = again.map(|slice| slice.gross - slice.fee).sum();
        assert_eq!(self.balance, worth - again - self.flat);
    }
}

#[test]
fn a_dispute_debits_like_a_refund_plus_its_fee() {
    let mut state = State::new();
    assert!(state.request(&capture(500)));
    assert_eq!(state.balance, 3379);
    let opened = state.open(333);
    // EUR 35.00 at 7.4735 and 2 %.
    assert_eq!((opened.balance, opened.fee), (-2378 - 26_680, Fee { flat: 26_680, rate: -61 }));
    assert_eq!(opened.movement, None);
    let booking = opened.booking.unwrap();
    assert_eq!((booking.kind, booking.amount.minor), (LineKind::Dispute, -333));
    assert_eq!((state.state.amounts.disputed, state.state.amounts.refundable()), (333, 167));
}

#[test]
fn a_won_dispute_returns_all_but_its_fee() {
    let mut state = State::new();
    assert!(state.request(&capture(500)));
    let before = state.state.captures.clone();
    let opened = state.open(333);
    let won = state.end(Decision::Won).unwrap();
    assert_eq!((won.movement, won.amount), (Some(Movement::Won), 333));
    assert_eq!((won.balance, won.fee), (2378, Fee { flat: 0, rate: 61 }));
    assert_eq!(opened.balance + won.balance, -26_680);
    assert_eq!(state.state.captures, before);
    assert_eq!(state.state.amounts.disputed, 0);
}

#[test]
fn a_lost_dispute_returns_nothing() {
    let mut state = State::new();
    assert!(state.request(&capture(500)));
    state.open(500);
    let lost = state.end(Decision::Lost).unwrap();
    assert_eq!((lost.movement, lost.balance, lost.fee), (Some(Movement::Lost), 0, Fee::default()));
    let booking = lost.booking.unwrap();
    assert_eq!((booking.kind, booking.amount.minor), (LineKind::Lost, 0));
    assert_eq!(state.state.amounts.disputed, 500);
    assert!(!state.request(&MovementRequest::Refund { amount: amount(1) }));
}

#[test]
fn a_prevented_dispute_returns_its_fee_too() {
    for is_lost_first in [false, true] {
        let mut state = State::new();
        assert!(state.request(&capture(500)));
        let (balance, before) = (state.balance, state.state.captures.clone());
        state.open(333);
        let prevented = if is_lost_first {
            state.end(Decision::Lost);
            state.appeal(Decision::Prevented)
        } else {
            state.end(Decision::Prevented)
        };
        let prevented = prevented.unwrap();
        assert_eq!(prevented.movement, Some(Movement::Won));
        assert_eq!(prevented.fee, Fee { flat: -26_680, rate: 61 });
        assert_eq!((state.balance, state.state.captures), (balance, before));
    }
}

#[test]
fn a_dispute_won_after_its_loss_gives_all_but_the_fee_back() {
    let mut state = State::new();
    assert!(state.request(&capture(500)));
    let (balance, before) = (state.balance, state.state.captures.clone());
    state.open(333);
    state.end(Decision::Lost);
    let won = state.appeal(Decision::Won).unwrap();
    assert_eq!((won.movement, won.amount, won.balance), (Some(Movement::Won), 333, 2378));
    assert_eq!((state.balance, state.state.captures), (balance - 26_680, before));
    assert_eq!(state.state.amounts.disputed, 0);
    let acquirer = won.booking.unwrap().entry;
    let acquirer = acquirer.postings().iter().find(|it| it.account == Account::Acquirer);
    assert_eq!(acquirer.unwrap().money, Money { currency: Currency::EUR, minor: -333 });
}

#[test]
fn only_a_loss_can_be_overridden() {
    let all = [Decision::Won, Decision::Lost, Decision::Prevented];
    for (earlier, later) in all.into_iter().flat_map(|one| all.map(|other| (one, other))) {
        let expected = earlier == Decision::Lost && later != Decision::Lost;
        assert_eq!(later.overrides(earlier), expected, "{earlier:?}, {later:?}");
    }
}

#[test]
fn a_dispute_debits_refunded_money_again() {
    let mut state = State::new();
    assert!(state.request(&capture(500)) && state.request(&capture(300)));
    assert!(state.request(&MovementRequest::Refund { amount: amount(600) }));
    state.check();
    state.open(800);
    let [(slices, _)] = &state.open[..] else { panic!() };
    let slices: Vec<_> =
        slices.iter().map(|slice| (slice.step, slice.amount, slice.again)).collect();
    let expected = [(Some(1), 200, false), (Some(0), 500, true), (Some(1), 100, true)];
    assert_eq!(slices, expected);
    state.check();
    state.end(Decision::Won);
    state.check();
    assert!(state.request(&MovementRequest::Refund { amount: amount(200) }));
    state.check();
}

#[test]
fn a_refused_capture_prices_no_dispute() {
    let mut state = State::new();
    assert!(state.request(&capture(500)) && state.request(&capture(300)));
    state.state.captures[0].is_refused = true;
    state.open(700);
    let [(slices, _)] = &state.open[..] else { panic!() };
    let slices: Vec<_> = slices.iter().map(|slice| (slice.step, slice.amount)).collect();
    assert_eq!(slices, [(Some(1), 300), (Some(1), 400)]);
}

#[test]
fn more_than_was_ever_captured_can_be_disputed() {
    let mut state = State::new();
    let opened = state.open(100);
    assert_eq!(opened.balance, -732 - 26_680);
    state.check();
    let mut state = State::new();
    assert!(state.request(&capture(100)));
    state.open(350);
    state.check();
}

#[test]
fn an_amount_in_the_merchants_own_currency_is_not_exchanged() {
    let mut state = authorized();
    state.funding = Currency::EUR;
    let opening = state.open(amount(100), Exchange::IDENTITY, Exchange::IDENTITY).unwrap();
    assert_eq!(opening.change.balance, -3600);
    let lost = state.end(&opening.slices, 3500, None, Decision::Lost).unwrap();
    assert_eq!(lost.booking.unwrap().entry.postings().len(), 2);
}

/// Random events of a transaction: a kind and an amount.
fn steps() -> impl Strategy<Value = Vec<(u8, i64)>> {
    prop::collection::vec((0..7_u8, 1..40_000_i64), 0..30)
}

proptest! {
    #[test]
    fn the_ledger_is_consistent_after_any_events(steps in steps()) {
        let mut state = State::new();
        for (kind, minor) in steps {
            match kind {
                0 => _ = state.request(&capture(minor)),
                1 => _ = state.request(&MovementRequest::Refund { amount: amount(minor) }),
                2 => _ = state.open(minor),
                3 => _ = state.end(Decision::Won),
                4 => _ = state.end(Decision::Prevented),
                5 => _ = state.appeal(Decision::Won),
                _ => _ = state.end(Decision::Lost),
            }
            state.check();
        }
        let no_dispute_is_lost = state.lost.is_empty();
        while state.end(Decision::Won).is_some() {
            state.check();
        }
        let left = state.state.amounts.refundable();
        if no_dispute_is_lost && left > 0 {
            let rest = MovementRequest::Refund { amount: amount(left) };
            prop_assert!(state.request(&rest));
            state.check();
            prop_assert!(state.state.captures.iter().all(|c| c.gross_returned == c.gross));
            prop_assert_eq!(state.balance, -state.flat);
        }
    }
}
