//! Compares the ledger with a naive model: all short sequences of operations, and random longer
//! ones.

use blackbox::{
    payments::{Acquirer, Merchant, Move, Refusal as _, SECRET, Service, Transaction, int},
    soak::{rounds, seed},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};

/// The amount that each sequence reserves.
const RESERVED: i64 = 100;

/// The default fees: `FLAT` and `DISPUTE` in cents, `RATE` in thousandths.
const FLAT: i64 = 25;
const DISPUTE: i64 = 3500;
const RATE: i64 = 25;

/// An operation on a transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Move(Move, i64),
    /// Opens a dispute over this amount.
    Open(i64),
    /// Decides the newest open dispute.
    End(&'static str),
}

const CAPTURE: fn(i64) -> Step = |amount| Step::Move(Move::Capture, amount);
const REFUND: fn(i64) -> Step = |amount| Step::Move(Move::Refund, amount);
const VOID: fn(i64) -> Step = |amount| Step::Move(Move::Void, amount);

/// Rounds a fraction half away from zero. The numerator must not be negative.
fn round(numerator: i128, denominator: i128) -> i64 {
    i64::try_from((2 * numerator + denominator) / (2 * denominator)).unwrap()
}

/// The merchant's minor units for one minor unit of the transaction's currency, as a fraction.
#[derive(Clone, Copy)]
pub(crate) struct Rate(i128, i128);

impl Rate {
    const NONE: Self = Self(1, 1);

    /// The value of one cent at the rates of test merchants.
    pub(crate) fn of(currency: &str) -> Self {
        if currency == "EUR" {
            return Self::NONE;
        }
        let rates = include_str!("../../../crates/payments-domain/assets/rates.xml");
        let (_, quote) = rates.split_once(&format!("currency=\"{currency}\" rate=\"")).unwrap();
        let (units, _) = quote.split_once('"').unwrap();
        let (whole, places) = units.split_once('.').unwrap();
        let digits = format!("{whole}{places}").parse().unwrap();
        Self(digits, 10_i128.pow(places.len().try_into().unwrap()))
    }

    /// Exchanges at the rate less 2 %.
    fn proceeds(self, amount: i64) -> i64 {
        self.shifted(amount, 98)
    }

    /// Exchanges at the rate plus 2 %.
    fn cost(self, amount: i64) -> i64 {
        self.shifted(amount, 102)
    }

    fn shifted(self, amount: i64, percent: i128) -> i64 {
        let percent = if self.1 == 1 { 100 } else { percent };
        round(i128::from(amount) * self.0 * percent, self.1 * 100)
    }
}

#[derive(Clone, Copy)]
struct Captured {
    amount: i64,
    worth: [i64; 2],
    amount_returned: i64,
    worth_returned: [i64; 2],
}

impl Captured {
    /// Takes a part out of the capture, and returns its gross and its fee.
    fn take(&mut self, part: i64) -> [i64; 2] {
        self.amount_returned += part;
        let due = |whole: i64| {
            round(i128::from(whole) * i128::from(self.amount_returned), self.amount.into())
        };
        let taken = [0, 1].map(|of| {
            let left = self.worth[of] - self.worth_returned[of];
            (due(self.worth[of]) - self.worth_returned[of]).clamp(0, left)
        });
        self.worth_returned = [0, 1].map(|of| self.worth_returned[of] + taken[of]);
        taken
    }
}

/// A slice of a dispute: capture, amount, and gross with fee. The capture is `None` for
/// money that a refund or another dispute took before.
type Slice = (Option<usize>, i64, [i64; 2]);

/// A transaction, as it should be.
pub(crate) struct Model {
    rate: Rate,
    reserved: i64,
    captures: Vec<Captured>,
    refunded: i64,
    voided: i64,
    disputed: i64,
    open: Vec<(String, Vec<Slice>)>,
    /// The transaction's part of the merchant's balance.
    pub(crate) balance: i64,
    steps: usize,
}

