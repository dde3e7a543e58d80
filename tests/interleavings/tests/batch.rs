//! The batching loop of `common`: callers write, leave and come too late while it stops.

#![expect(clippy::unwrap_used, reason = "a failed step fails its test")]

use std::{
    collections::BTreeMap,
    io,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};

use futures_util::poll;
use interleavings::{
    batch::{Cause, Cost, Decided, Engine, Failure, Limits, Loaded, Panicked, Queue, WriteError},
    explore,
    task::yield_now,
};
use shuttle::{
    future::{block_on, spawn},
    rand::{Rng as _, thread_rng},
};

const CALLERS: usize = 6;

/// Number of the engine's own writes.
const OWN_WORK: usize = 2;

const MIB: usize = 1024 * 1024;

/// Two writes of this size fill the queue.
const LARGE: usize = 32 * MIB;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    Panics,
    ViolatesConstraint,
    Fails,
    /// The first attempts conflict with another transaction.
    Conflicts(usize),
    /// The rows are locked at the first attempts.
    Locked(usize),
}

struct Write {
    number: usize,
    key: u64,
    bytes: usize,
    outcome: Outcome,
    attempts: AtomicUsize,
}

impl Write {
    fn new(number: usize, outcome: Outcome, bytes: usize) -> Self {
        let key = thread_rng().gen_range(0..3);
        Self { number, key, bytes, outcome, attempts: AtomicUsize::new(0) }
    }
}

/// The work of the engine so far.
#[derive(Default)]
struct Seen {
    /// How often each write was written.
    written: BTreeMap<usize, usize>,
    /// The lock keys of the writes of each running batch.
    running: BTreeMap<usize, Vec<u64>>,
    batches: usize,
    own_work: usize,
}

/// An engine that runs at most `BATCHES` batches at the same time. Writes may come too late if
/// it `IS_HURRIED`.
struct Scripted<const BATCHES: usize, const IS_HURRIED: bool>(Arc<Mutex<Seen>>);

/// A transaction: the batch runs until it is dropped.
struct Open {
    seen: Arc<Mutex<Seen>>,
    batch: usize,
}

