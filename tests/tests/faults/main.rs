//! objstore-svc when things go wrong: it is killed, its disk is full, its clients are slow, silent
//! or gone. Nothing acknowledged is lost, and nobody else is disturbed.
//!
//! Everything here is bounded; with `SOAK=1` in the environment it goes on for long.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "what a test cannot do without fails it"
)]

mod answer;
mod backup;
mod crew;
mod database;
mod eventually;
mod full_disk;
mod full_queue;
mod gone;
mod kills;
mod large;
mod line;
mod listener;
mod peer;
mod reopening;
mod resident;
mod search;
mod slow;
mod small_disk;
mod stop;
mod sync;
mod trace;
mod visitor;
mod wrapped;
