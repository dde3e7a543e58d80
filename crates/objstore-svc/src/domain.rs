//! The values of the service and its rules: pure, with no network, no clock and no storage.

pub(crate) mod fold;
mod key;
mod log;
mod object;
mod operation;
mod precondition;
mod refusal;
mod session;
mod value;
mod watch_counts;
mod watches;

pub use key::{InvalidKey, Key, MAX_PART, Pattern, Shape};
pub use log::{Entry, Record, Revision};
pub use object::{Intent, InvalidOwner, MAX_OWNER, Object, Owner, OwnerRule, Stored};
pub(crate) use operation::{Answer, Done, OVERHEAD, Operation, Rules};
pub use precondition::{Epoch, InvalidTag, Precondition, Tag};
pub use refusal::Refusal;
pub use session::{
    ClientId, Clients, InvalidId, Lifetime, MAX_SESSIONS, Session, Timestamp, Token, TokenDigest,
};
pub use value::{InvalidValue, Value};
pub use watch_counts::WatchCounts;
pub use watches::Watches;
