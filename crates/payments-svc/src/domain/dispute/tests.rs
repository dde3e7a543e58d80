//! The rules of disputes, alone and between captures and refunds.

use proptest::prelude::*;

use super::*;
use crate::domain::{Currency, Pricing, Request};

/// Danish kroner for a euro, a hundredth of each.
fn kroner() -> Exchange {
    Exchange { rate: Ratio::new(74_735, 10_000), spread: "0.02".parse().unwrap() }
}

/// An authorisation of EUR 1000 of a merchant that is funded in kroner.
fn reserved() -> Holding {
    Holding {
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
    }
}

fn amount(minor: i64) -> Amount {
    Amount::new(minor).unwrap()
}

fn capture(minor: i64) -> Request {
    let (exchange, fee_exchange) = (kroner(), kroner());
    Request::Capture { amount: amount(minor), currency: None, exchange, fee_exchange }
}

/// A ledger of one transaction: what the engines keep, in memory.
struct Books {
    holding: Holding,
    balance: i64,
    flat: i64,
    open: Vec<Vec<Slice>>,
    lost: Vec<Vec<Slice>>,
}

impl Books {
    fn new() -> Self {
        Self { holding: reserved(), balance: 0, flat: 0, open: Vec::new(), lost: Vec::new() }
    }

    fn write(&mut self, change: &Change) {
        let booking = change.booking.as_ref().unwrap();
        assert!(booking.entry.is_balanced(), "{booking:?}");
        self.holding = self.holding.clone().after(change);
        self.balance += change.balance;
        self.flat += change.fee.flat;
    }

    /// Whether it was done.
    fn request(&mut self, request: &Request) -> bool {
        let change = self.holding.decide(request);
        change.inspect(|change| self.write(change)).is_ok()
    }

    fn open(&mut self, minor: i64) -> Change {
        let opening = self.holding.open(amount(minor), kroner(), kroner()).unwrap();
        assert_eq!(opening.slices.iter().map(|slice| slice.amount).sum::<i64>(), minor);
        self.write(&opening.change);
        self.open.push(opening.slices);
        opening.change
    }

    fn end(&mut self, decision: Decision) -> Option<Change> {
        let slices = self.open.pop()?;
        let change = self.holding.end(&slices, decision).unwrap();
        self.write(&change);
        if decision == Decision::Lost {
            self.lost.push(slices);
        }
        Some(change)
    }

    /// The counters, the captures and the balance tell the same.
    fn agree(&self) {
        let Amounts { captured, refunded, disputed, .. } = self.holding.amounts;
        let slices = || self.open.iter().chain(&self.lost).flatten();
        assert_eq!(disputed, slices().map(|slice| slice.amount).sum::<i64>());
        let out: i64 = self.holding.captures.iter().map(|it| it.amount_out).sum();
        let held: i64 = slices().filter(|slice| !slice.again).map(|slice| slice.amount).sum();
        assert_eq!(out, refunded + held);
        assert!(out <= captured);
        let mut worth = 0;
        for it in &self.holding.captures {
            assert!((0..=it.amount).contains(&it.amount_out), "{it:?}");
            assert!((0..=it.gross).contains(&it.gross_out), "{it:?}");
            assert!((0..=it.fee).contains(&it.fee_out), "{it:?}");
            assert!(it.amount_out < it.amount || it.gross_out == it.gross, "{it:?}");
            worth += it.gross - it.gross_out - it.fee + it.fee_out;
        }
        let again = slices().filter(|slice| slice.again);
        let again: i64 = again.map(|slice| slice.gross - slice.fee).sum();
        assert_eq!(self.balance, worth - again - self.flat);
    }
}

#[test]
fn a_dispute_takes_what_a_refund_would_and_its_fee() {
    let mut books = Books::new();
    assert!(books.request(&capture(500)));
    assert_eq!(books.balance, 3379);
    let opened = books.open(333);
    // EUR 35.00 at 7.4735 and 2 %.
    assert_eq!((opened.balance, opened.fee), (-2378 - 26_680, Fee { flat: 26_680, rate: -61 }));
    assert_eq!(opened.movement, None);
    let booking = opened.booking.unwrap();
    assert_eq!((booking.kind, booking.amount.minor), (LineKind::Dispute, -333));
    assert_eq!((books.holding.amounts.disputed, books.holding.amounts.refundable()), (333, 167));
}

