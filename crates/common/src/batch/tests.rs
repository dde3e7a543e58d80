//! The runner on its own, with an engine that fails as its operations say.

use std::{
    io,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use super::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Done,
    Panics,
    PanicsInWrite,
    BreaksRule,
    Conflicts(usize),
    Locked(usize),
    Overloads,
    Unknown,
}

struct Operation {
    number: usize,
    name: u64,
    fate: Fate,
    attempts: AtomicUsize,
    follows_up: bool,
}

impl Operation {
    fn new(number: usize, fate: Fate) -> Self {
        let name = u64::try_from(number).unwrap();
        Self { number, name, fate, attempts: AtomicUsize::new(0), follows_up: false }
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
    /// While it is set, no batch ends.
    is_frozen: Arc<AtomicBool>,
    own_work: AtomicUsize,
}

fn cause() -> Cause {
    Arc::new(io::Error::other("scripted"))
}

impl Engine for Scripted {
    const LIMITS: Limits = Limits {
        batches: 2,
        another_at: 4,
        operations: 256,
        rows: 300,
        bytes: usize::MAX,
        patience: Duration::from_millis(400),
    };
    type Operation = Operation;
    type Answer = usize;
    type Known = ();
    type Changes = Vec<Fate>;
    type Open<'e> = Vec<u64>;

    fn cost(operation: &Operation) -> Cost {
        Cost { rows: 1, bytes: 1, follows_up: operation.follows_up }
    }

    fn exclusive(operation: &Operation, names: &mut Vec<u64>) {
        names.push(operation.name);
    }

    fn own_work(&self, is_idle: bool) -> Option<Operation> {
        let left = self.own_work.load(Ordering::Relaxed);
        let take = is_idle && left > 0;
        take.then(|| {
            self.own_work.store(left - 1, Ordering::Relaxed);
            Operation::new(900 + left, Fate::Done)
        })
    }

