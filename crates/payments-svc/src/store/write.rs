//! Changes that are asked of a store, and what comes of them.

use bytes::Bytes;
use jiff::Timestamp;

use crate::domain::{
    App, Card, Challenge, Descriptor, Email, Exchange, Id, Invitation, KeyDigest, Merchant,
    MerchantDetails, MerchantUpdate, Name, Notes, Notification, Original, Payment, Pricing,
    ProcessingError, Refused, Request, Verdict,
};

/// A change that somebody asks for.
#[derive(Debug)]
pub enum Write {
    /// A new app.
    CreateApp {
        /// Its name.
        name: Option<Name>,
        /// What is kept of its key.
        digest: KeyDigest,
    },
    /// A new merchant, which the app that makes it belongs to.
    CreateMerchant {
        /// The app.
        app: Id,
        /// Its public key.
        key: String,
        /// What is said of it.
        details: Box<MerchantDetails>,
        /// What it pays.
        pricing: Pricing,
    },
    /// A merchant's details change.
    UpdateMerchant {
        /// The merchant.
        merchant: Id,
        /// What changes.
        update: MerchantUpdate,
    },
    /// A user may use a merchant.
    AddUser {
        /// The merchant.
        merchant: Id,
        /// The user's address.
        email: Email,
    },
    /// A user no longer may.
    RevokeUser {
        /// The merchant.
        merchant: Id,
        /// The user.
        user: Id,
    },
    /// An app may use a merchant.
    AddApp {
        /// The merchant.
        merchant: Id,
        /// The app.
        app: Id,
    },
    /// An app no longer may.
    RevokeApp {
        /// The merchant.
        merchant: Id,
        /// The app.
        app: Id,
    },
    /// A payment is about to go to an acquirer.
    Begin {
        /// The payment.
        payment: Box<Payment>,
    },
    /// What came of a payment. Only the first word on each counts.
    Conclude {
        /// The operation that [`Write::Begin`] was answered with.
        operation: Id,
        /// What the acquirer said. Nothing, for too long: what it may have reserved is let go.
        verdict: Option<Verdict>,
        /// What may be kept of the card, if somebody still knows it.
        card: Option<Box<Card>>,
    },
    /// The customer of a payment has to be asked before the acquirer says more.
    Challenge {
        /// The operation that [`Write::Begin`] was answered with.
        operation: Id,
        /// What they are asked.
        challenge: Box<Challenge>,
    },
    /// Something is done to a transaction.
    Move {
        /// The transaction.
        transaction: Id,
        /// What.
        request: Request,
        /// The text on the customer's bank statement, if not the transaction's.
        descriptor: Option<Descriptor>,
    },
    /// A card is kept (deprecated).
    SaveCard {
        /// The merchant.
        merchant: Id,
        /// The card.
        original: Box<Original>,
        /// The merchant's notes.
        notes: Option<Notes>,
    },
    /// An acquirer has told of something.
    Notice {
        /// What.
        notification: Box<Notification>,
        /// What money is worth to the merchant that was never captured.
        exchange: Exchange,
        /// What money in the currency of the merchant's fee for disputes is.
        fee_exchange: Exchange,
    },
    /// The acquirer has carried out instructions.
    Confirm {
        /// Their ids.
        instructions: Vec<Id>,
    },
    /// An attempt is made to send an invitation that is due. Refused where it is not, any more.
    TakeInvitation {
        /// The invitation.
        invitation: Id,
        /// What spreads the attempts.
        dice: u16,
    },
    /// Nothing is left to do for an invitation.
    RemoveInvitation {
        /// The invitation.
        invitation: Id,
    },
    /// Idempotency keys of this age and older are forgotten.
    Forget {
        /// When they came.
        until: Timestamp,
    },
}

/// What a write made.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Nothing to tell.
    Done,
    /// An app.
    App(App),
    /// A merchant.
    Merchant(Box<Merchant>),
    /// Whether the user was a member before.
    Membership {
        /// Whether.
        already: bool,
    },
    /// The operation of a payment.
    Begun(Id),
    /// What came of a payment.
    Concluded {
        /// Its transaction.
        transaction: Id,
        /// Why it did not succeed, if it did not.
        error: Option<ProcessingError>,
    },
    /// A transaction has a new step.
    Moved {
        /// The transaction.
        transaction: Id,
        /// How many steps it has had since.
        steps: u32,
        /// What is disputed of it now.
        disputed: i64,
    },
    /// A saved card.
    Card(Id),
    /// An invitation that is to be sent.
    Invitation(Box<Invitation>),
}

/// Why a write is refused. Nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// What it is about is not there.
    #[error("there is no such thing")]
    NotFound,
    /// It is there, but the merchant has nothing to do with it.
    #[error("it is not one of the merchant's")]
    NotAMember,
    /// The app that is to be added is not there.
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

/// How clients are told of an answer. Opaque to the store, which keeps it.
pub type Tell = fn(&Answer) -> Bytes;

/// What is kept of an answer, for the same request again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receipt {
    /// What the client was told.
    Told(Bytes),
    /// The client was told of a transaction as it was then. That may be long, and is all there.
    Moved {
        /// The transaction.
        transaction: Id,
        /// How many steps it had.
        steps: u32,
        /// What of it was disputed.
        disputed: i64,
    },
}

impl Answer {
    /// What is kept of it.
    pub fn receipt(&self, tell: Tell) -> Receipt {
        match *self {
            Self::Moved { transaction, steps, disputed } => {
                Receipt::Moved { transaction, steps, disputed }
            }
            _ => Receipt::Told(tell(self)),
        }
    }
}

/// An idempotency key, with the request it came with.
#[derive(Debug, Clone)]
pub struct Keyed {
    /// Whose key it is.
    pub app: Id,
    /// The key.
    pub key: String,
    /// A digest of the request.
    pub request: [u8; 32],
}

/// What is known of an idempotency key.
#[derive(Debug)]
pub enum Known {
    /// It came with another request.
    OtherRequest,
    /// Its payment, this operation, is with the acquirer or its customer.
    InFlight(Id),
    /// What was answered.
    Answered(Receipt),
}

impl Known {
    /// What comes of the same request again.
    pub fn outcome(self) -> Result<Outcome, Refusal> {
        match self {
            Self::OtherRequest => Err(Refusal::KeyReused),
            Self::InFlight(_) => Err(Refusal::InFlight),
            Self::Answered(receipt) => Ok(Outcome::Replayed(receipt)),
        }
    }
}

/// What a write was answered with.
#[derive(Debug)]
pub enum Outcome {
    /// It was done.
    Fresh(Answer),
    /// It had been done before, and was answered so.
    Replayed(Receipt),
}