impl Model {
    pub(crate) fn new(rate: Rate, reserved: i64) -> Self {
        Self {
            rate,
            reserved,
            captures: Vec::new(),
            refunded: 0,
            voided: 0,
            disputed: 0,
            open: Vec::new(),
            balance: 0,
            steps: 0,
        }
    }

    fn captured(&self) -> i64 {
        self.captures.iter().map(|captured| captured.amount).sum()
    }

    /// Makes a move. Returns `false` if it exceeds its limit.
    pub(crate) fn perform(&mut self, movement: Move, amount: i64) -> bool {
        let pending = self.reserved - self.captured() - self.voided;
        let limit = match movement {
            Move::Capture | Move::Void => pending,
            Move::Refund => (self.captured() - self.refunded - self.disputed).max(0),
        };
        if amount > limit {
            return false;
        }
        self.steps += 1;
        match movement {
            Move::Void => self.voided += amount,
            Move::Capture => {
                let gross = self.rate.proceeds(amount);
                let fee = round(i128::from(gross) * i128::from(RATE), 1000);
                let (amount_returned, worth_returned) = (0, [0, 0]);
                self.captures.push(Captured {
                    amount,
                    worth: [gross, fee],
                    amount_returned,
                    worth_returned,
                });
                self.balance += gross - fee - self.rate.cost(FLAT);
            }
            Move::Refund => {
                self.refunded += amount;
                let taken = self.take(amount);
                assert_eq!(taken.iter().map(|(_, part, _)| part).sum::<i64>(), amount);
                self.balance -= worth(&taken);
            }
        }
        true
    }

    /// Takes up to `amount` from the rest of the captures, the oldest first.
    fn take(&mut self, amount: i64) -> Vec<Slice> {
        let mut left = amount;
        let mut taken = Vec::new();
        for (number, captured) in self.captures.iter_mut().enumerate() {
            let part = left.min(captured.amount - captured.amount_returned);
            if part > 0 {
                taken.push((Some(number), part, captured.take(part)));
                left -= part;
            }
        }
        taken
    }

    pub(crate) fn open(&mut self, name: String, amount: i64) {
        let mut slices = self.take(amount);
        let mut left = amount - slices.iter().map(|(_, part, _)| part).sum::<i64>();
        let count = self.captures.len();
        for (number, captured) in self.captures.iter().enumerate() {
            let part = if number + 1 == count { left } else { left.min(captured.amount) };
            if part > 0 {
                let repeated = captured.worth.map(|whole| {
                    round(i128::from(whole) * i128::from(part), captured.amount.into())
                });
                slices.push((None, part, repeated));
                left -= part;
            }
        }
        if left > 0 {
            slices.push((None, left, [self.rate.proceeds(left), 0]));
        }
        self.disputed += amount;
        self.balance -= worth(&slices) + self.rate.cost(DISPUTE);
        self.open.push((name, slices));
    }

    /// Decides the newest open dispute, and returns its name. `None` if no dispute is open.
    pub(crate) fn end(&mut self, how: &str) -> Option<String> {
        let (name, slices) = self.open.pop()?;
        self.steps += 1;
        if how == "won" {
            self.balance += worth(&slices);
            for (number, part, taken) in &slices {
                self.disputed -= part;
                if let Some(captured) = number.map(|number| &mut self.captures[number]) {
                    captured.amount_returned -= part;
                    captured.worth_returned =
                        [0, 1].map(|of| captured.worth_returned[of] - taken[of]);
                }
            }
        }
        Some(name)
    }

    pub(crate) fn matches(&self, transaction: &Value, steps: &[Step]) {
        let names = ["capturedAmount", "refundedAmount", "voidedAmount", "disputedAmount"];
        let amounts = [self.captured(), self.refunded, self.voided, self.disputed];
        assert_eq!(names.map(|name| int(&transaction[name])), amounts, "{steps:?}: {transaction}");
        let trail = transaction["trail"].as_array().unwrap();
        assert_eq!(trail.len(), self.steps, "{steps:?}: {transaction}");
    }
}

