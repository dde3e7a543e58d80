//! Sessions with a PostgreSQL database that any number of replicas share.
//!
//! Nobody waits for ever: connecting, waiting for a session and every statement have an end, and a
//! replica that freezes with a lock in hand loses it. Errors quote no rows.

mod coalesce;
mod database;
mod health;
mod session;

pub use coalesce::{CoalesceError, Coalesced};
pub use database::{Database, DatabaseConfig, OpenError};
pub use health::Health;
pub use session::{ANSWER, Asked, Error, SETTINGS, Sessions, Transaction, WAIT, ask, ask_all};
