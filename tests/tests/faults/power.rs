//! Power cuts. SIGKILL cannot show their effects, because the page cache survives it.
//!
//! 1. strace records what a service writes and syncs under load, and its answers ([`history`]).
//! 2. [`disk`] rebuilds its data directory as a power cut at some point of the record may leave it.
//! 3. The program opens this directory. Every change that was answered before the cut has to be
//!    there, no other one may be there, and all changes have to agree with each other.
//!
//! A disk that ignores syncs has to break this. Otherwise, the test would show nothing.

mod copy;
mod disk;
mod history;
mod objects;
mod payments;
mod record;

use std::{
    future::ready,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
};

use blackbox::soak::{rounds, seed};
use futures_util::{FutureExt as _, Stream, StreamExt as _, stream};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use tempfile::TempDir;
use tokio::task::JoinError;

use disk::{Disk, Fate};
use record::{DATA, Record, Rows};

/// Most disks rebuilt from a record for each kind of ignored syncs.
const CONTROLS: usize = 60;

/// The service makes the store in about this many events.
const FIRST_EVENTS: usize = 120;

/// Disks that are open at once.
const PARALLEL: usize = 4;

/// Whether a disk ignores a sync of this file or directory, which may be the first one.
type Ignores = fn(&Path, bool) -> bool;

/// A disk that ignores no sync.
const HONEST: Ignores = |_, _| false;

/// The syncs that the disks of the controls ignore.
const IGNORED: [(&str, Ignores); 4] = [
    ("no sync", |_, _| true),
    ("no sync of the write-ahead log", |path, _| has_extension(path, "db-wal")),
    ("no sync of the database in a checkpoint", |path, first| has_extension(path, "db") && !first),
    ("no sync of a directory", |path, _| path.extension().is_none()),
];

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|it| it == extension)
}

/// A disk after a power cut.
struct Cut {
    disk: TempDir,
    /// The number of events before it.
    events: usize,
    /// The fate of changes that were not synced.
    fate: Fate,
}

impl Cut {
    /// A random power cut; one in four while the store is made. The same seed gives the same disk.
    fn new(record: &Record, ignores: Ignores, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let last = if rng.random_ratio(1, 4) { FIRST_EVENTS } else { record.events.len() };
        let events = rng.random_range(0..=last);
        let fate = *Fate::ALL.choose(&mut rng).unwrap();
        let disk = tempfile::tempdir().unwrap();
        let model = Disk::after(&record.events[..events], |path, first| !ignores(path, first));
        model.write_to(disk.path(), fate, &mut rng);
        Self { disk, events, fate }
    }
}

/// The seed of a power cut, and what is wrong after it.
type Violation = (u64, JoinError);

/// Cuts the power `count` times. `open` opens each disk and returns its rows.
fn violations<F: Future<Output = Rows> + Send + 'static>(
    record: &Arc<Record>,
    ignores: Ignores,
    count: usize,
    rng: &mut StdRng,
    open: fn(PathBuf) -> F,
) -> impl Stream<Item = Violation> {
    let checks = (0..count).map(move |_| {
        let (record, seed) = (Arc::clone(record), rng.random());
        let check = tokio::spawn(async move {
            let Cut { disk, events, .. } = Cut::new(&record, ignores, seed);
            let stored = open(disk.path().join(DATA)).await;
            record.verify(&stored, &record.events[..events]);
        });
        check.map(move |checked| checked.err().map(|error| (seed, error)))
    });
    stream::iter(checks).buffer_unordered(PARALLEL).filter_map(ready)
}

/// Cuts the power at random points of the record of a service, and checks that nothing answered is
/// lost. `SEED` repeats load and cuts, as far as the threads of the service run in the same order.
/// So a wrong disk is kept.
#[expect(clippy::print_stdout, reason = "a test shows what it printed when it fails")]
async fn survives<F: Future<Output = Rows> + Send + 'static>(
    make: impl AsyncFn(u64) -> Record,
    open: fn(PathBuf) -> F,
) {
    for _ in 0..rounds(1, 25) {
        let seed = seed();
        println!("SEED={seed}");
        let mut rng = StdRng::seed_from_u64(seed);
        let record = Arc::new(make(rng.random()).await);
        let disks = rounds(30, 200);
        let broken: Vec<_> = violations(&record, HONEST, disks, &mut rng, open).collect().await;
        for (seed, error) in &broken {
            let Cut { disk, events, fate } = Cut::new(&record, HONEST, *seed);
            println!("{error}, {events} events, unsynced changes: {fate:?}, {:?}", disk.keep());
        }
        println!("{} of {disks} disks are wrong, {} events", broken.len(), record.events.len());
        assert!(broken.is_empty());
        for (name, ignores) in IGNORED {
            let mut broken = pin!(violations(&record, ignores, CONTROLS, &mut rng, open));
            let broken = broken.next().await;
            assert!(broken.is_some(), "{name} breaks nothing: the test shows nothing");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn objstore_keeps_everything_answered_before_a_power_cut() {
    survives(objects::record, objects::open).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn payments_keep_everything_answered_before_a_power_cut() {
    survives(payments::record, payments::open).await;
}
