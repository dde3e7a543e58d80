//! Heads that are too long or malformed. The HTTP library rejects them, and the service counts
//! that.

use blackbox::raw::{Connection, Reply};

use crate::subject::{Kind, Subject, eventually};

/// The limit of a head in bytes.
const LONGEST: usize = 64 * 1024;

/// A request with a head of `length` bytes.
fn of_length(length: usize) -> String {
    let start = "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Filler: ";
    let end = "\r\n\r\n";
    format!("{start}{}{end}", "x".repeat(length - start.len() - end.len()))
}

async fn ask(subject: &Subject, request: &str) -> Reply {
    Connection::open(subject.address()).await.ask(request).await
}

/// The number of unrouted answers with this status in the metrics.
async fn counted(subject: &Subject, status: u16) -> u64 {
    if let Subject::Authsvc(site, _) = subject {
        // The scrape also checks that its sums agree.
        return site.scrape().await.count(&format!("/responsesByStatus/{status}"));
    }
    let labels = format!(r#"method="<other>",route="<unmatched>",status="{status}""#);
    let requests = format!("http_requests_total{{{labels}}}");
    match subject.metric(&requests).await {
        Some(count) => format!("{count}").parse().unwrap(),
        None => 0,
    }
}

#[tokio::test]
async fn a_head_above_64_kib_is_rejected_and_counted() {
    for kind in Kind::ALL {
        let subject = Subject::with(kind, &[]).await;
        let served = ask(&subject, &of_length(LONGEST - 1)).await;
        assert_eq!(served.status, 200, "{kind:?}: {served:?}");
        for length in [LONGEST + 1, LONGEST + 1_000] {
            let rejected = ask(&subject, &of_length(length)).await;
            assert_eq!(rejected.status, 431, "{kind:?}, {length}: {rejected:?}");
        }
        eventually("both are counted", async || (counted(&subject, 431).await == 2).then_some(()))
            .await;
    }
}

#[tokio::test]
async fn a_malformed_head_is_rejected_and_counted() {
    for kind in Kind::ALL {
        let subject = Subject::with(kind, &[]).await;
        for malformed in ["no request\r\n\r\n", "GET / HTTP/1.1\r\nno header\r\n\r\n"] {
            let rejected = ask(&subject, malformed).await;
            assert_eq!(rejected.status, 400, "{kind:?}: {rejected:?}");
        }
        eventually("both are counted", async || (counted(&subject, 400).await == 2).then_some(()))
            .await;
        if let Subject::Authsvc(site, _) = &subject {
            let scrape = site.scrape().await;
            assert_eq!(scrape.count("/requests/failed"), 2);
            assert_eq!(scrape.abandoned(), 0);
        }
    }
}

#[tokio::test]
async fn short_heads_on_one_connection_hold_no_memory() {
    for kind in [Kind::Objstore, Kind::Payments] {
        let subject = Subject::with(kind, &[]).await;
        let mut connection = Connection::open(subject.address()).await;
        for _ in 0..100 {
            assert_eq!(connection.ask(of_length(1_000)).await.status, 200, "{kind:?}");
        }
        let held = subject.metric(r#"limit_used{limit="head_memory"}"#).await;
        assert_eq!(held, Some(0.0), "{kind:?}");
    }
}
