//! Repeated SIGKILL under load.

use blackbox::{
    objstore::{Client, Key, Service, Stopped},
    soak::{rounds, seed},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use tokio::task::JoinSet;

use crate::{
    database::{Database, FILE},
    listener::Listener,
    visitor::Visitor,
    writers::{Crew, number},
};

const KILLS: usize = 5;

/// All clients of the service under test.
struct Crowd {
    crew: Crew,
    listeners: Vec<Listener>,
    visitors: Vec<Visitor>,
    /// A new one registers before every kill. Their sessions have to survive.
    clients: Vec<Client>,
}

impl Crowd {
    async fn new(service: &Service, seed: u64) -> Self {
        let crew = Crew::new(6, seed);
        let listeners = vec![
            Listener::new(service, &crew, true).await,
            Listener::new(service, &crew, false).await,
        ];
        let visitors = vec![Visitor::new(service).await, Visitor::new(service).await];
        Self { crew, listeners, visitors, clients: vec![service.client().await] }
    }

    /// Uses the service, kills it after about `writes` writes, restarts it, and checks that nothing
    /// acknowledged is lost.
    async fn survive(mut self, service: Service, writes: usize) -> (Self, Service) {
        let mut listening = JoinSet::new();
        for listener in self.listeners {
            let peer = listener.connect(&service).await;
            listening.spawn(listener.listen(peer));
        }
        let mut visiting = JoinSet::new();
        for visitor in self.visitors {
            let line = visitor.line(&service);
            visiting.spawn(visitor.visit(line));
        }
        let first = self.clients[0].at(&service);
        let mut shift = self.crew.start(&service, &first);
        shift.answered(writes / 2).await;
        self.clients.push(service.client().await);
        shift.answered(writes).await;

        let place = service.kill().await;
        self.crew = shift.ended().await;
        self.visitors = visiting.join_all().await;
        let heard = listening.join_all().await;
        let service = place.start().await;

        let database = Database::read(&service.data().data().join(FILE));
        database.is_whole();
        database.holds(&self.crew.ledger());
        let sets: Vec<_> =
            database.sets(&self.crew.kind).iter().map(|value| number(value)).collect();
        self.listeners = Vec::new();
        for (mut listener, heard) in heard {
            listener.check(&heard, &sets);
            listener.catch_up(&service, &sets).await;
            self.listeners.push(listener);
        }
        for visitor in &mut self.visitors {
            visitor.verify(&service).await;
        }
        self.crew.verify(&service, &first.at(&service)).await;
        for client in &self.clients {
            client.at(&service).find(&Key::fresh()).await;
        }
        (self, service)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_killed_under_load_keeps_everything_acknowledged() {
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    for _ in 0..rounds(1, 40) {
        let mut service = Stopped::new(&[]).start().await;
        let mut crowd = Crowd::new(&service, rng.random()).await;
        for _ in 0..KILLS {
            (crowd, service) = crowd.survive(service, rng.random_range(100..800)).await;
        }
        let place = service.stop().await;
        let database = Database::read(&place.data().join(FILE));
        database.is_whole();
        database.holds(&crowd.crew.ledger());
    }
}
