//! objstore-svc under faults: SIGKILL, a full disk, and clients that are slow, silent or gone.
//! Acknowledged writes are never lost, and other clients are not disturbed.
//!
//! All tests are bounded. With `SOAK=1` in the environment they run much longer.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a failed step fails its test")]

mod answer;
mod backup;
mod database;
mod eventually;
mod failing_disk;
mod full_disk;
mod full_queue;
mod gone;
mod jumps;
mod kills;
mod large;
mod line;
mod listener;
mod log_size;
mod lost_backing;
mod peer;
mod power;
mod reopening;
mod resident;
mod search;
mod slow;
mod stop;
mod sync;
mod trace;
mod visitor;
mod volumes;
mod writers;
