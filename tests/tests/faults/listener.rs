//! A client that listens to a crew, over as many sockets as it takes.

use blackbox::objstore::{Client, Key, Object, Service};

use crate::{
    crew::{Crew, number},
    peer::{Frame, Peer},
};

/// A client that watches all a crew does.
pub(crate) struct Listener {
    client: Client,
    /// Whether pings are answered as they come; else only that after the last push.
    answers: bool,
    /// How many of the crew's sets the service may know to be delivered.
    acknowledged: usize,
}

/// What came over one socket.
pub(crate) struct Heard {
    numbers: Vec<u64>,
    /// How many of them came before a ping that was answered.
    acknowledged: usize,
}

impl Listener {
    pub(crate) async fn new(service: &Service, crew: &Crew, answers: bool) -> Self {
        let client = service.client().await;
        client.watch(&Key::new(&crew.kind, "", "")).await;
        Self { client, answers, acknowledged: 0 }
    }

    /// Listens until the connection ends.
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

    /// A socket of this client.
    pub(crate) async fn connect(&self, service: &Service) -> Peer {
        Peer::connect(service, &self.client).await
    }

    /// Listens on a new socket until the last of all `sets` has come, and acknowledges it.
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

    /// Checks that one socket started no later than at what was not acknowledged, and that what it
    /// brought was what the crew did, in order and without a gap.
    pub(crate) fn check(&mut self, heard: &Heard, sets: &[u64]) {
        let Some(first) = heard.numbers.first() else { return };
        let start = sets.iter().position(|number| number == first);
        let start = start.expect("what was pushed is in the log");
        assert!(start <= self.acknowledged, "{start} came, {} was due", self.acknowledged);
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
