//! The runner with a scripted engine: each write carries its outcome. The package `interleavings`
//! tests how it stops.

use std::{
    io,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use super::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    Panics,
    PanicsInWrite,
    ViolatesConstraint,
    Conflicts(usize),
    Locked(usize),
    Overload,
    NeedsLock,
    Unknown,
}

struct Write {
    number: usize,
    key: u64,
    outcome: Outcome,
    attempts: AtomicUsize,
    is_follow_up: bool,
}

impl Write {
    fn new(number: usize, outcome: Outcome) -> Self {
        let key = u64::try_from(number).unwrap();
        Self { number, key, outcome, attempts: AtomicUsize::new(0), is_follow_up: false }
    }
}

#[derive(Default)]
struct Seen {
    done: Vec<usize>,
    batches: Vec<usize>,
    running: Vec<u64>,
    most_running: usize,
}

struct Scripted {
    seen: Arc<Mutex<Seen>>,
    /// While set, no batch ends.
    is_frozen: Arc<AtomicBool>,
}

fn cause() -> Cause {
    Arc::new(io::Error::other("scripted"))
}

impl Engine for Scripted {
    const LIMITS: Limits = Limits {
        batches: 2,
        another_at: 4,
        writes: 256,
        rows: 300,
        bytes: usize::MAX,
        start_timeout: Duration::from_millis(400),
    };
    type Write = Write;
    type Answer = usize;
    type LoadedRows = ();
    type Changes = Vec<Outcome>;
    type Open<'e> = Vec<u64>;

    fn cost(write: &Write) -> Cost {
        Cost { rows: 1, bytes: 1, is_follow_up: write.is_follow_up }
    }

    fn lock_keys(write: &Write, keys: &mut Vec<u64>) {
        keys.push(write.key);
    }

    async fn load(&self, batch: &[&Write]) -> Result<Loaded<Vec<u64>, ()>, Failure> {
        let keys: Vec<u64> = batch.iter().map(|write| write.key).collect();
        {
            let mut seen = self.seen.lock().unwrap();
            assert!(keys.iter().all(|key| !seen.running.contains(key)), "a lock key runs twice");
            seen.running.extend(&keys);
            seen.most_running = seen.most_running.max(seen.running.len());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
        while self.is_frozen.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let is_locked = |write: &Write| {
            let attempt = write.attempts.fetch_add(1, Ordering::Relaxed);
            matches!(write.outcome, Outcome::Locked(times) if attempt < times)
        };
        let indexes = batch.iter().enumerate().filter(|(_, write)| is_locked(write));
        let locked = indexes.map(|(index, _)| index).collect();
        self.seen.lock().unwrap().running.retain(|key| !keys.contains(key));
        Ok(Loaded { open: keys, known: (), locked })
    }

    fn decide(&self, (): (), batch: &[&Write]) -> Result<Decided<usize, Vec<Outcome>>, Panicked> {
        if let Some(index) = batch.iter().position(|write| write.outcome == Outcome::Panics) {
            return Err(Panicked(index));
        }
        let conflicts = |write: &&Write| {
            let attempts = write.attempts.load(Ordering::Relaxed);
            match write.outcome {
                Outcome::Conflicts(times) if attempts > times => Outcome::Done,
                outcome => outcome,
            }
        };
        let answers = batch.iter().map(|write| write.number).collect();
        Ok(Decided { answers, changes: batch.iter().map(conflicts).collect() })
    }

    async fn write(
        &self,
        _: Vec<u64>,
        decided: Decided<usize, Vec<Outcome>>,
    ) -> Result<Vec<usize>, Failure> {
        let has = |outcome| decided.changes.contains(&outcome);
        if has(Outcome::PanicsInWrite) {
            panic!("scripted");
        }
        if decided.changes.iter().any(|outcome| matches!(outcome, Outcome::Conflicts(_))) {
            return Err(Failure::Conflict(cause()));
        }
        if has(Outcome::ViolatesConstraint) {
            return Err(Failure::Write(cause()));
        }
        if has(Outcome::Overload) {
            return Err(Failure::Overload(cause()));
        }
        if has(Outcome::NeedsLock) {
            return Err(Failure::Locked(cause()));
        }
        if has(Outcome::Unknown) {
            return Err(Failure::Unknown(cause()));
        }
        let mut seen = self.seen.lock().unwrap();
        seen.done.extend(&decided.answers);
        seen.batches.push(decided.answers.len());
        Ok(decided.answers)
    }
}

struct Setup {
    queue: Queue<Scripted>,
    seen: Arc<Mutex<Seen>>,
    is_frozen: Arc<AtomicBool>,
    runner: tokio::task::JoinHandle<Scripted>,
}

fn setup() -> Setup {
    let (seen, is_frozen) = (Arc::<Mutex<Seen>>::default(), Arc::<AtomicBool>::default());
    let engine = Scripted { seen: Arc::clone(&seen), is_frozen: Arc::clone(&is_frozen) };
    let (queue, runner) = Queue::new(engine);
    Setup { queue, seen, is_frozen, runner: tokio::spawn(runner.run()) }
}

type Pending = tokio::task::JoinHandle<Result<usize, WriteError>>;

impl Setup {
    fn write(&self, write: Write) -> Pending {
        let queue = self.queue.clone();
        tokio::spawn(async move { queue.write(write).await })
    }

