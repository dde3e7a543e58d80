//! A service under test with a well-behaved user, so that a test can run against all three
//! services.

use std::{net::SocketAddr, time::Duration};

use blackbox::{
    authsvc::{self, Credentials, Scrape, Site},
    objstore::{self, Client, Object},
    payments::{self, Card, Merchant},
    process::{DEADLINE, Process},
    raw::{self, Connection},
};
use serde_json::json;
use tokio::{
    process::Command,
    time::{Instant, sleep},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Authsvc,
    Objstore,
    Payments,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Authsvc, Self::Objstore, Self::Payments];

    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Authsvc => authsvc::PROGRAM,
            Self::Objstore => objstore::PROGRAM,
            Self::Payments => payments::PROGRAM,
        }
    }
}

/// A running service and the credentials of a user.
pub(crate) enum Subject {
    Authsvc(Box<Site>, Credentials),
    Objstore(objstore::Service, Client),
    Payments(payments::Service, Merchant),
}

/// A POST request and its expected status.
pub(crate) struct Exchange {
    pub(crate) to: SocketAddr,
    pub(crate) path: &'static str,
    /// Whole lines.
    pub(crate) headers: String,
    pub(crate) body: String,
    pub(crate) status: u16,
}

impl Exchange {
    pub(crate) fn request(&self) -> String {
        raw::post(self.path, &self.headers, &self.body)
    }

    /// The same request with a body of at least `length` bytes: JSON may end in spaces.
    pub(crate) fn padded(mut self, length: usize) -> Self {
        let spaces = length.saturating_sub(self.body.len());
        self.body.push_str(&" ".repeat(spaces));
        self
    }

    /// Sends the request on a new connection and checks the status.
    pub(crate) async fn run(&self) {
        let reply = Connection::open(self.to).await.ask(self.request()).await;
        assert_eq!(reply.status, self.status, "{}: {reply:?}", self.path);
    }
}

impl Subject {
    pub(crate) async fn with(kind: Kind, settings: &[(&str, &str)]) -> Self {
        Self::wrapped(kind, settings, |command| command).await
    }

    /// A new process with these settings. `wrap` may change the command that starts it.
    pub(crate) async fn wrapped(
        kind: Kind,
        settings: &[(&str, &str)],
        wrap: impl FnOnce(Command) -> Command,
    ) -> Self {
        match kind {
            Kind::Authsvc => {
                let site = Site::wrapped(settings, wrap).await;
                let known = site.student();
                Self::Authsvc(Box::new(site), known)
            }
            Kind::Objstore => {
                let place = objstore::Stopped::new(settings);
                let command = wrap(place.command());
                let service = place.start_with(command).await;
                let client = service.client().await;
                Self::Objstore(service, client)
            }
            Kind::Payments => {
                let place = payments::Stopped::new(settings);
                let command = wrap(place.command());
                let service = place.start_with(command).await;
                let merchant = service.merchant().await;
                Self::Payments(service, merchant)
            }
        }
    }

    /// Stops the service with SIGTERM. It has to end in time and with success.
    pub(crate) async fn stop(self) {
        match self {
            Self::Authsvc(site, _) => site.stop().await,
            Self::Objstore(service, _) => drop(service.stop().await),
            Self::Payments(service, _) => drop(service.stop().await),
        }
    }

    pub(crate) fn process(&self) -> &Process {
        match self {
            Self::Authsvc(site, _) => site.process(),
            Self::Objstore(service, _) => service.process(),
            Self::Payments(service, _) => service.process(),
        }
    }

    /// The address of the service. For payments-svc, that of the listener for apps.
    pub(crate) fn address(&self) -> SocketAddr {
        self.process().address()
    }

    /// An ordinary valid request: a sign-in, a set, or a payment.
    pub(crate) fn ordinary(&self) -> Exchange {
        match self {
            Self::Authsvc(_, known) => {
                let body = json!({ "username": known.username, "password": known.password });
                let headers = String::new();
                let (to, path) = (self.address(), "/authenticate");
                Exchange { to, path, headers, body: body.to_string(), status: 200 }
            }
            Self::Objstore(_, client) => {
                let headers = format!("Cookie: token={}\r\n", client.token());
                let (to, path, body) = (self.address(), "/set", Object::fresh().body());
                Exchange { to, path, headers, body, status: 204 }
            }
            Self::Payments(service, merchant) => {
                let body = merchant.payment(Card::VISA, "EUR", 995).to_string();
                let (to, path) = (service.process().address_of("pos.address"), "/transactions");
                Exchange { to, path, headers: String::new(), body, status: 201 }
            }
        }
    }

    /// The value of a series in the text format of the metrics. `series` has no service prefix.
    /// Panics for authsvc, whose series have other names.
    pub(crate) async fn metric(&self, series: &str) -> Option<f64> {
        let prefix = match self {
            Self::Authsvc(..) => panic!("authsvc has no such series"),
            Self::Objstore(..) => "objstore",
            Self::Payments(..) => "payments",
        };
        let scrape = Connection::open(self.address()).await.ask(raw::get("/metrics")).await;
        let series = format!("{prefix}_{series} ");
        let value = scrape.body.lines().find_map(|line| line.strip_prefix(&series));
        value.map(|value| value.parse().unwrap())
    }
}

/// The metrics of authsvc, without the check against the document, which lacks some of these
/// errors.
pub(crate) async fn scrape(site: &Site) -> Scrape {
    let mut connection = Connection::open(site.process().address()).await;
    let reply = connection.ask(raw::get("/metrics?fmt=json")).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    Scrape::parse(&reply.body)
}

/// Repeats `look` until it returns a value. `what` is for the message on timeout.
pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begun.elapsed() < DEADLINE, "not in time: {what}");
        sleep(Duration::from_millis(10)).await;
    }
}
