//! Hostile loads: unfinished bodies and heads, idle connections, sockets and answers never read.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use blackbox::{
    objstore::{Client, Key, Object, Service},
    raw::{Connection, get, head, local, post},
    soak::rounds,
};
use futures_util::{StreamExt as _, future::join_all, stream};
use tokio::time::sleep;

use crate::sockets::{Listening, RECEIVE_BUFFER, deaf_socket, ping};

/// Hostile connections.
const CONNECTIONS: usize = 5_000;

/// Connections per source address, just below the limit of the services.
const PER_ADDRESS: usize = 1_000;

/// Connections opened concurrently.
const AT_ONCE: usize = 32;

/// The rate of new connections.
#[derive(Clone, Copy)]
pub(crate) enum Pace {
    /// One every [`EVERY`], and never more than [`AHEAD`] that the service has not accepted, however
    /// busy the machine is.
    Steady,
    /// As fast as possible.
    Burst,
}

/// The interval of new connections at [`Pace::Steady`].
const EVERY: Duration = Duration::from_millis(1);

/// Connections at [`Pace::Steady`] before the load waits for an answer of the service.
const AHEAD: usize = 100;

/// Sockets that are never read.
const SOCKETS: usize = 100;

/// Connections that set objects.
const WRITERS: usize = 50;

/// How long the complete load is held. With `SOAK=1`, longer than the timeout of a body.
fn lasting() -> Duration {
    Duration::from_secs(rounds(2, 35).try_into().unwrap())
}

/// The source address of the connection with this number.
fn source(number: usize) -> Ipv4Addr {
    local(u8::try_from(2 + number / PER_ADDRESS).unwrap())
}

/// Connections that each send all but one byte of a body of `length` bytes.
pub(crate) async fn unfinished(to: SocketAddr, path: &'static str, length: usize, pace: Pace) {
    let request = head(path, "", length) + &" ".repeat(length - 1);
    hold(to, &request, pace).await;
}

/// Connections that each send most of a head just below the limit.
pub(crate) async fn unfinished_heads(to: SocketAddr, pace: Pace) {
    let filler = "x".repeat(60_000);
    let start = format!("GET /health HTTP/1.1\r\nHost: localhost\r\nX-Filler: {filler}");
    hold(to, &start, pace).await;
}

/// Connections that send nothing.
pub(crate) async fn idle(to: SocketAddr, pace: Pace) {
    hold(to, "", pace).await;
}

async fn hold(to: SocketAddr, start: &str, pace: Pace) {
    for _ in 0..rounds(1, 2) {
        let paced = stream::iter(0..CONNECTIONS).then(move |number| async move {
            if let Pace::Steady = pace {
                sleep(EVERY).await;
                if number % AHEAD == 0 {
                    // It is accepted after all connections before it.
                    let _ = Connection::open(to).await.try_ask(get("/health")).await;
                }
            }
            number
        });
        let opening = paced.map(move |number| async move {
            let mut connection = Connection::try_from(source(number), to, None).await.ok()?;
            // The service may close the connection at once.
            let _ = connection.try_send(start).await;
            Some(connection)
        });
        let held: Vec<_> = opening.buffer_unordered(AT_ONCE).collect().await;
        assert!(held.iter().flatten().count() > CONNECTIONS / 2, "most connections succeed");
        sleep(lasting()).await;
    }
}

/// Sockets that ping and never read.
pub(crate) async fn pinging(to: SocketAddr, token: String) {
    let sockets = join_all((0..SOCKETS).map(|_| deaf_socket(to, &token))).await;
    let lasting = Duration::from_secs(rounds(6, 120).try_into().unwrap());
    join_all(sockets.into_iter().map(|socket| ping(socket, lasting))).await;
}

/// An object of nearly one mebibyte, and the client that set it.
pub(crate) struct Large {
    to: SocketAddr,
    object: Object,
    client: Client,
}

/// Connections that do not read the object.
const TAKERS: usize = 900;

impl Large {
    pub(crate) async fn new(service: &Service) -> Self {
        let filler = "x".repeat(1_000_000);
        let object = Object::new(&Key::fresh(), format!(r#"{{"x":"{filler}"}}"#));
        let client = service.client().await;
        client.watch(&object.key).await;
        client.set(&object).await;
        Self { to: service.process().address(), object, client }
    }

    /// Requests the object over [`TAKERS`] connections that are never read.
    pub(crate) async fn ask(self) {
        let headers = format!("Cookie: token={}\r\n", self.client.token());
        let request = post("/get", &headers, &self.object.key.body());
        let asking = (0..TAKERS).map(async |_| {
            let buffer = Some(RECEIVE_BUFFER);
            let mut connection = Connection::try_from(local(2), self.to, buffer).await.unwrap();
            connection.try_send(&request).await.unwrap();
            connection
        });
        let held: Vec<_> = stream::iter(asking).buffer_unordered(AT_ONCE).collect().await;
        sleep(lasting()).await;
        drop(held);
    }

    /// Causes pushes of the object to [`TAKERS`] sockets that are never read.
    pub(crate) async fn push(self) {
        let opening = (0..TAKERS).map(|_| deaf_socket(self.to, self.client.token()));
        let sockets: Vec<_> = stream::iter(opening).buffer_unordered(AT_ONCE).collect().await;
        for number in 0..3 {
            self.client.set(&self.object.numbered(number)).await;
            self.client.set(&self.object).await;
        }
        sleep(lasting()).await;
        drop(sockets);
    }
}

/// Sockets and streams that are never read while many watched objects are set.
pub(crate) struct Unread {
    to: SocketAddr,
    key: Key,
    tokens: Vec<String>,
}

impl Unread {
    /// Registers the clients of the sockets, which watch one type.
    pub(crate) async fn new(service: &Service) -> Self {
        let key = Key::fresh();
        let mut tokens = Vec::new();
        for _ in 0..10 {
            let client: Client = service.client().await;
            client.watch(&Key::new(&key.r#type, "", "")).await;
            tokens.push(client.token().to_owned());
        }
        Self { to: service.process().address(), key, tokens }
    }

    /// Begins to listen, and sets the objects over [`WRITERS`] connections.
    pub(crate) async fn run(self) {
        let tokens = self.tokens.iter().cycle().take(SOCKETS);
        let opening = tokens.zip(Listening::ALL.into_iter().cycle());
        let opening = opening.map(|(token, listening)| listening.deaf(self.to, token));
        let deaf = join_all(opening).await;
        let sets = rounds(5_000, 100_000) / WRITERS;
        join_all((0..WRITERS).map(|writer| self.write(writer, sets))).await;
        drop(deaf);
    }

    async fn write(&self, writer: usize, sets: usize) {
        let headers = format!("Cookie: token={}\r\n", self.tokens[0]);
        let filler = "x".repeat(1_000);
        let mut connection = Connection::from(local(3), self.to).await;
        for number in 0..sets {
            let key = self.key.named(&format!("{writer}-{}", number % 100));
            let object = Object::new(&key, format!(r#"{{"n":{number},"x":"{filler}"}}"#));
            let reply = connection.ask(post("/set", &headers, &object.body())).await;
            assert_eq!(reply.status, 204, "{reply:?}");
        }
    }
}
