//! The rules of captures, refunds and voids, compared with a model.

use num_rational::Ratio;
use proptest::prelude::*;

use super::*;

fn currency(code: &str) -> Currency {
    code.parse().unwrap()
}

fn pricing() -> Pricing {
    Pricing {
        rate: "0.025".parse().unwrap(),
        flat: "EUR:25".parse().unwrap(),
        dispute: "EUR:3500".parse().unwrap(),
    }
}

/// An authorized transaction of `amount` cents, without movements.
fn authorized(amount: i64, funding: &str) -> TransactionState {
    TransactionState {
        currency: currency("EUR"),
        amounts: Amounts { amount, successful: true, ..Amounts::default() },
        steps: 0,
        captures: Vec::new(),
        funding: currency(funding),
        pricing: pricing(),
        capabilities: Capabilities::default(),
        has_ended: false,
    }
}

fn exchange(rate: (i128, i128)) -> Exchange {
    Exchange { rate: Ratio::new(rate.0, rate.1), spread: "0.02".parse().unwrap() }
}

fn capture(amount: i64, exchange: Exchange) -> MovementRequest {
    let amount = Amount::new(amount).unwrap();
    MovementRequest::Capture { amount, currency: None, exchange, fee_exchange: exchange }
}

fn refund(amount: i64) -> MovementRequest {
    MovementRequest::Refund { amount: Amount::new(amount).unwrap() }
}

fn void(amount: i64) -> MovementRequest {
    MovementRequest::Void { amount: Some(Amount::new(amount).unwrap()) }
}

#[test]
fn a_capture_and_its_refunds_use_one_exchange_rate() {
    let rate = exchange((74_735, 10_000));
    let state = authorized(500, "DKK");
    let capture_change = state.decide(&capture(500, rate)).unwrap();
    assert_eq!((capture_change.balance, capture_change.fee), (3379, Fee { flat: 191, rate: 92 }));
    assert_eq!(capture_change.captures[0].gross, 3662);
    let state = state.apply(&capture_change);
    let refund_change = state.decide(&refund(333)).unwrap();
    assert_eq!((refund_change.balance, refund_change.fee), (-2378, Fee { flat: 0, rate: -61 }));
    assert_eq!(refund_change.captures[0].gross_returned, 2439);
    let state = state.apply(&refund_change);
    let rest = state.decide(&refund(167)).unwrap();
    assert_eq!((rest.balance, rest.fee), (2378 - 3662 + 92, Fee { flat: 0, rate: -31 }));
}

#[test]
fn money_in_the_merchants_own_currency_is_not_exchanged() {
    let change = authorized(1000, "EUR").decide(&capture(1000, Exchange::IDENTITY)).unwrap();
    assert_eq!((change.balance, change.fee), (950, Fee { flat: 25, rate: 25 }));
    let postings = change.booking.unwrap().entry.postings().to_vec();
    assert_eq!(postings.len(), 3, "acquirer, merchant and fees: {postings:?}");
}

#[test]
fn a_capture_in_another_currency_is_rejected() {
    let guarded = |code: &str| MovementRequest::Capture {
        amount: Amount::new(1).unwrap(),
        currency: Some(currency(code)),
        exchange: Exchange::IDENTITY,
        fee_exchange: Exchange::IDENTITY,
    };
    assert!(authorized(1, "EUR").decide(&guarded("EUR")).is_ok());
    assert_eq!(authorized(1, "EUR").decide(&guarded("USD")), Err(MovementError::OtherCurrency));
}

#[test]
fn a_failed_transaction_allows_no_movement() {
    let mut state = authorized(100, "EUR");
    state.amounts.successful = false;
    assert_eq!(state.decide(&capture(1, Exchange::IDENTITY)), Err(MovementError::ExceedsPending));
    assert_eq!(state.decide(&void(1)), Err(MovementError::ExceedsPending));
    assert_eq!(
        state.decide(&MovementRequest::Void { amount: None }),
        Err(MovementError::ExceedsPending)
    );
    assert_eq!(state.decide(&refund(1)), Err(MovementError::ExceedsRefundable));
}

#[test]
fn a_void_without_an_amount_voids_all_that_is_pending() {
    let state = authorized(100, "EUR");
    let capture_change = state.decide(&capture(30, Exchange::IDENTITY)).unwrap();
    let state = state.apply(&capture_change);
    let change = state.decide(&MovementRequest::Void { amount: None }).unwrap();
    assert_eq!((change.amount, change.balance, change.booking), (70, 0, None));
}

#[test]
fn a_full_trail_allows_only_the_last_void_and_refund() {
    let mut state = authorized(1_000_000, "EUR");
    state.steps = MAX_STEPS - 1;
    let last = state.decide(&capture(10, Exchange::IDENTITY)).unwrap();
    let state = state.apply(&last);
    for request in [capture(1, Exchange::IDENTITY), refund(1), void(1)] {
        assert_eq!(state.decide(&request), Err(MovementError::TooManySteps));
    }
    for request in [refund(10), void(999_990), MovementRequest::Void { amount: None }] {
        assert!(state.decide(&request).is_ok(), "{request:?}");
    }
}

/// A simple model of the rules.
#[derive(Clone, Copy)]
struct Model {
    amount: i64,
    captured: i64,
    refunded: i64,
    voided: i64,
}

