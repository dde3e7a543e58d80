//! A page whose name leads to its own server at first, and then to a service (DNS rebinding). For
//! the browser, the service then is of the page's origin.

#![expect(clippy::unwrap_used, reason = "a service that cannot start fails the test")]

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use blackbox::{
    browser::{Page, visit},
    objstore, payments,
};
use serde_json::{Value, json};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};

use crate::origins::{ATTEMPT, FUNCTIONS, READS, answer, secret};

const NAME: &str = "page.evil.test";

/// This script tries to create apps in each way that a page has, and to read the public pages of
/// payments-svc. It returns what was not refused.
const PAY: &str = r#"
    const read = [];
    const attempt = async (path, options) => {
        const { status } = await fetch(path, options);
        if (status !== 421) read.push(`${path} ${status}`);
    };
    const body = JSON.stringify({ name: 'evil' });
    const headers = { 'Content-Type': 'application/json' };
    for (const options of [{ headers, body }, { body }, { body: new Blob([body]) }])
        await attempt('/apps', { method: 'POST', ...options });
    for (const path of ['/', '/docs', '/openapi.json']) await attempt(path);
    return read;
"#;

/// The address behind the name: that of the page, until it is replaced.
struct Name {
    url: String,
    service: Arc<OnceLock<SocketAddr>>,
}

impl Name {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{NAME}:{}", listener.local_addr().unwrap().port());
        let service = Arc::<OnceLock<_>>::default();
        let now = Arc::clone(&service);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(lead(stream, Arc::clone(&now)));
            }
        });
        Self { url, service }
    }

    /// Opens the page, lets the name lead to the service, and runs a script in the page. The port of
    /// the service does not matter to it: it compares names only.
    async fn rebound(&self, service: SocketAddr, script: &str) -> Value {
        let mut read = Value::Null;
        visit(&format!("{}/", self.url), async |page: &Page| {
            page.may_lose_connections();
            self.service.set(service).unwrap();
            read = page.run(&format!("return (async () => {{ {script} }})()")).await;
        })
        .await;
        read
    }
}

/// A browser opens connections in advance, so the first byte decides where a connection leads.
async fn lead(mut stream: TcpStream, service: Arc<OnceLock<SocketAddr>>) -> std::io::Result<()> {
    stream.peek(&mut [0]).await?;
    let Some(service) = service.get() else { return answer(stream).await };
    copy_bidirectional(&mut stream, &mut TcpStream::connect(service).await?).await?;
    Ok(())
}

/// Visits a page whose name then leads to a store with these settings. Returns what the page has
/// read, and whether it has changed the store.
async fn visit_store(settings: &[(&str, &str)]) -> (Value, bool) {
    let store = objstore::Service::with(settings).await;
    let other = store.client().await;
    other.set(&secret()).await;
    let before = store.data().writes();
    let script = format!(
        "const store = location.origin; {FUNCTIONS} await register().catch(() => 0); {ATTEMPT}"
    );
    let read = Name::new().await.rebound(store.process().address(), &script).await;
    (read, store.data().writes() != before)
}

/// The same for payments-svc.
async fn visit_payments(settings: &[(&str, &str)]) -> (Value, bool) {
    let service = payments::Service::with(settings).await;
    let read = Name::new().await.rebound(service.process().address(), PAY).await;
    (read, service.stop().await.number("SELECT count(*) FROM apps") > 0)
}

#[tokio::test]
async fn a_rebound_name_reads_and_writes_no_objects() {
    assert_eq!(visit_store(&[]).await, (json!([]), false));
    // The control: the same page reads and writes everything if the operator allows its name.
    let (read, is_changed) = visit_store(&[("ALLOWED_HOSTS", NAME)]).await;
    assert!(read.as_array().unwrap().len() == READS && is_changed, "{read}");
}

#[tokio::test]
async fn a_rebound_name_reads_and_writes_no_apps() {
    assert_eq!(visit_payments(&[]).await, (json!([]), false));
    let (read, is_changed) = visit_payments(&[("ALLOWED_HOSTS", NAME)]).await;
    assert!(read.as_array().unwrap().len() == 6 && is_changed, "{read}");
}