    async fn stop(self) -> Arc<Mutex<Seen>> {
        self.queue.stop();
        self.runner.await.unwrap();
        self.seen
    }
}

#[tokio::test]
async fn one_failing_write_among_256_fails_alone() {
    for outcome in [
        Outcome::Panics,
        Outcome::PanicsInWrite,
        Outcome::ViolatesConstraint,
        Outcome::Conflicts(99),
    ] {
        for index in [0, 1, 127, 128, 254, 255] {
            let setup = setup();
            let outcome_of = |number| if number == index { outcome } else { Outcome::Done };
            let pending: Vec<Pending> = (0..256)
                .map(|number| setup.write(Write::new(number, outcome_of(number))))
                .collect();
            for (number, pending) in pending.into_iter().enumerate() {
                match pending.await.unwrap() {
                    Ok(answer) => assert!(number != index && answer == number),
                    Err(WriteError::Panicked) => {
                        assert!(number == index && outcome == Outcome::Panics)
                    }
                    Err(error) => {
                        assert_eq!(number, index, "{error:?}");
                        assert!(matches!(error, WriteError::Failed(_)), "{error:?}");
                    }
                }
            }
            let mut done = std::mem::take(&mut setup.stop().await.lock().unwrap().done);
            done.sort_unstable();
            let others: Vec<usize> = (0..256).filter(|&number| number != index).collect();
            assert_eq!(done, others, "{outcome:?} at {index}");
        }
    }
}

#[tokio::test]
async fn writes_succeed_after_conflicts_and_row_locks() {
    let setup = setup();
    let outcomes = [Outcome::Conflicts(3), Outcome::Locked(4), Outcome::Done];
    let pending: Vec<Pending> = (0..60)
        .map(|number| setup.write(Write::new(number, outcomes[number % outcomes.len()])))
        .collect();
    for (number, pending) in pending.into_iter().enumerate() {
        assert_eq!(pending.await.unwrap().unwrap(), number);
    }
    let stats = setup.queue.stats();
    assert!(stats.conflicts >= 3 && stats.postponed > 0, "{stats:?}");
    assert_eq!(stats.writes, 60);
    assert_eq!(setup.queue.limits().map(|limit| limit.usage().used), [0, 0]);
    assert_eq!(setup.stop().await.lock().unwrap().done.len(), 60);
}

#[tokio::test]
async fn a_failed_database_fails_every_write_of_the_batch() {
    let error = |error: WriteError| error.to_string();
    for (outcome, expected) in [
        (Outcome::Overload, error(WriteError::Overloaded)),
        (Outcome::NeedsLock, error(WriteError::Locked)),
        (Outcome::Unknown, error(WriteError::Failed(cause()))),
    ] {
        let setup = setup();
        let pending: Vec<Pending> =
            (0..3).map(|number| setup.write(Write::new(number, outcome))).collect();
        for pending in pending {
            assert_eq!(pending.await.unwrap().unwrap_err().to_string(), expected);
        }
        assert!(setup.stop().await.lock().unwrap().done.is_empty());
    }
}

#[tokio::test]
async fn writes_with_the_same_key_never_run_in_two_batches() {
    let setup = setup();
    let write = |number| Write {
        key: if number % 3 == 0 { 7 } else { 1000 + u64::try_from(number).unwrap() },
        ..Write::new(number, Outcome::Done)
    };
    let pending: Vec<Pending> = (0..500).map(|number| setup.write(write(number))).collect();
    for pending in pending {
        pending.await.unwrap().unwrap();
    }
    let seen = setup.stop().await;
    let seen = seen.lock().unwrap();
    assert_eq!(seen.done.len(), 500);
    assert!(seen.most_running > 256, "two batches ran at the same time: {}", seen.most_running);
    assert!(seen.batches.iter().all(|&writes| writes <= 256), "{:?}", seen.batches);
}

#[tokio::test]
async fn a_full_queue_accepts_only_follow_up_work() {
    let setup = setup();
    setup.is_frozen.store(true, Ordering::Relaxed);
    let waiting: Vec<Pending> = (0..QUEUE_LENGTH)
        .map(|number| {
            let key = 0;
            setup.write(Write { key, ..Write::new(number, Outcome::Done) })
        })
        .collect();
    while setup.queue.length.usage().used < u64::try_from(QUEUE_LENGTH).unwrap() {
        tokio::task::yield_now().await;
    }
    let rejected = setup.write(Write::new(9001, Outcome::Done)).await.unwrap();
    assert!(matches!(rejected, Err(WriteError::Overloaded)));
    let is_follow_up = true;
    let admitted = setup.write(Write { is_follow_up, ..Write::new(9002, Outcome::Done) });
    tokio::time::sleep(Duration::from_millis(50)).await;
    setup.is_frozen.store(false, Ordering::Relaxed);
    assert_eq!(admitted.await.unwrap().unwrap(), 9002);
    for pending in waiting {
        let answer = pending.await.unwrap();
        assert!(matches!(answer, Ok(_) | Err(WriteError::Overloaded)), "{answer:?}");
    }
    assert_eq!(setup.queue.length.usage().used, 0);
    setup.stop().await;
}

#[tokio::test]
async fn writes_not_started_in_time_are_rejected() {
    let setup = setup();
    setup.is_frozen.store(true, Ordering::Relaxed);
    let running = setup.write(Write::new(0, Outcome::Done));
    tokio::time::sleep(Duration::from_millis(50)).await;
    let parked = setup.write(Write { key: 0, ..Write::new(1, Outcome::Done) });
    assert!(matches!(parked.await.unwrap(), Err(WriteError::Overloaded)));
    setup.is_frozen.store(false, Ordering::Relaxed);
    assert_eq!(running.await.unwrap().unwrap(), 0);
    let locked = setup.write(Write::new(2, Outcome::Locked(usize::MAX)));
    assert!(matches!(locked.await.unwrap(), Err(WriteError::Locked)));
    assert_eq!(setup.stop().await.lock().unwrap().done, [0]);
}

#[tokio::test]
async fn a_batch_without_a_free_row_is_no_commit() {
    let setup = setup();
    setup.write(Write::new(0, Outcome::Locked(3))).await.unwrap().unwrap();
    let stats = setup.queue.stats();
    assert_eq!((stats.commits, stats.writes, stats.postponed), (1, 1, 3));
}
