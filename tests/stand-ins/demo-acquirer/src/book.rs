//! The book: every operation, by its key, and the rules of the protocol. It lives in memory.

use indexmap::IndexMap;
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use serde::Serialize;

use crate::{
    card::{ThreeDSecure, Verdict},
    key::Key,
    request::{Authorization, Movement, MovementKind, Order},
};

mod entry;

pub(crate) use entry::Entry;

/// Most keys in the book. With more, new requests get 503: a forgotten key could be executed twice.
const MAX_KEYS: usize = 100_000;

/// "error, try again": the code of an authorization that is not executed.
const NOT_EXECUTED: u8 = 12;

const NEEDS_3D_SECURE: u8 = 30;
const FAILED_3D_SECURE: u8 = 31;

/// "declined by the bank": the code of an authorization that a rule refuses.
const DECLINED_BY_BANK: u8 = 8;

/// The reason for an operation whose key was closed before it arrived.
const CLOSED: &str = "the key was closed before the request arrived";

/// A digest of a request: equal requests have equal digests.
pub(crate) type Digest = [u8; 32];

#[derive(Debug, Default)]
pub(crate) struct Book {
    slots: IndexMap<Key, Slot>,
    /// Reversals in progress. Each can still close the key of its authorization.
    reversing: usize,
}

#[derive(Debug)]
enum Slot {
    /// Never seen, and not to be executed.
    Closed,
    Seen(Operation),
}

#[derive(Debug)]
struct Operation {
    order: Order,
    digest: Digest,
    state: State,
    received: u64,
    executed: u64,
    /// The last execution.
    executed_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Pending {
        /// Whether the authorization was reversed meanwhile.
        reversed: bool,
    },
    Challenge {
        result: ThreeDSecure,
        /// Whether the customer has confirmed. `None` before the answer.
        confirmed: Option<bool>,
    },
    Approved(Approval),
    Declined(u8),
    Done,
    Refused(String),
}

/// An approved authorization, with the sums of its operations in minor units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Approval {
    three_d_secure: ThreeDSecureUse,
    captured: u64,
    voided: u64,
    refunded: u64,
    is_reversed: bool,
}

impl Approval {
    /// The part of the authorized amount that can still be captured.
    fn held(&self, authorization: &Authorization) -> u64 {
        if self.is_reversed { 0 } else { authorization.amount - self.captured - self.voided }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ThreeDSecureUse {
    None,
    Attempt,
    Full,
}

/// The answer of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Outcome {
    Approved { card_reference: String, three_d_secure: ThreeDSecureUse },
    Declined { code: u8 },
    Challenge,
    Done,
    Refused { reason: String },
    Pending,
}

/// Whether a request is executed or answered at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Begun {
    /// Execute it: it is the first with its key.
    First,
    Repeat(Outcome),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BookError {
    #[error("the idempotency key belongs to another request")]
    KeyReused,
    #[error("the book is full: restart demo-acquirer")]
    Full,
    #[error("no authorization has this key")]
    Unknown,
}

/// An operation that cannot be refused any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("only a done capture, refund or void that nothing depends on can be refused later")]
pub(crate) struct FinalError;

/// The state of a challenge, for its page.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    pub(crate) authorization: &'a Authorization,
    /// Whether the customer can still answer.
    pub(crate) is_open: bool,
}

impl Book {
    /// Records a request that has arrived.
    pub(crate) fn begin(
        &mut self,
        key: &Key,
        digest: Digest,
        order: Order,
    ) -> Result<Begun, BookError> {
        match self.slots.get_mut(key) {
            Some(Slot::Seen(operation)) if operation.digest != digest => Err(BookError::KeyReused),
            Some(Slot::Seen(operation)) => {
                operation.received += 1;
                Ok(Begun::Repeat(operation.outcome()))
            }
            Some(slot) => {
                let operation = Operation::new(order, digest);
                let state = operation.unexecuted();
                let operation = Operation { state, ..operation };
                let outcome = operation.outcome();
                *slot = Slot::Seen(operation);
                Ok(Begun::Repeat(outcome))
            }
            None => {
                let is_reversal = matches!(order, Order::Reverse(_));
                self.reserve(1 + usize::from(is_reversal))?;
                self.reversing += usize::from(is_reversal);
                self.slots.insert(key.clone(), Slot::Seen(Operation::new(order, digest)));
                Ok(Begun::First)
            }
        }
    }

