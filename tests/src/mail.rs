//! A mail server of the tests' own, a process, which tells of every mail it takes.

use std::{path::Path, process::Stdio, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    sync::watch,
    time::timeout,
};

/// Answers to an address by its first word: refuses it for good (`never-`) or once (`later-`), drops
/// the connection once (`dropped-`), says nothing once before it has taken the mail (`slow-`) or after
/// (`mute-`), or says it late (`tardy-`).
const PROGRAM: &str = include_str!("mail_server.py");

/// How long it takes until mail that was refused once is there: the first attempts are far apart.
const DELIVERED: Duration = Duration::from_secs(90);

/// A mail server. Killed when dropped.
pub struct MailServer {
    port: u64,
    told: watch::Receiver<Vec<Value>>,
    _process: Child,
}

impl MailServer {
    /// Starts one.
    ///
    /// # Panics
    ///
    /// When it is not installed.
    pub async fn start() -> Self {
        let python =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/python/bin/python");
        let mut command = Command::new(python);
        command.args(["-W", "ignore", "-c", PROGRAM]).stdin(Stdio::null()).stdout(Stdio::piped());
        let started = command.kill_on_drop(true).spawn();
        let mut process = started.expect("Python is there; install it with: scripts/install test");
        let mut lines = BufReader::new(process.stdout.take().expect("piped")).lines();
        let (sender, mut told) = watch::channel(Vec::new());
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let line = serde_json::from_str(&line).expect("a line of JSON");
                sender.send_modify(|told: &mut Vec<Value>| told.push(line));
            }
        });
        let listens = timeout(DELIVERED, told.wait_for(|told| !told.is_empty())).await;
        let first = listens.expect("starts in time").map(|told| told[0].clone());
        let port = first.expect("listens; install what it needs with: scripts/install test");
        let port = port["port"].as_u64().expect("a port");
        Self { port, told, _process: process }
    }

    /// The URL that mail is sent to, with the password that it asks for.
    pub fn url(&self) -> String {
        format!("smtp://ann%40shop.example:p%3Aw%2F%25@127.0.0.1:{}", self.port)
    }

    /// The mail that was sent to an address until now.
    pub fn mail_to(&self, address: &str) -> Vec<Value> {
        self.told.borrow().iter().filter(|told| told["to"] == address).cloned().collect()
    }

    /// Waits until so many mails were sent to an address, and returns them.
    pub async fn received(&self, address: &str, count: usize) -> Vec<Value> {
        self.until(|told| told.iter().filter(|told| told["to"] == address).count() >= count).await;
        self.mail_to(address)
    }

    /// Waits until somebody waits for a word on the mail to an address.
    pub async fn keeps_waiting(&self, address: &str) {
        self.until(|told| told.iter().any(|told| told["kept_waiting"] == address)).await;
    }

    async fn until(&self, is_so: impl Fn(&[Value]) -> bool) {
        let mut told = self.told.clone();
        let came = timeout(DELIVERED, told.wait_for(|told| is_so(told))).await;
        assert!(came.is_ok_and(|came| came.is_ok()), "{:?}", self.told.borrow());
    }
}
