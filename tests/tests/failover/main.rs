//! Both services on PostgreSQL, when a standby takes over. Two replicas of each are under load.
//!
//! With synchronous replication nothing acknowledged is lost. With asynchronous replication only
//! what the standby never had is lost, and every client learns of it.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a failed step fails its test")]

mod chain;
mod live;
mod objstore;
mod pair;
mod payments;
mod pooler;
mod restored;
mod watcher;
