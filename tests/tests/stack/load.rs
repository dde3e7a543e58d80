//! Clients of every service, at work without pause.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use blackbox::{authsvc, objstore, payments, process::DEADLINE};
use tokio::{sync::watch, task::JoinSet, time::timeout};

use crate::worker::Worker;

/// Clients of each service.
const CLIENTS: usize = 4;

/// Pieces of work that show that a service goes on.
const ENOUGH: usize = 200;

/// Clients at work.
pub(crate) struct Load {
    workers: JoinSet<Worker>,
    /// What was done so far, at each service.
    done: watch::Receiver<[usize; 3]>,
    over: Arc<AtomicBool>,
}

impl Load {
    /// Sets clients to work at the services that the four URLs name.
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
        load.goes_on().await;
        load
    }

    /// Waits until every service has done more.
    pub(crate) async fn goes_on(&mut self) {
        let goal = self.done.borrow().map(|done| done + ENOUGH);
        let enough = |done: &[usize; 3]| done.iter().zip(goal).all(|(done, goal)| *done >= goal);
        let went_on = timeout(DEADLINE * 3, self.done.wait_for(enough)).await.is_ok();
        assert!(went_on, "{:?} of {goal:?}", self.done.borrow());
    }

    /// Ends their work, and says how much it was. Whatever they were told has been done stands.
    pub(crate) async fn stop(mut self) -> String {
        self.goes_on().await;
        self.over.store(true, Ordering::Relaxed);
        let mut retried = 0;
        for worker in self.workers.join_all().await {
            retried += worker.retried();
            worker.verify().await;
        }
        let [visits, objects, sales] = *self.done.borrow();
        format!("{visits} visits, {objects} objects, {sales} sales; {retried} requests sent twice")
    }
}
