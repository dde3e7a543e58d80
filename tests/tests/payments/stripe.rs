//! Live merchants that pay through Stripe.

use std::time::Duration;

use blackbox::{
    payments::{
        Card, Link, Merchant, Move, Refusal as _, Service, Stripe, Transaction, live_merchant,
        next,
        stripe::{Delivery, Fault, Request},
        stripe_event,
    },
    process::DEADLINE,
};
use futures_util::future::join_all;
use reqwest::{Method, Url};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::rates::{now, published_of};

/// A card that Stripe charges without a challenge.
const GOOD: Card = Card("4242424242424242");

/// A card that Stripe declines when it is charged.
const DECLINED: Card = Card("4000000000000341");

/// A card that demands 3-D Secure.
const CHALLENGED: Card = Card("4000002500003155");

/// With this setting, a request without an answer ends soon, and the job asks soon after it.
const IMPATIENT: (&str, &str) = ("PAYMENTS_ACQUIRER_TIMEOUT", "2s");

async fn shop() -> (Stripe, Service, Merchant) {
    shop_with(&[]).await
}

async fn shop_with(settings: &[(&str, &str)]) -> (Stripe, Service, Merchant) {
    let stripe = Stripe::start().await;
    let service = stripe.service(settings).await;
    let merchant = live_merchant(&service.app().await).await;
    (stripe, service, merchant)
}

/// A payment of 9.95 EUR whose customer lets the shop keep the card.
async fn kept(merchant: &Merchant) -> Transaction {
    let mut body = merchant.payment(GOOD, "EUR", 995);
    body["recurring"] = json!(true);
    merchant.transaction(&merchant.charge(&body).await.expect(201))
}