fn worth(slices: &[Slice]) -> i64 {
    slices.iter().map(|(.., [gross, fee])| gross - fee).sum()
}

/// A merchant and its expected balance.
struct Account<'a> {
    service: &'a Service,
    merchant: Merchant,
    rate: Rate,
    balance: i64,
}

impl<'a> Account<'a> {
    async fn new(service: &'a Service, currency: &str) -> Self {
        let merchant = service.app().await.merchant(currency).await;
        Self { service, merchant, rate: Rate::of(currency), balance: 0 }
    }

    /// Runs the steps on a new transaction, and compares each result with the model.
    async fn run(&mut self, steps: &[Step]) {
        let transaction = self.merchant.pay("EUR", RESERVED).await;
        let mut model = Model::new(self.rate, RESERVED);
        for (number, step) in steps.iter().enumerate() {
            self.perform(&transaction, &mut model, (number, *step)).await;
        }
        model.matches(&transaction.fetch().await, steps);
        self.balance += model.balance;
        assert_eq!(self.merchant.balance().await, self.balance, "{steps:?}");
    }

    async fn perform(&self, transaction: &Transaction, model: &mut Model, step: (usize, Step)) {
        let acquirer = Acquirer(self.service);
        match step {
            (_, Step::Move(movement, amount)) => {
                let answer = transaction.ask(movement, &json!({ "amount": amount })).await;
                if model.perform(movement, amount) {
                    model.matches(&answer.expect(201).json()["transaction"], &[step.1]);
                } else {
                    answer.names(&["amount"]);
                }
            }
            (number, Step::Open(amount)) => {
                let name = format!("{} {number}", transaction.id);
                let members = json!({ "disputeId": name, "amount": amount });
                let event = Acquirer::event("dispute.opened", transaction, members);
                let _ = acquirer.notify(&event).await.expect(204);
                model.open(name, amount);
            }
            (_, Step::End(how)) => {
                if let Some(dispute) = model.end(how) {
                    acquirer.end(transaction, &dispute, how).await;
                }
            }
        }
    }

    async fn agrees(&self) {
        assert_eq!(self.merchant.sum_of_lines().await, self.balance);
        self.service.data().agrees().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_short_sequence_matches_the_model() {
    let service = Service::with(&[SECRET]).await;
    let mut account = Account::new(&service, "DKK").await;
    let moves = [CAPTURE(37), CAPTURE(63), REFUND(29), REFUND(37), VOID(63)];
    let disputes = [CAPTURE(57), REFUND(31), Step::Open(41), Step::End("won"), Step::End("lost")];
    for steps in [moves, disputes] {
        for first in steps {
            for second in steps {
                for third in steps {
                    // Before the first capture, the other steps are rejected.
                    if matches!(first, Step::Move(Move::Capture, _) | Step::Open(_)) {
                        account.run(&[first, second, third]).await;
                    }
                }
            }
        }
    }
    account.agrees().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_sequences_go_as_the_model_says() {
    let service = Service::with(&[SECRET]).await;
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    for currency in ["EUR", "DKK", "HUF"] {
        let mut account = Account::new(&service, currency).await;
        for _ in 0..rounds(6, 200) {
            let steps = (0..15).map(|_| {
                let amount = rng.random_range(1..50);
                match rng.random_range(0..8) {
                    0..3 => CAPTURE(amount),
                    3..5 => REFUND(amount),
                    5 => Step::Open(amount),
                    6 => Step::End("won"),
                    _ => Step::End(if amount % 2 == 0 { "won" } else { "lost" }),
                }
            });
            let steps: Vec<_> = steps.collect();
            account.run(&steps).await;
        }
        account.agrees().await;
    }
}
