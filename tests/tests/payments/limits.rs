//! Rate limits: payment attempts, declined cards, new apps and invitations.

use std::time::{Duration, Instant};

use blackbox::{
    acquirer::Acquirer,
    http::Answer,
    payments::{Card, DEFAULT_LIMITS, Link, Merchant, Refusal as _, Service, email, minimal, next},
};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

const ATTEMPTS: &str = "PAYMENTS_ATTEMPT_LIMIT";
const DECLINES: &str = "PAYMENTS_DECLINE_LIMIT";
const CARDS: &str = "PAYMENTS_CARD_LIMIT";
const APPS: &str = "PAYMENTS_APP_LIMIT";

/// Test merchants have the limits of live merchants times this factor.
const TEST_FACTOR: u32 = 10;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// A card number that the sandbox does not know and declines.
fn unknown_card(number: u32) -> String {
    format!("43000000{number:08}")
}

async fn pay_with(service: &Service, merchant: &Merchant, number: &str) -> Answer {
    let mut body = merchant.payment(Card::VISA, "EUR", 100);
    body["card"]["number"] = number.into();
    service.pay("/transactions", &body).await
}

async fn pay(service: &Service, merchant: &Merchant) -> Answer {
    pay_with(service, merchant, Card::VISA.0).await
}

async fn pay_live(service: &Service, merchant: &Merchant) -> Answer {
    pay_with(service, merchant, Card::LIVE.0).await
}

async fn save(service: &Service, merchant: &Merchant, card: Card) -> Answer {
    service.pay("/cards", &json!({ "key": merchant.key, "card": card.details() })).await
}

/// A service with an acquirer for live merchants, and one more setting.
async fn with_acquirer(acquirer: &Acquirer, setting: (&str, &str)) -> Service {
    let own = acquirer.of_payments();
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    Service::with(&own.chain([setting]).collect::<Vec<_>>()).await
}

async fn live(service: &Service) -> Merchant {
    service.app().await.merchant_with(&minimal()).await
}

/// The number of transactions of a merchant, up to 1000.
async fn made(merchant: &Merchant) -> usize {
    merchant.list("/transactions?limit=1000").await.len()
}

#[track_caller]
fn limited(answer: &Answer) {
    answer.refused(429, "rate_limited");
    has_retry_after(answer);
}

#[track_caller]
fn has_retry_after(answer: &Answer) {
    let seconds: u32 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=86_400).contains(&seconds), "{answer:?}");
}

/// Sends requests until one is rejected. Checks that `count` requests were accepted, plus at most
/// the share of `count` that the elapsed part of `period` restores.
async fn limited_after(count: u32, period: Duration, send: impl AsyncFn(u32) -> Answer) {
    limited_after_batches(1, count, period, send).await;
}

/// Like [`limited_after`], but sends `size` requests at once, for limits that restore fast. A decline
/// counts when it is answered, so more may be accepted: those under way.
async fn limited_after_batches(
    size: u32,
    count: u32,
    period: Duration,
    send: impl AsyncFn(u32) -> Answer,
) {
    let started = Instant::now();
    let mut accepted = 0;
    while accepted < 3 * count {
        let answers = join_all((accepted..accepted + size).map(|number| send(number))).await;
        let refused: Vec<_> = answers.iter().filter(|answer| answer.status == 429).collect();
        accepted += size - u32::try_from(refused.len()).unwrap();
        let share = started.elapsed().as_secs_f64() / period.as_secs_f64();
        let most = f64::from(count) * (1.0 + share) + f64::from(2 * size);
        assert!(f64::from(accepted) <= most, "{accepted} requests were accepted");
        if !refused.is_empty() {
            assert!(accepted >= count, "rejected after {accepted} requests: {refused:?}");
            return refused.into_iter().for_each(limited);
        }
    }
    panic!("the limit was not reached because the requests took too long");
}

#[tokio::test]
async fn attempts_are_limited_by_default() {
    let service = Service::with(&DEFAULT_LIMITS).await;
    let (test, live) = (service.merchant().await, live(&service).await);
    limited_after(60, MINUTE, async |_| pay_live(&service, &live).await).await;
    let pay = async |_| pay(&service, &test).await;
    limited_after_batches(16, 60 * TEST_FACTOR, MINUTE, pay).await;
}