    async fn load(&self, batch: &[&Operation]) -> Result<Loaded<Vec<u64>, ()>, Failure> {
        let names: Vec<u64> = batch.iter().map(|operation| operation.name).collect();
        {
            let mut seen = self.seen.lock().unwrap();
            assert!(names.iter().all(|name| !seen.running.contains(name)), "a name runs twice");
            seen.running.extend(&names);
            seen.most_running = seen.most_running.max(seen.running.len());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
        while self.is_frozen.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let is_locked = |operation: &Operation| {
            let attempt = operation.attempts.fetch_add(1, Ordering::Relaxed);
            matches!(operation.fate, Fate::Locked(times) if attempt < times)
        };
        let places = batch.iter().enumerate().filter(|(_, operation)| is_locked(operation));
        let locked = places.map(|(place, _)| place).collect();
        self.seen.lock().unwrap().running.retain(|name| !names.contains(name));
        Ok(Loaded { open: names, known: (), locked })
    }

    fn decide(&self, (): (), batch: &[&Operation]) -> Result<Decided<usize, Vec<Fate>>, Panicked> {
        if let Some(place) = batch.iter().position(|operation| operation.fate == Fate::Panics) {
            return Err(Panicked(place));
        }
        let conflicts = |operation: &&Operation| {
            let attempts = operation.attempts.load(Ordering::Relaxed);
            match operation.fate {
                Fate::Conflicts(times) if attempts > times => Fate::Done,
                fate => fate,
            }
        };
        let answers = batch.iter().map(|operation| operation.number).collect();
        Ok(Decided { answers, changes: batch.iter().map(conflicts).collect() })
    }

    async fn write(
        &self,
        _: Vec<u64>,
        decided: Decided<usize, Vec<Fate>>,
    ) -> Result<Vec<usize>, Failure> {
        let has = |fate| decided.changes.contains(&fate);
        if has(Fate::PanicsInWrite) {
            panic!("scripted");
        }
        if decided.changes.iter().any(|fate| matches!(fate, Fate::Conflicts(_))) {
            return Err(Failure::Conflict(cause()));
        }
        if has(Fate::BreaksRule) {
            return Err(Failure::Operation(cause()));
        }
        if has(Fate::Overloads) {
            return Err(Failure::Overload(cause()));
        }
        if has(Fate::Unknown) {
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
    let engine = Scripted {
        seen: Arc::clone(&seen),
        is_frozen: Arc::clone(&is_frozen),
        own_work: AtomicUsize::new(0),
    };
    let (queue, runner) = Queue::new(engine);
    Setup { queue, seen, is_frozen, runner: tokio::spawn(runner.run()) }
}

type Asked = tokio::task::JoinHandle<Result<usize, WriteError>>;

impl Setup {
    fn write(&self, operation: Operation) -> Asked {
        let queue = self.queue.clone();
        tokio::spawn(async move { queue.write(operation).await })
    }

    async fn stop(self) -> Arc<Mutex<Seen>> {
        self.queue.stop();
        self.runner.await.unwrap();
        self.seen
    }
}

#[tokio::test]
async fn one_failing_operation_among_256_fails_alone() {
    for fate in [Fate::Panics, Fate::PanicsInWrite, Fate::BreaksRule, Fate::Conflicts(99)] {
        for place in [0, 1, 127, 128, 254, 255] {
            let setup = setup();
            let fate_of = |number| if number == place { fate } else { Fate::Done };
            let asked: Vec<Asked> = (0..256)
                .map(|number| setup.write(Operation::new(number, fate_of(number))))
                .collect();
            for (number, asked) in asked.into_iter().enumerate() {
                match asked.await.unwrap() {
                    Ok(answer) => assert!(number != place && answer == number),
                    Err(WriteError::Panicked) => assert!(number == place && fate == Fate::Panics),
                    Err(error) => {
                        assert_eq!(number, place, "{error:?}");
                        assert!(matches!(error, WriteError::NotCommitted(_)), "{error:?}");
                    }
                }
            }
            let mut done = std::mem::take(&mut setup.stop().await.lock().unwrap().done);
            done.sort_unstable();
            let others: Vec<usize> = (0..256).filter(|&number| number != place).collect();
            assert_eq!(done, others, "{fate:?} at {place}");
        }
    }
}

#[tokio::test]
async fn a_conflict_or_a_lock_elsewhere_only_delays() {
    let setup = setup();
    let fates = [Fate::Conflicts(3), Fate::Locked(4), Fate::Done];
    let asked: Vec<Asked> = (0..60)
        .map(|number| setup.write(Operation::new(number, fates[number % fates.len()])))
        .collect();
    for (number, asked) in asked.into_iter().enumerate() {
        assert_eq!(asked.await.unwrap().unwrap(), number);
    }
    let stats = setup.queue.stats();
    assert!(stats.conflicts >= 3 && stats.postponed > 0, "{stats:?}");
    assert_eq!((stats.operations, stats.waiting_bytes), (60, 0));
    assert_eq!(setup.stop().await.lock().unwrap().done.len(), 60);
}

#[tokio::test]
async fn a_failed_database_fails_every_operation_of_the_batch() {
    for (fate, is_overload) in [(Fate::Overloads, true), (Fate::Unknown, false)] {
        let setup = setup();
        let asked: Vec<Asked> =
            (0..3).map(|number| setup.write(Operation::new(number, fate))).collect();
        for asked in asked {
            let error = asked.await.unwrap().unwrap_err();
            assert_eq!(matches!(error, WriteError::Overloaded), is_overload, "{error:?}");
        }
        assert!(setup.stop().await.lock().unwrap().done.is_empty());
    }
}

#[tokio::test]
async fn operations_with_one_name_never_run_in_two_batches() {
    let setup = setup();
    let operation = |number| Operation {
        name: if number % 3 == 0 { 7 } else { 1000 + u64::try_from(number).unwrap() },
        ..Operation::new(number, Fate::Done)
    };
    let asked: Vec<Asked> = (0..500).map(|number| setup.write(operation(number))).collect();
    for asked in asked {
        asked.await.unwrap().unwrap();
    }
    let seen = setup.stop().await;
    let seen = seen.lock().unwrap();
    assert_eq!(seen.done.len(), 500);
    assert!(seen.most_running > 256, "two batches ran at once: {}", seen.most_running);
    assert!(seen.batches.iter().all(|&operations| operations <= 256), "{:?}", seen.batches);
}

#[tokio::test]
async fn a_full_queue_refuses_at_once_but_for_work_that_was_admitted() {
    let setup = setup();
    setup.is_frozen.store(true, Ordering::Relaxed);
    let waiting: Vec<Asked> = (0..QUEUE_LENGTH)
        .map(|number| {
            let name = 0;
            setup.write(Operation { name, ..Operation::new(number, Fate::Done) })
        })
        .collect();
    while setup.queue.length.usage().used < u64::try_from(QUEUE_LENGTH).unwrap() {
        tokio::task::yield_now().await;
    }
    let refused = setup.write(Operation::new(9001, Fate::Done)).await.unwrap();
    assert!(matches!(refused, Err(WriteError::Overloaded)));
    let follows_up = true;
    let admitted = setup.write(Operation { follows_up, ..Operation::new(9002, Fate::Done) });
    tokio::time::sleep(Duration::from_millis(50)).await;
    setup.is_frozen.store(false, Ordering::Relaxed);
    assert_eq!(admitted.await.unwrap().unwrap(), 9002);
    for asked in waiting {
        let answer = asked.await.unwrap();
        assert!(matches!(answer, Ok(_) | Err(WriteError::Overloaded)), "{answer:?}");
    }
    assert_eq!(setup.queue.length.usage().used, 0);
    setup.stop().await;
}

#[tokio::test]
async fn an_operation_that_is_not_started_in_time_is_not_done() {
    let setup = setup();
    setup.is_frozen.store(true, Ordering::Relaxed);
    let running = setup.write(Operation::new(0, Fate::Done));
    tokio::time::sleep(Duration::from_millis(50)).await;
    let parked = setup.write(Operation { name: 0, ..Operation::new(1, Fate::Done) });
    assert!(matches!(parked.await.unwrap(), Err(WriteError::Overloaded)));
    setup.is_frozen.store(false, Ordering::Relaxed);
    assert_eq!(running.await.unwrap().unwrap(), 0);
    let locked = setup.write(Operation::new(2, Fate::Locked(usize::MAX)));
    assert!(matches!(locked.await.unwrap(), Err(WriteError::Overloaded)));
    assert_eq!(setup.stop().await.lock().unwrap().done, [0]);
}

#[tokio::test]
async fn a_stop_finishes_what_waits_and_then_the_engines_own_work() {
    let setup = setup();
    setup.is_frozen.store(true, Ordering::Relaxed);
    let asked: Vec<Asked> =
        (0..20).map(|number| setup.write(Operation::new(number, Fate::Done))).collect();
    // Callers that leave change nothing.
    let left = setup.write(Operation::new(20, Fate::Done));
    tokio::time::sleep(Duration::from_millis(20)).await;
    left.abort();
    setup.queue.stop();
    setup.is_frozen.store(false, Ordering::Relaxed);
    for asked in asked {
        asked.await.unwrap().unwrap();
    }
    let late = setup.write(Operation::new(21, Fate::Done)).await.unwrap();
    assert!(matches!(late, Err(WriteError::Stopped)));
    let mut done = std::mem::take(&mut setup.stop().await.lock().unwrap().done);
    done.sort_unstable();
    assert_eq!(done, (0..=20).collect::<Vec<_>>());
}

#[tokio::test]
async fn own_work_is_done_to_its_end_when_the_runner_stops() {
    let seen = Arc::<Mutex<Seen>>::default();
    let engine = Scripted {
        seen: Arc::clone(&seen),
        is_frozen: Arc::default(),
        own_work: AtomicUsize::new(3),
    };
    let (queue, runner) = Queue::new(engine);
    queue.stop();
    runner.run().await;
    assert_eq!(seen.lock().unwrap().done, [903, 902, 901]);
}