    /// Executes an operation after [`Begun::First`]. With `refuse`, nothing is moved.
    pub(crate) fn execute(&mut self, key: &Key, refuse: bool, now: Timestamp) -> Outcome {
        let Some(Slot::Seen(operation)) = self.slots.get_mut(key) else { return Outcome::Pending };
        operation.executed += 1;
        operation.executed_at = Some(now);
        let is_reversed = operation.state == State::Pending { reversed: true };
        let state = match operation.order.clone() {
            Order::Authorize(_) if is_reversed => State::Declined(NOT_EXECUTED),
            Order::Authorize(_) if refuse => State::Declined(DECLINED_BY_BANK),
            Order::Authorize(authorization) => authorize(&authorization),
            Order::Reverse(reversal) => {
                self.reversing -= 1;
                if !refuse {
                    self.release(&reversal.authorization);
                }
                done_unless(refuse.then_some("a rule refuses it"))
            }
            Order::Move(..) | Order::Answer(_) if refuse => done_unless(Some("a rule refuses it")),
            Order::Answer(_) => State::Done,
            Order::Move(kind, movement) => done_unless(self.apply(kind, &movement).err()),
        };
        let Some(Slot::Seen(operation)) = self.slots.get_mut(key) else { return Outcome::Pending };
        operation.state = state;
        operation.outcome()
    }

    /// Concludes an authorization after the customer came back.
    pub(crate) fn complete(&mut self, key: &Key) -> Result<Outcome, BookError> {
        let Some(Slot::Seen(operation)) = self.slots.get_mut(key) else {
            return Err(BookError::Unknown);
        };
        if !matches!(operation.order, Order::Authorize(_)) {
            return Err(BookError::KeyReused);
        }
        if let State::Challenge { result, confirmed: Some(confirmed) } = operation.state {
            operation.state = match result {
                ThreeDSecure::Full if confirmed => approved(ThreeDSecureUse::Full),
                ThreeDSecure::Attempt if confirmed => approved(ThreeDSecureUse::Attempt),
                _ => State::Declined(FAILED_3D_SECURE),
            };
        }
        Ok(operation.outcome())
    }

    /// The answer of an operation. `None` if the key was never seen: it is closed then.
    pub(crate) fn ask(&mut self, key: &Key) -> Result<Option<Outcome>, BookError> {
        match self.slots.get(key) {
            Some(Slot::Seen(operation)) => Ok(Some(operation.outcome())),
            Some(Slot::Closed) => Ok(None),
            None => {
                self.reserve(1)?;
                self.slots.insert(key.clone(), Slot::Closed);
                Ok(None)
            }
        }
    }