#[tokio::test]
async fn all_payment_requests_share_one_attempt_limit() {
    let acquirer = Acquirer::start().await;
    let service = with_acquirer(&acquirer, (ATTEMPTS, "3/1h")).await;
    let merchant = live(&service).await;
    pay_live(&service, &merchant).await.declined(29);
    assert_eq!(save(&service, &merchant, Card::LIVE).await.expect(400).json()["code"], 29);
    let link = Link::to(&merchant).without("test");
    let (form, _) = service.pay_at(&link, Card::LIVE).await;
    for _ in 0..2 {
        limited(&pay_live(&service, &merchant).await);
        limited(&save(&service, &merchant, Card::LIVE).await);
        let fresh = service.open(&link).await;
        has_retry_after(&service.send_card(&fresh, Card::LIVE).await.expect(429));
    }
    assert_eq!(made(&merchant).await, 2);
    // A form that was accepted before is not paid again, and not shown as failed.
    assert_eq!(next(&service.send_card(&form, Card::LIVE).await), form);
    let other = service.seen_from([127, 0, 0, 2]);
    pay_live(&other, &merchant).await.declined(29);
    let test = service.merchant().await;
    let _ = pay(&service, &test).await.expect(201);
}

#[tokio::test]
async fn the_limit_page_is_in_the_customers_language() {
    let acquirer = Acquirer::start().await;
    let service = with_acquirer(&acquirer, (ATTEMPTS, "1/1h")).await;
    let merchant = live(&service).await;
    pay_live(&service, &merchant).await.declined(29);
    let link = Link::to(&merchant).without("test");
    for (locale, heading, hint) in [
        ("en", "Too many attempts", "Wait a few minutes, then try again. You were not charged."),
        ("da", "For mange forsøg", "Vent et par minutter, og prøv igen."),
        ("uk", "Забагато спроб", "Зачекайте кілька хвилин"),
    ] {
        let form = service.open(&link.clone().with("locale", locale)).await;
        let page = service.send_card(&form, Card::LIVE).await.expect(429);
        has_retry_after(&page);
        let html = page.text();
        assert!(html.contains(&format!("<html lang=\"{locale}\">")), "{html}");
        // The link is read before the attempt is counted, because test merchants have other limits.
        // So the page can name the shop, which knows other ways to pay.
        for shown in [
            &format!("<title>{heading} – https://shop.example</title>"),
            &format!(" autofocus>{heading}</h1>"),
            hint,
            "mailto:ann@shop.example",
        ] {
            assert!(html.contains(shown), "{shown} is missing: {html}");
        }
        assert_eq!(page.header("cache-control"), Some("no-store"));
    }
}

#[tokio::test]
async fn attempts_with_an_unknown_key_count_as_live() {
    let service = Service::with(&[(ATTEMPTS, "3/1h")]).await;
    let merchant = service.merchant().await;
    let unknown = Merchant { key: merchant.id.clone(), ..merchant.clone() };
    pay(&service, &unknown).await.names(&["key"]);
    save(&service, &unknown, Card::VISA).await.names(&["key"]);
    let link = Link::to(&unknown).path();
    let _ = service.send_card(&link, Card::VISA).await.expect(400);
    limited(&pay(&service, &unknown).await);
    limited(&save(&service, &unknown, Card::VISA).await);
    let _ = service.send_card(&link, Card::VISA).await.expect(429);
    let _ = service.show(&link).await.expect(400);
    let _ = pay(&service, &merchant).await.expect(201);
}

#[tokio::test]
async fn invalid_requests_do_not_count_as_attempts() {
    let service = Service::with(&[(ATTEMPTS, "1/1h")]).await;
    let merchant = live(&service).await;
    for path in ["/transactions", "/cards"].repeat(5) {
        let _ = service.pay(path, &json!({ "key": merchant.key })).await.expect(400);
    }
    pay_live(&service, &merchant).await.declined(27);
    limited(&pay_live(&service, &merchant).await);
}

