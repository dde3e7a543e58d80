//! Disks on which one call fails: a write, a truncation, a sync or a removal. Afterwards, the power is
//! cut. Nothing that was confirmed is lost, and no store is damaged.

use std::{
    fs,
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use blackbox::{
    process::DEADLINE,
    small_disk::SmallDisk,
    soak::{rounds, seed},
};
use futures_util::{FutureExt as _, StreamExt as _, stream};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use tempfile::TempDir;

use crate::{
    eventually::eventually,
    volumes::{Objects, Payments, Subject},
};

/// MiB of the disk: so few that a checkpoint begins after some writes.
const DISK: u32 = 8;

/// Writes of a load, and the bytes of each.
const WRITES: usize = 24;
const BYTES: std::ops::Range<usize> = 10..40_000;

/// About the calls that a load makes. Any of them may fail.
const CALLS: u32 = 200;

/// Disks that are tried at the same time.
const PARALLEL: usize = 4;

const ERRORS: [&str; 3] = ["eio", "enospc", "short"];

/// The library that fails calls.
pub(crate) fn library() -> &'static Path {
    static LIBRARY: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, library) = LIBRARY.get_or_init(|| {
        let place = tempfile::tempdir().unwrap();
        let library = place.path().join("failing_disk.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/failing_disk.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]);
        compiler.args([library.as_os_str(), source.as_ref()]);
        assert!(compiler.status().expect("cc is missing: apt-get install gcc").success());
        (place, library)
    });
    library
}

/// Lets the planned calls fail, and then cuts the power. Returns the failed calls.
async fn fail<S: Subject>(plan: String, seed: u64) -> String {
    let disk = SmallDisk::new(DISK).await;
    let copy = tempfile::tempdir().unwrap();
    let failures = tempfile::NamedTempFile::new().unwrap();
    let variables = [
        ("LD_PRELOAD", library().to_str().unwrap()),
        ("FAILING_PLAN", &plan),
        ("FAILING_COPY", copy.path().to_str().unwrap()),
        ("FAILING_LOG", failures.path().to_str().unwrap()),
    ];
    // The process may end at any time. A start or a request without an answer then panics.
    let started = AssertUnwindSafe(S::start(&disk, &variables)).catch_unwind().await;
    if let Ok(mut subject) = started {
        let load = async {
            let mut rng = StdRng::seed_from_u64(seed);
            for _ in 0..WRITES {
                if let Err(answer) = subject.write(rng.random_range(BYTES)).await {
                    assert_eq!(answer.status, 503, "{answer:?}");
                }
            }
        };
        let has_ended = AssertUnwindSafe(load).catch_unwind().await.is_err();
        let failed = fs::read_to_string(failures.path()).unwrap();
        let is_fatal = failed.lines().any(|line| line.contains(" sync "));
        if is_fatal {
            let record = disk.seen_from_here().join("disk-failed");
            let ended = async || record.exists().then_some(());
            eventually("a failed sync ends the process", DEADLINE, ended).await;
        }
        assert!(!has_ended || failed.contains(".db"), "{plan}: ended without a reason");
        subject.process().signal("KILL").await;
        let ended = async || subject.process().resident().is_none().then_some(());
        eventually("the process is killed", DEADLINE, ended).await;
        subject.is_found_in(copy.path(), None).await;
        S::is_whole(copy.path()).await;
    }
    fs::read_to_string(failures.path()).unwrap()
}

#[expect(clippy::print_stdout, reason = "the seed and the plans repeat a failed test")]
async fn fail_often<S: Subject>() {
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let count = rounds(24, 2_000);
    let trials = (0..count).map(|_| {
        let (first, error) = (rng.random_range(1..CALLS), ERRORS.choose(&mut rng).unwrap());
        let plan = format!("{first} {} {error}", if rng.random_ratio(1, 4) { 20 } else { 1 });
        println!("{plan}");
        fail::<S>(plan, rng.random())
    });
    let trials: Vec<_> = trials.collect();
    let failed: Vec<_> = stream::iter(trials).buffer_unordered(PARALLEL).collect().await;
    let reached = failed.iter().filter(|failed| !failed.is_empty()).count();
    println!("{reached} of {count} disks failed");
    assert!(reached * 2 > count, "most loads end before the call that should fail");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_survive_a_disk_that_fails_at_any_call() {
    fail_often::<Objects>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_survive_a_disk_that_fails_at_any_call() {
    fail_often::<Payments>().await;
}
