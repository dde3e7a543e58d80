//! Clients that keep a copy of the objects that they watch, from streams with `initial`.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value as Json;
use shuttle::{
    future::{block_on, spawn},
    rand::{Rng as _, thread_rng},
};

use crate::{
    domain::{ClientId, Place, Revision},
    hub::{Replica, Step, chance, id, write},
    rules,
    store::{Store, StoreError},
    watch::{Begin, Burst, Frame, Hub, MessageFormat, Stream},
};

/// The writer and the clients of one run. Each client connects to any of the replicas.
pub struct Plan {
    pub replicas: usize,
    /// The steps of the writer. The last record that the copies have to include must be a set that
    /// every client watches and may see, or rules that show each client other objects than before.
    pub steps: Vec<Step>,
    pub clients: Vec<u128>,
    pub marks: bool,
    /// Maximum number of times that a client disconnects by itself.
    pub disconnects: usize,
}

/// Runs the steps of the writer while each client keeps a copy, until it includes the last record.
pub fn run(plan: &Plan) {
    run_until(Step::last_revision(&plan.steps), plan);
}

/// [`run`], until each copy includes the record `last`. Those after it need not concern a client.
pub fn run_until(last: Revision, plan: &Plan) {
    let store = Store::default();
    let hubs: Vec<_> = (0..plan.replicas)
        .map(|_| Hub::new(store.clone(), 0, usize::MAX, rules::numbered(rules::NONE)))
        .collect();
    let (replicas, feeds): (Vec<_>, Vec<_>) = hubs.iter().map(Replica::new).unzip();
    let running = hubs.iter().zip(feeds).map(|(hub, feed)| spawn(Arc::clone(hub).run(feed)));
    let running: Vec<_> = running.collect();
    let writing = spawn(write(store.clone(), plan.steps.clone(), replicas));
    let copies: Vec<_> = plan
        .clients
        .iter()
        .map(|&client| {
            let (hubs, client, marks) = (hubs.clone(), id(client), plan.marks);
            let (objects, disconnects) = (BTreeMap::new(), plan.disconnects);
            let copy =
                Copy { store: store.clone(), client, objects, at: None, newest: 0, disconnects };
            spawn(copy.keep(hubs, marks, last))
        })
        .collect();
    block_on(async {
        for copy in copies {
            copy.await.expect("a copy is complete");
        }
        drop(writing.await.expect("the writer has ended"));
        for hub in running {
            hub.await.expect("the hub has ended");
        }
    });
    for hub in hubs {
        let stats = hub.stats();
        assert_eq!((stats.sockets, stats.clients, stats.ended), (0, 0, 0), "nothing is left");
    }
}

struct Copy {
    store: Store,
    client: ClientId,
    /// The revision of each object by its name.
    objects: BTreeMap<String, Revision>,
    /// The revision of the last message at which it could resume.
    at: Option<Revision>,
    /// The newest revision of a message.
    newest: Revision,
    disconnects: usize,
}

impl Copy {
    /// Receives and resumes until the copy includes the change `last`.
    async fn keep(mut self, hubs: Vec<Arc<Hub>>, marks: bool, last: Revision) {
        while self.at < Some(last) {
            let stream = Stream {
                format: MessageFormat::Events,
                begin: self.at.map_or(Begin::Now, Begin::After),
                initial: true,
                marks,
                pattern: None,
            };
            if self.at.is_none() {
                self.objects.clear();
            }
            let hub = &hubs[thread_rng().gen_range(0..hubs.len())];
            let mut subscriber = hub.subscribe(self.client, &stream).await.expect("it runs");
            let mut burst = Burst::new();
            while self.at < Some(last) {
                match subscriber.next(&mut burst).await {
                    Ok(_) => {
                        burst.drain(..).for_each(|frame| self.apply(&frame));
                        self.check(subscriber.place());
                    }
                    Err(StoreError::SocketLost) => break,
                    Err(error) => panic!("{error:?}"),
                }
                if self.disconnects > 0 && chance() {
                    self.disconnects -= 1;
                    break;
                }
            }
        }
    }

    fn apply(&mut self, frame: &Frame) {
        let json: Json = serde_json::from_slice(&frame.json).expect("JSON");
        assert_eq!(json["Revision"], frame.revision);
        self.newest = self.newest.max(frame.revision);
        let name = || json["Object"]["Key"]["Name"].as_str().expect("a name").to_owned();
        match json["Event"].as_str().expect("an event") {
            "set" => drop(self.objects.insert(name(), frame.revision)),
            "delete" => drop(self.objects.remove(&name())),
            "reset" => {
                self.objects.clear();
                self.at = None;
            }
            _ => assert!(!self.store.is_inside_group(frame.revision), "a part of a group"),
        }
    }

    fn check(&mut self, place: Option<Place>) {
        if let Some(Place::Exact(revision)) = place {
            // A hub that does not have the newest rules shows a revision before their record, and before
            // the changes that the client has got by its own rules.
            if !self.store.is_before_rules(revision) && revision >= self.newest {
                let expected = self.store.watched_objects_at(self.client, revision);
                assert_eq!(self.objects, expected, "the state of {revision}");
            }
            self.at = Some(revision);
        }
    }
}
