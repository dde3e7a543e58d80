//! The rows that a batch of writes changes: the last state of each, and none twice.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{KeyState, Outcome};
use crate::domain::{
    Amounts, App, Captured, Challenge, Decision, Descriptor, Dispute, Email, FraudAlert, Id,
    KeyDigest, Line, Merchant, Name, Notes, Order, Original, Payment, Payout, PayoutRun, Posting,
    Reference, Slice, Step, Transaction, User,
};

/// What a batch of writes changes.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Changes {
    /// New apps.
    pub(crate) apps: Vec<NewApp>,
    /// New users, by address in lower case.
    pub(crate) users: BTreeMap<String, User>,
    /// New merchants.
    pub(crate) merchants: Vec<Merchant>,
    /// The texts of merchants that were updated.
    pub(crate) merchant_texts: BTreeMap<Id, MerchantTexts>,
    /// New rows of balances.
    pub(crate) new_balances: Vec<Balance>,
    /// Rows of balances, by merchant and shard.
    pub(crate) balances: BTreeMap<(Id, i64), Balance>,
    /// Memberships of apps, by merchant and app.
    pub(crate) merchant_apps: BTreeMap<(Id, Id), Membership>,
    /// Memberships of users, by merchant and user.
    pub(crate) merchant_users: BTreeMap<(Id, Id), Membership>,
    /// New invitations.
    pub(crate) invitations: BTreeMap<Id, NewInvitation>,
    /// Attempts to send invitations.
    pub(crate) attempts: BTreeMap<Id, Attempt>,
    /// Invitations that are deleted.
    pub(crate) removed_invitations: BTreeSet<Id>,
    /// Merchants and users all of whose invitations are deleted.
    pub(crate) revoked: BTreeSet<(Id, Id)>,
    /// New payments in flight.
    pub(crate) operations: Vec<NewOperation>,
    /// Challenges of payments in flight.
    pub(crate) challenges: BTreeMap<Id, (Id, Challenge)>,
    /// Payments that are not in flight any more.
    pub(crate) concluded: BTreeSet<Id>,
    /// New transactions.
    pub(crate) transactions: Vec<NewTransaction>,
    /// The amounts of transactions.
    pub(crate) movements: BTreeMap<Id, Movements>,
    /// New steps of trails.
    pub(crate) steps: Vec<NumberedStep>,
    /// Captures, by transaction and step.
    pub(crate) captures: BTreeMap<(Id, u32), Capture>,
    /// New lines.
    pub(crate) lines: Vec<Line>,
    /// New postings.
    pub(crate) postings: Vec<NumberedPosting>,
    /// New instructions.
    pub(crate) instructions: Vec<NewInstruction>,
    /// Instructions that were carried out.
    pub(crate) confirmed: BTreeSet<Id>,
    /// New saved cards.
    pub(crate) cards: Vec<NewCard>,
    /// New notifications.
    pub(crate) notices: BTreeMap<String, NoticeRow>,
    /// New disputes.
    pub(crate) disputes: BTreeMap<Id, NewDispute>,
    /// Decisions on disputes that were opened before.
    pub(crate) decisions: BTreeMap<Id, (Id, Decision)>,
    /// New slices of disputes.
    pub(crate) slices: Vec<NumberedSlice>,
    /// New suspicions of fraud.
    pub(crate) frauds: Vec<FraudAlert>,
    /// New idempotency keys, by app and key.
    pub(crate) keys: BTreeMap<(Id, String), NewKey>,
    /// Idempotency keys whose payment was concluded.
    pub(crate) concluded_keys: BTreeMap<(Id, String), KeyChange>,
    /// Idempotency keys that are deleted, by app and key.
    pub(crate) forgotten: BTreeSet<(Id, String)>,
    /// A new payout.
    pub(crate) payout: Option<NewPayout>,
    /// The last transaction that was looked at for expiry.
    pub(crate) expired_through: Option<Id>,
}

impl Changes {
    /// Whether nothing changes.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A new app.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewApp {
    /// The app.
    pub(crate) app: App,
    /// The digest of its key.
    pub(crate) digest: KeyDigest,
}

/// The texts of a merchant that can change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MerchantTexts {
    /// The merchant.
    pub(crate) merchant: Id,
    /// Its name.
    pub(crate) name: Option<Name>,
    /// Where to reach it.
    pub(crate) email: Email,
    /// The text on bank statements.
    pub(crate) descriptor: Descriptor,
}

impl MerchantTexts {
    /// A merchant as it was when it was created with these texts: nothing else can change but its
    /// balance.
    #[must_use]
    pub(crate) fn first_of(&self, mut merchant: Merchant) -> Merchant {
        merchant.details.name = self.name.clone();
        merchant.details.email = self.email.clone();
        merchant.details.descriptor = self.descriptor.clone();
        Merchant { balance: 0, ..merchant }
    }
}

/// A row of a merchant's balance. The balance is the sum of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Balance {
    /// The merchant.
    pub(crate) merchant: Id,
    /// Which of its rows.
    pub(crate) shard: i64,
    /// Minor units of the merchant's currency.
    pub(crate) minor: i64,
}

