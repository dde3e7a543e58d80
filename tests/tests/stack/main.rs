//! The replicas of `deploy/compose.scale.yml` behind their proxy, which the four URLs name. The
//! tests kill and restart replicas and the nodes of the database. Clients must see one service,
//! and lose no acknowledged write.

#![expect(clippy::unwrap_used, reason = "a test fails if its preparation fails")]

mod compose;
mod failover;
mod load;
mod replicas;
mod spread;
mod worker;
