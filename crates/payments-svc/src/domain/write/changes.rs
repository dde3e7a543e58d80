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
pub struct Changes {
    /// New apps.
    pub apps: Vec<NewApp>,
    /// New users, by address in lower case.
    pub users: BTreeMap<String, User>,
    /// New merchants.
    pub merchants: Vec<Merchant>,
    /// The texts of merchants that were updated.
    pub merchant_texts: BTreeMap<Id, MerchantTexts>,
    /// New rows of balances.
    pub new_balances: Vec<Balance>,
    /// Rows of balances, by merchant and shard.
    pub balances: BTreeMap<(Id, i64), Balance>,
    /// Memberships of apps, by merchant and app.
    pub merchant_apps: BTreeMap<(Id, Id), Membership>,
    /// Memberships of users, by merchant and user.
    pub merchant_users: BTreeMap<(Id, Id), Membership>,
    /// New invitations.
    pub invitations: BTreeMap<Id, NewInvitation>,
    /// Attempts to send invitations.
    pub attempts: BTreeMap<Id, Attempt>,
    /// Invitations that are deleted.
    pub removed_invitations: BTreeSet<Id>,
    /// Merchants and users all of whose invitations are deleted.
    pub revoked: BTreeSet<(Id, Id)>,
    /// New payments in flight.
    pub operations: Vec<NewOperation>,
    /// Challenges of payments in flight.
    pub challenges: BTreeMap<Id, (Id, Challenge)>,
    /// Payments that are not in flight any more.
    pub concluded: BTreeSet<Id>,
    /// New transactions.
    pub transactions: Vec<NewTransaction>,
    /// The amounts of transactions.
    pub movements: BTreeMap<Id, Movements>,
    /// New steps of trails.
    pub steps: Vec<NumberedStep>,
    /// Captures, by transaction and step.
    pub captures: BTreeMap<(Id, u32), Capture>,
    /// New lines.
    pub lines: Vec<Line>,
    /// New postings.
    pub postings: Vec<NumberedPosting>,
    /// New instructions.
    pub instructions: Vec<NewInstruction>,
    /// Instructions that were carried out.
    pub confirmed: BTreeSet<Id>,
    /// New saved cards.
    pub cards: Vec<NewCard>,
    /// New notifications.
    pub notices: BTreeMap<String, NoticeRow>,
    /// New disputes.
    pub disputes: BTreeMap<Id, NewDispute>,
    /// Decisions on disputes that were opened before.
    pub decisions: BTreeMap<Id, (Id, Decision)>,
    /// New slices of disputes.
    pub slices: Vec<NumberedSlice>,
    /// New suspicions of fraud.
    pub frauds: Vec<FraudAlert>,
    /// New idempotency keys, by app and key.
    pub keys: BTreeMap<(Id, String), NewKey>,
    /// Idempotency keys whose payment was concluded.
    pub concluded_keys: BTreeMap<(Id, String), KeyChange>,
    /// Idempotency keys that are deleted, by app and key.
    pub forgotten: BTreeSet<(Id, String)>,
    /// A new payout.
    pub payout: Option<NewPayout>,
    /// The last transaction that was looked at for expiry.
    pub expired_through: Option<Id>,
}

impl Changes {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A new app.
#[derive(Debug, Clone, PartialEq)]
pub struct NewApp {
    /// The app.
    pub app: App,
    /// The digest of its key.
    pub digest: KeyDigest,
}

/// The texts of a merchant that can change.
#[derive(Debug, Clone, PartialEq)]
pub struct MerchantTexts {
    /// The merchant.
    pub merchant: Id,
    /// Its name.
    pub name: Option<Name>,
    /// Where to reach it.
    pub email: Email,
    /// The text on bank statements.
    pub descriptor: Descriptor,
}

impl MerchantTexts {
    /// A merchant as it was when it was created with these texts: nothing else can change but its
    /// balance.
    #[must_use]
    pub fn first_of(&self, mut merchant: Merchant) -> Merchant {
        merchant.details.name = self.name.clone();
        merchant.details.email = self.email.clone();
        merchant.details.descriptor = self.descriptor.clone();
        Merchant { balance: 0, ..merchant }
    }
}

/// A row of a merchant's balance. The balance is the sum of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balance {
    /// The merchant.
    pub merchant: Id,
    /// Which of its rows.
    pub shard: i64,
    /// Minor units of the merchant's currency.
    pub minor: i64,
}

