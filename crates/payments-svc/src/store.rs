//! The state of the service. Every write is atomic, and durable before it is answered.

use std::{path::PathBuf, sync::Arc};

use bytes::Bytes;
use jiff::Timestamp;

use crate::domain::{
    App, Card, Descriptor, Email, Id, Instruction, KeyDigest, Line, Merchant, MerchantDetails,
    MerchantUpdate, Name, Original, Payment, Pricing, Refused, Request, SavedCard, Transaction,
    User, Verdict, Window,
};

mod sqlite;

pub use sqlite::{CheckError, Disagreement, OpenError, Sqlite, backup, check};

/// What a store is opened with.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// Where the embedded engine keeps its files.
    pub data_dir: PathBuf,
}

/// Why the store could not do what it was asked, whatever was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Too many writes wait. Nothing was done.
    #[error("too many writes are waiting")]
    Overloaded,
    /// A write failed. Whether it was done is unknown.
    #[error("the store could not write")]
    NotWritten(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A read failed.
    #[error("the store could not read")]
    NotRead(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The operation itself is broken. Nothing was done.
    #[error("the operation panicked")]
    Panicked,
}

/// Now, in whole milliseconds.
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

/// A thing, and whether the app that asks for it may see it.
#[derive(Debug, Clone)]
pub struct Found<T> {
    /// The thing.
    pub thing: T,
    /// Whether the app is one of its merchant's.
    pub is_member: bool,
}

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
        /// What the acquirer said.
        verdict: Verdict,
        /// What may be kept of the card, if somebody still knows it.
        card: Option<Box<Card>>,
        /// Keeps the answer for the idempotency key the payment came with.
        receipt: MakeReceipt,
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
        notes: Option<String>,
    },
    /// The acquirer has carried out instructions.
    Confirm {
        /// Their ids.
        instructions: Vec<Id>,
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
    /// What came of a payment: its transaction.
    Concluded(Box<Transaction>),
    /// A transaction, with the new step in its trail.
    Moved(Box<Transaction>),
    /// A saved card.
    Card(Id),
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

/// What a client was told, kept for the same request again. Opaque to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt(pub Bytes);

/// Makes a receipt of an answer.
pub type MakeReceipt = fn(&Answer) -> Receipt;

/// An idempotency key, with the request it came with.
#[derive(Debug, Clone)]
pub struct Keyed {
    /// Whose key it is.
    pub app: Id,
    /// The key.
    pub key: String,
    /// A digest of the request.
    pub request: [u8; 32],
    /// Makes what is kept of the answer.
    pub receipt: MakeReceipt,
}

/// What a write was answered with.
#[derive(Debug)]
pub enum Outcome {
    /// It was done.
    Fresh(Answer),
    /// It had been done before, and was answered so.
    Replayed(Receipt),
}

/// Numbers for the metrics.
#[derive(Debug, Clone, Copy, Default)]
pub struct Figures {
    /// Batches committed since the start.
    pub commits: u64,
    /// Writes in them.
    pub writes: u64,
    /// Bytes of writes that wait.
    pub waiting_bytes: u64,
}

/// The store, on the engine it was configured with.
#[derive(Clone)]
pub enum Store {
    /// SQLite in a directory of this process.
    Sqlite(Arc<Sqlite>),
}

/// Passes a call on to the engine.
macro_rules! engine {
    ($store:expr, $engine:ident => $call:expr) => {
        match $store {
            Self::Sqlite($engine) => $call,
        }
    };
}

impl Store {
    /// Opens the store, making it where there is none.
    pub fn open(config: &StoreConfig) -> Result<Self, OpenError> {
        Ok(Self::Sqlite(Arc::new(Sqlite::open(config)?)))
    }

    /// Whether the store answers.
    pub fn is_up(&self) -> bool {
        engine!(self, engine => engine.is_up())
    }

    /// Resolves when the store can no longer write, ever: the process should end.
    pub async fn failed(&self) {
        engine!(self, engine => engine.failed().await)
    }

    /// Finishes what was asked for and closes.
    pub async fn close(&self) {
        engine!(self, engine => engine.close().await)
    }

    /// Numbers for the metrics.
    pub fn figures(&self) -> Figures {
        engine!(self, engine => engine.figures())
    }

    /// Writes, at `now`; with an idempotency key, once.
    pub async fn write(
        &self,
        write: Write,
        keyed: Option<Keyed>,
        now: Timestamp,
    ) -> Result<Result<Outcome, Refusal>, StoreError> {
        engine!(self, engine => engine.write(write, keyed, now).await)
    }

    /// The app with this key.
    pub async fn app_by_key(&self, key: KeyDigest) -> Result<Option<App>, StoreError> {
        engine!(self, engine => engine.app_by_key(key))
    }

    /// Whether there is such an app.
    pub async fn has_app(&self, id: Id) -> Result<bool, StoreError> {
        engine!(self, engine => engine.has_app(id))
    }

    /// A merchant, as `app` sees it.
    pub async fn merchant(&self, id: Id, app: Id) -> Result<Option<Found<Merchant>>, StoreError> {
        engine!(self, engine => engine.merchant(id, app))
    }

    /// A transaction, as `app` sees it.
    pub async fn transaction(
        &self,
        id: Id,
        app: Id,
    ) -> Result<Option<Found<Transaction>>, StoreError> {
        engine!(self, engine => engine.transaction(id, app))
    }

    /// A line, as `app` sees it.
    pub async fn line(&self, id: Id, app: Id) -> Result<Option<Found<Line>>, StoreError> {
        engine!(self, engine => engine.line(id, app))
    }

    /// A saved card, as `app` sees it.
    pub async fn card(&self, id: Id, app: Id) -> Result<Option<Found<SavedCard>>, StoreError> {
        engine!(self, engine => engine.card(id, app))
    }

    /// The merchant with this public key.
    pub async fn merchant_by_key(&self, key: &str) -> Result<Option<Merchant>, StoreError> {
        engine!(self, engine => engine.merchant_by_key(key))
    }

    /// The card of a transaction of the merchant that succeeded and that a customer made.
    pub async fn original(&self, merchant: Id, id: Id) -> Result<Option<Original>, StoreError> {
        engine!(self, engine => engine.original(merchant, id))
    }

    /// A card that the merchant keeps.
    pub async fn kept(&self, merchant: Id, id: Id) -> Result<Option<Original>, StoreError> {
        engine!(self, engine => engine.kept(merchant, id))
    }

    /// The merchants of an app: all, those for tests, or the others.
    pub async fn merchants(
        self,
        app: Id,
        window: Window,
        test: Option<bool>,
    ) -> Result<Vec<Merchant>, StoreError> {
        engine!(self, engine => engine.merchants(app, window, test).await)
    }

    /// The users of a merchant.
    pub async fn users(self, merchant: Id, window: Window) -> Result<Vec<User>, StoreError> {
        engine!(self, engine => engine.users(merchant, window).await)
    }

    /// The apps of a merchant.
    pub async fn apps(self, merchant: Id, window: Window) -> Result<Vec<App>, StoreError> {
        engine!(self, engine => engine.apps(merchant, window).await)
    }

    /// The lines of a merchant.
    pub async fn lines(self, merchant: Id, window: Window) -> Result<Vec<Line>, StoreError> {
        engine!(self, engine => engine.lines(merchant, window).await)
    }

    /// The transactions of a merchant: all, those that succeeded, or the others.
    pub async fn transactions(
        self,
        merchant: Id,
        window: Window,
        successful: Option<bool>,
    ) -> Result<Vec<Transaction>, StoreError> {
        engine!(self, engine => engine.transactions(merchant, window, successful).await)
    }

    /// Transactions made before `until` that still hold money; some of them, the oldest.
    pub async fn expired(&self, until: Timestamp) -> Result<Vec<Id>, StoreError> {
        engine!(self, engine => engine.expired(until).await)
    }

    /// Payments that went to the acquirer before `until` and have not come back, and whether they
    /// are tests; some of them, the oldest.
    pub async fn unanswered(&self, until: Timestamp) -> Result<Vec<(Id, bool)>, StoreError> {
        engine!(self, engine => engine.unanswered(until).await)
    }

    /// Instructions that no acquirer has confirmed; some of them, the oldest.
    pub async fn instructions(&self) -> Result<Vec<Instruction>, StoreError> {
        engine!(self, engine => engine.instructions().await)
    }
}
