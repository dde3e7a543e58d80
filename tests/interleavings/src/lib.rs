//! The hub of objstore-svc and the batching loop of `common`, under the scheduler of
//! [shuttle](https://docs.rs/shuttle). At each lock, channel operation and await, it chooses the
//! task that continues. A test runs one scenario under thousands of schedules.
//!
//! 1. **The tests run the code of the services.** [`objstore`] and [`common_src`] compile the same
//!    files as the services do. Only their primitives differ: `tokio` is this crate, with those of
//!    `shuttle_tokio`, and [`lock`] replaces the module of the same name in objstore-svc. So the
//!    services need no `cfg`, and their dependencies are built once.
//! 2. **A stand-in replaces the store of objstore-svc** ([`store`]), because the scheduler cannot
//!    switch between the threads of a database.
//! 3. **The seed decides each random number**, also those of the code under test, so that `SEED`
//!    repeats a run.
//! 4. **Nothing wakes a task except what it waits for.** Intervals never tick, and timeouts never
//!    expire: otherwise they would hide a lost wake-up. A lost wake-up is a deadlock here, which
//!    fails the test. See [`time`].

// The unit tests of these files run with their own packages.
#![cfg(not(test))]
#![expect(clippy::expect_used, reason = "a failure of the harness fails its test, with the line")]
#![expect(missing_docs, reason = "a comment that restates a name helps no reader of a test")]

// The names by which the files under test import their primitives.
extern crate rand as random_numbers;
extern crate self as rand;
extern crate self as tokio;
extern crate shuttle_tokio_util as tokio_util;

use std::sync::Arc;

use random_numbers::{
    RngExt as _, SeedableRng as _,
    distr::{
        Distribution, StandardUniform,
        uniform::{SampleRange, SampleUniform},
    },
    rngs::StdRng,
};
use shuttle::{
    Config, Runner,
    rand::RngCore as _,
    scheduler::{PctScheduler, RandomScheduler, Scheduler},
};

pub use common_src::batch;
pub use shuttle_tokio::{select, sync, task};

use common::limits;
use objstore::{domain, watch};

pub mod copies;
pub mod hub;
pub mod rules;
mod store;
pub mod time;

#[path = "../../src/soak.rs"]
pub mod soak;

#[path = "../../../crates/objstore-svc/src"]
#[expect(dead_code, unused_imports, reason = "the tests do not use all of it")]
mod objstore {
    pub(crate) mod domain;
    pub(crate) mod watch;
}

#[path = "../../../crates/common/src"]
mod common_src {
    pub mod batch;
}

mod lock {
    pub(crate) use shuttle::sync::{Mutex, MutexGuard};
}

/// Schedules of each scheduler for each test.
const SCHEDULES: usize = 1_500;

/// The same, with `SOAK=1`.
const SCHEDULES_OF_SOAK: usize = 100_000;

/// Number of times that [`PctScheduler`] changes which task has the highest priority. It finds bugs
/// that need at most this many switches at certain points, with a known probability.
const PRIORITY_CHANGES: usize = 3;

/// Bytes of the stack of a task.
const STACK_SIZE: usize = 256 * 1024;

/// Runs `scenario` once for each schedule. A panic in any task, or a deadlock, fails the test.
#[expect(clippy::print_stdout, reason = "a failed test shows its seed")]
pub fn explore(scenario: impl Fn() + Send + Sync + 'static) {
    let seed = soak::seed();
    println!("SEED={seed}");
    let schedules = soak::rounds(SCHEDULES, SCHEDULES_OF_SOAK);
    let scenario = Arc::new(scenario);
    run(RandomScheduler::new_from_seed(seed, schedules), Arc::clone(&scenario));
    run(PctScheduler::new_from_seed(seed, PRIORITY_CHANGES, schedules), scenario);
}

/// Replaces `rand::random`.
pub fn random<T>() -> T
where
    StandardUniform: Distribution<T>,
{
    numbers().random()
}

/// Replaces `rand::random_range`.
pub fn random_range<T: SampleUniform>(range: impl SampleRange<T>) -> T {
    numbers().random_range(range)
}

fn numbers() -> StdRng {
    StdRng::seed_from_u64(shuttle::rand::thread_rng().next_u64())
}

fn run(scheduler: impl Scheduler + 'static, scenario: Arc<impl Fn() + Send + Sync + 'static>) {
    let mut config = Config::new();
    config.stack_size = STACK_SIZE;
    Runner::new(scheduler, config).run(move || scenario());
}