    /// The challenge of an authorization, if it had one.
    pub(crate) fn question(&self, key: &Key) -> Option<Question<'_>> {
        let Some(Slot::Seen(Operation { order: Order::Authorize(authorization), state, .. })) =
            self.slots.get(key)
        else {
            return None;
        };
        let had_challenge = matches!(authorization.verdict, Verdict::Challenge(_));
        let is_open = matches!(state, State::Challenge { confirmed: None, .. });
        had_challenge.then_some(Question { authorization, is_open })
    }

    /// Records the customer's answer to a challenge. Only the first one counts.
    pub(crate) fn answer(&mut self, key: &Key, confirm: bool) {
        if let Some(Slot::Seen(operation)) = self.slots.get_mut(key)
            && let State::Challenge { confirmed, .. } = &mut operation.state
        {
            confirmed.get_or_insert(confirm);
        }
    }

    /// Undoes a movement that was answered `done`.
    pub(crate) fn refuse_later(&mut self, key: &Key, reason: &str) -> Result<(), FinalError> {
        let Some(Slot::Seen(Operation { order, state: State::Done, .. })) = self.slots.get(key)
        else {
            return Err(FinalError);
        };
        let Order::Move(kind, Movement { authorization, amount, .. }) = order.clone() else {
            return Err(FinalError);
        };
        let (_, approval) = self.approval(&authorization).ok_or(FinalError)?;
        match kind {
            MovementKind::Capture if approval.captured - amount < approval.refunded => {
                return Err(FinalError);
            }
            MovementKind::Capture => approval.captured -= amount,
            MovementKind::Refund => approval.refunded -= amount,
            MovementKind::Void => approval.voided -= amount,
        }
        if let Some(Slot::Seen(operation)) = self.slots.get_mut(key) {
            operation.state = State::Refused(reason.to_owned());
        }
        Ok(())
    }

    /// All keys, oldest first.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.slots.iter().map(|(key, slot)| Entry::new(key, slot))
    }

    /// The captures and refunds that were executed on this UTC date, oldest first.
    pub(crate) fn settled(
        &self,
        date: Date,
    ) -> impl Iterator<Item = (&Key, MovementKind, &Movement)> {
        self.slots.iter().filter_map(move |(key, slot)| match slot {
            Slot::Seen(Operation {
                order: Order::Move(kind, movement),
                state: State::Done,
                executed_at: Some(time),
                ..
            }) if *kind != MovementKind::Void && time.to_zoned(TimeZone::UTC).date() == date => {
                Some((key, *kind, movement))
            }
            _ => None,
        })
    }

    /// Moves the amount, or changes nothing and returns why.
    fn apply(&mut self, kind: MovementKind, movement: &Movement) -> Result<(), &'static str> {
        let (authorization, approval) =
            self.approval(&movement.authorization).ok_or("the authorization is not approved")?;
        if authorization.currency != movement.currency {
            return Err("the authorization has another currency");
        }
        let held = approval.held(authorization);
        match kind {
            MovementKind::Capture | MovementKind::Void if movement.amount > held => {
                return Err("exceeds the authorized amount");
            }
            MovementKind::Refund if movement.amount > approval.captured - approval.refunded => {
                return Err("exceeds the captured amount");
            }
            MovementKind::Capture => approval.captured += movement.amount,
            MovementKind::Refund => approval.refunded += movement.amount,
            MovementKind::Void => approval.voided += movement.amount,
        }
        Ok(())
    }

    /// Releases all that an authorization holds. Closes its key if it was never seen.
    fn release(&mut self, key: &Key) {
        let slot = self.slots.entry(key.clone()).or_insert(Slot::Closed);
        let Slot::Seen(Operation { order: Order::Authorize(_), state, .. }) = slot else { return };
        match state {
            State::Pending { reversed } => *reversed = true,
            State::Challenge { .. } => *state = State::Declined(NOT_EXECUTED),
            State::Approved(approval) => approval.is_reversed = true,
            State::Declined(_) | State::Done | State::Refused(_) => {}
        }
    }

    fn approval(&mut self, key: &Key) -> Option<(&Authorization, &mut Approval)> {
        match self.slots.get_mut(key) {
            Some(Slot::Seen(Operation {
                order: Order::Authorize(authorization),
                state: State::Approved(approval),
                ..
            })) => Some((authorization, approval)),
            _ => None,
        }
    }

    fn reserve(&self, keys: usize) -> Result<(), BookError> {
        let is_full = self.slots.len() + self.reversing + keys > MAX_KEYS;
        if is_full { Err(BookError::Full) } else { Ok(()) }
    }
}

