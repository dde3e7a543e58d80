//! The values and rules of the service. Pure code: no network, no clock, no storage.
//!
//! `docs/glossary.md` explains the terms. "The specification" in comments is not part of the
//! repository: see `docs/decisions/README.md`.

mod access;
pub(crate) mod decide;
mod epoch;
mod key;
mod lifespan;
mod log;
mod object;
mod offset;
mod precondition;
mod refusal;
mod session;
mod value;
mod watch_counts;
mod watches;
mod write;

pub(crate) use access::{
    AccessRules, Action, AdoptedRules, KeyRule, MAX_RULES, PartRule, Permit, Rule, RulesDigest,
    Sight, Who,
};
pub(crate) use epoch::{Epoch, EpochId};
pub(crate) use key::{InvalidKey, Key, Pattern, Shape};
pub(crate) use lifespan::{Cause, InvalidTtl, Lifespan, PresenceGrace, StoredLifespan, Ttl};
pub(crate) use log::{Entry, Record, Revision};
pub(crate) use object::{
    Intent, InvalidOwner, Object, Owner, OwnerRule, StoredObject, write_key, write_string,
};
pub(crate) use offset::{InvalidOffset, Offset, Place};
pub(crate) use precondition::{ETag, InvalidETag, Precondition};
pub(crate) use refusal::Refusal;
pub(crate) use session::{
    Allowlist, ClientId, InvalidId, Lifetime, MAX_SESSIONS, SecretDigest, Session, Timestamp,
    Token, TokenDigest,
};
pub(crate) use value::{InvalidValue, Value};
pub(crate) use watch_counts::WatchCounts;
pub(crate) use watches::Watches;
pub(crate) use write::{Answer, Done, OVERHEAD, Operation, Refused, Rules, Write};