#[tokio::test]
async fn trusted_proxies_determine_the_client_address() {
    for (proxies, tells_apart) in [("127.0.0.0/8", true), ("", false)] {
        let settings = [(ATTEMPTS, "1/1h"), (APPS, "2/1h"), ("TRUSTED_PROXIES", proxies)];
        let service = Service::with(&settings).await;
        let merchant = live(&service).await;
        let pay = async |client: &str| {
            let request = service.pos(Method::POST, "/transactions");
            let request = request.header("x-forwarded-for", format!("203.0.113.9, {client}"));
            request.json(&merchant.payment(Card::LIVE, "EUR", 100)).send().await
        };
        pay("198.51.100.7").await.declined(27);
        limited(&pay("198.51.100.7").await);
        let other = pay("198.51.100.8").await;
        assert_eq!(other.status == 400, tells_apart, "{other:?}");
    }
}

#[tokio::test]
async fn declines_are_limited_by_default() {
    let service = Service::with(&DEFAULT_LIMITS).await;
    let merchant = service.merchant().await;
    let decline = async |number| pay_with(&service, &merchant, &unknown_card(number)).await;
    limited_after_batches(16, 30 * TEST_FACTOR, MINUTE, decline).await;
}

#[tokio::test]
async fn concurrent_declines_delay_the_next_payment() {
    let settings = [(DECLINES, "1/1h"), (CARDS, "off"), ("PAYMENTS_SANDBOX_DELAY", "2s")];
    let service = Service::with(&settings).await;
    let merchant = service.merchant().await;
    let decline = async |number| pay_with(&service, &merchant, &unknown_card(number)).await;
    let answers = join_all((0..3 * TEST_FACTOR).map(decline)).await;
    let declined = answers.iter().filter(|answer| answer.status == 400).count();
    assert!(declined > TEST_FACTOR as usize, "a decline counts when the acquirer has declined");
    let next = pay(&service, &merchant).await;
    next.refused(429, "rate_limited");
    let wait: usize = next.header("retry-after").unwrap().parse().unwrap();
    // One is forgotten every 6 minutes.
    let most = (declined + 1 - TEST_FACTOR as usize) * 360;
    assert!((most - 60..=most).contains(&wait), "{declined} declines, {next:?}");
}

#[tokio::test]
async fn declines_count_by_merchant_and_address() {
    let service = Service::with(&[(DECLINES, "1/1h"), (CARDS, "off")]).await;
    let merchant = service.merchant().await;
    let decline = async |number| pay_with(&service, &merchant, &unknown_card(number)).await;
    limited_after(TEST_FACTOR, HOUR, decline).await;
    limited(&pay(&service, &merchant).await);
    limited(&save(&service, &merchant, Card::VISA).await);
    let form = service.open(&Link::to(&merchant)).await;
    let _ = service.send_card(&form, Card::VISA).await.expect(429);
    assert_eq!(made(&merchant).await, TEST_FACTOR as usize);
    let _ = pay(&service.seen_from([127, 0, 0, 2]), &merchant).await.expect(201);
    let _ = pay(&service, &service.merchant().await).await.expect(201);
}

#[tokio::test]
async fn a_merchant_has_ten_times_the_declines_of_an_address() {
    let service = Service::with(&[(DECLINES, "1/1d")]).await;
    let (merchant, other) = (service.merchant().await, service.merchant().await);
    for host in 1..=10 {
        let seen = service.seen_from([127, 0, 0, host]);
        for number in 0..TEST_FACTOR {
            let card = unknown_card(u32::from(host) * TEST_FACTOR + number);
            pay_with(&seen, &merchant, &card).await.declined(29);
        }
    }
    let fresh = service.seen_from([127, 0, 0, 11]);
    limited(&pay(&fresh, &merchant).await);
    let _ = pay(&fresh, &other).await.expect(201);
}