impl Operation {
    fn new(order: Order, digest: Digest) -> Self {
        let state = State::Pending { reversed: false };
        Self { order, digest, state, received: 1, executed: 0, executed_at: None }
    }

    /// The state of an operation whose key was closed before.
    fn unexecuted(&self) -> State {
        match self.order {
            Order::Authorize(_) => State::Declined(NOT_EXECUTED),
            Order::Move(..) | Order::Reverse(_) | Order::Answer(_) => {
                State::Refused(CLOSED.to_owned())
            }
        }
    }

    fn outcome(&self) -> Outcome {
        match (&self.state, &self.order) {
            (State::Approved(approval), Order::Authorize(authorization)) => Outcome::Approved {
                card_reference: authorization.card_reference.clone(),
                three_d_secure: approval.three_d_secure,
            },
            (State::Approved(_) | State::Done, _) => Outcome::Done,
            (State::Declined(code), _) => Outcome::Declined { code: *code },
            (State::Challenge { .. }, _) => Outcome::Challenge,
            (State::Refused(reason), _) => Outcome::Refused { reason: reason.clone() },
            (State::Pending { .. }, _) => Outcome::Pending,
        }
    }
}

fn authorize(authorization: &Authorization) -> State {
    match authorization.verdict {
        Verdict::Approve => approved(ThreeDSecureUse::None),
        Verdict::Decline(code) => State::Declined(code),
        Verdict::Challenge(_) if authorization.return_url.is_none() => {
            State::Declined(NEEDS_3D_SECURE)
        }
        Verdict::Challenge(result) => State::Challenge { result, confirmed: None },
    }
}

fn approved(three_d_secure: ThreeDSecureUse) -> State {
    State::Approved(Approval {
        three_d_secure,
        captured: 0,
        voided: 0,
        refunded: 0,
        is_reversed: false,
    })
}

fn done_unless(reason: Option<&str>) -> State {
    reason.map_or(State::Done, |reason| State::Refused(reason.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Reversal;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn key(number: usize) -> Key {
        format!("{number:024x}").parse().unwrap()
    }

    fn reversal(authorization: usize) -> Order {
        let transaction_id = "6b016ea40000000000000004".to_owned();
        Order::Reverse(Reversal { authorization: key(authorization), transaction_id })
    }

    /// A book with this many closed keys.
    fn closed(keys: usize) -> Book {
        let mut book = Book::default();
        for number in 0..keys {
            assert_eq!(book.ask(&key(number)), Ok(None));
        }
        book
    }

    #[test]
    fn a_full_book_accepts_no_new_key() {
        let mut book = closed(MAX_KEYS);
        assert_eq!(book.ask(&key(MAX_KEYS)), Err(BookError::Full));
        assert_eq!(book.begin(&key(MAX_KEYS), [0; 32], reversal(0)), Err(BookError::Full));
        assert_eq!(book.ask(&key(0)), Ok(None));
        let refused = Begun::Repeat(Outcome::Refused { reason: CLOSED.to_owned() });
        assert_eq!(book.begin(&key(0), [0; 32], reversal(1)), Ok(refused));
    }

    #[test]
    fn a_reversal_in_progress_has_room_for_the_key_that_it_closes() {
        let (first, second, unseen) = (MAX_KEYS, MAX_KEYS + 1, MAX_KEYS + 2);
        let mut book = closed(MAX_KEYS - 3);
        assert_eq!(book.begin(&key(first), [0; 32], reversal(unseen)), Ok(Begun::First));
        assert_eq!(book.begin(&key(second), [0; 32], reversal(unseen)), Err(BookError::Full));
        assert_eq!(book.ask(&key(second)), Ok(None));
        assert_eq!(book.execute(&key(first), false, NOW), Outcome::Done);
        assert_eq!(book.entries().count(), MAX_KEYS);
        assert_eq!(book.ask(&key(unseen)), Ok(None));
    }
}
