//! A pool of sessions with a PostgreSQL database that any number of replicas share.
//!
//! Nobody waits for ever: connecting, waiting for a session and every statement have an end, and a
//! replica that freezes with a lock in hand loses it. Errors quote no rows.

mod coalesce;
mod database;
mod health;
mod pool;

pub use coalesce::{CoalesceError, Coalesced};
pub use database::{Database, DatabaseConfig, OpenError};
pub use health::Health;
pub use pool::{ANSWER, Asked, Error, Pool, SETTINGS, Transaction, WAIT, ask, ask_all};
