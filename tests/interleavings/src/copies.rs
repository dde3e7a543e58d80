//! Clients that keep a copy of the objects that they watch, from streams with `initial`.
//!
//! Each connection can break after any message: then the client knows no later place than that of the
//! messages before.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value as Json;
use shuttle::{
    future::{block_on, spawn},
    rand::{Rng as _, thread_rng},
};

use crate::{
    domain::{ClientId, Pattern, Place, Revision},
    hub::{Replica, Step, chance, id, pattern, unlimited, write},
    rules,
    store::{Store, StoreError},
    watch::{Begin, Burst, Frame, Hub, MessageFormat, Stream},
};

/// How clients learn the places at which they can resume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Places {
    /// From the service, as if it told them after each burst of events.
    Events,
    /// From the marks among the events.
    Marks,
    /// From the offsets of the State protocol. Such a client reads all objects.
    Offsets,
}

/// The writer and the clients of one run. Each client connects to any of the replicas.
pub struct Plan {
    pub replicas: usize,
    /// The steps of the writer. The last record that the copies have to include must be a set that
    /// every client watches and may see, or rules that show each client other objects than before.
    pub steps: Vec<Step>,
    pub clients: Vec<u128>,
    pub places: Places,
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
        .map(|_| Hub::new(store.clone(), 0, usize::MAX, unlimited(), rules::numbered(rules::NONE)))
        .collect();
    let (replicas, feeds): (Vec<_>, Vec<_>) = hubs.iter().map(Replica::new).unzip();
    let running = hubs.iter().zip(feeds).map(|(hub, feed)| spawn(Arc::clone(hub).run(feed)));
    let running: Vec<_> = running.collect();
    let writing = spawn(write(store.clone(), plan.steps.clone(), replicas));
    let copies: Vec<_> = plan
        .clients
        .iter()
        .map(|&client| {
            let copy = Copy {
                store: store.clone(),
                client: id(client),
                places: plan.places,
                objects: BTreeMap::new(),
                at: None,
                disconnects: plan.disconnects,
            };
            spawn(copy.keep(hubs.clone(), last))
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
    places: Places,
    /// The revision of each object by its name.
    objects: BTreeMap<String, Revision>,
    /// The place at which it resumes.
    at: Option<Place>,
    disconnects: usize,
}

impl Copy {
    /// Receives and resumes until the copy includes the change `last`.
    async fn keep(mut self, hubs: Vec<Arc<Hub>>, last: Revision) {
        while !self.includes(last) {
            if self.at.is_none() {
                self.objects.clear();
            }
            let hub = &hubs[thread_rng().gen_range(0..hubs.len())];
            let mut subscriber = hub.subscribe(self.client, &self.stream()).await.expect("it runs");
            let mut burst = Burst::new();
            while !self.includes(last) {
                match subscriber.next(&mut burst).await {
                    Ok(_) => {}
                    Err(StoreError::SocketLost) => break,
                    Err(error) => panic!("{error:?}"),
                }
                let place = subscriber.place();
                let breaks = self.disconnects > 0 && chance();
                let most =
                    if breaks { thread_rng().gen_range(0..=burst.len()) } else { usize::MAX };
                burst.drain(..).take(most).for_each(|frame| self.apply(&frame));
                if breaks {
                    self.disconnects -= 1;
                    break;
                }
                if self.places != Places::Marks {
                    place.into_iter().for_each(|place| self.arrive(place));
                }
            }
        }
    }

    fn stream(&self) -> Stream {
        let pattern = self.pattern();
        let format = if pattern.is_some() { MessageFormat::State } else { MessageFormat::Events };
        let begin = match self.at.clone() {
            None => Begin::Now,
            Some(place) if self.places == Places::Offsets => Begin::At(self.store.offset(place)),
            Some(place) => Begin::After(place.revision()),
        };
        let (initial, marks) =
            (self.at.is_none() || pattern.is_none(), self.places == Places::Marks);
        Stream { format, begin, initial, marks, pattern }
    }

    /// The pattern of the stream. `None`: the watches of the client.
    fn pattern(&self) -> Option<Pattern> {
        (self.places == Places::Offsets).then(|| pattern(""))
    }

    fn includes(&self, last: Revision) -> bool {
        matches!(self.at, Some(Place::Exact(revision)) if revision >= last)
    }

    fn apply(&mut self, frame: &Frame) {
        let json: Json = serde_json::from_slice(&frame.json).expect("JSON");
        let text = |json: &Json| json.as_str().map(str::to_owned);
        let (event, name) = match self.places {
            Places::Offsets => {
                let headers = &json["headers"];
                let event = text(&headers["operation"]).or_else(|| text(&headers["control"]));
                (event, text(&json["key"]).map(|key| key.replace("home/", "")))
            }
            Places::Events | Places::Marks => {
                assert_eq!(json["Revision"], frame.revision);
                (text(&json["Event"]), text(&json["Object"]["Key"]["Name"]))
            }
        };
        let name = || name.clone().expect("a name");
        match &*event.expect("an event") {
            "set" | "insert" | "update" => drop(self.objects.insert(name(), frame.revision)),
            "delete" => drop(self.objects.remove(&name())),
            "reset" => {
                self.objects.clear();
                if self.places != Places::Offsets {
                    self.at = None;
                }
            }
            "snapshot-start" | "snapshot-end" => {}
            _ => {
                assert!(!self.store.is_inside_group(frame.revision), "a part of a group");
                self.arrive(Place::Exact(frame.revision));
            }
        }
    }

    fn arrive(&mut self, place: Place) {
        if let Place::Exact(revision) = place {
            let expected = self.store.objects_at(self.client, revision, self.pattern().as_ref());
            assert_eq!(self.objects, expected, "the state of {revision}");
        }
        if self.places == Places::Offsets || matches!(place, Place::Exact(_)) {
            self.at = Some(place);
        }
    }
}
