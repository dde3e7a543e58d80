//! A pool of connections to a PostgreSQL database that any number of replicas share.
//!
//! Every wait has a timeout: opening a connection, waiting for a free one of the pool, and each
//! statement of the pool and of [`Database::listen`]. A migration waits for its lock without a
//! limit. A replica that freezes while it holds a lock soon loses the lock. Errors quote no rows.

mod base;
mod coalesce;
mod database;
mod health;
mod hosts;
mod locks;
mod pool;
mod sessions;
mod timelines;
mod verification;

pub use base::Base;
pub use coalesce::{CoalesceError, Coalesced};
pub use database::{Database, DatabaseConfig, OpenError};
pub use pool::{ANSWER, Error, Pool, SETTINGS, Transaction, WAIT, query, query_all};
pub use sql::Statement;
