//! Writes: what is asked of the store, and how it is answered. The rules are here; the engines only
//! load the rows that a batch of writes [`Needs`], and write the [`Changes`] that are decided.

use super::{
    app::{App, KeyDigest},
    card::Card,
    id::Id,
    invitation::Invitation,
    merchant::{Descriptor, Email, MerchantDetails, MerchantUpdate, Name, Notes, Pricing},
    movement::{Refused, Request},
    notification::Notification,
    operation::{Original, Payment, Verdict},
    payout::PayoutRun,
    processing::ProcessingError,
    rates::Exchange,
    transaction::{Amounts, Step},
};

mod changes;
mod decide;
mod known;
mod needs;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use changes::{
    Attempt, Balance, Capture, Changes, KeyChange, Membership, MerchantTexts, Movements, NewApp,
    NewCard, NewDispute, NewInstruction, NewInvitation, NewKey, NewOperation, NewPayout,
    NewTransaction, NoticeRow, NumberedPosting, NumberedSlice, NumberedStep,
};
pub(crate) use decide::decide;
pub(crate) use known::{Begun, Held, InvitationState, KeyState, Known, KnownKey, PayoutState};
pub(crate) use needs::{Captures, Needs};

/// A change of the store; with an idempotency key, once.
#[derive(Debug)]
pub(crate) struct Write {
    /// The change.
    pub(crate) action: Action,
    /// The idempotency key of the request.
    pub(crate) keyed: Option<Keyed>,
}

impl From<Action> for Write {
    fn from(action: Action) -> Self {
        Self { action, keyed: None }
    }
}

/// A change of the store.
#[derive(Debug)]
pub(crate) enum Action {
    /// Create an app.
    CreateApp {
        /// Its name.
        name: Option<Name>,
        /// The digest of its key.
        digest: KeyDigest,
    },
    /// Create a merchant, with the app that asks as its first member.
    CreateMerchant {
        /// The app.
        app: Id,
        /// The merchant's public key.
        key: String,
        /// Its details.
        details: Box<MerchantDetails>,
        /// Its pricing.
        pricing: Pricing,
    },
    /// Change a merchant's details.
    UpdateMerchant {
        /// The merchant.
        merchant: Id,
        /// The new values.
        update: MerchantUpdate,
    },
    /// Make a user a member of a merchant, and invite them.
    AddUser {
        /// The merchant.
        merchant: Id,
        /// The user's address.
        email: Email,
    },
    /// End a user's membership.
    RevokeUser {
        /// The merchant.
        merchant: Id,
        /// The user.
        user: Id,
    },
    /// Make an app a member of a merchant.
    AddApp {
        /// The merchant.
        merchant: Id,
        /// The app.
        app: Id,
    },
    /// End an app's membership.
    RevokeApp {
        /// The merchant.
        merchant: Id,
        /// The app.
        app: Id,
    },
    /// Note a payment before it goes to an acquirer.
    Begin {
        /// The payment.
        payment: Box<Payment>,
    },
    /// Note the outcome of a payment. Only the first outcome of each payment counts.
    Conclude {
        /// The operation that [`Action::Begin`] was answered with.
        operation: Id,
        /// The acquirer's verdict. Without one the payment is given up, and reversed.
        verdict: Option<Verdict>,
        /// What may be kept of the card, if somebody still knows it.
        card: Option<Box<Card>>,
    },
    /// Note that the customer of a payment is challenged.
    Challenge {
        /// The operation that [`Action::Begin`] was answered with.
        operation: Id,
        /// The card.
        card: Box<Card>,
        /// What the acquirer knows the challenge by.
        reference: String,
    },
    /// Capture, refund or void.
    Move {
        /// The transaction.
        transaction: Id,
        /// The request.
        request: Request,
        /// The text on the customer's bank statement, if not the transaction's.
        descriptor: Option<Descriptor>,
        /// How many steps the trail had when it was last read, or 0: it says about how many rows
        /// the request touches.
        steps: u32,
    },
    /// Save a card (deprecated).
    SaveCard {
        /// The merchant.
        merchant: Id,
        /// The card.
        original: Box<Original>,
        /// The merchant's notes.
        notes: Option<Notes>,
    },
    /// Book an acquirer's notification, once.
    Notice {
        /// The notification.
        notification: Box<Notification>,
        /// The worth of money that was never captured.
        exchange: Exchange,
        /// From the currency of the merchant's fee for disputes to the merchant's.
        fee_exchange: Exchange,
        /// As in [`Action::Move`].
        steps: u32,
    },
    /// Delete instructions that an acquirer has carried out.
    Confirm {
        /// Their ids.
        instructions: Vec<Id>,
    },
    /// Count an attempt to send an invitation. Refused where none is due.
    TakeInvitation {
        /// The invitation.
        invitation: Id,
        /// A random number that spreads the attempts.
        jitter: u16,
    },
    /// Delete an invitation that was sent or given up.
    RemoveInvitation {
        /// The invitation.
        invitation: Id,
    },
    /// Pay a merchant's balance out, once in a run.
    PayOut {
        /// The run.
        run: PayoutRun,
        /// The merchant.
        merchant: Id,
    },
    /// Delete idempotency keys that are too old.
    Forget {
        /// Their apps and keys.
        keys: Vec<(Id, String)>,
    },
    /// Note that all transactions up to this one have been looked at for expiry.
    Expire {
        /// The transaction.
        through: Id,
    },
}

