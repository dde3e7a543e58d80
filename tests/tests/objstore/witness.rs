//! A client that watches what writers set, on one socket after another, and remembers it all.

use blackbox::objstore::{Client, Object, Service, Socket};

use crate::writers::Writers;

/// A client without a socket.
pub(crate) struct Witness {
    client: Client,
    /// What each socket so far was sent.
    seen: Vec<Vec<(String, usize)>>,
}

impl Witness {
    /// A client that watches what these writers set, from now on.
    pub(crate) async fn new(service: &Service, writers: &Writers) -> Self {
        let client = service.client().await;
        client.watch(&writers.pattern()).await;
        Self { client, seen: Vec::new() }
    }

    /// Opens a socket at a replica.
    pub(crate) async fn open(&self, service: &Service) -> Socket {
        self.client.at(service).socket().await
    }

    /// Reads a socket to its end.
    pub(crate) async fn listen(mut self, mut socket: Socket) -> Self {
        let mut seen = Vec::new();
        while let Some(push) = socket.next_push_or_end().await {
            seen.push(set(&push));
        }
        self.seen.push(seen);
        self
    }

    /// Opens a socket at a replica and reads until everything was sent. Over all sockets, that was
    /// `sets`, in order; only what a socket's end left open was sent again.
    pub(crate) async fn saw(mut self, service: &Service, sets: &[(String, usize)]) {
        let mut socket = self.open(service).await;
        let client = self.client.at(service);
        let last = Object::fresh();
        client.watch(&last.key).await;
        client.set(&last).await;
        let mut seen = Vec::new();
        loop {
            let push = socket.next_push().await;
            if push == last {
                break;
            }
            seen.push(set(&push));
        }
        self.seen.push(seen);
        let mut next = 0;
        for seen in &self.seen {
            let Some(first) = seen.first() else { continue };
            let begin = sets.iter().position(|set| set == first).unwrap();
            assert!(begin <= next, "{:?} was left out", &sets[next..begin]);
            assert_eq!(*seen, sets[begin..begin + seen.len()]);
            next = next.max(begin + seen.len());
        }
        assert_eq!(next, sets.len());
    }
}

fn set(push: &Object) -> (String, usize) {
    (push.key.name.clone(), push.number())
}