impl Drop for Open {
    fn drop(&mut self) {
        lock(&self.seen).running.remove(&self.batch);
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn cause() -> Cause {
    Arc::new(io::Error::other("scripted"))
}

impl<const BATCHES: usize, const IS_HURRIED: bool> Engine for Scripted<BATCHES, IS_HURRIED> {
    const LIMITS: Limits = Limits {
        batches: BATCHES,
        another_at: 2,
        writes: 3,
        rows: 2,
        bytes: LARGE,
        start_timeout: if IS_HURRIED { Duration::from_secs(1) } else { Duration::MAX },
    };
    type Write = Write;
    type Answer = usize;
    type LoadedRows = ();
    type Changes = Vec<Outcome>;
    type Open<'e> = Open;

    fn cost(write: &Write) -> Cost {
        Cost { rows: 1, bytes: write.bytes, is_follow_up: false }
    }

    fn lock_keys(write: &Write, keys: &mut Vec<u64>) {
        keys.push(write.key);
    }

    fn own_work(&self, is_idle: bool) -> Option<Write> {
        let mut seen = lock(&self.0);
        (is_idle && seen.own_work < OWN_WORK).then(|| {
            seen.own_work += 1;
            Write::new(CALLERS + seen.own_work, Outcome::Done, 0)
        })
    }

    async fn load(&self, batch: &[&Write]) -> Result<Loaded<Open, ()>, Failure> {
        let keys: Vec<u64> = batch.iter().map(|write| write.key).collect();
        let open = {
            let mut seen = lock(&self.0);
            let rows = Self::LIMITS.rows;
            assert!((1..=rows).contains(&batch.len()), "the batch has at most {rows} rows");
            assert!(seen.running.len() < BATCHES, "at most {BATCHES} batches run");
            if BATCHES > 1 {
                let is_running = |key| seen.running.values().flatten().any(|other| other == key);
                assert!(!keys.iter().any(is_running), "a lock key is in two running batches");
            }
            seen.batches += 1;
            let batch = seen.batches;
            seen.running.insert(batch, keys);
            Open { seen: Arc::clone(&self.0), batch }
        };
        yield_now().await;
        let is_locked = |write: &Write| {
            let attempt = write.attempts.fetch_add(1, Ordering::Relaxed);
            matches!(write.outcome, Outcome::Locked(times) if attempt < times)
        };
        let indexes = batch.iter().enumerate().filter(|(_, write)| is_locked(write));
        let locked = indexes.map(|(index, _)| index).collect();
        Ok(Loaded { open, known: (), locked })
    }

    fn decide(&self, (): (), batch: &[&Write]) -> Result<Decided<usize, Vec<Outcome>>, Panicked> {
        let mut writes = batch.iter();
        if let Some(index) = writes.position(|write| write.outcome == Outcome::Panics) {
            return Err(Panicked(index));
        }
        let outcome = |write: &&Write| match write.outcome {
            Outcome::Conflicts(times) if write.attempts.load(Ordering::Relaxed) > times => {
                Outcome::Done
            }
            outcome => outcome,
        };
        let answers = batch.iter().map(|write| write.number).collect();
        Ok(Decided { answers, changes: batch.iter().map(outcome).collect() })
    }

    async fn write(
        &self,
        open: Open,
        decided: Decided<usize, Vec<Outcome>>,
    ) -> Result<Vec<usize>, Failure> {
        yield_now().await;
        for outcome in decided.changes {
            match outcome {
                Outcome::Done | Outcome::Locked(_) | Outcome::Panics => {}
                Outcome::Conflicts(_) => return Err(Failure::Conflict(cause())),
                Outcome::ViolatesConstraint => return Err(Failure::Write(cause())),
                Outcome::Fails => return Err(Failure::Unknown(cause())),
            }
        }
        for &number in &decided.answers {
            *lock(&open.seen).written.entry(number).or_default() += 1;
        }
        Ok(decided.answers)
    }
}

/// The end of a write, as its caller sees it.
#[derive(Debug)]
enum Known {
    /// It was answered, or rejected.
    Answered(Result<usize, WriteError>),
    /// The caller disconnected after the write was queued.
    Left,
}

async fn call<E: Engine<Write = Write, Answer = usize>>(
    queue: Queue<E>,
    write: Write,
    leaves: bool,
) -> Known {
    let mut pending = pin!(queue.write(write));
    match poll!(&mut pending) {
        Poll::Ready(answer) => Known::Answered(answer),
        Poll::Pending if leaves => Known::Left,
        Poll::Pending => {
            let answer = pending.await;
            assert!(!matches!(answer, Err(WriteError::Stopped)), "it was queued before the stop");
            Known::Answered(answer)
        }
    }
}

/// The writes of a run.
struct Plan {
    outcomes: &'static [Outcome],
    /// Bytes of every second write.
    bytes: usize,
    /// Whether the queue may reject a write, because it is full or starts too late.
    overloads: bool,
}

#[test]
fn every_queued_write_is_committed_and_answered_once() {
    let plan = Plan { outcomes: &[Outcome::Done], bytes: 1, overloads: false };
    explore(move || run::<2, false>(&plan));
}

#[test]
fn one_failing_write_fails_alone() {
    let outcomes = &[
        Outcome::Done,
        Outcome::Panics,
        Outcome::ViolatesConstraint,
        Outcome::Conflicts(2),
        Outcome::Locked(2),
    ];
    let plan = Plan { outcomes, bytes: 1, overloads: false };
    explore(move || run::<2, false>(&plan));
}

#[test]
fn one_batch_runs_at_a_time() {
    let outcomes = &[Outcome::Done, Outcome::Fails, Outcome::Locked(1)];
    let plan = Plan { outcomes, bytes: 1, overloads: false };
    explore(move || run::<1, false>(&plan));
}

#[test]
fn a_full_queue_rejects_writes_and_commits_nothing_of_them() {
    let plan = Plan { outcomes: &[Outcome::Done], bytes: LARGE, overloads: true };
    explore(move || run::<2, false>(&plan));
}

#[test]
fn writes_that_start_too_late_are_rejected_and_not_committed() {
    let outcomes = &[Outcome::Done, Outcome::Locked(2)];
    let plan = Plan { outcomes, bytes: 1, overloads: true };
    explore(move || run::<2, true>(&plan));
}

/// Callers send writes while another task stops the runner.
fn run<const BATCHES: usize, const IS_HURRIED: bool>(plan: &Plan) {
    let seen = Arc::<Mutex<Seen>>::default();
    let (queue, runner) = Queue::new(Scripted::<BATCHES, IS_HURRIED>(Arc::clone(&seen)));
    let random = |limit: usize| thread_rng().gen_range(0..limit);
    let running = spawn(runner.run());
    let callers: Vec<_> = (0..CALLERS)
        .map(|number| {
            let outcome = plan.outcomes[random(plan.outcomes.len())];
            let write = Write::new(number, outcome, random(2) * plan.bytes);
            (outcome, spawn(call(queue.clone(), write, random(4) == 0)))
        })
        .collect();
    let stopping = spawn({
        let queue = queue.clone();
        async move {
            for _ in 0..thread_rng().gen_range(0..20) {
                yield_now().await;
            }
            queue.stop();
        }
    });
    block_on(async {
        let mut known = Vec::new();
        for (outcome, caller) in callers {
            known.push((outcome, caller.await.unwrap()));
        }
        stopping.await.unwrap();
        running.await.unwrap();
        for (number, (outcome, known)) in known.into_iter().enumerate() {
            let times = lock(&seen).written.get(&number).copied().unwrap_or(0);
            let is_allowed = plan.allows(number, outcome, &known, times);
            assert!(is_allowed, "{outcome:?}: {known:?}, written {times} times");
        }
        let late = queue.write(Write::new(CALLERS, Outcome::Done, 0)).await;
        assert!(matches!(late, Err(WriteError::Stopped)), "{late:?}");
    });
    assert_eq!(lock(&seen).own_work, OWN_WORK, "own work is done before the end");
    assert!(queue.limits().iter().all(|limit| limit.usage().used == 0), "permits are returned");
}

impl Plan {
    /// Whether a write with this outcome may be answered like this, and be written so often.
    fn allows(&self, number: usize, outcome: Outcome, known: &Known, times: usize) -> bool {
        let succeeds =
            matches!(outcome, Outcome::Done | Outcome::Conflicts(_) | Outcome::Locked(_));
        let batch_fails = self.outcomes.contains(&Outcome::Fails);
        match known {
            Known::Answered(Ok(answer)) => succeeds && *answer == number && times == 1,
            Known::Answered(Err(error)) => {
                times == 0
                    && match error {
                        WriteError::Overloaded => self.overloads,
                        WriteError::Locked => {
                            self.overloads && matches!(outcome, Outcome::Locked(_))
                        }
                        WriteError::Failed(_) => {
                            outcome == Outcome::ViolatesConstraint || batch_fails
                        }
                        WriteError::DiskFull => false,
                        WriteError::Panicked => outcome == Outcome::Panics,
                        WriteError::Stopped => true,
                    }
            }
            Known::Left if succeeds && !batch_fails && !self.overloads => times == 1,
            Known::Left => times <= usize::from(succeeds),
        }
    }
}