/// Waits until the condition returns something.
async fn until<T>(found: impl AsyncFn() -> Option<T>) -> T {
    let polled = async {
        loop {
            if let Some(found) = found().await {
                return found;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, polled).await.unwrap()
}

/// Waits until Stripe has confirmed every capture, refund and void.
async fn sent(service: &Service) {
    let waiting = "SELECT count(*) FROM outbox";
    until(async || (service.data().number(waiting) == 0).then_some(())).await;
}

fn only_intent(stripe: &Stripe) -> Value {
    let mut intents = stripe.payment_intents();
    assert_eq!(intents.len(), 1, "{intents:?}");
    intents.remove(0)
}

/// Whether a request contains a card number.
fn has_number(request: &Request) -> bool {
    format!("{request:?}").contains(GOOD.0)
}

async fn repeat_once(
    merchant: &Merchant,
    key: &str,
    original: &Transaction,
) -> blackbox::http::Answer {
    let body = json!({ "transactionId": original.id, "currency": "EUR", "amount": 100 });
    merchant.app.post_once(key, &merchant.path("/transactions"), &body).await
}

/// The only failed transaction of a merchant, once it is there.
async fn failed(merchant: &Merchant) -> Value {
    let path = "/transactions?limit=10&filter[successful]=no";
    until(async || merchant.list(path).await.pop()).await
}

#[tokio::test]
async fn a_payment_is_authorized_captured_and_refunded() {
    let (stripe, service, merchant) = shop().await;
    let paid = merchant.pay_with(GOOD, "EUR", 995).await;
    let intent = only_intent(&stripe);
    assert_eq!(
        (
            &intent["status"],
            &intent["amount"],
            &intent["currency"],
            &intent["metadata"]["merchant"]
        ),
        (&json!("requires_capture"), &json!(995), &json!("eur"), &json!(merchant.id))
    );
    let fetched = paid.fetch().await;
    assert_eq!((&fetched["tds"], &fetched["card"]["last4"]), (&json!("none"), &json!("4242")));

    paid.capture(600).await;
    paid.refund(150).await;
    paid.refund(50).await;
    sent(&service).await;
    assert_eq!(only_intent(&stripe)["status"], "succeeded");
    let captures = stripe.requests("POST", "/capture");
    assert_eq!(captures[0].member("amount_to_capture"), Some("600"));
    let refunded: Vec<_> = stripe.requests("POST", "/v1/refunds");
    let refunded: Vec<_> = refunded.iter().map(|request| request.member("amount")).collect();
    assert_eq!(refunded, [Some("150"), Some("50")]);
}

#[tokio::test]
async fn requests_name_their_version_key_and_operation() {
    let (stripe, _service, merchant) = shop().await;
    kept(&merchant).await;
    let requests = stripe.requests("POST", "/v1/");
    let paths: Vec<_> = requests.iter().map(|request| request.path.as_str()).collect();
    let [customers, intents, confirm] = paths[..] else { panic!("{paths:?}") };
    assert_eq!((customers, intents), ("/v1/customers", "/v1/payment_intents"));
    assert!(confirm.ends_with("/confirm"), "{confirm}");
    for request in &requests {
        assert_eq!(request.authorization.as_deref(), Some("Bearer sk_test_service"));
        assert_eq!(request.version.as_deref(), Some("2024-06-20"));
    }
    let key = requests[1].key.as_deref().unwrap();
    assert_eq!(requests[1].member("metadata[operation]"), Some(key));
    assert_eq!(requests[0].key, Some(format!("{key}-customer")));
    assert_eq!(requests[1].member("statement_descriptor_suffix"), Some("Corner sho"));
    assert_eq!(requests.iter().map(has_number).collect::<Vec<_>>(), [false, false, true]);
}

#[tokio::test]
async fn a_capture_has_its_own_text_on_the_statement() {
    let (stripe, service, merchant) = shop().await;
    for (descriptor, suffix) in [
        (None, Some("Corner sho")),
        (Some("ORDER 77"), Some("ORDER 77")),
        // Stripe demands a letter.
        (Some("77"), None),
    ] {
        let paid = merchant.pay_with(GOOD, "EUR", 995).await;
        paid.make(Move::Capture, &json!({ "amount": 995, "descriptor": descriptor })).await;
        sent(&service).await;
        let captures = stripe.requests("POST", "/capture");
        let last = captures.last().unwrap();
        assert_eq!(last.member("statement_descriptor_suffix"), suffix, "{descriptor:?}");
    }
}

#[tokio::test]
async fn amounts_are_sent_in_the_units_of_stripe() {
    let directory = tempfile::tempdir().unwrap();
    let stripe = Stripe::start().await;
    let now = now(&Service::with(&[]).await).await;
    let rates = [("JPY", "182.1"), ("ISK", "147.2"), ("MGA", "5170.5")];
    let file = published_of(&rates, &directory, 0, now);
    let service = stripe.service(&[("PAYMENTS_RATES_FILE", &file)]).await;
    let merchant = live_merchant(&service.app().await).await;
    for (currency, amount, captured) in [("JPY", "1000", "900"), ("ISK", "100000", "90000")] {
        let paid = merchant.pay_with(GOOD, currency, 1000).await;
        paid.capture(900).await;
        sent(&service).await;
        let request = stripe.requests("POST", "/v1/payment_intents");
        let created = request.iter().rev().find_map(|request| request.member("amount"));
        let request = stripe.requests("POST", "/capture").pop().unwrap();
        let capture = request.member("amount_to_capture");
        assert_eq!((created, capture), (Some(amount), Some(captured)), "{currency}");
    }
    // Stripe counts ariary whole.
    merchant.charge(&merchant.payment(GOOD, "MGA", 1000)).await.declined(11);

    let intent = stripe.payment_intents().pop().unwrap();
    let disputed = dispute(&intent, json!({ "amount": 90_000, "currency": "isk" }));
    let _ = stripe_event(&service, "evt_1", "charge.dispute.created", disputed).await.expect(204);
    let path = format!("/disputes?limit=1&filter[merchantId]={}", merchant.id);
    assert_eq!(merchant.app.list(&path).await[0]["amount"], 900);
}

#[tokio::test]
async fn a_void_of_everything_cancels_the_payment() {
    let (stripe, service, merchant) = shop().await;
    let paid = merchant.pay_with(GOOD, "EUR", 1000).await;
    paid.void(400).await;
    sent(&service).await;
    // Stripe cannot release a part.
    assert_eq!(only_intent(&stripe)["status"], "requires_capture");
    paid.void(600).await;
    sent(&service).await;
    assert_eq!(only_intent(&stripe)["status"], "canceled");
}

#[tokio::test]
async fn the_rest_of_a_capture_is_released_with_it() {
    let (stripe, service, merchant) = shop().await;
    let paid = merchant.pay_with(GOOD, "EUR", 1000).await;
    paid.void(400).await;
    let captured = paid.capture(500).await;
    let amounts = ["capturedAmount", "voidedAmount", "pendingAmount"].map(|name| &captured[name]);
    assert_eq!(amounts, [&json!(500), &json!(500), &json!(0)]);
    paid.ask(Move::Capture, &json!({ "amount": 100 })).await.names(&["amount"]);
    sent(&service).await;
    assert_eq!(only_intent(&stripe)["status"], "succeeded");
    assert_eq!(stripe.requests("POST", "/capture").len(), 1);
    assert!(stripe.requests("POST", "/cancel").is_empty());
}

#[tokio::test]
async fn several_captures_are_possible_where_stripe_offers_them() {
    let (stripe, service, merchant) = shop().await;
    stripe.offer_multicapture();
    for last in [Move::Capture, Move::Void] {
        let paid = merchant.pay_with(GOOD, "EUR", 1000).await;
        for (action, amount) in [(Move::Capture, 300), (Move::Void, 200), (last, 500)] {
            paid.make(action, &json!({ "amount": amount })).await;
            sent(&service).await;
        }
    }
    let intents = stripe.payment_intents();
    let books = intents.iter().map(|intent| stripe.books(intent["id"].as_str().unwrap()));
    let books: Vec<_> = books.map(|books| books.captured).collect();
    assert_eq!(books, [800, 300]);
    let captures = stripe.requests("POST", "/capture");
    let finals: Vec<_> = captures.iter().map(|it| it.member("final_capture")).collect();
    assert_eq!(finals, [Some("false"), None, Some("false")]);
    assert_eq!(stripe.requests("POST", "/cancel").len(), 1);
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_third_decimal_is_refused_before_stripe_is_asked() {
    let directory = tempfile::tempdir().unwrap();
    let stripe = Stripe::start().await;
    let now = now(&Service::with(&[]).await).await;
    let file = published_of(&[("KWD", "0.36")], &directory, 0, now);
    let service = stripe.service(&[("PAYMENTS_RATES_FILE", &file)]).await;
    let merchant = live_merchant(&service.app().await).await;
    merchant.charge(&merchant.payment(GOOD, "KWD", 1001)).await.names(&["amount"]);
    assert!(stripe.payment_intents().is_empty());
    let paid = merchant.pay_with(GOOD, "KWD", 1230).await;
    paid.ask(Move::Capture, &json!({ "amount": 1001 })).await.names(&["amount"]);
    paid.capture(1230).await;
    paid.ask(Move::Refund, &json!({ "amount": 1 })).await.names(&["amount"]);
    paid.refund(10).await;
    sent(&service).await;
}

#[tokio::test]
async fn nothing_is_captured_after_stripe_has_released_the_amount() {
    let (stripe, _service, merchant) = shop().await;
    stripe.authorizations_last(1);
    let paid = merchant.pay_with(GOOD, "EUR", 1000).await;
    let voided = async || (paid.fetch().await["voidedAmount"] == 1000).then_some(());
    until(voided).await;
    paid.ask(Move::Capture, &json!({ "amount": 100 })).await.names(&["amount"]);
}

#[tokio::test]
async fn declines_have_the_codes_of_the_table() {
    let (stripe, _service, merchant) = shop().await;
    let charge = async |card| merchant.charge(&merchant.payment(card, "EUR", 995)).await;
    charge(DECLINED).await.declined(8);
    let card_error = |code: &str, decline_code: &str| json!({ "type": "card_error", "code": code, "decline_code": decline_code, "message": "no" });
    for (error, code) in [
        (card_error("card_declined", "insufficient_funds"), 7),
        (card_error("card_declined", "stolen_card"), 9),
        (card_error("incorrect_cvc", ""), 4),
        (card_error("authentication_required", "authentication_required"), 30),
        (card_error("something_new", ""), 8),
    ] {
        stripe.refuse("/confirm", 402, error);
        charge(GOOD).await.declined(code);
    }
    let too_small = json!({
        "type": "invalid_request_error", "code": "amount_too_small", "message": "at least 0.50",
    });
    stripe.refuse("/v1/payment_intents", 400, too_small);
    charge(GOOD).await.declined(11);
    let statuses = stripe.payment_intents();
    assert!(statuses.iter().all(|intent| intent["status"] != "requires_capture"), "{statuses:?}");
}

#[tokio::test]
async fn a_card_is_kept_only_if_the_customer_agrees() {
    let (stripe, service, merchant) = shop().await;
    let once = merchant.pay_with(GOOD, "EUR", 995).await;
    assert!(stripe.all("cus").is_empty());
    let body = json!({ "transactionId": once.id, "currency": "EUR", "amount": 100 });
    let reason = "its card was not kept";
    for (path, body) in [("/transactions", &body), ("/cards", &json!({ "transactionId": once.id }))]
    {
        let refused = merchant.post(path, body).await.expect(400);
        refused.names(&["transactionId"]);
        assert!(refused.text().contains(reason), "{refused:?}");
    }
    let body = json!({ "key": merchant.key, "card": GOOD.details() });
    service.pay("/cards", &body).await.names(&["recurring"]);

    for (link, is_kept) in [("", false), ("y", true)] {
        let shop = live_merchant(&merchant.app).await;
        let link = match link {
            "" => Link::to(&shop),
            agreed => Link::to(&shop).with("recurring", agreed),
        };
        let _ = service.pay_at(&link.without("test"), GOOD).await;
        let id = shop.list("/transactions?limit=1").await[0]["id"].as_str().unwrap().to_owned();
        let body = json!({ "transactionId": id, "currency": "EUR", "amount": 100 });
        let status = if is_kept { 201 } else { 400 };
        let _ = shop.post("/transactions", &body).await.expect(status);
    }
}

#[tokio::test]
async fn a_stored_card_pays_without_its_customer() {
    let (stripe, _service, merchant) = shop().await;
    let original = kept(&merchant).await;
    let repeated = merchant.repeat(&original, 100).await;
    assert_eq!(repeated.fetch().await["recurring"], true);
    let intents = stripe.payment_intents();
    assert_eq!(intents.len(), 2);
    assert_eq!(
        (&intents[0]["customer"], &intents[0]["payment_method"]),
        (&intents[1]["customer"], &intents[1]["payment_method"])
    );
    let confirmed = stripe.requests("POST", "/confirm");
    let off_session = confirmed.iter().map(|request| request.member("off_session"));
    assert_eq!(off_session.collect::<Vec<_>>(), [None, Some("true")]);
    assert_eq!(stripe.requests("POST", "/v1/customers").len(), 1);
}

#[tokio::test]
async fn a_saved_card_was_checked_and_can_pay() {
    let (stripe, service, merchant) = shop().await;
    let save = async |card: Card| {
        let body = json!({ "key": merchant.key, "card": card.details(), "recurring": true });
        service.pay("/cards", &body).await
    };
    let saved = save(GOOD).await.expect(201).json()["card"]["id"].clone();
    let body = json!({ "cardId": saved, "currency": "EUR", "amount": 100 });
    let _ = merchant.post("/transactions", &body).await.expect(201);
    let checked = stripe.all("seti").remove(0);
    let paid = only_intent(&stripe);
    assert_eq!(
        (&checked["customer"], &checked["payment_method"]),
        (&paid["customer"], &paid["payment_method"])
    );
    // A card that is declined, and one whose customer would have to answer.
    for refused in [Card("4000000000000002"), CHALLENGED] {
        assert_eq!(save(refused).await.expect(400).json()["code"], 8);
    }
}

/// Pays on the page with a card that demands 3-D Secure. Returns the path of the form, and the page
/// of the bank.
async fn challenged(service: &Service, merchant: &Merchant) -> (String, String) {
    let link = Link::to(merchant).without("test");
    let (form, page) = service.pay_at(&link, CHALLENGED).await;
    let page = page.expect(200);
    let url = page.text().split("content=\"0;url=").nth(1).unwrap().split('"').next().unwrap();
    (form, url.to_owned())
}

/// Comes back from the bank at this URL.
async fn come_back(service: &Service, url: &str) -> String {
    let url: Url = url.parse().unwrap();
    next(&service.show(&format!("{}?{}", url.path(), url.query().unwrap())).await)
}

#[tokio::test]
async fn a_fact_about_an_undecided_payment_delays_no_other() {
    let (stripe, service, merchant) = shop_with(&[("PAYMENTS_FACTS_INTERVAL", "1s")]).await;
    let paid = merchant.pay_with(GOOD, "EUR", 1000).await;
    let (_, bank) = challenged(&service, &merchant).await;
    let mut intents = stripe.payment_intents();
    intents.sort_by_key(|intent| intent["status"] != "requires_action");
    for intent in &intents {
        stripe.warn_of_fraud(intent["id"].as_str().unwrap(), "made_with_stolen_card");
    }
    let path = format!("/frauds?limit=9&filter[merchantId]={}", merchant.id);
    let frauds = async |count: usize| {
        until(async || {
            let frauds = merchant.app.list(&path).await;
            (frauds.len() == count).then_some(frauds)
        })
        .await
    };
    assert_eq!(frauds(1).await[0]["transactionId"], paid.id);
    let back = stripe.authenticate(&bank, true).await;
    come_back(&service, &back).await;
    frauds(2).await;
}

#[tokio::test]
async fn the_customer_answers_3_d_secure_at_the_bank() {
    let (stripe, service, merchant) = shop().await;
    for (success, tds, error) in [(true, "full", Value::Null), (false, "none", json!(31))] {
        let merchant = live_merchant(&merchant.app).await;
        let (form, bank) = challenged(&service, &merchant).await;
        // Coming back without an answer changes nothing.
        let early = form.replace("/?", "/returned?");
        assert_eq!(next(&service.show(&early).await), form);
        assert!(service.show(&form).await.expect(200).text().contains(&bank));
        let back = stripe.authenticate(&bank, success).await;
        assert_eq!(come_back(&service, &back).await, form);
        let made = merchant.list("/transactions?limit=10").await;
        assert_eq!(made.len(), 1, "{made:?}");
        assert_eq!((&made[0]["tds"], &made[0]["error"]["code"]), (&json!(tds), &error));
        assert_eq!(made[0]["card"]["last4"], CHALLENGED.last4());
    }
}

#[tokio::test]
async fn a_card_that_needs_3_d_secure_cannot_pay_without_the_page() {
    let (stripe, _service, merchant) = shop().await;
    merchant.charge(&merchant.payment(CHALLENGED, "EUR", 995)).await.declined(30);
    assert_eq!(only_intent(&stripe)["status"], "canceled");
}

#[tokio::test]
async fn an_approval_that_nobody_has_received_is_canceled() {
    let (stripe, service, merchant) = shop_with(&[IMPATIENT]).await;
    stripe.fail("POST", "/confirm", Fault::Silence, 1);
    let answer = merchant.charge(&merchant.payment(GOOD, "EUR", 995)).await;
    answer.refused(503, "outcome_unknown");
    assert_eq!(failed(&merchant).await["error"]["code"], 12);
    sent(&service).await;
    assert_eq!(only_intent(&stripe)["status"], "canceled");
}

#[tokio::test]
async fn an_approval_that_a_repeat_receives_counts() {
    let (stripe, _service, merchant) = shop_with(&[IMPATIENT]).await;
    let original = kept(&merchant).await;
    stripe.fail("POST", "/confirm", Fault::Silence, 1);
    repeat_once(&merchant, "key", &original).await.refused(503, "outcome_unknown");
    let repeated = until(async || {
        let answer = repeat_once(&merchant, "key", &original).await;
        (answer.status == 201).then_some(answer)
    })
    .await;
    assert_eq!(merchant.transaction(&repeated).fetch().await["successful"], true);
    let intents = stripe.payment_intents();
    assert!(intents.iter().all(|intent| intent["status"] == "requires_capture"), "{intents:?}");
}

#[tokio::test]
async fn a_payment_that_stripe_never_saw_has_failed() {
    let (stripe, _service, merchant) = shop_with(&[IMPATIENT]).await;
    for (path, status) in [("/v1/payment_intents", None), ("/confirm", Some("canceled"))] {
        let merchant = live_merchant(&merchant.app).await;
        stripe.fail("POST", path, Fault::Hang, 1);
        let answer = merchant.charge(&merchant.payment(GOOD, "EUR", 995)).await;
        answer.refused(503, "outcome_unknown");
        assert_eq!(failed(&merchant).await["error"]["code"], 12, "{path}");
        let intents = stripe.payment_intents();
        assert_eq!(
            intents.first().map(|intent| &intent["status"]),
            status.map(|it| json!(it)).as_ref()
        );
    }
}

#[tokio::test]
async fn a_payment_that_stripe_processes_is_asked_for_again() {
    let (stripe, _service, merchant) = shop_with(&[IMPATIENT]).await;
    stripe.fail("POST", "/confirm", Fault::Silence, 1);
    stripe.fail("GET", "/v1/payment_intents", Fault::internal(), 2);
    let answer = merchant.charge(&merchant.payment(GOOD, "EUR", 995)).await;
    answer.refused(503, "outcome_unknown");
    assert_eq!(failed(&merchant).await["error"]["code"], 12);
    assert!(stripe.requests("GET", "/v1/payment_intents").len() > 2);
}

#[tokio::test]
async fn a_challenge_that_nobody_has_received_is_canceled() {
    let (stripe, service, merchant) = shop_with(&[IMPATIENT]).await;
    stripe.fail("POST", "/confirm", Fault::Silence, 1);
    let answer = merchant.charge(&merchant.payment(CHALLENGED, "EUR", 995)).await;
    answer.refused(503, "outcome_unknown");
    assert_eq!(failed(&merchant).await["error"]["code"], 31);
    sent(&service).await;
    assert_eq!(only_intent(&stripe)["status"], "canceled");
}

#[tokio::test]
async fn no_card_number_and_no_key_is_logged() {
    let (stripe, service, merchant) = shop_with(&[("RUST_LOG", "trace"), IMPATIENT]).await;
    merchant.pay_with(GOOD, "EUR", 995).await;
    merchant.charge(&merchant.payment(DECLINED, "EUR", 995)).await.declined(8);
    stripe.fail("POST", "/confirm", Fault::Silence, 1);
    let answer = merchant.charge(&merchant.payment(GOOD, "EUR", 995)).await;
    answer.refused(503, "outcome_unknown");
    until(async || (merchant.list("/transactions?limit=10").await.len() == 3).then_some(())).await;
    let (last, id) = (service.request(Method::GET, "/health"), "the-last-request");
    let _ = last.header("x-request-id", id).send().await.expect(200);
    service.process().logged(|line| line.contains(id)).await;
    let log = service.process().log();
    for secret in [GOOD.0, DECLINED.0, "=739", "sk_test_service"] {
        let line = log.iter().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret} is logged");
    }
}

#[tokio::test]
async fn lost_answers_move_no_money_twice() {
    let (stripe, service, merchant) = shop_with(&[IMPATIENT]).await;
    for path in ["/capture", "/v1/refunds", "/cancel"] {
        stripe.fail("POST", path, Fault::Silence, 1);
    }
    let paid = merchant.pay_with(GOOD, "EUR", 1000).await;
    paid.capture(1000).await;
    paid.refund(300).await;
    let voided = merchant.pay_with(GOOD, "EUR", 1000).await;
    voided.void(1000).await;
    sent(&service).await;
    for path in ["/capture", "/cancel"] {
        assert_eq!(stripe.requests("POST", path).len(), 2, "{path}");
    }
    // The repeat finds the refund and sends no second one.
    assert_eq!(stripe.requests("POST", "/v1/refunds").len(), 1);
    assert_eq!(stripe.requests("GET", "/v1/refunds?payment_intent").len(), 2);
    let intents = stripe.payment_intents();
    let statuses: Vec<_> = intents.iter().map(|intent| intent["status"].clone()).collect();
    assert_eq!(statuses, ["succeeded", "canceled"]);
    let refunds = stripe.all("re");
    assert_eq!(refunds.iter().map(|it| it["amount"].clone()).collect::<Vec<_>>(), [300]);
}

#[tokio::test]
async fn lost_answers_to_one_of_several_captures_capture_once() {
    let (stripe, service, merchant) = shop_with(&[IMPATIENT]).await;
    stripe.offer_multicapture();
    let paid = merchant.pay_with(GOOD, "EUR", 1000).await;
    for fault in [Fault::Silence, Fault::Drop, Fault::LateError, Fault::internal()] {
        stripe.fail("POST", "/capture", fault, 1);
        paid.capture(200).await;
        sent(&service).await;
    }
    assert_eq!(stripe.books(only_intent(&stripe)["id"].as_str().unwrap()).captured, 800);
    service.stop().await.agrees().await;
}

/// Stripe keeps an error under the first key. It is still executing the request with the second one
/// when the outbox sends the entry again.
#[tokio::test]
async fn a_request_that_follows_an_error_and_is_late_is_executed_once() {
    let (stripe, service, merchant) = shop_with(&[IMPATIENT]).await;
    stripe.offer_multicapture();
    let paid = merchant.pay_with(GOOD, "EUR", 1000).await;
    let late = Fault::Late(Duration::from_secs(8));
    for (path, action) in [("/capture", Move::Capture), ("/v1/refunds", Move::Refund)] {
        stripe.fail("POST", path, Fault::internal(), 1);
        stripe.fail("POST", path, late.clone(), 1);
        paid.make(action, &json!({ "amount": 300 })).await;
        sent(&service).await;
    }
    let books = stripe.books(only_intent(&stripe)["id"].as_str().unwrap());
    assert_eq!((books.captured, books.refunded), (300, 300));
    service.stop().await.agrees().await;
}

/// A question closes nothing at Stripe, which may still be executing what was sent just before it.
#[tokio::test]
async fn an_old_entry_is_asked_for_and_not_sent_again() {
    let (stripe, service, merchant) = shop_with(&[IMPATIENT]).await;
    let paid = merchant.pay_with(GOOD, "EUR", 1000).await;
    stripe.fail("POST", "/capture", Fault::lock_timeout(), 99);
    // Its key does not contain the ID of the entry.
    let capture = paid.path_of(Move::Capture);
    let captured = merchant.app.post_once("for days", &capture, &json!({ "amount": 1000 })).await;
    let _ = captured.expect(201);
    until(async || stripe.requests("POST", "/capture").pop()).await;
    let place = service.stop().await;
    let id = place.bytes("6a0000000000000000000001");
    assert_eq!(place.change(&format!("UPDATE outbox SET attempts = 7, due = 1, id = {id}")), 1);
    let service = place.start().await;
    let paid = paid.by(&merchant.app.at(&service));
    let before = stripe.requests("POST", "/capture").len();
    until(async || stripe.requests("POST", "/capture").get(before).cloned()).await;
    let place = service.stop().await;
    assert_eq!(place.change("UPDATE outbox SET attempts = 8, due = 1"), 1);
    let sent_before = stripe.requests("POST", "/capture").len();
    let service = place.start().await;
    let paid = paid.by(&merchant.app.at(&service));
    sent(&service).await;
    assert_eq!(stripe.requests("POST", "/capture").len(), sent_before);
    assert_eq!(paid.fetch().await["voidedAmount"], 1000);
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_capture_that_becomes_the_last_one_before_its_repeat_is_made_once() {
    let (stripe, service, merchant) = shop_with(&[IMPATIENT]).await;
    stripe.offer_multicapture();
    for captured in [200, 600] {
        let paid = merchant.pay_with(GOOD, "EUR", 1000).await;
        let before = stripe.requests("POST", "/capture").len();
        stripe.fail("POST", "/capture", Fault::Silence, 1);
        paid.capture(captured).await;
        until(async || stripe.requests("POST", "/capture").get(before).cloned()).await;
        paid.void(1000 - captured).await;
        sent(&service).await;
        let intent = stripe.payment_intents().pop().unwrap();
        assert_eq!(stripe.books(intent["id"].as_str().unwrap()).captured, captured);
        assert_eq!(paid.fetch().await["capturedAmount"], captured);
    }
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_failure_of_stripe_is_repeated_while_the_customer_waits() {
    let (stripe, service, merchant) = shop().await;
    let failures =
        [Fault::lock_timeout(), Fault::internal(), Fault::LateError, Fault::Drop, Fault::Html];
    for fault in &failures {
        for path in ["/v1/payment_intents", "/confirm", "/capture", "/v1/refunds"] {
            stripe.fail("POST", path, fault.clone(), 1);
        }
        let paid = merchant.pay_with(GOOD, "EUR", 1000).await;
        paid.capture(1000).await;
        paid.refund(300).await;
        sent(&service).await;
    }
    let intents = stripe.payment_intents();
    // That of the first answer was found.
    assert_eq!(intents.len(), failures.len(), "{intents:?}");
    for intent in intents {
        let books = stripe.books(intent["id"].as_str().unwrap());
        assert_eq!((books.captured, books.refunded), (1000, 300), "{intent}");
    }
    for fault in [Fault::lock_timeout(), Fault::internal(), Fault::LateError, Fault::Drop] {
        stripe.fail("POST", "/cancel", fault, 1);
        merchant.pay_with(GOOD, "EUR", 1000).await.void(1000).await;
        sent(&service).await;
        assert_eq!(stripe.payment_intents().pop().unwrap()["status"], "canceled");
    }
}

#[tokio::test]
async fn an_error_that_stripe_repeats_gets_another_key() {
    let (stripe, _service, merchant) = shop().await;
    stripe.fail("POST", "/v1/payment_intents", Fault::internal(), 1);
    merchant.pay_with(GOOD, "EUR", 1000).await;
    let mut created = stripe.requests("POST", "/v1/payment_intents");
    created.retain(|request| request.path == "/v1/payment_intents");
    let [first, second] = &created[..] else { panic!("{created:?}") };
    assert_ne!(first.key, second.key);
    assert_eq!(first.member("metadata[operation]"), second.member("metadata[operation]"));
}

/// With 5 % of the answers 429 or 500. The payments of a shop come one after the other, so that its
/// seed decides alone.
#[tokio::test]
async fn of_a_thousand_payments_at_most_one_fails_by_errors_of_stripe() {
    let payments = 260;
    let shops = [1, 2, 3, 4].map(async |seed| {
        let (stripe, _service, merchant) = shop().await;
        stripe.fail_at_random(seed, 0.05);
        let mut failed = 0;
        for _ in 0..payments {
            let answer = merchant.charge(&merchant.payment(GOOD, "EUR", 995)).await;
            failed += u32::from(answer.status != 201);
        }
        failed
    });
    let failed: u32 = join_all(shops).await.into_iter().sum();
    assert!(failed <= 1, "{failed} of {} payments", 4 * payments);
}

#[tokio::test]
async fn a_refusal_before_a_card_is_charged_is_a_failed_payment() {
    let (stripe, service, merchant) = shop().await;
    let refusals = [
        (401, "", "Invalid API Key provided"),
        (403, "more_permissions_required", "The provided key does not have the permissions"),
        (402, "", "Sending credit card numbers directly is generally unsafe"),
        (400, "parameter_unknown", "Received unknown parameter: amount"),
    ];
    for (status, code, message) in refusals {
        for path in ["/v1/payment_intents", "/confirm"] {
            let kind = "invalid_request_error";
            let error = json!({ "type": kind, "code": code, "message": message });
            stripe.refuse(path, status, error);
            merchant.charge(&merchant.payment(GOOD, "EUR", 995)).await.declined(12);
            service.process().logged(|line| line.contains("ERROR") && line.contains(message)).await;
        }
    }
    // Each was sent once, and each payment is settled.
    let sent = stripe.requests("POST", "/confirm").len();
    assert_eq!(sent, refusals.len());
    assert_eq!(service.data().number("SELECT count(*) FROM pending_payments"), 0);
}

#[tokio::test]
async fn a_repeat_after_the_database_forgot_pays_once() {
    let (stripe, service, merchant) = shop().await;
    let original = kept(&merchant).await;
    let first = repeat_once(&merchant, "key", &original).await.expect(201);
    // A failover to a standby that lags behind does this.
    service.data().change("DELETE FROM idempotency WHERE key = 'key'");
    let asked = || stripe.requests("GET", "/v1/payment_intents").len();
    let asked_before = asked();
    let second = repeat_once(&merchant, "key", &original).await.expect(201);
    assert_ne!(first.text(), second.text());
    assert_eq!(stripe.payment_intents().len(), 2, "the original and one repeat");
    assert!(asked() > asked_before, "the state of the repeated payment");
}

/// A dispute of Stripe about a payment.
fn dispute(intent: &Value, members: Value) -> Value {
    let mut dispute = json!({
        "id": "du_1",
        "object": "dispute",
        "payment_intent": intent["id"],
        "amount": 400,
        "currency": "eur",
        "reason": "product_not_received",
        "status": "needs_response",
        "evidence_details": { "due_by": 1_764_892_800, "has_evidence": false },
        "payment_method_details": { "type": "card", "card": { "network_reason_code": "13.1" } },
    });
    dispute.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    dispute
}

async fn captured(service: &Service, merchant: &Merchant) -> Transaction {
    let paid = merchant.pay_with(GOOD, "EUR", 1000).await;
    paid.capture(1000).await;
    sent(service).await;
    paid
}

#[tokio::test]
async fn disputes_are_opened_and_closed() {
    let (stripe, service, merchant) = shop().await;
    // A resolution gives the cardholder the money without a chargeback.
    for (end, case, left) in [
        ("won", "chargeback", 0),
        ("lost", "chargeback", 400),
        ("prevented", "block", 0),
        ("prevented", "resolution", 400),
    ] {
        let paid = captured(&service, &merchant).await;
        let intent = stripe.payment_intents().pop().unwrap();
        let id = json!({ "id": format!("du_{end}_{case}") });
        let opened = dispute(&intent, id.clone());
        for _ in 0..2 {
            let id = format!("evt_opened_{end}_{case}");
            let _ = stripe_event(&service, &id, "charge.dispute.created", opened.clone())
                .await
                .expect(204);
        }
        assert_eq!(paid.fetch().await["disputedAmount"], 400);
        let path = format!("/disputes?limit=1&filter[merchantId]={}", merchant.id);
        let shown = merchant.app.list(&path).await.remove(0);
        assert_eq!(
            (&shown["amount"], &shown["reason"], &shown["due"]),
            (
                &json!(400),
                &json!({ "code": 1310, "title": "product not received" }),
                &json!("2025-12-05T00:00:00.000Z")
            )
        );
        let mut closed = dispute(&intent, id);
        closed["status"] = json!(end);
        closed["payment_method_details"]["card"]["case_type"] = json!(case);
        let id = format!("evt_closed_{end}_{case}");
        let _ = stripe_event(&service, &id, "charge.dispute.closed", closed).await.expect(204);
        assert_eq!(paid.fetch().await["disputedAmount"], left);
    }
}

#[tokio::test]
async fn early_fraud_warnings_are_fraud_alerts() {
    let (stripe, service, merchant) = shop().await;
    let paid = captured(&service, &merchant).await;
    let intent = only_intent(&stripe);
    for (at, (kind, reason)) in
        [("made_with_stolen_card", json!(6)), ("a_new_kind", Value::Null)].into_iter().enumerate()
    {
        let warning = json!({
            "id": format!("issfr_{at}"),
            "object": "radar.early_fraud_warning",
            "payment_intent": intent["id"],
            "created": 1_763_699_999,
            "fraud_type": kind,
        });
        // Stripe can send two events for one warning.
        for id in [format!("evt_{at}"), format!("evt_{at}_again")] {
            let kind = "radar.early_fraud_warning.created";
            let _ = stripe_event(&service, &id, kind, warning.clone()).await.expect(204);
        }
        let path = format!("/frauds?limit=9&filter[merchantId]={}", merchant.id);
        let shown = merchant.app.list(&path).await;
        assert_eq!(shown.len(), at + 1);
        let shown = &shown[0];
        assert_eq!(
            (&shown["transactionId"], &shown["reported"], &shown["reason"]),
            (&json!(paid.id), &json!("2025-11-21T04:39:59.000Z"), &reason)
        );
    }
}

#[tokio::test]
async fn wrong_events_are_refused_and_change_nothing() {
    let (stripe, service, merchant) = shop().await;
    let paid = captured(&service, &merchant).await;
    let intent = only_intent(&stripe);
    let before = paid.fetch().await;
    let object = |name| format!("data.object.{name}");
    for (members, field) in [(json!({ "amount": 0 }), "amount"), (json!({ "id": null }), "id")] {
        let wrong = dispute(&intent, members);
        let answer = stripe_event(&service, "evt_1", "charge.dispute.created", wrong).await;
        answer.names(&[&object(field)]);
    }
    for (members, reason) in [
        (json!({ "payment_intent": "pi_of_somebody" }), "foreign"),
        (json!({ "payment_intent": null }), "foreign"),
        (json!({ "currency": "usd" }), "currency"),
        (json!({ "status": "reopened" }), "unknown"),
        // It has the evidence, too, in characters of up to 12 bytes.
        (json!({ "status": "reopened", "evidence": "x".repeat(900_000) }), "unknown"),
    ] {
        let ignored = dispute(&intent, members);
        let answer = stripe_event(&service, "evt_1", "charge.dispute.closed", ignored).await;
        let _ = answer.expect(204);
        let labels = format!("acquirer=\"stripe\",reason=\"{reason}\"");
        let counted = service.metric(&format!("payments_ignored_reports_total{{{labels}}}")).await;
        assert!(counted > 0, "{reason}");
    }
    let unsigned = service.request(Method::POST, "/stripe/events").json(&json!({})).send().await;
    unsigned.refused(401, "unauthenticated");
    assert_eq!(unsigned.header("www-authenticate"), Some("Stripe-Signature"));
    let forged = service.request(Method::POST, "/stripe/events");
    let forged = forged.header("stripe-signature", "t=1,v1=00").json(&json!({})).send().await;
    forged.refused(401, "unauthenticated");
    assert_eq!(paid.fetch().await, before);
}

#[tokio::test]
async fn events_of_other_types_are_accepted_and_counted() {
    let (mut stripe, service, merchant) = shop().await;
    stripe.send_events_to(&service, Delivery::InOrder);
    captured(&service, &merchant).await;
    let sent = u64::try_from(stripe.all("evt").len()).unwrap();
    let counted = "payments_ignored_reports_total{acquirer=\"stripe\",reason=\"unknown\"}";
    until(async || (service.metric(counted).await == sent).then_some(())).await;
}

#[tokio::test]
async fn without_a_secret_there_is_no_endpoint_for_events() {
    let service = Service::with(&[]).await;
    let answer = service.request(Method::POST, "/stripe/events").json(&json!({})).send().await;
    answer.refused(404, "not_found");
}