#[tokio::test]
async fn only_declines_that_concern_a_card_count() {
    let service = Service::with(&[(DECLINES, "1/1h"), (CARDS, "1/1h")]).await;
    let (merchant, live) = (service.merchant().await, live(&service).await);
    for _ in 0..2 * TEST_FACTOR {
        let _ = pay(&service, &merchant).await.expect(201);
        let _ = save(&service, &merchant, Card::VISA).await.expect(201);
        pay_with(&service, &merchant, "4100000000000012").await.declined(12);
        pay_live(&service, &live).await.declined(27);
    }
}

#[tokio::test]
async fn a_failed_challenge_counts_as_a_decline() {
    let service = Service::with(&[(DECLINES, "1/1h")]).await;
    let merchant = service.merchant().await;
    for _ in 0..TEST_FACTOR {
        let (form, _) = service.pay_at(&Link::to(&merchant), Card::CHALLENGED[0].0).await;
        let form = form.replace("/?", "/challenge?");
        let _ = next(&service.send_form(&form, "answer=cancel").await);
    }
    limited(&pay(&service, &merchant).await);
    let _ = pay(&service.seen_from([127, 0, 0, 2]), &merchant).await.expect(201);
}

#[tokio::test]
async fn declined_cards_are_limited_across_merchants_and_addresses() {
    let service = Service::with(&DEFAULT_LIMITS).await;
    let merchant = service.merchant().await;
    limited_after(5 * TEST_FACTOR, HOUR, async |number| match number % 3 {
        0 => save(&service, &merchant, Card::DECLINED).await,
        _ => pay_with(&service, &merchant, Card::DECLINED.0).await,
    })
    .await;
    let (other, seen) = (service.merchant().await, service.seen_from([127, 0, 0, 2]));
    limited(&pay_with(&seen, &other, "4200 0000 0000 0000").await);
    limited(&save(&seen, &other, Card::DECLINED).await);
    let form = service.open(&Link::to(&other)).await;
    let _ = seen.send_card(&form, Card::DECLINED).await.expect(429);
    let _ = pay(&service, &merchant).await.expect(201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_at_once_do_not_exceed_the_limit_of_a_card() {
    let settings = [(CARDS, "1/1h"), ("PAYMENTS_SANDBOX_DELAY", "200ms")];
    let service = Service::with(&settings).await;
    let merchant = service.merchant().await;
    let tries = (0..50).map(|number| {
        let (service, merchant) = (&service, &merchant);
        async move {
            match number % 5 {
                0 => save(service, merchant, Card::DECLINED).await,
                _ => pay_with(service, merchant, Card::DECLINED.0).await,
            }
        }
    });
    let answers = join_all(tries).await;
    let declined: Vec<_> = answers.iter().filter(|answer| answer.status == 400).collect();
    assert_eq!(declined.len(), TEST_FACTOR as usize);
    answers.iter().filter(|answer| answer.status != 400).for_each(limited);
    let paid = declined.iter().filter(|answer| answer.sent.path == "/transactions").count();
    assert_eq!(made(&merchant).await, paid);
}

#[tokio::test]
async fn approved_payments_do_not_count_against_a_card() {
    let service = Service::with(&[(CARDS, "1/1h"), (DECLINES, "1/1h")]).await;
    let merchant = service.merchant().await;
    for _ in 0..3 * TEST_FACTOR {
        let _ = pay(&service, &merchant).await.expect(201);
        let (_, page) = service.pay_at(&Link::to(&merchant), Card::VISA).await;
        assert!(page.expect(200).text().contains("class=\"result paid\""));
    }
}

#[tokio::test]
async fn a_merchants_server_is_not_limited() {
    let limits = [(ATTEMPTS, "1/1h"), (DECLINES, "1/1h"), (CARDS, "1/1h")];
    let service = Service::with(&limits).await;
    let merchant = service.merchant().await;
    let original = merchant.pay_with(Card::LATER_EMPTY, "EUR", 100).await;
    let body = json!({ "transactionId": original.id, "currency": "EUR", "amount": 100 });
    for _ in 0..3 * TEST_FACTOR {
        merchant.post("/transactions", &body).await.declined(7);
    }
}

#[tokio::test]
async fn a_limit_that_is_off_refuses_nothing() {
    let off = DEFAULT_LIMITS.map(|(name, _)| (name, "off"));
    let service = Service::with(&off).await;
    let (merchant, live) = (service.merchant().await, live(&service).await);
    for _ in 0..70 {
        pay_live(&service, &live).await.declined(27);
        pay_with(&service, &merchant, Card::DECLINED.0).await.declined(8);
    }
}

#[tokio::test]
async fn refusals_are_counted_by_limit() {
    let service = Service::with(&[(ATTEMPTS, "1/1h")]).await;
    let merchant = live(&service).await;
    for _ in 0..4 {
        let _ = pay_live(&service, &merchant).await;
    }
    let scraped = service.fetch("/metrics").await.expect(200);
    let counted = "payments_limit_refusals_total{limit=\"attempts\"} 3";
    assert!(scraped.text().lines().any(|line| line == counted), "{}", scraped.text());
}

#[tokio::test]
async fn new_apps_are_limited_by_default() {
    let service = Service::with(&DEFAULT_LIMITS).await;
    let body: Value = json!({});
    let make = async |_| service.request(Method::POST, "/apps").json(&body).send().await;
    limited_after(30, MINUTE, make).await;
    let other = service.seen_from([127, 0, 0, 2]);
    let _ = other.request(Method::POST, "/apps").json(&body).send().await.expect(201);
}

#[tokio::test]
async fn a_new_app_requires_the_token_when_one_is_set() {
    let service = Service::with(&[("PAYMENTS_APPS_TOKEN", "open sesame")]).await;
    let make = async |credential: &str| {
        let request = service.request(Method::POST, "/apps").json(&json!({}));
        request.header("authorization", credential).send().await
    };
    for credential in ["", "Bearer", "Bearer wrong", "Basic open sesame", "Bearer open sesamex"] {
        let answer = make(credential).await;
        answer.refused(401, "unauthenticated");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{answer:?}");
    }
    // The token is checked before the body.
    let request = service.request(Method::POST, "/apps").body_of("text/plain", "x");
    request.send().await.refused(401, "unauthenticated");
    let _ = make("Bearer open sesame").await.expect(201);
    let key = make("bearer open sesame").await.expect(201).json()["app"]["key"].clone();
    let me = service.request(Method::GET, "/me").basic_auth("", key.as_str().unwrap());
    let _ = me.send().await.expect(200);
}

#[tokio::test]
async fn wrong_tokens_count_against_the_app_limit() {
    let settings = [("PAYMENTS_APPS_TOKEN", "open sesame"), (APPS, "3/1h")];
    let service = Service::with(&settings).await;
    for _ in 0..3 {
        service.request(Method::POST, "/apps").send().await.refused(401, "unauthenticated");
    }
    let request = service.request(Method::POST, "/apps");
    limited(&request.header("authorization", "Bearer open sesame").send().await);
}

#[tokio::test]
async fn invitations_are_limited_by_default() {
    let service = Service::with(&DEFAULT_LIMITS).await;
    let merchant = service.merchant().await;
    let invite = async |_| merchant.post("/users", &json!({ "email": email() })).await;
    limited_after(100, DAY, invite).await;
    assert_eq!(merchant.list("/users?limit=1000").await.len(), 100);
    let other = service.app().await;
    merchant.add(&other).await;
    let _ = merchant.by(&other).invite(&email()).await;
}

#[tokio::test]
async fn an_invitation_counts_when_a_mail_is_queued() {
    let service = Service::with(&[("PAYMENTS_INVITATION_LIMIT", "2/1h")]).await;
    let merchant = service.merchant().await;
    let known = email();
    let body = json!({ "email": known });
    let path = merchant.path("/users");
    for _ in 0..5 {
        let _ = merchant.app.post_once("key", &path, &body).await.expect(201);
        merchant.post("/users", &json!({ "email": "nobody" })).await.names(&["email"]);
    }
    assert!(merchant.invite(&known).await);
    limited(&merchant.post("/users", &json!({ "email": email() })).await);
    // The key returns the outcome of the earlier request.
    let replayed = merchant.app.post_once("key", &path, &body).await.expect(201);
    assert_eq!(replayed.header("idempotent-replayed"), Some("true"));
}
