use std::{
    collections::VecDeque,
    net::{IpAddr, SocketAddr},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use payments_domain::WebhookSecret;
use reqwest::dns::{Addrs, Name, Resolving};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::*;

/// Gives these addresses for any name, one list for each look-up. Fails when there are none left.
struct Script(Mutex<VecDeque<Vec<IpAddr>>>);

impl Resolve for Script {
    fn resolve(&self, _: Name) -> Resolving {
        let next = self.0.lock().unwrap().pop_front();
        Box::pin(async {
            let addresses = next.ok_or("no such name")?;
            let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

fn sender(insecure: bool, networks: &str, look_ups: &[&[&str]]) -> Sender {
    let networks = networks.parse().unwrap();
    let addresses = |list: &&[&str]| list.iter().map(|text| text.parse().unwrap()).collect();
    let script: Arc<dyn Resolve> =
        Arc::new(Script(Mutex::new(look_ups.iter().map(addresses).collect())));
    let config = SenderConfig { insecure, networks, ca_file: None };
    Sender::new(config, &mut Files::default(), script).unwrap()
}

async fn outcome(sender: &Sender, url: &str) -> DeliveryOutcome {
    attempt(sender, url).await.delivery.outcome
}

async fn attempt(sender: &Sender, url: &str) -> Attempt {
    let url = WebhookUrl::new(url, true).unwrap();
    let secrets =
        WebhookSecrets { current: WebhookSecret::new([7; WebhookSecret::BYTES]), previous: None };
    let message = Message { id: "1".to_owned(), body: Bytes::from_static(b"{}") };
    sender.send(&url, (&secrets, Timestamp::now()), message).await
}

/// A server on a port of this machine that gives one answer to every request, and keeps
/// connections open.
struct Receiver {
    port: u16,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
}

impl Receiver {
    async fn new(answer: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let receiver = Self { port, connections: Arc::default(), requests: Arc::default() };
        let counts = (Arc::clone(&receiver.connections), Arc::clone(&receiver.requests));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counts.0.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(answer_all(stream, answer, Arc::clone(&counts.1)));
            }
        });
        receiver
    }

    fn url(&self, scheme: &str, host: &str) -> String {
        format!("{scheme}://{host}:{}/", self.port)
    }

    fn counts(&self) -> (usize, usize) {
        (self.connections.load(Ordering::SeqCst), self.requests.load(Ordering::SeqCst))
    }
}

async fn answer_all(mut stream: TcpStream, answer: &[u8], requests: Arc<AtomicUsize>) {
    let mut read = Vec::new();
    while let Ok(1..) = stream.read_buf(&mut read).await {
        if read.ends_with(b"\r\n\r\n{}") {
            read.clear();
            requests.fetch_add(1, Ordering::SeqCst);
            if stream.write_all(answer).await.is_err() {
                return;
            }
        }
    }
}

const NO_CONTENT: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";

#[tokio::test]
async fn a_name_that_moves_to_a_private_address_is_refused() {
    let receiver = Receiver::new(NO_CONTENT).await;
    let (own, private): (&[_], &[_]) = (&["127.0.0.1"], &["10.0.0.1"]);
    // The first request looks up the name twice: for the check, and for the connection.
    let sender = sender(true, "", &[own, own, private, own]);
    let url = receiver.url("http", "localhost");
    assert_eq!(outcome(&sender, &url).await, DeliveryOutcome::Delivered(204));
    // The first connection is still open.
    assert_eq!(outcome(&sender, &url).await, DeliveryOutcome::AddressForbidden);
    assert_eq!(outcome(&sender, &url).await, DeliveryOutcome::Delivered(204));
    assert_eq!(receiver.counts(), (1, 2));
}

#[tokio::test]
async fn a_name_that_moves_after_its_check_is_refused() {
    let receiver = Receiver::new(NO_CONTENT).await;
    let sender = sender(true, "", &[&["127.0.0.1"], &["10.0.0.1"]]);
    let refused = outcome(&sender, &receiver.url("http", "localhost")).await;
    assert_eq!(refused, DeliveryOutcome::AddressForbidden);
    assert_eq!(receiver.counts(), (0, 0));
}

#[tokio::test]
async fn a_connection_is_used_for_several_requests() {
    let receiver = Receiver::new(NO_CONTENT).await;
    let sender = sender(true, "", &[]);
    let url = receiver.url("http", "127.0.0.1");
    for _ in 0..3 {
        assert_eq!(outcome(&sender, &url).await, DeliveryOutcome::Delivered(204));
    }
    assert_eq!(receiver.counts(), (1, 3));
}

#[tokio::test]
async fn a_connection_that_the_receiver_closes_is_replaced() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let sender = sender(true, "", &[]);
    let one_request = async || {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut read = Vec::new();
        while !read.ends_with(b"{}") {
            assert_ne!(stream.read_buf(&mut read).await.unwrap(), 0);
        }
        stream.write_all(NO_CONTENT).await.unwrap();
        stream
    };
    for _ in 0..3 {
        let both = async { tokio::join!(one_request(), outcome(&sender, &url)) };
        let (mut stream, delivered) = timeout_at(Instant::now() + 2 * TIMEOUT, both).await.unwrap();
        assert_eq!(delivered, DeliveryOutcome::Delivered(204));
        stream.shutdown().await.unwrap();
        // The sender has noticed it: it closes its side, too.
        let closed = stream.read_u8();
        let closed = timeout_at(Instant::now() + KEEP_IDLE / 2, closed).await.unwrap();
        assert_eq!(closed.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}

#[tokio::test]
async fn a_name_of_a_forbidden_address_is_refused() {
    let forbidden = "127.0.0.1 ::1 10.0.0.1 192.168.1.1 169.254.169.254 fe80::1 fd00:ec2::254 \
                     ::ffff:127.0.0.1 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 0.0.0.0";
    for address in forbidden.split(' ') {
        let sender = sender(true, "", &[&[address, address]]);
        let refused = outcome(&sender, "https://shop.example/").await;
        assert_eq!(refused, DeliveryOutcome::AddressForbidden, "{address}");
    }
    let sender = sender(true, "", &[&["10.0.0.1"], &["1.1.1.1"]]);
    for _ in 0..2 {
        let refused = outcome(&sender, "http://localhost/").await;
        assert_eq!(refused, DeliveryOutcome::AddressForbidden, "http is for this machine");
    }
}

#[tokio::test]
async fn only_the_permitted_addresses_of_a_name_are_used() {
    let receiver = Receiver::new(NO_CONTENT).await;
    let addresses: &[_] = &["10.0.0.1", "127.0.0.1", "::ffff:127.0.0.1"];
    // For the check, and for the connection.
    let sender = sender(true, "", &[addresses, addresses]);
    let url = receiver.url("http", "localhost");
    assert_eq!(outcome(&sender, &url).await, DeliveryOutcome::Delivered(204));
}

#[tokio::test]
async fn a_forbidden_address_in_a_url_is_never_connected_to() {
    let receiver = Receiver::new(NO_CONTENT).await;
    let (insecure, strict) = (sender(true, "", &[]), sender(false, "", &[]));
    for host in ["127.0.0.1", "127.1", "2130706433", "[::ffff:127.0.0.1]", "[::1]"] {
        let url = receiver.url("https", host);
        assert_eq!(outcome(&insecure, &url).await, DeliveryOutcome::AddressForbidden, "{host}");
        assert!(insecure.url(&url).is_err(), "{host}");
    }
    // The setting was changed after the endpoint was made.
    let url = receiver.url("http", "127.0.0.1");
    assert!(insecure.url(&url).is_ok() && strict.url(&url).is_err());
    assert_eq!(outcome(&strict, &url).await, DeliveryOutcome::AddressForbidden);
    assert_eq!(receiver.counts(), (0, 0));
    assert_eq!(outcome(&insecure, &url).await, DeliveryOutcome::Delivered(204));
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let answer = b"HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n";
    let receiver = Receiver::new(answer).await;
    let sender = sender(true, "", &[]);
    let url = receiver.url("http", "127.0.0.1");
    assert_eq!(outcome(&sender, &url).await, DeliveryOutcome::Refused(302));
    assert_eq!(receiver.counts(), (1, 1));
}

#[tokio::test]
async fn each_failure_has_its_outcome() {
    let sender = sender(true, "127.0.0.1", &[]);
    for (answer, expected) in [
        (&b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"[..], DeliveryOutcome::Refused(500)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", DeliveryOutcome::Delivered(200)),
        (b"220 mail.example ESMTP\r\n", DeliveryOutcome::ConnectionFailed),
    ] {
        let receiver = Receiver::new(answer).await;
        assert_eq!(outcome(&sender, &receiver.url("http", "127.0.0.1")).await, expected);
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"220 mail.example ESMTP\r\n").await.unwrap();
        stream.read_to_end(&mut Vec::new()).await
    });
    assert_eq!(outcome(&sender, &url).await, DeliveryOutcome::TlsFailed);
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    for url in [format!("http://127.0.0.1:{nobody}/"), format!("https://127.0.0.1:{nobody}/")] {
        assert_eq!(outcome(&sender, &url).await, DeliveryOutcome::ConnectionFailed);
    }
    let unknown = outcome(&sender, "https://shop.example/").await;
    assert_eq!(unknown, DeliveryOutcome::ConnectionFailed);
}

#[tokio::test]
async fn an_answer_can_ask_for_a_pause() {
    let sender = sender(true, "", &[]);
    let seconds = Some(RetryAfter::Delay(Duration::from_secs(60)));
    let date = "2026-11-22T10:00:00Z".parse().map(RetryAfter::Date).ok();
    for (answer, expected) in [
        (&b"HTTP/1.1 503 Busy\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n"[..], seconds),
        (b"HTTP/1.1 429 Busy\r\nretry-after:  60 \r\nContent-Length: 0\r\n\r\n", seconds),
        (
            b"HTTP/1.1 429 Busy\r\nRetry-After: Sun, 22 Nov 2026 10:00:00 GMT\r\n\
              Content-Length: 0\r\n\r\n",
            date,
        ),
        (b"HTTP/1.1 503 Busy\r\nRetry-After: \xff\r\nContent-Length: 0\r\n\r\n", None),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", None),
        (b"HTTP/1.1 500 Oops\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n", None),
    ] {
        let receiver = Receiver::new(answer).await;
        let sent = attempt(&sender, &receiver.url("http", "127.0.0.1")).await;
        assert_eq!(sent.retry_after, expected, "{}", answer.escape_ascii());
    }
}

#[tokio::test]
async fn a_receiver_gets_ten_seconds_and_its_status_counts() {
    let sender = sender(true, "", &[]);
    let silent = Receiver::new(b"").await;
    let slow = Receiver::new(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n").await;
    let (silent, slow) = (silent.url("http", "127.0.0.1"), slow.url("http", "127.0.0.1"));
    let started = Instant::now();
    let outcomes = tokio::join!(outcome(&sender, &silent), outcome(&sender, &slow));
    assert_eq!(outcomes, (DeliveryOutcome::TimedOut, DeliveryOutcome::Delivered(200)));
    assert!((TIMEOUT..2 * TIMEOUT).contains(&started.elapsed()), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_long_answer_is_not_read_to_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let endless = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_buf(&mut Vec::new()).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        while stream.write_all(&[b'x'; MAX_ANSWER]).await.is_ok() {}
    });
    let delivered = outcome(&sender(true, "", &[]), &url).await;
    assert_eq!(delivered, DeliveryOutcome::Delivered(200));
    timeout_at(Instant::now() + TIMEOUT, endless).await.unwrap().unwrap();
}
