//! A mail server for the tests: a Python process that reports every mail it accepts.

use serde_json::Value;
use tokio::{process::Child, sync::watch, time::timeout};

use crate::{process::DEADLINE, python};

/// The first word of an address selects the server's behaviour: reject always (`never-`) or once
/// (`later-`), drop the connection once (`dropped-`), hang once before accepting the mail (`slow-`)
/// or after it (`mute-`), or answer late (`tardy-`).
const PROGRAM: &str = include_str!("mail_server.py");

/// A mail server. Dropping it kills the process.
pub struct MailServer {
    port: u64,
    events: watch::Receiver<Vec<Value>>,
    _process: Child,
}

impl MailServer {
    pub async fn start() -> Self {
        let (process, mut lines) = python::start(PROGRAM);
        let (sender, mut events) = watch::channel(Vec::new());
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let line = serde_json::from_str(&line).expect("a line of JSON");
                sender.send_modify(|events: &mut Vec<Value>| events.push(line));
            }
        });
        let listening = timeout(DEADLINE, events.wait_for(|events| !events.is_empty())).await;
        let first = listening.expect("starts in time").map(|events| events[0].clone());
        let port = first.expect("listens; install its packages with: scripts/install test");
        let port = port["port"].as_u64().expect("a port");
        Self { port, events, _process: process }
    }

    /// The SMTP URL, with the username and password that the server requires.
    pub fn url(&self) -> String {
        format!("smtp://ann%40shop.example:p%3Aw%2F%25@127.0.0.1:{}", self.port)
    }

    /// The mails accepted for an address so far.
    pub fn mail_to(&self, address: &str) -> Vec<Value> {
        self.events.borrow().iter().filter(|event| event["to"] == address).cloned().collect()
    }

    /// Waits until `count` mails were accepted for an address, and returns them.
    pub async fn received(&self, address: &str, count: usize) -> Vec<Value> {
        self.until(|events| events.iter().filter(|event| event["to"] == address).count() >= count)
            .await;
        self.mail_to(address)
    }

    /// Waits until the server hangs on the mail to a `slow-` address.
    pub async fn never_answer(&self, address: &str) {
        self.until(|events| events.iter().any(|event| event["kept_waiting"] == address)).await;
    }

    /// The link in the first mail to an address, after it was received.
    pub async fn link_to(&self, address: &str) -> String {
        let mail = self.received(address, 1).await.remove(0);
        let mut lines = mail["text"].as_str().expect("a text").lines();
        lines.find(|line| line.starts_with("http")).expect("a link").to_owned()
    }

    async fn until(&self, condition: impl Fn(&[Value]) -> bool) {
        let mut events = self.events.clone();
        let found = timeout(DEADLINE, events.wait_for(|events| condition(events))).await;
        assert!(found.is_ok_and(|found| found.is_ok()), "{:?}", self.events.borrow());
    }
}
