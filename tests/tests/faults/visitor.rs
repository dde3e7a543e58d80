//! A client that watches and unwatches one key without pause.

use blackbox::objstore::{Client, Key, Object, Service, unique};

use crate::line::Line;

/// The client, and the acknowledged state of its watch.
pub(crate) struct Visitor {
    client: Client,
    key: Key,
    /// Always watched, to mark the end of the pushes.
    fence: Key,
    /// `None` after an unanswered request.
    watches: Option<bool>,
}

impl Visitor {
    pub(crate) async fn new(service: &Service) -> Self {
        let client = service.client().await;
        let fence = Key::fresh();
        client.watch(&fence).await;
        Self { client, key: Key::fresh(), fence, watches: Some(false) }
    }

    /// Watches and unwatches until a request is not answered.
    pub(crate) async fn visit(mut self, line: Line) -> Self {
        loop {
            let watches = self.watches.take().expect("is known");
            let path = if watches { "/unwatch" } else { "/watch" };
            let Some(reply) = line.post(path, self.key.body()).await else { return self };
            assert_eq!(reply.status, 204, "{reply:?}");
            self.watches = Some(!watches);
        }
    }

    /// A connection of this client.
    pub(crate) fn line(&self, service: &Service) -> Line {
        Line::new(service, &self.client)
    }

    /// Checks that the key is watched or not, as last acknowledged. Then unwatches it.
    pub(crate) async fn verify(&mut self, service: &Service) {
        let client = self.client.at(service);
        let mark = format!(r#"{{"mark":"{}"}}"#, unique("visit"));
        let (object, last) = (Object::new(&self.key, &mark), Object::new(&self.fence, &mark));
        client.set(&object).await;
        client.set(&last).await;
        let mut socket = client.socket().await;
        let mut pushed = false;
        loop {
            let push = socket.next_push().await;
            if push == last {
                break;
            }
            pushed |= push == object;
        }
        if let Some(watches) = self.watches {
            assert_eq!(pushed, watches, "the last answer was that it is {watches}");
        }
        socket.acknowledge().await;
        socket.close().await;
        client.unwatch(&self.key).await;
        self.watches = Some(false);
    }
}