impl Model {
    fn allows(&mut self, request: &MovementRequest) -> bool {
        let pending = self.amount - self.captured - self.voided;
        let (sum, amount, limit) = match request {
            MovementRequest::Capture { amount, .. } => {
                (&mut self.captured, amount.minor(), pending)
            }
            MovementRequest::Refund { amount } => {
                let limit = self.captured - self.refunded;
                (&mut self.refunded, amount.minor(), limit)
            }
            MovementRequest::Void { amount: Some(amount) } => {
                (&mut self.voided, amount.minor(), pending)
            }
            // A void of nothing is rejected.
            MovementRequest::Void { amount: None } => (&mut self.voided, pending.max(1), pending),
        };
        if amount > limit {
            return false;
        }
        *sum += amount;
        true
    }
}

/// Executes `requests` one after another, and checks all invariants after each.
fn check(amount: i64, funding: &str, requests: &[MovementRequest]) {
    let mut state = authorized(amount, funding);
    let mut model = Model { amount, captured: 0, refunded: 0, voided: 0 };
    let (mut balance, mut flat) = (0, 0);
    for request in requests {
        let decided = state.decide(request);
        assert_eq!(decided.is_ok(), model.allows(request), "{request:?} on {state:?}");
        let Ok(change) = decided else { continue };
        state = state.apply(&change);
        balance += change.balance;
        flat += change.fee.flat;
        let Amounts { captured, refunded, voided, .. } = state.amounts;
        assert_eq!((captured, refunded, voided), (model.captured, model.refunded, model.voided));
        assert!(state.amounts.pending() >= 0 && state.amounts.refundable() >= 0);
        if let Some(booking) = &change.booking {
            assert!(booking.entry.is_balanced(), "{booking:?}");
        }
        let captures = &state.captures;
        let sum = |part: fn(&Capture) -> i64| captures.iter().map(part).sum::<i64>();
        assert_eq!((sum(|c| c.amount), sum(|c| c.amount_returned)), (captured, refunded));
        for c in captures {
            assert!(
                (0..=c.gross).contains(&c.gross_returned) && (0..=c.fee).contains(&c.fee_returned)
            );
            assert!(
                c.amount_returned < c.amount
                    || (c.gross_returned, c.fee_returned) == (c.gross, c.fee)
            );
        }
        let kept = sum(|c| c.gross - c.gross_returned) - sum(|c| c.fee - c.fee_returned);
        assert_eq!(balance, kept - flat, "the balance is the remaining gross, less all fees");
    }
}

/// All sequences of `length` of these requests.
fn sequences(requests: &[MovementRequest], length: usize) -> Vec<Vec<MovementRequest>> {
    if length == 0 {
        return vec![Vec::new()];
    }
    let shorter = sequences(requests, length - 1);
    let longer = |first: &MovementRequest| {
        shorter
            .iter()
            .map(|rest| [std::slice::from_ref(first), rest.as_slice()].concat())
            .collect::<Vec<_>>()
    };
    requests.iter().flat_map(longer).collect()
}

#[test]
fn every_short_sequence_agrees_with_the_model() {
    let rate = exchange((74_735, 10_000));
    let mut requests = vec![MovementRequest::Void { amount: None }];
    for amount in [1, 2, 3] {
        requests.extend([capture(amount, rate), refund(amount), void(amount)]);
    }
    for requests in sequences(&requests, 5) {
        check(3, "DKK", &requests);
    }
}

fn any_request(rate: Exchange) -> impl Strategy<Value = MovementRequest> {
    prop_oneof![
        (1..400_i64).prop_map(move |amount| capture(amount, rate)),
        (1..400_i64).prop_map(refund),
        (1..100_i64).prop_map(void),
    ]
}

fn rates() -> impl Strategy<Value = Exchange> {
    (1..1_000_000_i128, 1..1_000_000_i128).prop_map(exchange)
}

proptest! {
    #[test]
    fn any_sequence_agrees_with_the_model(
        amount in 1..1000_i64,
        requests in rates().prop_flat_map(|rate| prop::collection::vec(any_request(rate), 0..30)),
    ) {
        check(amount, "DKK", &requests);
    }

    #[test]
    fn the_largest_amounts_never_overflow(
        amount in 1..=Amount::MAX,
        numerator in 1..i128::from(u64::MAX),
        denominator in 1..i128::from(u64::MAX),
    ) {
        let request = capture(amount, exchange((numerator, denominator)));
        if let Ok(change) = authorized(Amount::MAX, "DKK").decide(&request) {
            prop_assert!(change.booking.unwrap().entry.is_balanced());
        }
    }
}

#[test]
fn what_the_acquirer_cannot_do_is_refused() {
    let mut state = authorized(1000, "EUR");
    state.capabilities.amount_step = 10;
    let in_euros = |minor| capture(minor, Exchange::IDENTITY);
    assert_eq!(state.decide(&in_euros(15)), Err(MovementError::NotAMultiple(10)));
    let captured = state.decide(&in_euros(20)).unwrap();
    let captured = state.clone().apply(&captured);
    assert_eq!(captured.decide(&refund(15)), Err(MovementError::NotAMultiple(10)));
    assert!(captured.decide(&refund(10)).is_ok());
    state.has_ended = true;
    assert_eq!(state.decide(&in_euros(20)), Err(MovementError::Ended));
    assert!(state.decide(&MovementRequest::Void { amount: None }).is_ok());
}

#[test]
fn a_first_capture_releases_the_rest_if_the_acquirer_captures_once() {
    for (captures_once, captured, released) in
        [(true, 400, Some(600)), (true, 1000, None), (false, 400, None)]
    {
        let mut state = authorized(1000, "EUR");
        state.capabilities.captures_once = captures_once;
        let change = state.decide(&capture(captured, Exchange::IDENTITY)).unwrap();
        let void = state.apply(&change).released();
        assert_eq!(void.map(|void| void.amount), released, "{captures_once} {captured}");
    }
}
