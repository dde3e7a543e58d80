//! Continuous load: clients of every service.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use blackbox::{authsvc, objstore, payments, process::DEADLINE};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::worker::{Patience, Worker};

/// Number of clients per service.
const CLIENTS: usize = 2;

/// The pause of a client between two tasks. Without it, the load would take all processors, and
/// what is measured would be how busy the machine is.
const PAUSE: Duration = Duration::from_millis(200);

/// The number of finished tasks that shows that a service works.
const ENOUGH: usize = 20;

/// Running clients.
pub(crate) struct Load {
    workers: JoinSet<Worker>,
    /// Finished tasks of each service.
    done: watch::Receiver<[usize; 3]>,
    over: Arc<AtomicBool>,
}

impl Load {
    /// Starts clients of the services that the four URLs name.
    pub(crate) async fn start(patience: Patience) -> Self {
        let (sender, done) = watch::channel([0; 3]);
        let (sender, over) = (Arc::new(sender), Arc::new(AtomicBool::new(false)));
        let mut load = Self { workers: JoinSet::new(), done, over: Arc::clone(&over) };
        let objstore = objstore::Service::any().await;
        let payments = payments::Service::any().await;
        for _ in 0..CLIENTS {
            let workers = [
                Worker::visitor(authsvc::Service::any().await, patience),
                Worker::writer(&objstore, patience).await,
                Worker::seller(&payments, patience).await,
            ];
            for (service, mut worker) in workers.into_iter().enumerate() {
                let (sender, over) = (Arc::clone(&sender), Arc::clone(&over));
                load.workers.spawn(async move {
                    while !over.load(Ordering::Relaxed) {
                        worker.work().await;
                        sender.send_modify(|done| done[service] += 1);
                        sleep(PAUSE).await;
                    }
                    worker
                });
            }
        }
        load.makes_progress().await;
        load
    }

    /// Waits until every service has finished [`ENOUGH`] more tasks.
    pub(crate) async fn makes_progress(&mut self) {
        let goal = self.done.borrow().map(|done| done + ENOUGH);
        let enough = |done: &[usize; 3]| done.iter().zip(goal).all(|(done, goal)| *done >= goal);
        let progressed = timeout(DEADLINE, self.done.wait_for(enough)).await.is_ok();
        assert!(progressed, "{:?} tasks of {goal:?} are done", self.done.borrow());
    }

    /// Stops the clients, checks that all acknowledged work is stored, and returns a summary.
    pub(crate) async fn stop(mut self) -> Summary {
        self.makes_progress().await;
        self.over.store(true, Ordering::Relaxed);
        let (mut retried, mut longest) = (0, Duration::ZERO);
        for worker in self.workers.join_all().await {
            retried += worker.retried();
            longest = longest.max(worker.longest());
            worker.verify().await;
        }
        Summary { done: *self.done.borrow(), retried, longest }
    }
}

/// The finished work of all clients.
pub(crate) struct Summary {
    done: [usize; 3],
    retried: usize,
    /// The longest time from the first attempt of a request to its success.
    pub(crate) longest: Duration,
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { done: [visits, objects, sales], retried, longest } = self;
        write!(formatter, "{visits} visits, {objects} objects, {sales} sales; ")?;
        write!(formatter, "{retried} requests retried, the longest took {longest:.1?}")
    }
}