#[test]
fn what_is_won_comes_back_but_for_the_fee() {
    let mut books = Books::new();
    assert!(books.request(&capture(500)));
    let before = books.holding.captures.clone();
    let opened = books.open(333);
    let won = books.end(Decision::Won).unwrap();
    assert_eq!((won.movement, won.amount), (Some(Movement::Won), 333));
    assert_eq!((won.balance, won.fee), (2378, Fee { flat: 0, rate: 61 }));
    assert_eq!(opened.balance + won.balance, -26_680);
    assert_eq!(books.holding.captures, before);
    assert_eq!(books.holding.amounts.disputed, 0);
}

#[test]
fn what_is_lost_stays_with_the_customer() {
    let mut books = Books::new();
    assert!(books.request(&capture(500)));
    books.open(500);
    let lost = books.end(Decision::Lost).unwrap();
    assert_eq!((lost.movement, lost.balance, lost.fee), (Some(Movement::Lost), 0, Fee::default()));
    let booking = lost.booking.unwrap();
    assert_eq!((booking.kind, booking.amount.minor), (LineKind::Lost, 0));
    assert_eq!(books.holding.amounts.disputed, 500);
    assert!(!books.request(&Request::Refund { amount: amount(1) }));
}

#[test]
fn money_that_went_back_goes_again() {
    let mut books = Books::new();
    assert!(books.request(&capture(500)) && books.request(&capture(300)));
    assert!(books.request(&Request::Refund { amount: amount(600) }));
    books.agree();
    books.open(800);
    let [slices] = &books.open[..] else { panic!() };
    let slices: Vec<_> = slices.iter().map(|it| (it.step, it.amount, it.again)).collect();
    let expected = [(Some(1), 200, false), (Some(0), 500, true), (Some(1), 100, true)];
    assert_eq!(slices, expected);
    books.agree();
    books.end(Decision::Won);
    books.agree();
    assert!(books.request(&Request::Refund { amount: amount(200) }));
    books.agree();
}

#[test]
fn more_than_was_ever_captured_can_be_disputed() {
    let mut books = Books::new();
    let opened = books.open(100);
    assert_eq!(opened.balance, -732 - 26_680);
    books.agree();
    let mut books = Books::new();
    assert!(books.request(&capture(100)));
    books.open(350);
    books.agree();
}

#[test]
fn an_amount_in_the_merchants_own_currency_is_not_exchanged() {
    let mut holding = reserved();
    holding.funding = Currency::EUR;
    let opening = holding.open(amount(100), Exchange::NONE, Exchange::NONE).unwrap();
    assert_eq!(opening.change.balance, -3600);
    let lost = holding.end(&opening.slices, Decision::Lost).unwrap();
    assert_eq!(lost.booking.unwrap().entry.postings().len(), 2);
}

/// What may happen to a transaction: a kind, and how much.
fn steps() -> impl Strategy<Value = Vec<(u8, i64)>> {
    prop::collection::vec((0..5_u8, 1..40_000_i64), 0..30)
}

proptest! {
    #[test]
    fn whatever_happens_the_books_agree(steps in steps()) {
        let mut books = Books::new();
        for (kind, minor) in steps {
            match kind {
                0 => _ = books.request(&capture(minor)),
                1 => _ = books.request(&Request::Refund { amount: amount(minor) }),
                2 => _ = books.open(minor),
                3 => _ = books.end(Decision::Won),
                _ => _ = books.end(Decision::Lost),
            }
            books.agree();
        }
        let nothing_disputed = books.lost.is_empty();
        while books.end(Decision::Won).is_some() {
            books.agree();
        }
        let left = books.holding.amounts.refundable();
        if nothing_disputed && left > 0 {
            let rest = Request::Refund { amount: amount(left) };
            prop_assert!(books.request(&rest));
            books.agree();
            prop_assert!(books.holding.captures.iter().all(|it| it.gross_out == it.gross));
            prop_assert_eq!(books.balance, -books.flat);
        }
    }
}
