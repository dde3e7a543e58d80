//! A client that receives the pushes of a crew's writes over successive sockets.

use blackbox::objstore::{Client, Key, Object, Service};

use crate::{
    peer::{Frame, Peer},
    writers::{Crew, number},
};

/// A client that watches all keys of a crew.
pub(crate) struct Listener {
    client: Client,
    /// Whether every ping is answered. If not, only the ping after the last push is.
    answers: bool,
    /// The number of the crew's sets that were acknowledged to the service, at most.
    acknowledged: usize,
}

/// The pushes received over one socket.
pub(crate) struct Heard {
    numbers: Vec<u64>,
    /// How many of them precede an answered ping.
    acknowledged: usize,
}

impl Listener {
    pub(crate) async fn new(service: &Service, crew: &Crew, answers: bool) -> Self {
        let client = service.client().await;
        client.watch(&Key::new(&crew.kind, "", "")).await;
        Self { client, answers, acknowledged: 0 }
    }

    /// Receives pushes until the connection ends.
    pub(crate) async fn listen(self, mut peer: Peer) -> (Self, Heard) {
        let mut heard = Heard { numbers: Vec::new(), acknowledged: 0 };
        while let Some(frame) = peer.next().await {
            match frame {
                Frame::Text(text) => heard.take(&text),
                Frame::Ping(mark) if self.answers => heard.answer(&mut peer, &mark).await,
                _ => {}
            }
        }
        (self, heard)
    }

    /// Opens a socket of this client.
    pub(crate) async fn connect(&self, service: &Service) -> Peer {
        Peer::connect(service, &self.client).await
    }

    /// Receives pushes on a new socket until the last of all `sets`, and acknowledges it.
    pub(crate) async fn catch_up(&mut self, service: &Service, sets: &[u64]) {
        if self.acknowledged == sets.len() {
            return;
        }
        let mut peer = self.connect(service).await;
        let mut heard = Heard { numbers: Vec::new(), acknowledged: 0 };
        loop {
            match peer.next().await.expect("the socket is open") {
                Frame::Text(text) => heard.take(&text),
                Frame::Ping(mark) => {
                    let is_last = heard.numbers.last() == sets.last();
                    if self.answers || is_last {
                        heard.answer(&mut peer, &mark).await;
                    }
                    if is_last {
                        break;
                    }
                }
                other => panic!("is no push: {other:?}"),
            }
        }
        peer.settle().await;
        self.check(&heard, sets);
        assert_eq!(self.acknowledged, sets.len());
    }

    /// Receives these current values on a new socket, in any order.
    pub(crate) async fn start_over(&self, service: &Service, current: &[Object]) {
        let mut peer = self.connect(service).await;
        let mut pushed = Vec::new();
        while pushed.len() < current.len() {
            match peer.next().await.expect("the socket is open") {
                Frame::Text(text) => pushed.push(Object::parse(&text)),
                Frame::Ping(_) => {}
                other => panic!("is no push: {other:?}"),
            }
        }
        assert!(current.iter().all(|object| pushed.contains(object)), "{pushed:?}");
    }

    /// Checks the pushes of one socket: they start at the first unacknowledged set or before it,
    /// and follow the crew's sets in order and without gaps.
    pub(crate) fn check(&mut self, heard: &Heard, sets: &[u64]) {
        let Some(first) = heard.numbers.first() else { return };
        let start = sets.iter().position(|number| number == first);
        let start = start.expect("every pushed value is in the log");
        assert!(
            start <= self.acknowledged,
            "the pushes start at {start}, but {} is unacknowledged",
            self.acknowledged
        );
        assert!(sets[start..].starts_with(&heard.numbers), "pushes are missing or out of order");
        self.acknowledged = self.acknowledged.max(start + heard.acknowledged);
    }
}

impl Heard {
    fn take(&mut self, text: &str) {
        self.numbers.push(number(&Object::parse(text).value));
    }

    async fn answer(&mut self, peer: &mut Peer, mark: &[u8]) {
        self.acknowledged = self.numbers.len();
        peer.answer(mark).await;
    }
}
