//! Continuous load: clients of every service that send requests without pause.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use blackbox::{authsvc, objstore, payments, process::DEADLINE};
use tokio::{sync::watch, task::JoinSet, time::timeout};

use crate::worker::Worker;

/// Number of clients per service.
const CLIENTS: usize = 4;

/// The number of finished tasks that shows that a service works.
const ENOUGH: usize = 200;

/// Running clients.
pub(crate) struct Load {
    workers: JoinSet<Worker>,
    /// Finished tasks of each service.
    done: watch::Receiver<[usize; 3]>,
    over: Arc<AtomicBool>,
}

impl Load {
    /// Starts clients of the services that the four URLs name.
    pub(crate) async fn start() -> Self {
        let (sender, done) = watch::channel([0; 3]);
        let (sender, over) = (Arc::new(sender), Arc::new(AtomicBool::new(false)));
        let mut load = Self { workers: JoinSet::new(), done, over: Arc::clone(&over) };
        let objstore = objstore::Service::any().await;
        let payments = payments::Service::any().await;
        for _ in 0..CLIENTS {
            let visitor = Worker::visitor(authsvc::Service::any().await);
            let workers =
                [visitor, Worker::writer(&objstore).await, Worker::seller(&payments).await];
            for (service, mut worker) in workers.into_iter().enumerate() {
                let (sender, over) = (Arc::clone(&sender), Arc::clone(&over));
                load.workers.spawn(async move {
                    while !over.load(Ordering::Relaxed) {
                        worker.work().await;
                        sender.send_modify(|done| done[service] += 1);
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
        let progressed = timeout(DEADLINE * 3, self.done.wait_for(enough)).await.is_ok();
        assert!(progressed, "{:?} tasks of {goal:?} are done", self.done.borrow());
    }

    /// Stops the clients, checks that all acknowledged work is stored, and returns a summary.
    pub(crate) async fn stop(mut self) -> String {
        self.makes_progress().await;
        self.over.store(true, Ordering::Relaxed);
        let mut retried = 0;
        for worker in self.workers.join_all().await {
            retried += worker.retried();
            worker.verify().await;
        }
        let [visits, objects, sales] = *self.done.borrow();
        format!("{visits} visits, {objects} objects, {sales} sales; {retried} requests retried")
    }
}
