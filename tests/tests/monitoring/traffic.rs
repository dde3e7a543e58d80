//! Sends varied traffic to the three services, so that their metrics have series.

use std::net::SocketAddr;

use blackbox::{
    authsvc::{Credentials, Site},
    objstore::{self, Key, Object},
    payments::{self, Card, Link, email, minimal},
    raw::{self, Connection},
};
use demo_portal::{Behaviour, Delivery, Operation};
use serde_json::json;
use tokio::sync::OnceCell;

use crate::scrape::Scraped;

/// Enough memory for small bodies only, so that a large body is rejected.
const SMALL_BODY_MEMORY: (&str, &str) = ("BODY_MEMORY", "16KiB");

/// The metrics of the three services after some traffic. The services run once for all tests. Each
/// is scraped twice, so that the second scrape counts the first one.
pub(crate) async fn scraped() -> &'static Scraped {
    static SCRAPED: OnceCell<Scraped> = OnceCell::const_new();
    SCRAPED
        .get_or_init(async || {
            let (authsvc, objstore, payments) = tokio::join!(authsvc(), objstore(), payments());
            let mut scraped = Scraped::default();
            scraped.add("authsvc", &authsvc);
            scraped.add("objstore-svc", &objstore);
            scraped.add("payments-svc", &payments);
            scraped
        })
        .await
}

/// Sign-ins that are accepted, rejected by the portal, rate-limited and invalid; a portal that does
/// not answer; and a profile that lacks a member.
async fn authsvc() -> String {
    let site = Site::with(&[SMALL_BODY_MEMORY, ("SIGN_IN_LIMIT_USERNAME", "1/15m")]).await;
    let known = site.student();
    let _ = site.sign_in(&known).await.expect(200);
    let _ = site.profile(&known).await.expect(200);
    let incomplete = site.student_with(|student| student.without("Email"));
    let fields = json!({ "profile": true, "fields": ["name"] });
    let _ = site.ask(&incomplete, fields).await.expect(200);
    let wrong = Credentials { password: "wrong".to_owned(), ..site.student() };
    let _ = site.sign_in(&wrong).await.expect(401);
    let body = json!({ "username": wrong.username, "password": wrong.password }).to_string();
    let address = site.process().address();
    let reply = Connection::open(address).await.ask(raw::post("/authenticate", "", &body)).await;
    assert_eq!(reply.status, 429);
    let _ = site.authenticate("{}").await.expect(400);
    let unanswered = site.student();
    let silence = Behaviour::from(Delivery::ResetBefore);
    site.portal.script(&unanswered.username, Operation::Login, silence);
    let _ = site.sign_in(&unanswered).await.expect(502);
    exceed_body_memory(address, "/authenticate", "").await;
    let _ = site.fetch("/metrics").await.expect(200);
    site.fetch("/metrics").await.expect(200).text().to_owned()
}

/// An object that is set, pushed to a socket, found and deleted.
async fn objstore() -> String {
    let service = objstore::Service::with(&[SMALL_BODY_MEMORY]).await;
    let client = service.client().await;
    let key = Key::fresh();
    client.watch(&key).await;
    let mut socket = client.socket().await;
    let _ = client.set(&Object::new(&key, "{}")).await;
    let _ = socket.next_push().await;
    let _ = client.get(&key).await;
    let _ = client.find(&key).await;
    client.delete(&key).await;
    let cookie = format!("Cookie: token={}\r\n", client.token());
    exceed_body_memory(service.process().address(), "/set", &cookie).await;
    let _ = client.fetch("/metrics").await.expect(200);
    client.fetch("/metrics").await.expect(200).text().to_owned()
}

/// Payments that are captured, refunded and declined, from every origin; an invitation.
async fn payments() -> String {
    // Nothing answers there, and no payment needs it.
    let (url, key) = (("PAYMENTS_STRIPE_URL", "http://127.0.0.1:9"), ("PAYMENTS_STRIPE_KEY", "sk"));
    let service = payments::Service::with(&[SMALL_BODY_MEMORY, url, key]).await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 1000).await;
    let _ = transaction.capture(600).await;
    let _ = transaction.refund(100).await;
    let _ = merchant.fail(100).await;
    let later = merchant.pay_with(Card::LATER_EMPTY, "EUR", 100).await;
    let again = json!({ "transactionId": later.id, "currency": "EUR", "amount": 100 });
    let _ = merchant.post("/transactions", &again).await.expect(400);
    let _ = service.pay_at(&Link::to(&merchant), Card::DECLINED).await;
    let _ = merchant.invite(&email()).await;
    let live = merchant.app.merchant_with(&minimal()).await;
    let _ = live.charge(&live.payment(Card::LIVE, "EUR", 100)).await.expect(400);
    exceed_body_memory(service.process().address(), "/apps", "").await;
    let _ = service.fetch("/metrics").await.expect(200);
    service.fetch("/metrics").await.expect(200).text().to_owned()
}

/// Sends part of a body that is larger than the memory for bodies, and expects 503.
pub(crate) async fn exceed_body_memory(to: SocketAddr, path: &str, headers: &str) {
    let mut connection = Connection::open(to).await;
    let body = format!(r#"{{"name":"{}"#, "a".repeat(30_000));
    connection.send(raw::head(path, headers, 50_000) + &body).await;
    assert_eq!(connection.reply().await.status, 503, "{path}");
}