/// An idempotency key, with the request that it came with.
#[derive(Debug, Clone)]
pub(crate) struct Keyed {
    /// The app whose key it is.
    pub(crate) app: Id,
    /// The key.
    pub(crate) key: String,
    /// The digest of the request.
    pub(crate) request: [u8; 32],
}

/// The answer to a write that was not refused.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// It was done now.
    Fresh {
        /// The outcome.
        outcome: Outcome,
        /// The step that a movement added.
        step: Option<Box<LastStep>>,
    },
    /// It had been done before, with this outcome.
    Replayed(Outcome),
}

impl Answer {
    /// The outcome, whenever it was.
    pub(crate) fn outcome(&self) -> &Outcome {
        match self {
            Self::Fresh { outcome, .. } | Self::Replayed(outcome) => outcome,
        }
    }
}

/// The last step of a trail, and the transaction's amounts after it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LastStep {
    /// The step.
    pub(crate) step: Step,
    /// The amounts.
    pub(crate) amounts: Amounts,
}

/// What a write did. With an idempotency key, it is kept for the same request again.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// There is nothing to say of it.
    Done,
    /// An app was created.
    App(App),
    /// A merchant was created, with these texts.
    Merchant(Box<MerchantTexts>),
    /// A user is a member.
    Membership {
        /// Whether they were one before.
        already: bool,
    },
    /// A payment was begun, as this operation.
    Begun(Id),
    /// A payment was concluded.
    Paid {
        /// Its transaction.
        transaction: Id,
        /// Why it did not succeed, if it did not.
        error: Option<ProcessingError>,
    },
    /// A transaction has a new step.
    Moved(Moved),
    /// A card was saved.
    Card(Id),
    /// An invitation is to be sent.
    Invitation(Box<Invitation>),
}

/// A transaction that was moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moved {
    /// The transaction.
    pub(crate) transaction: Id,
    /// How many steps it has had since.
    pub(crate) steps: u32,
    /// Minor units of it that were disputed then.
    pub(crate) disputed: i64,
}

/// Why a write is refused. Nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// The subject of the write does not exist.
    #[error("there is no such thing")]
    NotFound,
    /// It exists, but is not a member of the merchant.
    #[error("it is not one of the merchant's")]
    NotAMember,
    /// The app that is to be added does not exist.
    #[error("there is no such app")]
    NoSuchApp,
    /// The transaction does not allow it.
    #[error(transparent)]
    Movement(#[from] Refused),
    /// The idempotency key came with another request before.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// The request with this idempotency key is not finished.
    #[error("the request with this idempotency key is not finished")]
    InFlight,
}