/// Whether somebody is a member of a merchant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Membership {
    /// The merchant.
    pub(crate) merchant: Id,
    /// The app or the user.
    pub(crate) member: Id,
    /// Whether the merchant is one for tests.
    pub(crate) test: bool,
    /// Whether they were a member before the batch.
    pub(crate) was: bool,
    /// Whether they are a member after it.
    pub(crate) is: bool,
}

impl Membership {
    /// Whether it began in the batch.
    pub(crate) fn is_new(&self) -> bool {
        self.is && !self.was
    }

    /// Whether it ended in the batch.
    pub(crate) fn has_ended(&self) -> bool {
        self.was && !self.is
    }
}

/// A new invitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewInvitation {
    /// Its id.
    pub(crate) id: Id,
    /// The merchant.
    pub(crate) merchant: Id,
    /// The user.
    pub(crate) user: Id,
    /// When it was made.
    pub(crate) created: Timestamp,
}

/// An attempt to send an invitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// The invitation.
    pub(crate) invitation: Id,
    /// How many attempts were made, with this one.
    pub(crate) attempts: u32,
    /// When the next one is due.
    pub(crate) due: Timestamp,
}

/// A new payment in flight.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewOperation {
    /// Its id.
    pub(crate) id: Id,
    /// When it was begun.
    pub(crate) created: Timestamp,
    /// The payment.
    pub(crate) payment: Payment,
}

/// A new transaction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewTransaction {
    /// The transaction.
    pub(crate) transaction: Transaction,
    /// The operation that the acquirer knows it by.
    pub(crate) operation: Id,
    /// The acquirer's reference of the card.
    pub(crate) reference: Option<String>,
}

/// The amounts of a transaction after its movements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Movements {
    /// The transaction.
    pub(crate) transaction: Id,
    /// Its amounts.
    pub(crate) amounts: Amounts,
    /// Steps of its trail.
    pub(crate) steps: u32,
}

/// A step of a trail.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NumberedStep {
    /// The transaction.
    pub(crate) transaction: Id,
    /// Its place in the trail, from 0.
    pub(crate) number: u32,
    /// The step.
    pub(crate) step: Step,
}

/// A capture of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Capture {
    /// The transaction.
    pub(crate) transaction: Id,
    /// The capture.
    pub(crate) captured: Captured,
    /// Whether it was made in this batch.
    pub(crate) is_new: bool,
}

/// A posting of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberedPosting {
    /// The line.
    pub(crate) line: Id,
    /// Its place in the entry, from 0.
    pub(crate) number: u32,
    /// The posting.
    pub(crate) posting: Posting,
}

/// A new instruction for an acquirer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewInstruction {
    /// Its id.
    pub(crate) id: Id,
    /// The transaction.
    pub(crate) transaction: Id,
    /// What the acquirer is to do.
    pub(crate) order: Order,
    /// Minor units of the transaction's currency.
    pub(crate) amount: i64,
    /// The step of the trail that it belongs to.
    pub(crate) step: Option<u32>,
}

/// A new saved card.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewCard {
    /// Its id.
    pub(crate) id: Id,
    /// The merchant.
    pub(crate) merchant: Id,
    /// When it was saved.
    pub(crate) created: Timestamp,
    /// The card.
    pub(crate) original: Original,
    /// The merchant's notes.
    pub(crate) notes: Option<Notes>,
}

/// A notification that was booked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NoticeRow {
    /// The acquirer's id of it.
    pub(crate) id: Reference,
    /// The transaction.
    pub(crate) transaction: Id,
    /// When it was booked.
    pub(crate) created: Timestamp,
    /// The dispute that it waits for, and how that was decided.
    pub(crate) waits: Option<(Reference, Decision)>,
}

/// A new dispute.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewDispute {
    /// The dispute.
    pub(crate) dispute: Dispute,
    /// The acquirer's id of it.
    pub(crate) reference: Reference,
    /// The line that opened it.
    pub(crate) line: Id,
    /// How it was decided, if it was.
    pub(crate) decision: Option<Decision>,
}

/// A slice of a dispute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberedSlice {
    /// The dispute.
    pub(crate) dispute: Id,
    /// Its place, from 0.
    pub(crate) number: u32,
    /// The slice.
    pub(crate) slice: Slice,
}

/// A new idempotency key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewKey {
    /// The app.
    pub(crate) app: Id,
    /// The key.
    pub(crate) key: String,
    /// The digest of the request.
    pub(crate) request: [u8; 32],
    /// When it came.
    pub(crate) created: Timestamp,
    /// What came of the request.
    pub(crate) state: KeyState,
}

/// An idempotency key whose payment was concluded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeyChange {
    /// The app.
    pub(crate) app: Id,
    /// The key.
    pub(crate) key: String,
    /// The outcome.
    pub(crate) outcome: Outcome,
}

/// A new payout.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewPayout {
    /// The run.
    pub(crate) run: PayoutRun,
    /// The payout.
    pub(crate) payout: Payout,
}
