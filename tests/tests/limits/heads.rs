//! Heads that are too long or wrong: the HTTP library refuses them, and the service counts that.

use blackbox::raw::{Connection, Reply};

use crate::subject::{Kind, Subject, eventually};

/// The longest head that is served.
const LONGEST: usize = 64 * 1024;

/// A request whose head has so many bytes.
fn of_length(length: usize) -> String {
    let start = "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Filler: ";
    let end = "\r\n\r\n";
    format!("{start}{}{end}", "x".repeat(length - start.len() - end.len()))
}

async fn ask(subject: &Subject, request: &str) -> Reply {
    Connection::open(subject.address()).await.ask(request).await
}

/// How often the service says that it answered so, of its own accord.
async fn counted(subject: &Subject, status: u16) -> u64 {
    if let Subject::Authsvc(site, _) = subject {
        // All of its numbers agree with each other.
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
async fn a_head_above_64_kib_is_refused_and_counted() {
    for kind in Kind::ALL {
        let subject = Subject::with(kind, &[]).await;
        let served = ask(&subject, &of_length(LONGEST - 1)).await;
        assert_eq!(served.status, 200, "{kind:?}: {served:?}");
        for length in [LONGEST + 1, LONGEST + 1_000] {
            let refused = ask(&subject, &of_length(length)).await;
            assert_eq!(refused.status, 431, "{kind:?}, {length}: {refused:?}");
        }
        eventually("both are counted", async || (counted(&subject, 431).await == 2).then_some(()))
            .await;
    }
}

#[tokio::test]
async fn a_head_that_is_wrong_is_counted() {
    for kind in Kind::ALL {
        let subject = Subject::with(kind, &[]).await;
        for wrong in ["no request\r\n\r\n", "GET / HTTP/1.1\r\nno header\r\n\r\n"] {
            let refused = ask(&subject, wrong).await;
            assert_eq!(refused.status, 400, "{kind:?}: {refused:?}");
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
