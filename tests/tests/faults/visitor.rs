//! A client that watches and unwatches one key without pause.

use blackbox::objstore::{Client, Key, Object, Service, unique};

use crate::line::Line;

/// The client, and what it knows of its watch.
pub(crate) struct Visitor {
    client: Client,
    key: Key,
    /// Watched always, to see where the pushes end.
    fence: Key,
    /// Unknown after a request that was not answered.
    watches: Option<bool>,
}

impl Visitor {
    pub(crate) async fn new(service: &Service) -> Self {
        let client = service.client().await;
        let fence = Key::fresh();
        client.watch(&fence).await;
        Self { client, key: Key::fresh(), fence, watches: Some(false) }
    }

    /// Comes and goes until a request is not answered.
    pub(crate) async fn visit(mut self, line: Line) -> Self {
        loop {
            let watches = self.watches.take().expect("is known");
            let path = if watches { "/unwatch" } else { "/watch" };
            let Some(reply) = line.post(path, self.key.body()).await else { return self };
            assert_eq!(reply.status, 204, "{reply:?}");
            self.watches = Some(!watches);
        }
    }

    /// Its way to the service.
    pub(crate) fn line(&self, service: &Service) -> Line {
        Line::new(service, &self.client)
    }

    /// Checks that the key is watched, or not, as was acknowledged last. It is not afterwards.
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
