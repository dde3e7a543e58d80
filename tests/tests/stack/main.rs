//! The replicas of `deploy/compose.scale.yml` behind their proxy, which the four URLs name, while
//! something happens to them: to those who ask, it is one service that never ends.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod compose;
mod load;
mod replicas;
mod spread;
mod worker;
