//! The replicas of `deploy/compose.scale.yml` behind their proxy, which the four URLs name. The
//! tests kill and restart replicas and the database. Clients must see one service without
//! interruption.

#![expect(clippy::unwrap_used, reason = "a test fails if its preparation fails")]

mod compose;
mod load;
mod replicas;
mod spread;
mod worker;
