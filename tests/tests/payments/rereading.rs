//! Secrets and certificates that are read again while the service runs.

use std::fs;

use blackbox::{
    acquirer::{self, card},
    http::Answer,
    mail::MailServer,
    payments::{
        Acquirer, Card, LOCAL, Receiver, SECRET, STRIPE_WEBHOOK_SECRET, Service, Stripe, Webhook,
        email, live_merchant, stripe_event,
    },
    rereading::SettingFile,
};
use reqwest::Method;
use serde_json::json;

#[tokio::test]
async fn a_new_token_for_apps_is_used() {
    let token = SettingFile::new("PAYMENTS_APPS_TOKEN_FILE", "yesterday");
    let service = Service::with(&[token.variable()]).await;
    let create = async |token: &str| -> Answer {
        let request = service.request(Method::POST, "/apps").json(&json!({ "name": "Till" }));
        request.header("authorization", format!("Bearer {token}")).send().await
    };
    let _ = create("yesterday").await.expect(201);
    token.accepted(service.process(), "today").await;
    create("yesterday").await.refused(401, "unauthenticated");
    let _ = create("today").await.expect(201);
    for unusable in ["", " tomorrow"] {
        token.refused(service.process(), unusable).await;
        let _ = create("today").await.expect(201);
    }
}

#[tokio::test]
async fn a_new_secret_and_ca_of_the_acquirer_are_used() {
    let (acquirer, other) = (acquirer::Acquirer::start().await, acquirer::Acquirer::start().await);
    let [right, wrong] =
        [&acquirer, &other].map(|acquirer| fs::read_to_string(acquirer.ca_file()).unwrap());
    let secret = SettingFile::new("PAYMENTS_ACQUIRER_SECRET_FILE", "whsec_of_yesterday");
    let ca = SettingFile::new("PAYMENTS_ACQUIRER_CA_FILE", &wrong);
    let url = acquirer.url("");
    let service = Service::with(&[
        secret.variable(),
        ca.variable(),
        ("PAYMENTS_ACQUIRER", "http"),
        ("PAYMENTS_ACQUIRER_URL", &url),
    ])
    .await;
    let merchant = live_merchant(&service.app().await).await;
    let payment = || merchant.payment(Card(card::VISA), "EUR", 1000);
    let charge = async || merchant.charge(&payment()).await;
    let notify = async || {
        let event = json!({ "id": "evt", "type": "unknown", "created": "2099-11-21T10:00:00Z" });
        Acquirer(&service).notify(&event).await
    };
    let _ = charge().await.expect(503);
    ca.accepted(service.process(), &right).await;
    let _ = charge().await.expect(503);
    notify().await.refused(401, "unauthenticated");
    secret.accepted(service.process(), SECRET.1).await;
    let _ = charge().await.expect(201);
    let _ = notify().await.expect(204);
    ca.refused(service.process(), "no certificate").await;
    secret.refused(service.process(), "").await;
    let _ = charge().await.expect(201);
    let _ = notify().await.expect(204);
    ca.accepted(service.process(), &wrong).await;
    let _ = charge().await.expect(503);
}

#[tokio::test]
async fn new_keys_of_stripe_are_used() {
    let stripe = Stripe::start().await;
    let key = SettingFile::new("PAYMENTS_STRIPE_KEY_FILE", "sk_test_yesterday");
    let secret = SettingFile::new("PAYMENTS_STRIPE_WEBHOOK_SECRET_FILE", "whsec_of_yesterday");
    let unset = [("PAYMENTS_STRIPE_KEY", ""), ("PAYMENTS_STRIPE_WEBHOOK_SECRET", "")];
    let files = [key.variable(), secret.variable()];
    let service = stripe.service(&[unset, files].concat()).await;
    let merchant = live_merchant(&service.app().await).await;
    let used = async || {
        merchant.pay_with(Card("4242424242424242"), "EUR", 1000).await;
        let requests = stripe.requests("POST", "/v1/payment_intents");
        requests.last().unwrap().authorization.clone().unwrap()
    };
    let event = async || stripe_event(&service, "evt_1", "unknown", json!({ "id": "x" })).await;
    assert_eq!(used().await, "Bearer sk_test_yesterday");
    event().await.refused(401, "unauthenticated");
    key.accepted(service.process(), "sk_test_today").await;
    secret.accepted(service.process(), STRIPE_WEBHOOK_SECRET).await;
    assert_eq!(used().await, "Bearer sk_test_today");
    let _ = event().await.expect(204);
    key.refused(service.process(), "sk\u{1}").await;
    secret.refused(service.process(), "").await;
    assert_eq!(used().await, "Bearer sk_test_today");
    let _ = event().await.expect(204);
}

#[tokio::test]
async fn a_new_password_of_the_mail_server_is_used() {
    let server = MailServer::start().await;
    let url = SettingFile::new("PAYMENTS_SMTP_URL_FILE", &server.url().replace("p%3A", "xyzzy"));
    let from = ("PAYMENTS_MAIL_FROM", "Payments <payments@service.example>");
    let service = Service::with(&[url.variable(), from]).await;
    let merchant = service.merchant().await;
    let _ = merchant.invite(&email()).await;
    service.process().logged(|line| line.contains("mail not sent")).await;
    for (content, is_usable) in [(server.url(), true), ("ftp://xyzzy@mail".to_owned(), false)] {
        match is_usable {
            true => url.accepted(service.process(), &content).await,
            false => url.refused(service.process(), &content).await,
        }
        let address = email();
        let _ = merchant.invite(&address).await;
        let _ = server.received(&address, 1).await;
    }
    assert_eq!(service.process().log().iter().find(|line| line.contains("xyzzy")), None);
}

#[tokio::test]
async fn a_new_ca_for_webhooks_is_used() {
    let (receiver, other) = (Receiver::new().await, Receiver::new().await);
    let [right, wrong] =
        [&receiver, &other].map(|receiver| fs::read_to_string(receiver.trust().1).unwrap());
    let ca = SettingFile::new("PAYMENTS_WEBHOOK_CA_FILE", &wrong);
    let service = Service::with(&[ca.variable(), LOCAL]).await;
    let webhook = Webhook::at(&service.app().await, &receiver).await;
    let outcome = async || {
        let path = format!("{}/test", webhook.path());
        webhook.app.post(&path, &json!({})).await.expect(200).json()["delivery"]["outcome"].clone()
    };
    assert_eq!(outcome().await, "tls_failed");
    ca.accepted(service.process(), &right).await;
    assert_eq!(outcome().await, "delivered");
    ca.refused(service.process(), "no certificate").await;
    assert_eq!(outcome().await, "delivered");
    ca.accepted(service.process(), &wrong).await;
    assert_eq!(outcome().await, "tls_failed");
}