/// Whether somebody is a member of a merchant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Membership {
    /// The merchant.
    pub merchant: Id,
    /// The app or the user.
    pub member: Id,
    /// Whether the merchant is one for tests.
    pub test: bool,
    /// Whether they were a member before the batch.
    pub was: bool,
    /// Whether they are a member after it.
    pub is: bool,
}

impl Membership {
    /// Whether it began in the batch.
    pub fn is_new(&self) -> bool {
        self.is && !self.was
    }

    /// Whether it ended in the batch.
    pub fn has_ended(&self) -> bool {
        self.was && !self.is
    }
}

/// A new invitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewInvitation {
    /// Its id.
    pub id: Id,
    /// The merchant.
    pub merchant: Id,
    /// The user.
    pub user: Id,
    /// When it was made.
    pub created: Timestamp,
}

/// An attempt to send an invitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// The invitation.
    pub invitation: Id,
    /// How many attempts were made, with this one.
    pub attempts: u32,
    /// When the next one is due.
    pub due: Timestamp,
}

/// A new payment in flight.
#[derive(Debug, Clone, PartialEq)]
pub struct NewOperation {
    /// Its id.
    pub id: Id,
    /// When it was begun.
    pub created: Timestamp,
    /// The payment.
    pub payment: Payment,
}

/// A new transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTransaction {
    /// The transaction.
    pub transaction: Transaction,
    /// The operation that the acquirer knows it by.
    pub operation: Id,
    /// The acquirer's reference of the card.
    pub reference: Option<String>,
}

/// The amounts of a transaction after its movements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Movements {
    /// The transaction.
    pub transaction: Id,
    /// Its amounts.
    pub amounts: Amounts,
    /// Steps of its trail.
    pub steps: u32,
}

/// A step of a trail.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberedStep {
    /// The transaction.
    pub transaction: Id,
    /// Its place in the trail, from 0.
    pub number: u32,
    /// The step.
    pub step: Step,
}

/// A capture of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capture {
    /// The transaction.
    pub transaction: Id,
    /// The capture.
    pub captured: Captured,
    /// Whether it was made in this batch.
    pub is_new: bool,
}

/// A posting of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberedPosting {
    /// The line.
    pub line: Id,
    /// Its place in the entry, from 0.
    pub number: u32,
    /// The posting.
    pub posting: Posting,
}

/// A new instruction for an acquirer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewInstruction {
    /// Its id.
    pub id: Id,
    /// The transaction.
    pub transaction: Id,
    /// What the acquirer is to do.
    pub order: Order,
    /// Minor units of the transaction's currency.
    pub amount: i64,
    /// The step of the trail that it belongs to.
    pub step: Option<u32>,
}

/// A new saved card.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCard {
    /// Its id.
    pub id: Id,
    /// The merchant.
    pub merchant: Id,
    /// When it was saved.
    pub created: Timestamp,
    /// The card.
    pub original: Original,
    /// The merchant's notes.
    pub notes: Option<Notes>,
}

/// A notification that was booked.
#[derive(Debug, Clone, PartialEq)]
pub struct NoticeRow {
    /// The acquirer's id of it.
    pub id: Reference,
    /// The transaction.
    pub transaction: Id,
    /// When it was booked.
    pub created: Timestamp,
    /// The dispute that it waits for, and how that was decided.
    pub waits: Option<(Reference, Decision)>,
}

/// A new dispute.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDispute {
    /// The dispute.
    pub dispute: Dispute,
    /// The acquirer's id of it.
    pub reference: Reference,
    /// The line that opened it.
    pub line: Id,
    /// How it was decided, if it was.
    pub decision: Option<Decision>,
}

/// A slice of a dispute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberedSlice {
    /// The dispute.
    pub dispute: Id,
    /// Its place, from 0.
    pub number: u32,
    /// The slice.
    pub slice: Slice,
}

/// A new idempotency key.
#[derive(Debug, Clone, PartialEq)]
pub struct NewKey {
    /// The app.
    pub app: Id,
    /// The key.
    pub key: String,
    /// The digest of the request.
    pub request: [u8; 32],
    /// When it came.
    pub created: Timestamp,
    /// What came of the request.
    pub state: KeyState,
}

/// An idempotency key whose payment was concluded.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyChange {
    /// The app.
    pub app: Id,
    /// The key.
    pub key: String,
    /// The outcome.
    pub outcome: Outcome,
}

/// A new payout.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPayout {
    /// The run.
    pub run: PayoutRun,
    /// The payout.
    pub payout: Payout,
}
