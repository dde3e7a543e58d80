//! A client that watches the writers' objects on one socket after another, and records all pushes.

use blackbox::objstore::{Client, Object, Service, Socket, Writers};

/// The client, while it has no open socket.
pub(crate) struct Witness {
    client: Client,
    /// The pushes of each closed socket, as name and number.
    seen: Vec<Vec<(String, usize)>>,
}

impl Witness {
    /// Starts to watch the objects of these writers.
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

    /// Opens a last socket at a replica and reads all pending pushes. Panics unless the sockets
    /// received all of `sets` in order. A socket may repeat pushes of the previous ones, which it
    /// does where an acknowledgement is missing.
    pub(crate) async fn saw(mut self, service: &Service, sets: &[(String, usize)]) {
        let mut socket = self.open(service).await;
        let client = self.client.at(service);
        let marker = Object::fresh();
        client.watch(&marker.key).await;
        client.set(&marker).await;
        let mut seen = Vec::new();
        loop {
            let push = socket.next_push().await;
            if push == marker {
                break;
            }
            seen.push(set(&push));
        }
        self.seen.push(seen);
        let mut next = 0;
        for seen in &self.seen {
            let Some(first) = seen.first() else { continue };
            let begin = sets.iter().position(|set| set == first).unwrap();
            assert!(begin <= next, "{:?} were skipped", &sets[next..begin]);
            assert_eq!(*seen, sets[begin..begin + seen.len()]);
            next = next.max(begin + seen.len());
        }
        assert_eq!(next, sets.len());
    }
}

fn set(push: &Object) -> (String, usize) {
    (push.key.name.clone(), push.number())
}
