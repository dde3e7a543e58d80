//! Reversals of random captures and refunds.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{DisputedPart, RefusedStep};
use crate::{
    Amount, Amounts, Capabilities, Currency, Exchange, Movement, MovementRequest, Pricing,
    TransactionChange, TransactionState,
};

fn authorized(amount: i64) -> TransactionState {
    TransactionState {
        currency: currency("EUR"),
        amounts: Amounts { amount, successful: true, ..Amounts::default() },
        steps: 0,
        captures: Vec::new(),
        funding: currency("DKK"),
        pricing: Pricing {
            rate: "0.025".parse().unwrap(),
            flat: "EUR:25".parse().unwrap(),
            dispute: "EUR:3500".parse().unwrap(),
        },
        capabilities: Capabilities::default(),
        has_ended: false,
    }
}

fn currency(code: &str) -> Currency {
    code.parse().unwrap()
}

fn capture(amount: i64) -> MovementRequest {
    let exchange = Exchange {
        rate: num_rational::Ratio::new(74_735, 10_000),
        spread: "0.02".parse().unwrap(),
    };
    let amount = Amount::new(amount).unwrap();
    MovementRequest::Capture { amount, currency: None, exchange, fee_exchange: exchange }
}

fn refund(amount: i64) -> MovementRequest {
    MovementRequest::Refund { amount: Amount::new(amount).unwrap() }
}

/// Applies a request. Returns the new state, and the step that it adds.
fn step(state: TransactionState, request: &MovementRequest) -> (TransactionState, RefusedStep) {
    let change = state.decide(request).unwrap();
    let step = RefusedStep {
        number: state.steps,
        movement: change.movement.unwrap(),
        amount: change.amount,
        balance: change.balance,
        fee: change.fee,
    };
    (state.apply(&change), step)
}

fn reverse(state: &TransactionState, step: &RefusedStep) -> TransactionChange {
    let change = state.reverse(step, &BTreeMap::new()).unwrap().unwrap();
    assert!(change.booking.as_ref().unwrap().entry.is_balanced());
    change
}

#[test]
fn a_reversed_capture_returns_gross_and_all_fees() {
    let (state, captured) = step(authorized(500), &capture(500));
    assert_eq!((captured.balance, captured.fee.flat, captured.fee.rate), (3379, 191, 92));
    let change = reverse(&state, &captured);
    assert_eq!((change.amount, change.balance), (-500, -3379));
    assert_eq!((change.fee.flat, change.fee.rate), (-191, -92));
    let state = state.apply(&change);
    assert_eq!((state.amounts.captured, state.amounts.pending()), (0, 500));
    assert!(state.decide(&refund(1)).is_err());
}

#[test]
fn a_refused_void_or_dispute_is_not_reversed() {
    let (state, voided) = step(authorized(500), &MovementRequest::Void { amount: None });
    assert_eq!(voided.movement, Movement::Void);
    assert_eq!(state.reverse(&voided, &BTreeMap::new()), Ok(None));
}

#[test]
fn a_reversed_refund_leaves_the_parts_of_disputes() {
    let (state, _) = step(authorized(900), &capture(500));
    let (state, _) = step(state, &capture(400));
    let (mut state, refunded) = step(state, &refund(500));
    // A dispute has taken the second capture.
    let second = state.captures.last_mut().unwrap();
    let (gross, fee) = second.return_part(400).unwrap();
    let disputed = BTreeMap::from([(second.step, DisputedPart { amount: 400, gross, fee })]);
    let change = state.reverse(&refunded, &disputed).unwrap().unwrap();
    let state = state.apply(&change);
    let returned: Vec<i64> = state.captures.iter().map(|known| known.amount_returned).collect();
    assert_eq!(returned, [0, 400]);
    assert_eq!(change.balance, -refunded.balance);
}

#[test]
fn a_reversed_refund_returns_its_fee_beside_the_one_of_a_dispute() {
    let (state, _) = step(authorized(500), &capture(500));
    let (mut state, refunded) = step(state, &refund(200));
    let capture = state.captures.last_mut().unwrap();
    let (gross, fee) = capture.return_part(300).unwrap();
    let disputed = BTreeMap::from([(capture.step, DisputedPart { amount: 300, gross, fee })]);
    let change = state.reverse(&refunded, &disputed).unwrap().unwrap();
    assert_eq!((change.balance, change.fee.rate), (-refunded.balance, -refunded.fee.rate));
}

proptest! {
    /// Other refunds may follow the refused one.
    #[test]
    fn after_a_reversed_refund_all_is_as_without_it(
        captures in prop::collection::vec(1..1000_i64, 1..5),
        refunds in prop::collection::vec(1..500_i64, 1..6),
        refused: prop::sample::Index,
    ) {
        let mut captured = authorized(captures.iter().sum());
        for amount in &captures {
            (captured, _) = step(captured, &capture(*amount));
        }
        let (mut with, mut without) = (captured.clone(), captured);
        let (mut balance_with, mut balance_without) = (0, 0);
        let mut refused_step = None;
        for (index, amount) in refunds.iter().enumerate() {
            let amount = (*amount).min(with.amounts.refundable());
            if amount == 0 {
                continue;
            }
            let refunded;
            (with, refunded) = step(with, &refund(amount));
            balance_with += refunded.balance;
            if index == refused.index(refunds.len()) {
                refused_step = Some(refunded);
            } else {
                let refunded;
                (without, refunded) = step(without, &refund(amount));
                balance_without += refunded.balance;
            }
        }
        let Some(refunded) = refused_step else { return Ok(()) };
        let change = reverse(&with, &refunded);
        let with = with.apply(&change);
        prop_assert_eq!(with.captures, without.captures);
        prop_assert_eq!(with.amounts, without.amounts);
        prop_assert_eq!(balance_with + change.balance, balance_without);
    }
}
